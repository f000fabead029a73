import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import compare_arms, compare_cautions, compare_charts, compare_words
from ingest.sources.base import Row
from queries.arms import arms
from queries.comparability import comparability
from queries.compare import compare
from queries.compare_checks import compare_failures, compare_pairing
from queries.compared_samples import compare_quadrants, compare_samples
from queries.coverage import caution
from queries.runs import runs as overview
from tests.conftest import ROOT
from tests.stores import build_store, call, rollout

SIDES = {"baseline": "r@0", "candidate": "r@1"}


def of(sample, step, reward, calls=1, **values):
    made = [call("search", f'{{"q": {number}}}') for number in range(calls)]
    return rollout(sample_id=sample, split="valid", step=step, reward=reward, messages=[], tool_calls=made, **values)


def twenty(gain):
    """Twenty samples that all gain about that much."""
    for number in range(20):
        yield of(f"s{number:02}", 0, 0.3)
        yield of(f"s{number:02}", 1, 0.3 + gain + 0.001 * (number % 5), calls=2 + number % 2)


def answers(store, **sides):
    given = sides or SIDES
    return compare(store, **given), compare_failures(store, **given), comparability(store, **given)


def test_the_verdict_gives_both_differences_with_their_intervals(tmp_path):
    measures, failures, checks = answers(build_store(tmp_path, list(twenty(0.2))))
    # Differences .2, .201 … .204: mean .202, sd .00145, t(19) = 2.093. Calls differ by 1 and 2: mean 1.5, sd .513.
    assert compare_words.verdict(measures, failures) == (
        "r@1 against r@0: reward +0.20 [0.20, 0.20], tool calls +1.5 [1.3, 1.7], over 20 paired samples. "
        "Counting any difference, better on 20 samples and worse on 0."
    )
    assert compare_cautions.cautions(measures, failures, checks) == []


def test_a_bound_beside_0_never_reads_as_0():
    row = {"delta_mean": 0.0337, "ci_low": 0.00021, "ci_high": 0.0672}
    assert compare_words.with_interval(row) == "+0.0337 [0.0002, 0.0672]"
    assert compare_words.with_interval(row | {"ci_low": -0.0004}) == "+0.0337 [−0.0004, 0.0672]"
    assert compare_words.with_interval(row | {"ci_low": 0.0}) == "+0.034 [0.000, 0.067]"
    assert compare_words.with_interval(row | {"ci_low": 1e-9}) == "+0.034 [0.000, 0.067]"


def test_the_verdict_speaks_of_the_cost_that_was_chosen(tmp_path):
    rollouts = [
        of(f"s{n}", step, 0.3 + 0.01 * n * step, latency_s=9.0 - 2 * step + 0.1 * n * step)
        for n in range(9)
        for step in (0, 1)
    ]
    measures, failures, _ = answers(build_store(tmp_path, rollouts))
    # −2 … −1.2: mean −1.6, sd .274, t(8) = 2.306: ± .21.
    assert "latency −1.6 [−1.8, −1.4] s" in compare_words.verdict(measures, failures, "latency_s")


def test_a_long_run_name_is_cut_and_keeps_its_step(tmp_path):
    measures, failures, _ = answers(build_store(tmp_path, list(twenty(0.2))))
    said = compare_words.verdict(measures, failures.assign(label=["n" * 299 + "1@0", "n" * 300]))
    assert said.startswith(f"{'n' * 26}…{'n' * 13} against {'n' * 26}…{'n' * 12}1@0: reward")


def test_an_interval_that_holds_0_is_no_finding(tmp_path):
    rewards = [(0.1, 0.9), (0.9, 0.1), (0.5, 0.62), (0.4, 0.4)]
    rollouts = [of(f"s{n}", step, pair[step]) for n, pair in enumerate(rewards) for step in (0, 1)]
    measures, failures, checks = answers(build_store(tmp_path, rollouts))
    # Differences .8, −.8, .12, 0: mean .03, sd .656; t(n−1)·.656/√n ≤ .05 from n = 664 on.
    said = compare_words.verdict(measures, failures)
    assert "no difference in reward could be shown (+0.03 [−1.01, 1.07], n = 4; 664 needed for ±0.05)" in said
    assert "tool calls 0 (no interval: all values are equal" in said
    assert said.endswith("over 4 paired samples. Counting any difference, better on 2 samples and worse on 1.")
    assert compare_cautions.cautions(measures, failures, checks) == [
        "Only 4 paired samples: too few to tell whether their differences are skewed, and if they are, a 95 % interval "
        "may hold the true value in only 71 % of cases."
    ]
    figure = compare_words.figures(measures)[0]
    assert (figure.value, figure.good) == ("0.505", None)


