"""Training health by measure: names that trainers report, what is computed instead, and turns after tool results."""

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Row
from queries import connection
from queries.connection import Reading
from queries.filters import Filters
from queries.health import health_names, health_series, health_turns
from queries.health_rules import BOUNDS, health_rules
from tests.stores import build_store, call, rollout

HERE = Path(connection.__file__).parent


def metric(name: str, value: float | None, step: int | None = 0, split: str | None = None, **values: Any) -> Row:
    return Row(
        "metrics", {"name": name, "value": value, "step": step, "split": split, "position": 0, **values}, run="r"
    )


def line(frame: pd.DataFrame, measure: str, split: str = "train") -> list[float]:
    rows = frame[(frame["measure"] == measure) & (frame["split"] == split)]
    return rows["value"].tolist()


REAL = {
    "OpenAI": {"train_mean_reward": "reward", "full_valid_mean_reward": "reward valid", "total_loss_sum": "loss"},
    "prime-rl": {
        "reward/all/mean": "reward",
        "train/agg/all/reward/mean": "reward",
        "eval/all/reward/mean": "reward valid",
        "entropy/all/mean": "entropy",
        "mismatch_kl/all/mean": "mismatch",
        "optim/grad_norm": "grad_norm",
        "off_policy_level/all/mean": "off_policy_age",
        "train/agg/all/is_truncated/mean": "truncation",
        "train/agg/all/num_output_tokens/mean": "response_length",
        "batch/effective_batch_size": "zero_variance_groups",
        "time/wait_for_batch": "waiting_time",
    },
    "TRL": {
        "reward": "reward",
        "eval_reward": "reward valid",
        "train/completions/mean_length": "response_length",
        "completions/clipped_ratio": "truncation",
        "frac_reward_zero_std": "zero_variance_groups",
        "clip_ratio/region_mean": "clip_fraction",
        "sampling/sampling_logp_difference/mean": "mismatch",
        "tools/failure_frequency": "tool_errors",
        "step_time": "step_time",
    },
    "verl": {
        "critic/score/mean": "reward",
        "val-core/gsm8k/reward/mean@4": "reward valid",
        "actor/entropy": "entropy",
        "actor/pg_clipfrac": "clip_fraction",
        "actor/ppo_kl": "kl",
        "training/rollout_probs_diff_mean": "mismatch",
        "response_length/clip_ratio": "truncation",
    },
    "ART": {"train/reward": "reward", "val/reward": "reward valid", "loss/grad_norm": "grad_norm"},
    "Tinker": {
        "env/all/reward/total": "reward",
        "test/env/all/reward/total": "reward valid",
        "optim/kl_sample_train_v2": "mismatch",
        "env/all/by_group/frac_mixed": "zero_variance_groups",
        "off_policy/lag_batches": "off_policy_age",
    },
    "NeMo-RL": {"train/gen_kl_error": "mismatch", "train/approx_entropy": "entropy", "train/lr": "learning_rate"},
    "SkyRL": {"policy/policy_entropy": "entropy", "policy/raw_grad_norm": "grad_norm", "timing/step": "step_time"},
    "rLLM": {"async/staleness_mean": "off_policy_age", "batch/solve_partial": "zero_variance_groups"},
    "AReaL": {"ppo_actor/update/entropy/avg": "entropy", "ppo_actor/update/grad_norm": "grad_norm"},
}  # fmt: skip


@pytest.mark.parametrize("trainer", REAL)
def test_names_of_real_trainers_are_known(trainer: str, tmp_path: Path) -> None:
    rules = health_rules(tmp_path)
    for name, expected in REAL[trainer].items():
        found = rules.match(name, None)
        assert found is not None, name
        assert " ".join([found.measure, *([found.split] if found.split != "train" else [])]) == expected, name


def test_the_metric_logs_of_real_runs_are_read_by_name(tmp_path: Path, real_data: Path) -> None:
    rules = health_rules(tmp_path)
    files = sorted((real_data / "tinker_metrics").glob("*.jsonl"))
    names = {name for file in files for name in pd.read_json(file, lines=True).columns}
    known = {name: rules.match(name, None) for name in names}
    told = {name: each.measure for name, each in known.items() if each is not None}
    assert told["reward/mean"] == "reward"
    assert told["time/total"] == "step_time"


def test_every_name_of_a_reward_is_known_here_too(tmp_path: Path) -> None:
    rules = health_rules(tmp_path)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE metrics (run_id VARCHAR, split VARCHAR, name VARCHAR, value DOUBLE)")
        connection.execute("CREATE TABLE runs (run_id VARCHAR, reward_name VARCHAR)")
        connection.execute((HERE / "views" / "reward_metrics.sql").read_text())
        known = connection.sql("SELECT split, pattern, priority FROM known_reward_metrics").fetchall()
    for split, pattern, priority in known:
        found = rules.match(pattern.replace("*", "x"), split if priority >= 20 else None)
        assert found is not None, pattern
        assert (found.measure, found.split) == ("reward", split), pattern


