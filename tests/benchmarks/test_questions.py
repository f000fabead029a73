"""Every page's questions on a big store against the very same SQL on native DuckDB tables, in one process, interleaved.

    python -m pytest -m bench tests/benchmarks/test_questions.py -s

OBSERVATORY_BENCH_STORE names a store that `big_store` has built (1 000 000 rollouts by default there); without it one
of 50 000 rollouts is built. CPU time is compared, so that neighbours on the machine do not count; wall time is printed.
"""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dashboard.rows import MAX_RUNS
from ingest.catalog import literal
from ingest.schema import TABLES
from queries import connection
from queries.connection import Reading, open_store
from queries.filters import EVERYTHING, Filters
from queries.questions import QUESTIONS
from tests.benchmarks import big_store
from tests.benchmarks.big_rows import Shape

RATIO = 2.0
SLACK_S = 0.06
"""Planning over the views costs 5 to 25 ms of CPU a question, whatever is read."""
PER_RUN_S = 0.003
"""A run is a file of each partitioned table; opening one (footer of 75 columns, readers) costs 1 to 1.5 ms of CPU, and
a question reads up to two tables."""
FEW_RUNS = 100
"""With more runs seconds are only reported: every question plans over the files of all of them."""
REPEATS = 3
ONE_RUN, OTHER_RUN = "run-0000", "run-0001"
FOUR = ("old_base", "old_tuned", "new_base", "new_tuned")
AFTER_A_CLICK = re.compile(
    r"(suspicious_)?rollouts?(_.+)?|trajectory_.+|sample_(attempts|facts)|rejects|ecdf|drift_curve|compare_pairing|annotations|"
    r"stragglers|cost_of_gain"
)
"""Questions no page asks before the reader picks something, or only where nothing pairs."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question as a page asks it."""

    question: str
    filters: Filters | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    def of(self, store: Reading) -> None:
        arguments = (store,) if self.filters is None else (store, self.filters)
        QUESTIONS[self.question](*arguments, **self.parameters)


