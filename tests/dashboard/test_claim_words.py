import pandas as pd
import pytest

from dashboard import claim_words, compare_forest, compare_panels
from ingest.sources.base import Row
from queries.claims import CLAIMS, compare_power
from queries.compare import compare
from queries.compared_samples import compare_samples
from queries.slices import compare_slices
from tests.dashboard.test_compare_page import SIDES, of, page, texts
from tests.stores import build_store


def claims(*shown, unknown=(), cost="tool_calls"):
    return pd.DataFrame(
        [
            {
                "claim": name,
                "is_shown": None if name in unknown else name in shown,
                "p_value": 0.01,
                "cost": cost,
                "margin": 0.02,
                "cost_margin": 0.35,
                "num_paired": 40,
                "num_needed": 120,
                "reason": None,
            }
            for name, *_ in CLAIMS
        ]
    )


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            claims("better_and_cheaper", "not_worse_and_cheaper", "better_not_costlier"),
            "Fewer tool calls and a higher reward: this is shown, both at once.",
        ),
        (
            claims("not_worse_and_cheaper", "not_worse", "cheaper"),
            "Fewer tool calls and a reward at most 0.02 lower: this is shown, both at once.",
        ),
        (
            claims("better_not_costlier", "better"),
            "A higher reward and tool calls up by at most 0.35: this is shown, both at once.",
        ),
        (
            claims("better", "not_worse"),
            "That it has tool calls up by at most 0.35 is not shown (n = 40; 120 needed, were the truth as observed).",
        ),
        (
            claims("not_worse"),
            "It has a reward at most 0.02 lower: this is shown. That it has tool calls up by at most 0.35 is not.",
        ),
        (
            claims("cheaper"),
            "That it has a reward at most 0.02 lower is not shown (n = 40; 120 needed, were the truth as observed).",
        ),
        (claims("cheaper", unknown=("better", "not_worse")), ""),
        (claims("better", "not_worse", unknown=("cheaper", "not_costlier")), ""),
        (
            claims("better_and_cheaper", cost="latency_s"),
            "Less latency and a higher reward: this is shown, both at once.",
        ),
    ],
)
def test_the_strongest_claim_that_holds_is_said(frame, said):
    assert claim_words.claim(frame) == said


def test_every_claim_stands_in_the_table_in_words():
    table = claim_words.claim_table(claims("better", unknown=("cheaper",)))
    assert table["claim"].tolist()[:4] == [
        "The candidate has a higher reward",
        "The candidate has a reward at most 0.02 lower",
        "The candidate has fewer tool calls",
        "The candidate has tool calls up by at most 0.35",
    ]
    assert table["shown"].tolist()[:3] == ["▲ shown", "not shown", "cannot be said"]


def tagged(root, loss):
    """Sixteen samples that gain .2 or .3, six of tag bank that lose."""
    rollouts, rows = [], []
    for n in range(22):
        is_bank = n < 6
        after = 0.5 - loss - 0.01 * n if is_bank else 0.7 + 0.1 * (n % 2)
        rollouts += [of(f"s{n:02}", 0, 0.5), of(f"s{n:02}", 1, after)]
        rows.append(Row("samples", {"sample_id": f"s{n:02}", "tags": '["bank"]' if is_bank else '["shop"]'}, run="r"))
    return build_store(root, rollouts, rows)


def test_the_worst_slice_is_named_and_called_worse_only_beyond_chance(tmp_path):
    # bank: −.2 … −.25, exact sign flip 2/64, adjusted for the slices listed.
    said = claim_words.worst_slice(compare_slices(tagged(tmp_path / "a", 0.2), **SIDES, by="tag"))
    assert said.startswith("Worst slice of 2: tag bank, reward −0.23 [−0.24, −0.21], n = 6")
    assert said.endswith("worse there, beyond what chance gives among so many slices.")
    frame = compare_slices(tagged(tmp_path / "b", -0.02), **SIDES, by="tag")
    assert claim_words.worst_slice(frame).endswith("no more than chance gives among so many slices.")
    assert claim_words.worst_slice(frame[frame["slice"] == "shop"].assign(is_worst=False)) == ""


def test_a_slice_opens_its_samples(tmp_path):
    samples = compare_samples(tagged(tmp_path, 0.2), **SIDES)
    assert claim_words.in_slice(samples, "tag", "bank")["sample_id"].tolist() == [f"s{n:02}" for n in range(6)]
    thirds = [claim_words.in_slice(samples, "difficulty", each) for each in samples["difficulty"].unique()]
    assert sum(len(each) for each in thirds) == 22
    assert claim_words.in_slice(samples, "metadata.team", "x").empty