def test_figures_say_whether_a_change_is_good(tmp_path):
    measures, _, _ = answers(build_store(tmp_path, list(twenty(0.2))))
    by_label = {each.label: each for each in compare_words.figures(measures)}
    assert len(by_label) == 5
    assert (by_label["reward"].good, by_label["tool calls"].good) == (True, None)
    assert by_label["tool calls"].value == "2.50"
    assert by_label["tool calls"].change == "+1.5 [1.3, 1.7]"


def test_cautions_name_failures_unpaired_unscored_and_versions(tmp_path):
    bad = call("search", status="error", is_error_flagged=True)
    lost = call("search", wrapper_id="w", is_executed=False, status="no_result")
    rollouts = [
        of("a", 0, 0.5, status="completed", grader_version="1"),
        of("b", 0, 0.5, status="completed", grader_version="1"),
        of("only", 0, 0.5, status="completed", grader_version="1"),
        rollout(
            sample_id="a",
            split="valid",
            step=1,
            reward=0.5,
            status="completed",
            grader_version="2",
            messages=[],
            tool_calls=[bad, lost],
        ),
        of("b", 1, 0.0, status="infra_error", grader_version="2"),
        of("b", 1, None, status="completed", grader_version="2"),
    ]
    said = compare_cautions.cautions(*answers(build_store(tmp_path, rollouts)))
    assert said == [
        "1 of 3 samples of the baseline has no partner and is left out.",
        "The arms differ in grader version (1 against 2).",
        "Attempts at a sample: 1 in the baseline, 1.5 in the candidate (median).",
        "Failed tool calls rose from 0 % to 50 % (1 parallel wrapper failed).",
        "Infrastructure and grader failures end 0 % of the baseline's and 33 % of the candidate's rollouts, "
        "though chance could explain it; whatever those would have scored, the mean reward differs by −0.25 to 0.25.",
        "1 of 3 rollouts of the candidate has no reward and is left out of it.",
        "Only 2 paired samples: too few to tell whether their differences are skewed, and if they are, a 95 % interval "
        "may hold the true value in only 71 % of cases.",
    ]


def skewed_costs(num):
    """Rewards that gain evenly; calls of which one sample in ten needs many more."""
    for n in range(num):
        yield of(f"s{n:03}", 0, 0.3, calls=1)
        yield of(f"s{n:03}", 1, 0.3 + 0.01 * (n % 7), calls=1 + n % 2 + 20 * (n % 10 == 0))


def test_intervals_that_are_known_to_fall_short_are_said_to(tmp_path):
    store = build_store(tmp_path, list(skewed_costs(20)))
    measures, failures, checks = answers(store)
    calls = measures.set_index("measure").loc["tool_calls"]
    # Calls: two samples of 20 and ten of 1, eight of 0.
    assert (calls["ci_method"], round(calls["skewness"], 1), calls["num_up"]) == ("t", 2.6, 12)
    (said,) = compare_cautions.cautions(measures, failures, checks)
    row = caution("t", 20, calls["skewness"], 0.4)
    assert row.falls_short
    assert said.startswith(
        "Differences by sample are so skewed, or so many are 0, that intervals called 95 % hold the true value in "
        f"about {100 * row.share:.0f} % of cases for tool calls; "
    )
    # A hundred of them, or an interval that holds, is no reason to warn.
    cautious = compare(store, **SIDES, method="cautious")
    assert [each for each in compare_cautions.cautions(cautious, failures, checks) if "for reward" in each] == []


def test_when_nothing_pairs_the_keys_that_would_are_named(tmp_path):
    rollouts = [of("x/1", 0, 0.5), of("x/2", 0, 0.5), of("y/2", 1, 0.5)]
    found = build_store(tmp_path, rollouts)
    measures, failures, checks = answers(found)
    pairing = compare_pairing(found, **SIDES)
    assert compare_words.verdict(measures, failures).endswith("nothing is known of one sample in both arms.")
    assert compare_cautions.nothing_pairs(pairing, checks, "sample_id") == (
        "No sample pairs by sample_id: the baseline has x/1, the candidate y/2. What would pair: their order alone "
        "(1 sample), the last part of the sample_id (1 sample); choose it under Options."
    )