def pages(chosen: Filters) -> dict[str, list[Asked]]:
    """What each page asks when it is opened with these filters in the sidebar, its widgets as they come."""
    valid = replace(chosen, splits=("valid",))
    one = chosen.only((chosen.run_ids or (ONE_RUN,))[0])
    # Of so many rollouts these pages open on one run.
    opened = one if chosen.run_ids is None else chosen
    opened_valid, opened_train = replace(opened, splits=("valid",)), replace(opened, splits=("train",))
    sides = {"baseline": f"{ONE_RUN}@0", "candidate": OTHER_RUN}
    runs = {"baseline": ONE_RUN, "candidate": OTHER_RUN}
    drifted = {"first": f"{ONE_RUN}@all", "first_split": "train", "second": f"{ONE_RUN}@all", "second_split": "valid"}
    several = (f"{ONE_RUN}@0", ONE_RUN, f"{OTHER_RUN}@0", OTHER_RUN)
    compared = ("compare", "compare_failures", "comparability", "compare_claims", "compare_samples", "compare_slices")
    compared += ("compare_quadrants", "compare_power", "compare_opposite")
    learned = ("learnability_summary", "dead_samples", "learnability", "signal_by_group_size", "attempt_curve")
    audited = ("grader_agreement", "grader_confusion", "grader_disagreements")
    # Of more runs than are drawn the page asks only for these.
    drawn = chosen.only(*(f"run-{run:04d}" for run in range(MAX_RUNS))) if chosen.run_ids is None else chosen
    curves = [
        *(Asked("reward_curve", each) for each in (chosen, replace(drawn, splits=("train",), subset="effective"))),
        *(Asked(name, drawn, {"split": "valid"}) for name in ("step_deltas", "best_step")),
        *(Asked(name, drawn) for name in ("reward_agreement", "checkpoints", "reported_metrics")),
        *(Asked(name, drawn) for name in ("behaviour_by_step", "stop_reasons_by_step")),
        Asked("reported_metrics", chosen, {"only_reward": True}),
        Asked("reward_curve", drawn, {"by_environment": True}),
        *(Asked("opposite_movements", drawn, {"apart": each}) for each in ("environment", "agent")),
    ]
    by_split = Asked("distribution_summary", chosen, {"measure": "reward", "by": "split"})
    above, held = {"threshold": 10.0}, "tool_calls<=10; p95(latency_s)<=60; messages<=100"
    kept = {"limits": held, "by": "step"}
    tail = [Asked(each, valid) for each in ("distribution_summary", "run_limits", "tail_percentiles", "survival")]
    repeats = [Asked("repeats_by_step", valid), Asked("run_overview", chosen)]
    repeats += [Asked(each, opened_valid) for each in ("repeats_by_tool", "repeat_patterns")]
    return {
        "every page": [Asked("run_names"), Asked("filter_choices"), Asked("filter_counts", chosen)],
        "Runs": [Asked("runs", chosen)],
        "Reward curves": curves,
        "Reward curves, unfolded": [Asked("scores_by_step", drawn)],
        "Training health": [
            *(Asked("runs", chosen), *(Asked(f"health_{each}", one) for each in ("series", "patterns", "names"))),
        ],
        "Training health, unfolded": [Asked("health_patterns", chosen), Asked("health_turns", one)],
        "Distributions": [by_split, *(Asked(e, valid) for e in ("distribution_summary", "distribution", "tool_usage"))],
        "Long tail": [by_split, *tail, *(Asked(each, valid, above) for each in ("tail_share", "tail_rollouts"))],
        "Tail contracts": [
            *(by_split, Asked("arms"), Asked("compare_failures", None, sides), Asked("contract_limits", chosen)),
            *(Asked(each, opened_valid, kept) for each in ("contract_shares", "contract_penalties")),
            *(Asked("tail_rollouts", one, above), Asked("contract_moves", None, sides | {"limits": held})),
            Asked("contract_moved_samples", None, sides | {"limits": "tool_calls<=10"}),
        ],
        "Tail contracts, unfolded": [Asked("contract_costs", opened_valid, kept)],
        "Tool behaviour": [
            *(by_split, Asked("run_overview", chosen), Asked("tool_profile", opened_valid)),
            *(Asked("opposite_movements", opened_valid, {"apart": each}) for each in ("environment", "agent")),
        ],
        **{
            f"Tool behaviour, {view}": [Asked(each, opened_valid) for each in asked]
            for view, asked in {
                "first call": ("first_calls",),
                "failures": ("after_errors", "unknown_tools", "tool_errors"),
                "outputs": ("tool_outputs",),
                "unstable answers": ("unstable_tools", "unstable_calls"),
                "destructive calls": ("destructive_rates", "destructive_calls"),
            }.items()
        },
        "Tool behaviour, order of calls": [
            Asked("sequence_rule", opened_valid, {"rule": "run_tests before answer"}),
        ],
        "Tool behaviour, mix of tools": [
            *(Asked("tool_mix", opened_valid), *(Asked(e, None, sides) for e in ("tool_mix_shift", "tool_mix_moves"))),
        ],
        "Repeated calls": [by_split, *repeats],
        "Repeated calls, unfolded": [
            *(Asked("loops", valid), Asked("tool_transitions", replace(one, splits=("valid",)))),
        ],
        "Baseline vs fine-tuned": [Asked("arms"), *(Asked(each, None, sides) for each in compared)],
        "Run diff": [
            *(Asked(each, None, runs) for each in ("run_diff", "prompt_differences")),
            Asked("varying_settings", None, {"runs": (ONE_RUN, OTHER_RUN)}),
        ],
        "Several arms": [
            *(Asked("arms"), Asked("runs", chosen), Asked("arm_facts", None, {"arms": several})),
            Asked("compare_several", None, {"baseline": several[0], "candidates": several[1:]}),
            Asked("base_model_change", None, dict(zip(FOUR, several, strict=True))),
            *(Asked("run_settings", chosen), Asked("setting_effect", chosen, {"setting": "train_samples"})),
            Asked("frontier", None, {"arms": several}),
        ],
        "Checkpoints": [
            *(Asked(each, one) for each in ("checkpoint_choice", "checkpoint_figures", "step_deltas")),
            Asked("reward_curve", replace(one, splits=("train",))),
        ],
        "Learnability": [
            *(Asked(each, None, {"arm": f"{ONE_RUN}@0"}) for each in learned),
            *(Asked("arms"), Asked("trainer_sizes", one), Asked("signal_by_step", chosen)),
        ],
        "Drift": [
            *(Asked("arms"), Asked("drift_pairs"), Asked("production_drift", None, {"arm": f"{ONE_RUN}@0"})),
            *(Asked(each, None, drifted) for each in ("drift_selections", "drift", "drift_overlap", "drift_slices")),
            Asked("drift_categories", None, drifted),
        ],
        "Time and money": [
            *(by_split, Asked("run_overview", chosen)),
            *(Asked(each, opened_train, {"by": "step"}) for each in ("costs", "time_shares")),
            *(Asked(each, opened_train) for each in ("time_shares", "step_waits", "prices", "cost_effect")),
            Asked("when_to_stop", one),
        ],
        "Failures": [
            *(
                Asked("failure_rulebook"),
                Asked("run_overview", chosen),
                *(Asked(e, opened) for e in ("failure_causes", "failure_coverage", "failure_bursts")),
                Asked("failed_rollouts", opened),
            ),
        ],
        "Failures, causes by step": [Asked("failure_causes", opened, {"by": "step"})],
        "Failures, reward": [Asked("failure_bounds", opened)],
        "Failures, when and where": [Asked(e, opened) for e in ("failure_timeline", "failure_places")],
        "Failures, load": [Asked("failures_in_flight", opened)],
        "Attrition": [
            *(Asked("run_overview", chosen), Asked("attrition_losses", opened), Asked("failure_rulebook")),
            *(Asked(e, one) for e in ("attrition_losses", "attrition", "attrition_speed", "attrition_rollouts")),
        ],
        "Reward integrity": [
            *(Asked("integrity_rules"), Asked("run_overview", chosen), Asked("run_names")),
            *(Asked(each, one) for each in ("integrity_verdicts", "integrity_findings", "second_grader")),
            *(Asked(each, one) for each in ("reward_jumps", "reward_jump_looks")),
        ],
        "Grader audit": [
            *(Asked("graders", each) for each in (chosen, one)),
            *(Asked(each, one, {"first": "answer", "second": "format"}) for each in audited),
            *(Asked(each, one) for each in ("grader_version_changes", "regrades", "grader_versions", "zero_but_right")),
            *(Asked(each, one) for each in ("rule_precision", "reviewers")),
        ],
        "Reward parts": [
            *(Asked(each, one) for each in ("reward_parts", "reward_waterfall", "reward_gates")),
            Asked("reward_whatif", one, {"weights": ("answer=1", "format=0")}),
        ],
        "Samples": [
            *(Asked("samples", chosen, {"limit": 50}), Asked("run_overview", chosen)),
            Asked("sample_heatmap", replace(one, splits=("valid",))),
        ],
        "Ingest health": [Asked(each, chosen) for each in ("ingest_health", "coverage", "reject_reasons")],
        "Export and share": [Asked("table_sizes", chosen)],
    }