def test_changes_of_single_samples_are_told_from_luck(tmp_path):
    single = compare_samples(tagged(tmp_path / "a", 0.2), **SIDES)
    assert claim_words.changed(single) == (
        "6 samples lost reward and 16 gained. "
        "Attempts are single, so a sample's own change cannot be told apart from luck."
    )
    sure = single.assign(p_value_bh=[0.01] * 2 + [0.9] * 20)
    assert claim_words.changed(sure).endswith("Beyond the luck of their attempts are 2 and 0 of them.")
    assert claim_words.changed(single.assign(p_value_bh=0.9)).endswith("told apart from the luck of its attempts.")


def test_power_is_said_in_samples_and_attempts(tmp_path):
    rollouts = [
        of(f"s{n:02}", step, 0.4 + 0.05 * step + 0.1 * (n % 3) * step + 0.2 * attempt)
        for n in range(12)
        for step in (0, 1)
        for attempt in (0, 1)
    ]
    frame = compare_power(build_store(tmp_path, rollouts), **SIDES)
    said = claim_words.power(frame, "reward")
    now, cheapest = frame.iloc[0], frame["num_rollouts_needed"].min()
    assert said.startswith("With these 12 samples a true difference in reward of 0.0")
    assert f"takes {now['num_needed']} samples with as many attempts as now" in said
    assert (f"{cheapest} rollouts in all" in said) == bool(cheapest < now["num_rollouts_needed"])
    nothing = claim_words.power(frame.assign(mde=float("nan")), "reward")
    assert nothing == "Too few samples are paired to say what could be seen with them."


def test_intervals_are_drawn_row_by_row_and_hostile_names_stay_text(tmp_path):
    store = tagged(tmp_path, 0.2)
    drawn = compare_forest.relative(compare(store, **SIDES))
    names = list(drawn.data[0].y)
    # Of what is known only reward and calls have a baseline above 0; the first measure is on top.
    assert names[-1] == "reward"
    reward = compare(store, **SIDES).set_index("measure").loc["reward"]
    assert drawn.data[0].x[-1] == pytest.approx(100 * (reward["ratio"] - 1))
    frame = compare_slices(store, **SIDES, by="tag").assign(slice=["<b>bank</b>", "shop"])
    drawn = compare_forest.slices(frame)
    assert drawn.data[0].y[-1] == "tag: &lt;b&gt;bank&lt;/b&gt; (n = 6)"
    assert drawn.data[1].customdata[0] == {"by": "tag", "slice": "<b>bank</b>"}


def test_the_page_lists_regressions_and_wins_with_both_trajectories(tmp_path, monkeypatch):
    tagged(tmp_path, 0.2)
    app = page(tmp_path, monkeypatch)
    assert not app.exception
    said = texts(app)
    assert "6 samples lost reward and 16 gained." in said
    assert "Worst slice of" in said
    lost = next(each.value for each in app.dataframe if "before" in each.value.columns)
    # s05 falls furthest: .5 → .25.
    assert lost["sample"].tolist() == ["s05", "s04", "s03", "s02", "s01", "s00"]
    assert lost["baseline"].str.startswith("trajectory?rollout=").all()
    assert (lost["baseline"] != lost["candidate"]).all()
    assert compare_panels.LISTED == 10


def test_without_any_reward_behaviour_is_compared(tmp_path, monkeypatch):
    build_store(
        tmp_path, [of(f"s{n:02}", step, None, calls=4 - 2 * step + n % 2) for n in range(20) for step in (0, 1)]
    )
    app = page(tmp_path, monkeypatch)
    assert not app.exception
    assert "r@1 against r@0: tool calls " in texts(app)
    assert "lost reward" not in texts(app)


def test_a_margin_and_a_cluster_stand_in_the_link(tmp_path, monkeypatch):
    tagged(tmp_path, 0.2)
    app = page(tmp_path, monkeypatch, margin="0.5", cluster_by="environment")
    assert not app.exception
    assert app.number_input(key="margin").value == 0.5
    assert app.selectbox(key="cluster_by").value == "environment"
    odd = page(tmp_path, monkeypatch, cluster_by="colour")
    assert "Samples stand for themselves: cluster_by must be one of sample, cluster_key" in texts(odd)
    assert "r@1 against r@0: reward" in texts(odd)
