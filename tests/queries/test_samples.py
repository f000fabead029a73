from pathlib import Path

import pytest

from ingest.errors import QuestionError
from queries.connection import Reading
from queries.filters import Filters
from queries.samples import sample_attempts, sample_facts, sample_heatmap, samples
from tests.stores import build_store, rollout


def attempt(sample_id: str, step: int | None, reward: float | None, run: str = "r", **values: object):
    values.setdefault("split", "valid")
    values.setdefault("environment", "env")
    return rollout(run, sample_id=sample_id, step=step, reward=reward, **values)


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    return build_store(
        tmp_path,
        [
            # a: step 0 twice (0, 1), step 4 once scored 1.0 and once not; another run with one step only
            attempt(
                "a",
                0,
                0.0,
                num_messages=2,
                tool_calls=[],
                sample={"prompt_text": "\n  Find it\nplease", "tags": '["x"]'},
            ),
            attempt("a", 0, 1.0),
            attempt("a", 4, 1.0),
            attempt("a", 4, float("nan")),
            attempt("a", 7, 0.25, run="other"),
            # b: no step at all
            attempt("b", None, 0.5, run="other"),
            # the same id in another environment is another sample
            attempt("a", 0, -1.0, environment="elsewhere"),
            # no sample: not a sample
            rollout(reward=9.0, step=0),
        ],
    )


def row(store: Reading, sample: str, environment: str = "env") -> dict[str, object]:
    frame = samples(store)
    found = frame[(frame["sample_id"] == sample) & (frame["environment"] == environment)]
    assert len(found) == 1
    return found.iloc[0].to_dict()


def test_one_row_a_sample_and_environment(store: Reading) -> None:
    found = samples(store, sort="sample")
    assert list(zip(found["environment"], found["sample_id"], strict=True)) == [
        ("elsewhere", "a"),
        ("env", "a"),
        ("env", "b"),
    ]
    assert found["num_all"].tolist() == [3, 3, 3]


def test_figures_of_a_sample(store: Reading) -> None:
    a = row(store, "a")
    assert (a["num_runs"], a["first_step"], a["last_step"]) == (2, 0, 7)
    assert (a["num_rollouts"], a["num_scored"]) == (5, 4)
    assert a["reward_mean"] == pytest.approx((0 + 1 + 1 + 0.25) / 4)
    # only run r has two scored steps: mean of step 0 is .5, of step 4 it is 1 (the unscored attempt does not count)
    assert (a["reward_first"], a["reward_last"], a["reward_change"]) == (0.5, 1.0, 0.5)
    # the only cell with two scored attempts is step 0 with (0, 1): variance .5 over one degree of freedom
    assert a["reward_sd"] == pytest.approx(0.5**0.5)


def test_what_is_not_known_is_null_not_zero(store: Reading) -> None:
    b = row(store, "b")
    assert b["first_step"] is None or str(b["first_step"]) == "<NA>"
    assert b["reward_change"] != b["reward_change"]  # NaN
    assert b["reward_sd"] != b["reward_sd"]
    assert b["tool_calls_mean"] != b["tool_calls_mean"]


def test_prompts_are_their_first_line_with_words(store: Reading) -> None:
    a = row(store, "a")
    assert (a["prompt"], a["num_prompt_bytes"], a["tags"]) == ("Find it", 17, '["x"]')


def test_sorting_and_paging(store: Reading) -> None:
    by_reward = samples(store, sort="reward")
    assert list(by_reward["reward_mean"]) == [-1.0, 0.5, 0.5625]
    assert samples(store, sort="gain")["sample_id"].iloc[0] == "a"
    assert samples(store, sort="rollouts")["num_rollouts"].tolist() == [5, 1, 1]
    second = samples(store, sort="reward", limit=1, offset=1)
    assert second["sample_id"].tolist() == ["b"]
    assert second["num_all"].tolist() == [3]
    with pytest.raises(QuestionError, match="sort must be one of"):
        samples(store, sort="; DROP TABLE")