SCOPES = {"all runs": EVERYTHING, "two runs": Filters(run_ids=(ONE_RUN, OTHER_RUN))}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("OBSERVATORY_BENCH_STORE")
    return Path(given) if given else big_store.build(tmp_path_factory.mktemp("big"), Shape(50_000, 10))


@pytest.fixture(scope="module")
def native(root: Path) -> Iterator[Reading]:
    """The native tables, with the views and settings questions get on a store."""
    with duckdb.connect() as opened:
        opened.execute(f"ATTACH {literal(str(root / big_store.NATIVE))} AS store (READ_ONLY)")
        for each in TABLES:
            opened.execute(f"CREATE VIEW {each.name} AS FROM store.{each.name}")
        opened.execute("CREATE TABLE snapshot_files (file VARCHAR, columns VARCHAR)")
        connection._share_and_lock(opened, root)
        yield Reading(root, 0, datetime.now(UTC), opened)


@pytest.fixture(scope="module")
def store(root: Path) -> Reading:
    return open_store(root)


def best(asked: Asked, stores: tuple[Reading, ...]) -> list[tuple[float, float]]:
    """Least wall and CPU seconds of the question on each store, asked in turns after one warming up."""
    found = [(float("inf"), float("inf"))] * len(stores)
    for turn in range(REPEATS + 1):
        for place, each in enumerate(stores):
            wall, cpu = time.perf_counter(), time.process_time()
            asked.of(each)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            if turn:
                found[place] = min(found[place][0], wall), min(found[place][1], cpu)
    return found


