import pandas as pd

from dashboard import health_words

HEALTH = pd.DataFrame(
    {
        "run_id": ["a", "a", "b"],
        "source_id": ["s1", "s2", "s2"],
        "num_rollouts": [10, 0, 5],
        "num_rejects": [0, 3, 1],
        "num_bytes": [1_000, 500, 500],
        "notes": ['["odd", "rare"]', '["odd"]', "no list"],
        "num_rows": ['{"rollouts": 10}', '{"rejects": 3}', '{"rejects": 1, "rollouts": 5}'],
    }
)
COVERAGE = pd.DataFrame(
    {
        "run_id": ["a", "b"],
        "num_rollouts": [10, 5],
        **{column: [5, 0] for column in health_words.COVERED.values()},
    }
).assign(num_cost=0, num_step=0)


def test_the_verdict_counts_sources_and_bad_records() -> None:
    assert health_words.verdict(HEALTH, 15) == (
        "2 sources read: 15 rollouts in 2 runs. 4 records of 2 sources could not be read."
    )
    assert health_words.verdict(HEALTH.assign(num_rejects=0), 15).endswith("and not one bad record.")


def test_figures_count_a_source_of_two_runs_once() -> None:
    told = {each.label: each.value for each in health_words.figures(HEALTH, 15)}
    assert told == {"Sources": "2", "Rollouts": "15", "Bad records": "4", "Warnings": "3", "Read": "1.5 kB"}


def test_cautions() -> None:
    assert health_words.caution(HEALTH, COVERAGE) == (
        "1 source brought bad records and no rollout. No rollout says its step: pages that need it stay empty."
    )
    assert health_words.caution(HEALTH.assign(num_rejects=0), COVERAGE.assign(num_step=1)) == ""


def test_remarks_by_how_many_sources_made_them() -> None:
    found = health_words.notes(HEALTH, {"a": "Run A"})
    assert found.values.tolist() == [["odd", 2, "Run A"], ["rare", 1, "Run A"]]
    assert health_words.notes(HEALTH.assign(notes="[]"), {}).empty


def test_shares_by_run_and_what_is_absent() -> None:
    found = health_words.filled(COVERAGE, {"a": "Run A"})
    assert found["run"].tolist() == ["Run A", "b"]
    assert found["tool calls"].tolist() == [0.5, 0.0]
    assert found["cost"].tolist() == [0.0, 0.0]
    assert found["metrics, rows"].tolist() == [5, 0]
    assert health_words.absent(COVERAGE) == ["step", "cost"]


def test_what_is_missing_names_who_brings_it() -> None:
    assert health_words.absence("cost", ["TRL", "verl"]) == "cost: brought by TRL, verl"
    assert health_words.absence("cost", []) == "cost: no known format brings it"


def test_lines_that_make_up_rollouts_together_are_told_and_are_not_barren() -> None:
    sizes = pd.DataFrame({"table_name": ["runs", "rollouts"], "num_rows": [1, 7]})
    assert health_words.num_rollouts(sizes) == 7
    assert health_words.num_rollouts(sizes[:1]) == 0
    assert health_words.sources(HEALTH) is HEALTH
    pieces = HEALTH.assign(num_rows=['{"parts": 40}', '{"parts": 3, "rejects": 3}', "{}"])
    shown = health_words.sources(pieces)
    assert shown.columns.tolist()[2:4] == ["num_rollouts", health_words.JOINED]
    assert shown[health_words.JOINED].tolist() == [40, 3, 0]
    assert health_words.caution(pieces, COVERAGE.assign(num_step=1)) == ""