def test_several_runs_are_averaged_for_first_and_last(tmp_path: Path) -> None:
    rewards = [("one", 0, 0.0), ("one", 10, 1.0), ("two", 5, 0.5), ("two", 6, 0.1)]
    found = samples(build_store(tmp_path, [attempt("s", step, reward, run) for run, step, reward in rewards]))
    assert found["reward_first"].tolist() == [0.25]
    assert found["reward_last"].tolist() == [0.55]


def test_filters_restrict_samples(store: Reading) -> None:
    found = samples(store, Filters(run_ids=("other",)))
    assert found[["sample_id", "num_rollouts"]].values.tolist() == [["a", 1], ["b", 1]]
    assert samples(store, Filters(run_ids=("none",))).empty


def test_every_attempt_in_order(store: Reading) -> None:
    found = sample_attempts(store, sample_id="a", environment="env")
    assert found[["run_id", "step", "attempt"]].values.tolist() == [
        ["other", 7, 0],
        ["r", 0, 0],
        ["r", 0, 1],
        ["r", 4, 0],
        ["r", 4, 1],
    ]
    assert found["reward"].isna().tolist() == [False, False, False, False, True]
    assert len(sample_attempts(store, sample_id="a")) == 6
    assert len(sample_attempts(store, sample_id="a", limit=2)) == 2
    assert sample_attempts(store, sample_id="' OR true --").empty


def test_facts_cut_long_prompts(tmp_path: Path) -> None:
    prompt = "é" * 150_000
    store = build_store(tmp_path, [attempt("s", 0, 1.0, sample={"prompt_text": prompt, "reference": "42"})])
    found = sample_facts(store, sample_id="s").iloc[0]
    assert (len(found["prompt_text"]), found["num_prompt_bytes"], found["reference"]) == (100_000, 300_000, "42")


def test_heatmap_cells(tmp_path: Path) -> None:
    values = [("low", 0, 0.0), ("low", 0, 0.5), ("low", 5, None), ("high", 0, 1.0), ("high", 5, 0.5)]
    store = build_store(tmp_path, [attempt(*each) for each in values])
    found = sample_heatmap(store)
    assert found[["sample_id", "place", "bin", "num_rollouts", "num_known"]].values.tolist() == [
        ["low", 0, 0, 2, 2],
        ["low", 0, 1, 1, 0],
        ["high", 1, 0, 1, 1],
        ["high", 1, 1, 1, 1],
    ]
    assert found["value"].tolist()[0] == 0.25
    assert found["value"].isna().tolist() == [False, True, False, False]


def test_heatmap_bins_steps_and_picks_samples(tmp_path: Path) -> None:
    rollouts = [attempt(f"s{number}", step, 0.5) for number in range(3) for step in range(number + 3)]
    found = sample_heatmap(build_store(tmp_path, rollouts), max_samples=2, max_steps=2)
    assert sorted(set(found["sample_id"])) == ["s1", "s2"]  # the ones with the most rollouts
    assert (found["num_samples_all"].iloc[0], found["num_steps_all"].iloc[0]) == (3, 5)
    bins = found[["bin", "step_from", "step_to"]].drop_duplicates().sort_values(["bin", "step_to"])
    assert bins["bin"].tolist()[0] == 0
    assert found[found["sample_id"] == "s2"][["bin", "step_from", "step_to", "num_rollouts"]].values.tolist() == [
        [0, 0, 2, 3],
        [1, 3, 4, 2],
    ]


def test_heatmap_is_of_one_run_and_split(store: Reading, tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="one run; choose one of other, r"):
        sample_heatmap(store)
    mixed = build_store(tmp_path / "mixed", [attempt("s", 0, 1.0), attempt("s", 0, 1.0, split="train")])
    with pytest.raises(QuestionError, match="one split; choose one of train, valid"):
        sample_heatmap(mixed)
    assert len(sample_heatmap(mixed, Filters(splits=("train",)))) == 1
    with pytest.raises(QuestionError, match="measure must be"):
        sample_heatmap(store, measure="secret")