@pytest.mark.bench
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("page", pages(EVERYTHING))
def test_store_keeps_up_with_native_tables(page: str, scope: str, store: Reading, native: Reading) -> None:
    num_runs = store.connection.sql("SELECT count(*) FROM runs").fetchall()[0][0]
    runs = num_runs if scope == "all runs" else 2
    lines, total, total_native = [], [0.0, 0.0], 0.0
    for asked in pages(SCOPES[scope])[page]:
        (wall, cpu), (_, native_cpu) = best(asked, (store, native))
        total = [total[0] + wall, total[1] + cpu]
        total_native += native_cpu
        lines.append(f"{asked.question:22} {wall * 1e3:6.0f} ms  CPU {cpu * 1e3:6.0f} native {native_cpu * 1e3:6.0f}")
    sums = f"{page}, {scope}: {total[0]:.2f} s, CPU {total[1]:.2f} s, native {total_native:.2f} s"
    print(f"\n{sums}", *lines, sep="\n  ")  # noqa: T201 - figures are what a benchmark is for
    assert num_runs > FEW_RUNS or total[1] <= RATIO * total_native + SLACK_S + PER_RUN_S * runs, sums


def test_questions_of_pages_are_those_the_dashboard_asks() -> None:
    code = "\n".join(each.read_text() for each in (Path(__file__).parents[2] / "dashboard").rglob("*.py"))
    asked = set(re.findall(r'data\.ask\(\s*"(\w+)"', code))
    listed = {each.question for questions in pages(EVERYTHING).values() for each in questions}
    assert {each for each in asked if not AFTER_A_CLICK.fullmatch(each)} <= listed
    assert listed <= set(QUESTIONS)


def test_a_big_store_is_whole_however_small(tmp_path: Path) -> None:
    root = big_store.build(tmp_path, Shape(600, 3, samples=20))
    answer = open_store(root)
    num = answer.connection.sql("SELECT count(*), count(DISTINCT rollout_id) FROM rollouts").fetchall()[0]
    assert num == (600, 600)
    calls, counted = answer.connection.sql(
        "SELECT (SELECT count(*) FROM tool_calls WHERE requestor <> 'user' AND status <> 'orphan'), "
        "(SELECT sum(num_tool_calls) FROM rollouts)"
    ).fetchall()[0]
    assert calls == counted
    with duckdb.connect(str(root / big_store.NATIVE), read_only=True) as native:
        for each in TABLES:
            sql = f"SELECT count(*) FROM {each.name}"
            assert native.sql(sql).fetchall() == answer.connection.sql(sql).fetchall()