def test_order_alone_pairs_no_samples_of_different_environments(tmp_path):
    found = build_store(tmp_path, [of(f"{step}", step, 0.5, environment=f"e{step}") for step in (0, 1)])
    said = compare_cautions.nothing_pairs(compare_pairing(found, **SIDES), comparability(found, **SIDES), "sample_id")
    assert "No other key would pair. The arms differ in environment (e0 against e1)" in said


def test_samples_that_pair_with_nothing_known_are_said_to(tmp_path):
    found = build_store(tmp_path, [rollout(sample_id=name, step=step) for name in "ab" for step in (0, 1)])
    assert compare_cautions.nothing_pairs(
        compare_pairing(found, **SIDES), comparability(found, **SIDES), "sample_id"
    ) == (
        "2 samples pair by sample_id, but nothing that is compared (reward, tool calls, turns, tokens, latency, cost) "
        "is known of one in both arms."
    )


def test_claims_stand_beside_chance(tmp_path):
    rollouts = [of(name, step, 0.5 + 0.4 * step + 0.1 * n, calls=2) for name in "ab" for step in (0, 1) for n in (0, 1)]
    frame = compare_quadrants(build_store(tmp_path, rollouts), **SIDES)
    said = compare_words.claims(frame)
    assert said.startswith("Better with tool calls not up: 100 % of samples [34 %, 100 %]; chance alone gives ")
    # Rewards of a sample are .1 apart: s² = .005, so that the band is √(.005·(½+½)).
    assert "Differences within ±0.071 reward and ±0 tool calls (attempts at a sample never differ) count" in said
    assert said.endswith("count as the same here; the first sentence counts any difference.")


def test_plots_show_every_sample_and_all_nine_quadrants(tmp_path):
    found = build_store(tmp_path, list(twenty(0.2)))
    samples, quadrants = compare_samples(found, **SIDES), compare_quadrants(found, **SIDES)
    drawn = compare_charts.scatter(samples, "tool_calls", 0.0, 0.0)
    points = [trace for trace in drawn.data if trace.customdata is not None]
    assert [len(trace.x) for trace in points] == [20]
    assert points[0].customdata[0] == {"sample_id": "s00", "candidate_sample_id": "s00"}
    assert drawn.layout.xaxis.title.text == "Δ tool calls, calls per rollout, candidate − baseline"
    grid = compare_charts.grid(quadrants, "light").data[0]
    assert list(grid.z[2]) == [0.0, 0.0, 1.0]
    assert grid.text[2][2] == "<b>100 %</b> (20)<br>[84, 100]"
    assert compare_words.in_a_cell(quadrants) == "share of samples (how many) and its 95 % interval in percent."


def test_hostile_sample_names_stay_text(tmp_path):
    rollouts = [of("<img src=x onerror=alert(1)>", step, 0.5) for step in (0, 1)]
    samples = compare_samples(build_store(tmp_path, rollouts), **SIDES)
    text = compare_charts.scatter(samples, "tool_calls", 0.0, 0.0).data[0].text[0]
    assert "<img" not in text
    assert "&lt;img" in text


@pytest.fixture(scope="module")
def offered(tmp_path_factory):
    places = [
        ("base", "baseline", "valid", None), ("job", "training", "valid", 0), ("job", "training", "valid", 9),
        ("job", "training", "train", 5), ("tuned", "evaluation", "test", None), ("mixed", None, "train", 1),
        ("mixed", None, "production", 1),
    ]  # fmt: skip
    rows = [Row("runs", {"kind": kind}, run=run) for run, kind, _, _ in {(*each[:2], 0, 0) for each in places}]
    rollouts = [rollout(run=run, split=split, step=step, sample_id="a") for run, _, split, step in places]
    return arms(build_store(tmp_path_factory.mktemp("arms"), rollouts, rows))


def test_arms_are_offered_in_the_split_that_is_compared(offered):
    assert compare_arms.choices(offered, None)["arm"].tolist() == ["base", "job@0", "job@9", "tuned"]
    assert compare_arms.choices(offered, "train")["arm"].tolist() == ["job@5", "mixed@1"]
    assert compare_arms.choices(offered, "nothing").empty


def test_a_comparison_opens_with_what_is_judged_against_the_baseline(offered):
    found = compare_arms.choices(offered, None)
    assert compare_arms.opening(found) == ("base", "tuned")
    assert compare_arms.opening(found, ("job",)) == ("job@0", "job@9")
    assert compare_arms.opening(found, ("base", "job")) == ("base", "job@9")
    assert compare_arms.opening(found, ("base",)) is None