def test_the_first_name_of_the_list_fills_a_measure_and_the_rest_is_told(tmp_path: Path) -> None:
    rows = [
        metric("actor/entropy", 0.5, 0),
        metric("entropy", 0.9, 0),
        metric("entropy", 0.8, 1),
        metric("eval/entropy", 0.7, 1),
        metric("loss/kl_div", 0.1, None),
        metric("perf/mfu", 0.4, 0),
        metric("train/grad_norm", 2.0, 0, labels='{"layer": 1}'),
    ]
    store = build_store(tmp_path, rows=rows)
    frame = health_series(store)
    assert line(frame, "entropy") == [0.9, 0.8]
    assert line(frame, "entropy", "valid") == [0.7]
    assert set(frame["source"]) == {"reported"}
    assert frame["num"].isna().all()
    names = health_names(store).set_index("name")
    assert names["use"].to_dict() == {
        "entropy": "used",
        "actor/entropy": "other name used",
        "eval/entropy": "used",
        "loss/kl_div": "no step",
        "train/grad_norm": "labelled",
        "perf/mfu": "not recognised",
    }
    assert names.loc["actor/entropy", "trainer"] == "verl-and-rLLM"
    assert names.loc["entropy", ["num_values", "first_step", "last_step"]].tolist() == [2, 0, 1]


def test_values_are_converted_and_impossible_shares_left_out(tmp_path: Path) -> None:
    rows = [metric("env/all/by_group/frac_mixed", each, step) for step, each in enumerate((0.75, 1.0, 5.0, None))]
    frame = health_series(build_store(tmp_path, rows=rows))
    assert frame["value"].iloc[:2].tolist() == [0.25, 0.0]
    assert frame["value"].isna().tolist() == [False, False, True, True]  # −4 is no share; and null stays null


def test_what_no_trainer_reports_is_computed_from_rollouts(tmp_path: Path) -> None:
    rows = [
        rollout(sample_id="a", group_id="g", step=3, split="train", reward=1.0, output_tokens=100, status="completed",
                policy_version_start=1, latency_s=4.0, queue_latency_s=1.0, messages=[], tool_calls=[call("t")]),
        rollout(sample_id="a", group_id="g", step=3, split="train", reward=0.0, output_tokens=300, status="truncated",
                policy_version_start=2, messages=[], tool_calls=[call("t", status="error", is_error_flagged=True)]),
        rollout(sample_id="b", group_id="h", step=3, split="train", reward=0.5, status="infra_error"),
        rollout(sample_id="b", group_id="h", step=3, split="train", reward=0.5, status=None),
        rollout(sample_id="c", step=None, split="train", reward=9.0),
    ]  # fmt: skip
    frame = health_series(build_store(tmp_path, rows)).set_index("measure")
    assert set(frame["source"]) == {"computed"}
    expected = {
        "reward": (0.5, 2, "samples"),
        "response_length": (200.0, 2, "rollouts"),
        "truncation": (1 / 3, 3, "rollouts"),
        "errors": (1 / 3, 3, "rollouts"),
        "tool_errors": (0.5, 2, "calls"),
        "zero_variance_groups": (0.5, 2, "groups"),
        "off_policy_age": (1.5, 2, "rollouts"),
        "latency": (4.0, 1, "rollouts"),
        "waiting_time": (1.0, 1, "rollouts"),
    }
    assert set(frame.index) == set(expected)
    for measure, (value, num, over) in expected.items():
        row = frame.loc[measure]
        assert (row["value"], row["num"], row["over"], row["step"]) == (pytest.approx(value), num, over, 3)


def test_reported_comes_before_computed_for_the_split_it_is_of(tmp_path: Path) -> None:
    rows = [rollout(sample_id="a", step=0, split=split, reward=0.25) for split in ("train", "valid")]
    store = build_store(tmp_path, rows, [metric("train_reward", 0.75)])
    best = health_series(store)
    assert best[best["measure"] == "reward"][["split", "value", "source"]].values.tolist() == [
        ["train", 0.75, "reported"],
        ["valid", 0.25, "computed"],
    ]
    assert line(health_series(store, source="computed"), "reward") == [0.25]
    assert line(health_series(store, source="reported"), "reward", "valid") == []
    assert line(health_series(store, Filters(splits=("valid",))), "reward") == []
    with pytest.raises(QuestionError, match="source must be one of best, reported, computed, not 'x'"):
        health_series(store, source="x")


def told(role: str, **values: Any) -> dict[str, Any]:
    return {"role": role, **values}


def turns(tmp_path: Path) -> Reading:
    messages = [
        told("user"),
        told("assistant", mismatch_mean=-0.1, entropy_mean=1.0),
        told("tool"),
        told("assistant", mismatch_mean=0.2, mismatch_abs_mean=0.4, mismatch_p95=0.9, entropy_mean=2.0),
        told("assistant"),
    ]
    return build_store(tmp_path, [rollout(sample_id="a", step=1, split="train", messages=messages)])


def test_turns_after_tool_results_are_told_from_others(tmp_path: Path) -> None:
    frame = health_turns(turns(tmp_path))
    assert frame["is_after_tool"].tolist() == [False, True]
    assert frame["mismatch_mean"].tolist() == [0.1, 0.4]  # where only the signed mean was kept, its size
    assert frame["mismatch_p95"].isna().tolist() == [True, False]
    assert frame["entropy_mean"].tolist() == [1.0, 2.0]
    assert frame["num_turns"].tolist() == [1, 1]


def test_token_figures_become_measures(tmp_path: Path) -> None:
    frame = health_series(turns(tmp_path))
    assert line(frame, "mismatch") == [pytest.approx(0.25)]
    assert line(frame, "mismatch_after_tool") == [0.4]
    assert line(frame, "mismatch_elsewhere") == [0.1]
    assert line(frame, "entropy") == [1.5]
    assert frame.set_index("measure").loc["entropy", ["num", "over"]].tolist() == [2, "turns"]


def test_empty_in_empty_out(tmp_path: Path) -> None:
    store = build_store(tmp_path, [rollout(sample_id="a", reward=float("nan"))])
    for asked in (health_series, health_names, health_turns):
        assert asked(store).empty
    full = health_series(turns(tmp_path / "full"))
    assert health_series(store).columns.tolist() == full.columns.tolist()


def own(tmp_path: Path, change: tuple[str, str]) -> str:
    text = (HERE / "rules" / "health.toml").read_text()
    assert change[0] in text
    (tmp_path / "health.toml").write_text(text.replace(*change, 1))
    with pytest.raises(QuestionError) as caught:
        health_rules(tmp_path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("unit = \"nats\"", 'unit = "bits"'), "unit of measures.entropy must be one of share, nats"),
        (('better = "up"', "better = 3"), "better of measures.reward must be one of up, down, either, not 3"),
        (("ratio = 0.35", 'ratio = "low"'), "ratio of patterns.entropy_collapse must be a number from 0, not 'low'"),
        (("ratio = 0.35", "speed = 1"), "patterns.entropy_collapse have no 'speed'"),
        (('measure = "entropy"', 'measure = "mood"'), "measure of patterns.entropy_collapse must be one of reward"),
        (('kind = "drop"\nshare = 0.5', 'kind = "drop"'), "patterns.reward_collapse needs share"),
        (('kind = "falls"\nratio = 0.35', 'kind = "falls"'), "needs one of ratio, by and beyond"),
        (("share = 0.2 ", "share = 0.7 "), "share of windows must lie between 0 and 0.5"),
        (("min_steps = 10", "min_steps = 2"), "windows need 1 <= at_least <= at_most"),
        (('SkyRL = ["reward/avg_raw_reward"', "SkyRL = [1, \"x\""), "the names of SkyRL must be a list of texts"),
        (('train = ["train/agg/"', 'training = ["x"'), "prefixes have no 'training'"),
        (("[windows]", "[window]"), "there must be a table 'windows'"),
    ],
)  # fmt: skip
def test_a_fault_in_the_rules_names_file_and_line(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    message = own(tmp_path, change)
    assert f"{tmp_path / 'health.toml'}, line " in message
    assert said in message


def test_own_rules_replace_the_default(tmp_path: Path) -> None:
    store = build_store(tmp_path, rows=[metric("my/uncertainty", 0.5)])
    text = (HERE / "rules" / "health.toml").read_text()
    changed = text.replace('neutral = ["entropy", "policy/entropy"]', 'ours = ["2 * my/*tainty"]')
    (tmp_path / "health.toml").write_text(changed)
    assert line(health_series(store), "entropy") == [1.0]
    assert health_names(store)[["use", "trainer", "rule"]].values.tolist() == [["used", "ours", "2 * my/*tainty"]]


def test_every_kind_is_described_in_the_rules(tmp_path: Path) -> None:
    text = (HERE / "rules" / "health.toml").read_text()
    assert all(f"#   {kind} " in text for kind in BOUNDS)
    assert {each.kind for each in health_rules(tmp_path).patterns.values()} == set(BOUNDS)