def test_a_comparison_opens_with_runs_of_one_environment(tmp_path):
    runs = [("base", "baseline", "a"), ("tuned", "evaluation", "a"), ("other-base", "baseline", "b")]
    found = build_store(
        tmp_path,
        [rollout(run, split="valid", sample_id="x", environment=environment) for run, _, environment in runs],
        [Row("runs", {"kind": kind}, run=run) for run, kind, _ in runs],
    )
    offered, described = compare_arms.choices(arms(found), None), overview(found)
    assert compare_arms.opening(offered, None, described) == ("base", "tuned")
    assert compare_arms.opening(offered, ("tuned", "other-base"), described) == ("other-base", "tuned")


def test_links_may_name_an_arm_in_another_way(offered):
    assert compare_arms.refused(offered, "job", None) == ""
    assert "no run 'jib'" in compare_arms.refused(offered, "jib@3", None)


def page(root, monkeypatch, **link):
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    app.switch_page("app_pages/compare.py")
    for name, value in link.items():
        app.query_params[name] = value
    return app.run()


def texts(app):
    return (
        " ".join(each.value for each in [*app.markdown, *app.caption, *app.warning])
        .replace("\\", "")
        .replace("\u2060", "")
        .replace("\u00a0", " ")
    )


def test_the_page_opens_with_a_verdict(tmp_path, monkeypatch):
    build_store(tmp_path, list(twenty(0.2)))
    app = page(tmp_path, monkeypatch)
    assert not app.exception
    assert "r@1 against r@0: reward +0.20 [0.20, 0.20]" in texts(app)
    assert len(app.metric) == 5


def test_the_page_takes_arms_from_the_link_and_says_what_it_cannot(tmp_path, monkeypatch):
    build_store(tmp_path, [*twenty(0.2), *(of(f"s{number:02}", 7, 0.9) for number in range(20))])
    app = page(tmp_path, monkeypatch, baseline="r", candidate="r@1")
    assert "r@1 against r@7: " in texts(app)
    assert app.query_params["baseline"] == "r"
    assert "The link's candidate is not used: there is no run 'q'" in texts(
        page(tmp_path, monkeypatch, candidate="q@2")
    )


def test_the_page_says_what_would_pair(tmp_path, monkeypatch):
    build_store(tmp_path, [of("x/1", 0, 0.5), of("y/1", 1, 0.5)])
    assert "What would pair: " in texts(page(tmp_path, monkeypatch))
    assert "over 1 paired sample" in texts(page(tmp_path, monkeypatch, pair_by="sample_suffix"))


def test_one_arm_alone_is_not_compared(tmp_path, monkeypatch):
    build_store(tmp_path, [of("x", 0, 0.5)])
    assert "A comparison needs two arms" in texts(page(tmp_path, monkeypatch))


def test_a_cost_that_nothing_tells_is_said_to_be_missing(tmp_path, monkeypatch):
    build_store(tmp_path, list(twenty(0.2)))
    app = page(tmp_path, monkeypatch, cost="latency_s")
    assert not app.exception
    assert "seconds a rollout takes" in texts(app)


def test_frames_are_whole_numbers_where_they_count(tmp_path):
    measures, failures, _ = answers(build_store(tmp_path, list(twenty(0.2))))
    assert pd.api.types.is_integer_dtype(measures["num_paired"])
    assert pd.api.types.is_integer_dtype(failures["step"])


def test_queueing_and_clusters_are_cautioned_about(tmp_path):
    rollouts = [
        of(
            f"s{n:02}",
            step,
            0.3 + step * (0.1 if n < 10 else 0.5),
            latency_s=10.0 + 5 * step + n,
            queue_latency_s=step * (4.0 + 0.1 * n),
        )
        for n in range(20)
        for step in (0, 1)
    ]
    rows = [Row("samples", {"sample_id": f"s{n:02}", "cluster_key": f"doc{n // 10}"}, run="r") for n in range(20)]
    said = compare_cautions.cautions(*answers(build_store(tmp_path, rollouts, rows)))
    # In the queue 4 to 5.9 s more, mean 4.95, sd .5916, t(19) = 2.093: ± .277.
    assert any("[4.7, 5.2] s of the difference in latency of +5" in each for each in said)
    # By sample SE² = .8/19/20, by document sums ∓2: SE² = 2·8/400 = .04: 19 times, √19 = 4.36.
    assert said[-1] == (
        "The 20 paired samples come from 2 clusters (cluster_key) and resemble one another within them: by cluster the "
        "interval is 4.4 times as wide; choose cluster_key under Options."
    )
