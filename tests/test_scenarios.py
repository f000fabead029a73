"""The published case studies: what their generators plant is what ingest and questions find, within sampling error.

Tolerances are `K` standard errors, computed from the numbers of samples (or of independent rollouts) behind each
figure; where a fact is the absence of something (a tail that vanished), none may be found.
"""

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import orjson
import pandas as pd
import pytest
import zstandard

from dashboard.sample import case_studies
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.attempts import best_of_k_by_sample
from queries.behaviour import behaviour_by_step
from queries.compare import compare
from queries.compare_checks import compare_failures, compare_pairing
from queries.compared_samples import compare_quadrants, compare_samples
from queries.connection import Reading, open_store
from queries.contracts import contract_shares
from queries.curves import reward_curve, scores_by_step
from queries.distributions import rollouts_between
from queries.filters import Filters
from queries.gains import when_to_stop
from queries.graders import grader_agreement
from queries.ingests import reject_reasons
from queries.jumps import reward_jumps
from queries.long_tail import tail_share
from queries.regrades import grader_version_changes
from queries.rollouts import rollouts
from queries.runs import runs
from queries.setting_effects import setting_effect
from queries.several_arms import compare_several
from queries.stats import Estimate, sample_mean
from queries.trajectory import trajectory_messages, trajectory_scores, trajectory_tool_calls
from sample_data.scenarios import (
    DATA,
    SCENARIOS,
    enterprise_coding,
    file_selection,
    financial_research,
    gpu_kernels,
    medical_coding,
    repository_research,
    seeded,
    slides,
    underwriting,
)

pytestmark = pytest.mark.xdist_group("scenarios")
K = 3
"""Standard errors that a figure may be off what was planted: 1 of 370 is, of figures that are right."""


def data_file(name: str) -> Path:
    return DATA / f"{name}.jsonl.zst"


@cache
def text(name: str) -> bytes:
    with data_file(name).open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


@cache
def raw(name: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in text(name).splitlines()]


def raw_rollouts(name: str, run: str) -> list[dict[str, Any]]:
    return [line for line in raw(name) if line["run"] == run and "messages" in line]


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    root = tmp_path_factory.mktemp("scenarios")
    report = ingest(Store(root), Request([DATA]))
    assert (report.rejects, report.failed, report.notes) == (0, [], [])
    return open_store(root)


def planted(module: ModuleType) -> dict[str, Any]:
    return dict(module.PLANTED)


def close(found: Estimate, fact: float) -> None:
    """The estimate lies within K of its own standard errors of the fact."""
    assert found.value is not None
    assert found.standard_error is not None
    assert abs(found.value - fact) <= K * found.standard_error, (found, fact)


def close_share(share: float, fact: float, num: float) -> None:
    """A share of so many independent ones lies within K binomial standard errors of the fact."""
    assert abs(share - fact) <= K * math.sqrt(fact * (1 - fact) / num), (share, fact, num)


@cache
def paired(store: Reading, baseline: str, candidate: str) -> pd.DataFrame:
    return compare_samples(store, baseline=baseline, candidate=candidate)


@cache
def compared(store: Reading, baseline: str, candidate: str) -> pd.DataFrame:
    return compare(store, baseline=baseline, candidate=candidate).set_index("measure")


def mean_of(store: Reading, arm: str, measure: str) -> Estimate:
    """Mean over samples of a measure of one arm."""
    return sample_mean(paired(store, arm, arm)[f"{measure}_baseline_mean"])


def row_of(store: Reading, baseline: str, candidate: str, measure: str) -> dict[str, Any]:
    """What `compare` says of a measure."""
    return dict(compared(store, baseline, candidate).loc[measure])


def difference(store: Reading, baseline: str, candidate: str, measure: str) -> Estimate:
    """Mean paired difference of a measure."""
    return sample_mean(paired(store, baseline, candidate)[f"{measure}_delta"])


def close_ratio(row: dict[str, Any], fact: float) -> None:
    """The ratio of means lies within K standard errors, on the logarithm, of the fact."""
    error = (math.log(row["ratio_ci_high"]) - math.log(row["ratio_ci_low"])) / (2 * 1.96)
    assert abs(math.log(row["ratio"] / fact)) <= K * error, (row["ratio"], fact, error)


def tail_of(store: Reading, run: str, measure: str, threshold: float) -> tuple[float, float]:
    """Share above a threshold, and how many independent rollouts it is worth."""
    frame = tail_share(store, Filters(run_ids=(run,)), measure=measure, threshold=threshold)
    return float(frame["share"].iloc[0]), float(frame["num_effective"].iloc[0])


def score_of(store: Reading, run: str, grader: str) -> Estimate:
    """Mean over samples of one grader's scores of a run."""
    frame = scores_by_step(store, Filters(run_ids=(run,)))
    row = frame[frame["grader"] == grader].iloc[0]
    num = int(row["num_samples_scored"])
    estimate = sample_mean([row["score_mean"]])
    return Estimate(float(row["score_mean"]), estimate.interval, num, 0, float(row["score_sd"]) / math.sqrt(num))


def curve_of(store: Reading, run: str) -> dict[int, Estimate]:
    """Validation reward by step."""
    frame = reward_curve(store, Filters(run_ids=(run,), splits=("valid",)))
    none = sample_mean([]).interval
    return {
        int(row["step"]): Estimate(
            float(row["reward_mean"]),
            none,
            int(row["num_samples_scored"]),
            0,
            float(row["reward_sd"]) / math.sqrt(row["num_samples_scored"]),
        )
        for _, row in frame.iterrows()
    }


# ---------------------------------------------------------------------------------------------- the files themselves


@pytest.mark.parametrize("module", SCENARIOS, ids=lambda each: each.NAME)
def test_the_script_writes_the_same_bytes_again(module: ModuleType) -> None:
    digest = hashlib.sha256()
    for line in module.lines(seeded(module.NAME)):
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    assert digest.hexdigest() == hashlib.sha256(text(module.NAME)).hexdigest()


def test_they_are_small_and_every_run_is_marked_synthetic() -> None:
    sizes = [data_file(module.NAME).stat().st_size for module in SCENARIOS]
    assert max(sizes) <= 300_000
    assert sum(sizes) <= 2_000_000
    for module in SCENARIOS:
        described = [line for line in raw(module.NAME) if line.get("type") == "run"]
        assert {line["run"] for line in described} == {line["run"] for line in raw(module.NAME)}
        assert all(line["provider"] == "synthetic" for line in described)
        assert all(line["tags"] == ["synthetic", "case study"] for line in described)


def test_the_index_lists_them_as_they_are() -> None:
    listed = case_studies()
    assert [each.name for each in listed] == [module.NAME for module in SCENARIOS]
    for each, module in zip(listed, SCENARIOS, strict=True):
        assert (each.title, each.summary) == (module.TITLE, module.SUMMARY)
        assert each.runs == tuple(line["run"] for line in raw(each.name) if line.get("type") == "run")
        assert each.path == data_file(each.name)


def test_everything_is_read(store: Reading) -> None:
    found = runs(store)
    assert set(found["run_id"]) == {run for each in case_studies() for run in each.runs}
    assert reject_reasons(store).empty
    expected = sum("messages" in line for module in SCENARIOS for line in raw(module.NAME))
    assert found["num_rollouts"].sum() == expected


# ------------------------------------------------------------------------------------------------------ the scenarios


def test_file_selection_pays_for_examples_and_plans_in_fewer_rounds(store: Reading) -> None:
    fact, name = planted(file_selection), file_selection.NAME
    arms = {"baseline": f"{name}-baseline", "100": f"{name}-100-tuned", "1000": f"{name}-1000-tuned"}
    for arm, run in arms.items():
        close(mean_of(store, run, "reward"), fact[f"f1_{arm}"])
        close(mean_of(store, run, "sequential_rounds"), fact[f"rounds_{arm}"])
    for arm in ("baseline", "1000"):
        close(mean_of(store, arms[arm], "tool_calls"), fact[f"calls_{arm}"])
    gain = difference(store, arms["baseline"], arms["1000"], "reward")
    close(gain, fact["f1_1000"] - fact["f1_baseline"])
    assert gain.interval.low is not None
    assert gain.interval.low > 0
    settings = {line["run"]: line["hyperparameters"] for line in raw(name) if line.get("kind") == "training"}
    assert [settings[f"{name}-{each}"]["num_examples"] for each in fact["examples"]] == list(fact["examples"])
    tuned = tuple(f"{name}-{each}-tuned" for each in fact["examples"])
    along = setting_effect(store, Filters(run_ids=(arms["baseline"], *tuned)), setting="hyperparameters.num_examples")
    assert along["number"].tolist() == [0, *fact["examples"]]
    assert along["verdict"].iloc[-1] == "higher"
    for each in fact["examples"]:
        curve = curve_of(store, f"{name}-{each}")
        close(curve[0], fact["f1_baseline"])
        close(curve[max(curve)], fact[f"f1_{each}"])


def test_file_selection_is_graded_by_the_f1_of_what_was_answered() -> None:
    name = file_selection.NAME
    reference = {line["sample_id"]: set(line["reference"]) for line in raw(name) if line.get("type") == "sample"}
    for line in raw_rollouts(name, f"{name}-baseline"):
        given, wanted = set(line["messages"][-1]["content"].splitlines()), reference[line["sample_id"]]
        f1 = 2 * len(given & wanted) / (len(given) + len(wanted))
        assert line["reward"] == pytest.approx(f1, abs=1e-4)


def test_rounds_of_the_untrained_planner_are_eight_to_ten(store: Reading) -> None:
    name = file_selection.NAME
    frame = rollouts(store, Filters(run_ids=(f"{name}-baseline",)))
    rounds = frame["num_turns"] - 1
    share = float(rounds.between(8, 10).mean())
    close_share(share, planted(file_selection)["share_of_8_to_10_rounds_baseline"], len(frame))


def test_repository_research_loses_its_tail(store: Reading) -> None:
    fact, base, tuned = planted(repository_research), *(f"repository_research-{arm}" for arm in ("baseline", "tuned"))
    close(mean_of(store, base, "reward"), fact["recall_baseline"])
    close(mean_of(store, tuned, "reward"), fact["recall_tuned"])
    assert row_of(store, base, tuned, "reward")["ci_low"] > 0
    share, num = tail_of(store, base, "tool_calls", fact["tail_threshold"])
    close_share(share, fact["share_over_15_calls_baseline"], num)
    assert tail_of(store, tuned, "tool_calls", fact["tail_threshold"])[0] == 0
    within = rollouts_between(store, Filters(run_ids=(tuned,)), at_least=2, below=5)["num_total"].iloc[0]
    num_rollouts = len(rollouts(store, Filters(run_ids=(tuned,))))
    close_share(within / num_rollouts, fact["share_of_2_to_4_calls_tuned"], num_rollouts)
    close(difference(store, base, tuned, "turns"), fact["turns_tuned"] - fact["turns_baseline"])
    assert 0.10 <= 1 - fact["turns_tuned"] / fact["turns_baseline"] <= 0.15
    close_ratio(row_of(store, base, tuned, "output_tokens"), fact["output_tokens_ratio"])


def test_enterprise_coding_has_a_gate_and_loses_its_long_trajectories(store: Reading) -> None:
    fact, name = planted(enterprise_coding), enterprise_coding.NAME
    for arm in ("baseline", "tuned"):
        run = f"{name}-{arm}"
        close(score_of(store, run, "gated/correctness"), fact[f"correct_{arm}"])
        close(score_of(store, run, "gated/self_check"), fact[f"self_checked_{arm}"])
        close(mean_of(store, run, "reward"), fact[f"reward_{arm}"])
        frame = rollouts(store, Filters(run_ids=(run,)))
        zeros = frame["reward"].eq(0).groupby(frame["sample_id"]).mean()
        close(sample_mean(zeros), fact[f"zeros_{arm}"])
        assert frame["passed"].eq(frame["reward"] > 0).all()
    share, num = tail_of(store, f"{name}-baseline", "messages", fact["long_threshold"])
    close_share(share, fact["share_over_100_messages_baseline"], num)
    assert tail_of(store, f"{name}-tuned", "messages", fact["long_threshold"])[0] == 0


def test_limits_of_the_configuration_are_broken_by_the_baseline_and_kept_afterwards(store: Reading) -> None:
    for name in ("repository_research", "enterprise_coding"):
        runs_of = tuple(f"{name}-{arm}" for arm in ("baseline", "tuned"))
        shares = contract_shares(store, Filters(run_ids=runs_of)).set_index("run_id")
        assert shares["verdict"].to_dict() == dict(zip(runs_of, ("broken", "kept"), strict=True))
    over = contract_shares(store, Filters(run_ids=("medical_coding-baseline", "medical_coding-tuned")))
    assert over["share_over"].is_monotonic_decreasing
    assert over["num_over"].tolist() == [
        round(tail_of(store, run, "latency_s", 60.0)[0] * num)
        for run, num in zip(over["run_id"], over["num_rollouts"], strict=True)
    ]


def test_enterprise_coding_names_its_agents_and_its_self_checks(store: Reading) -> None:
    fact, run = planted(enterprise_coding), f"{enterprise_coding.NAME}-tuned"
    for rollout_id in rollouts(store, Filters(run_ids=(run,)), limit=12)["rollout_id"]:
        asked = {"run_id": run, "rollout_id": rollout_id}
        messages, calls = trajectory_messages(store, **asked), trajectory_tool_calls(store, **asked)
        assert set(messages.loc[messages["role"] == "assistant", "agent"]) == set(fact["agents"])
        checks = calls[(calls["agent"] == "orchestrator") & (calls["tool"] == "run_tests")]
        scores = trajectory_scores(store, **asked).set_index("grader")["value"]
        assert len(checks) == scores["gated/self_check"]
        if scores["gated/correctness"] == 0:
            assert scores["gated"] == 0


HACK_PATTERNS = {
    "calls_reference": r"reference\.\w+\(",
    "caches_by_input_id": r"\[id\(",
    "times_only_warm_up": r"timer\.stop\(",
    "returns_zeros_on_errors": r"except\b.*\n\s*return zeros",
    "overwrites_tests": r"^tests/",
    "returns_constant": r"return full_like\(",
    "skips_synchronisation": r"synchronize = ",
}


def recognised(calls: Iterable[dict[str, Any]]) -> set[str]:
    """Kinds of hack that the calls of a rollout show: by what was written, or by which file."""
    written = [json.loads(each["function"]["arguments"]) for each in calls if each["function"]["name"] == "write_file"]
    texts = [text for each in written for text in (each["path"], each["source"])]
    return {kind for kind, pattern in HACK_PATTERNS.items() if any(re.search(pattern, text) for text in texts)}


def hacks_of(line: dict[str, Any]) -> set[str]:
    return recognised(call for message in line["messages"] for call in message.get("tool_calls", ()))


def test_seven_kinds_of_hack_are_recognised_as_labelled(store: Reading) -> None:
    fact, run = planted(gpu_kernels), f"{gpu_kernels.NAME}-labelled"
    assert set(HACK_PATTERNS) == set(fact["hack_kinds"])
    held_back = raw_rollouts(gpu_kernels.NAME, run)
    for line in held_back:
        labels = {
            each["grader"].removeprefix("hack/") for each in line["scores"] if each["value"] and "/" in each["grader"]
        }
        assert hacks_of(line) == labels
    for kind in fact["hack_kinds"]:
        found = score_of(store, run, f"hack/{kind}")
        assert found.value == pytest.approx(np.mean([kind in hacks_of(line) for line in held_back]))
        close_share(found.value, fact["share_of_each_kind_labelled"], len(held_back))
    close(score_of(store, run, "hack"), fact["hacked_labelled"])


def test_the_fixed_grader_ends_the_hacks(store: Reading) -> None:
    fact, run = planted(gpu_kernels), f"{gpu_kernels.NAME}-rft"
    paid = defaultdict(list)
    for line in raw_rollouts(gpu_kernels.NAME, run):
        paid[line["grader_version"]].append((line["step"], bool(hacks_of(line)), line["reward"]))
    assert max(step for step, *_ in paid["1"]) < fact["grader_fixed_from_step"] <= min(step for step, *_ in paid["2"])
    assert min(reward for _, hack, reward in paid["1"] if hack and reward is not None) >= 0.9
    assert {reward for _, hack, reward in paid["2"] if hack and reward is not None} == {0.0}
    before, after = fact["grader_fixed_from_step"] - 5, max(step for step, *_ in paid["2"])
    share = {
        at: np.mean([hack for line in paid.values() for step, hack, _ in line if step == at]) for at in (before, after)
    }
    assert share[before] > 0.2 > 0.1 > share[after]
    fields = compare_pairing(store, baseline=f"{run}@{before}", candidate=f"{run}@{after}").set_index("about")
    assert fields.loc["grader_version", "num_shared"] == 0


def test_best_of_three_kernels(store: Reading) -> None:
    fact, name = planted(gpu_kernels), gpu_kernels.NAME
    best = {}
    for arm in ("baseline", "tuned"):
        frame = rollouts(store, Filters(run_ids=(f"{name}-{arm}",)))
        close(mean_of(store, f"{name}-{arm}", "reward"), fact[f"reward_{arm}"])
        best[arm] = best_of_k_by_sample(frame["reward"], frame["sample_id"].tolist(), 3)
        close(sample_mean(best[arm]), fact[f"best_of_3_{arm}"])
    gain = sample_mean(best["tuned"] - best["baseline"])
    close(gain, fact["best_of_3_tuned"] - fact["best_of_3_baseline"])
    assert gain.interval.low is not None
    assert gain.interval.low > 0


def test_medical_coding_is_better_and_faster(store: Reading) -> None:
    fact, base, tuned = planted(medical_coding), *(f"medical_coding-{arm}" for arm in ("baseline", "tuned"))
    close(mean_of(store, base, "reward"), fact["f1_baseline"])
    close(mean_of(store, tuned, "reward"), fact["f1_tuned"])
    assert row_of(store, base, tuned, "reward")["ci_low"] > 0
    close(mean_of(store, base, "latency_s"), fact["latency_baseline_s"])
    close_ratio(row_of(store, base, tuned, "latency_s"), fact["latency_ratio"])
    for arm, run in (("baseline", base), ("tuned", tuned)):
        close(mean_of(store, run, "tool_calls"), fact[f"calls_{arm}"])
        share, num = tail_of(store, run, "latency_s", fact["limit_s"])
        close_share(share, fact[f"share_over_limit_{arm}"], num)


def test_the_grader_audit_finds_what_was_planted(store: Reading) -> None:
    experts = Filters(run_ids=("medical_coding-tuned",), splits=("valid",))
    row = grader_agreement(store, experts, first="expert_a", second="expert_b").iloc[0]
    close_share(1 - row["agreement"], planted(medical_coding)["experts_disagree"], int(row["num_rollouts"]))
    # The first grader paid every hack at least .9, and called it passed; hacks were 42 % of what was labelled.
    labelled = Filters(run_ids=(f"{gpu_kernels.NAME}-labelled",))
    hacked = grader_agreement(store, labelled, first="speed", second="hack").iloc[0]
    close_share(hacked["only_first"] / hacked["num_rollouts"], planted(gpu_kernels)["hacked_labelled"], 216)
    fact, run = planted(financial_research), f"{financial_research.NAME}-rft"
    changed = grader_version_changes(store, Filters(run_ids=(run,), splits=("valid",))).set_index("grader").loc["note"]
    assert (changed["earlier_version"], changed["grader_version"]) == ("1", "2")
    assert changed["first_step"] == fact["grader_replaced_at"]
    assert changed["ci_low"] < fact["reward_at_replacement"] - fact["reward_before_replacement"] < changed["ci_high"]


def test_medical_experts_disagree_as_often_as_planted(store: Reading) -> None:
    run = "medical_coding-tuned"
    differs = []
    for rollout_id in rollouts(store, Filters(run_ids=(run,)), limit=160)["rollout_id"]:
        verdicts = trajectory_scores(store, run_id=run, rollout_id=rollout_id).set_index("grader")["passed"]
        differs.append(verdicts["expert_a"] != verdicts["expert_b"])
    close_share(float(np.mean(differs)), planted(medical_coding)["experts_disagree"], len(differs))


def test_slides_have_few_bad_cases_left(store: Reading) -> None:
    fact, counts = planted(slides), {}
    for arm in ("baseline", "tuned"):
        run = f"slides-{arm}"
        num = len(rollouts(store, Filters(run_ids=(run,))))
        below = rollouts_between(store, Filters(run_ids=(run,)), measure="reward", at_least=0, below=fact["bar"])
        counts[arm] = int(below["num_total"].iloc[0])
        close_share(counts[arm] / num, fact[f"bad_share_{arm}"], num)
        assert fact[f"bad_cases_{arm}"] == pytest.approx(fact[f"bad_share_{arm}"] * num)
        close(mean_of(store, run, "reward"), fact[f"reward_{arm}"])
    assert fact["fewer_bad_cases"] == pytest.approx(0.88)
    # The error of a ratio of two counts, on the logarithm: √(1/a + 1/b).
    error = math.sqrt(1 / counts["baseline"] + 1 / counts["tuned"])
    assert abs(math.log(counts["tuned"] / counts["baseline"] / (1 - fact["fewer_bad_cases"]))) <= K * error


def test_only_the_grader_that_was_replaced_makes_the_reward_jump(store: Reading) -> None:
    run = f"{financial_research.NAME}-rft"
    (only,) = reward_jumps(store).to_dict("records")  # slow learning in the other studies is none
    assert (only["run_id"], only["split"], only["score"], only["to_step"]) == (run, "valid", "reward", 15)
    assert (only["grader_version"], only["suspect"], only["num_samples"]) == ("1 → 2", "grader", 45)
    assert -0.25 < only["ci_low"] < only["jump"] < only["ci_high"] < 0
    stop = when_to_stop(store, Filters(run_ids=(run,))).iloc[0]
    assert stop[["regraded_step", "version_before", "version_after"]].tolist() == [15, "1", "2"]


def test_financial_research_attributes_more_and_invents_less(store: Reading) -> None:
    fact, name = planted(financial_research), financial_research.NAME
    for part in ("attribution", "hallucination"):
        found = {arm: score_of(store, f"{name}-{arm}", f"note/{part}") for arm in ("baseline", "tuned")}
        for arm, estimate in found.items():
            close(estimate, fact[f"{part}_{arm}"])
    assert fact["attribution_ratio"] == pytest.approx(1.21)


def test_the_reward_falls_where_the_leaky_grader_is_replaced(store: Reading) -> None:
    fact, run = planted(financial_research), f"{financial_research.NAME}-rft"
    at, curve = fact["grader_replaced_at"], curve_of(store, run)
    before = max(step for step in curve if step < at)
    close(curve[before], fact["reward_before_replacement"])
    close(curve[at], fact["reward_at_replacement"])
    close(curve[max(curve)], fact["reward_at_end"])
    fall = difference(store, f"{run}@{before}", f"{run}@{at}", "reward")
    assert fall.interval.high is not None
    assert fall.interval.high < 0
    versions = compare_pairing(store, baseline=f"{run}@{before}", candidate=f"{run}@{at}").set_index("about")
    assert versions.loc["grader_version", ["example_baseline", "example_candidate"]].tolist() == ["1", "2"]
    leaky = [line for line in raw_rollouts(financial_research.NAME, run) if line["grader_version"] == "1"]
    opened = [
        any(each.get("name") == "open" and '"answer"' in each["content"] for each in line["messages"]) for line in leaky
    ]
    close_share(float(np.mean(opened)), fact["opens_key_while_leaky"], len(leaky))


def test_tools_fail_in_a_third_of_the_conversations(store: Reading) -> None:
    fact, shares = planted(underwriting), []
    for model in fact["invents"]:
        frame = rollouts(store, Filters(run_ids=(f"underwriting-{model}",)))
        shares.append(frame["num_tool_errors"].gt(0))
        close_share(float(shares[-1].mean()), fact["tool_fails"], len(frame))
    everywhere = np.concatenate(shares)
    close_share(float(everywhere.mean()), fact["tool_fails"], everywhere.size)


def test_every_model_invents_as_many_products_as_planted(store: Reading) -> None:
    fact, listed = planted(underwriting), set(underwriting.PRODUCTS)
    for model, share in fact["invents"].items():
        run = f"underwriting-{model}"
        found = score_of(store, run, "invented_product")
        close(found, share)
        said = [
            line["messages"][-1]["content"].rsplit(": ", 1)[1].rstrip(".") for line in raw_rollouts("underwriting", run)
        ]
        assert found.value == pytest.approx(np.mean([product not in listed for product in said]))
        close(mean_of(store, run, "reward"), fact["right"][model])


def test_the_best_and_the_worst_underwriting_model_are_told_apart(store: Reading) -> None:
    first, *others = (f"underwriting-{model}" for model in planted(underwriting)["right"])
    frame = compare_several(store, baseline=first, candidates=tuple(others), measures=("reward",)).set_index("arm")
    assert frame.loc[others[-1], "verdict"] == "lower"
    right = list(planted(underwriting)["right"].values())
    delta = difference(store, first, others[-1], "reward")
    close(delta, right[-1] - right[0])
    assert frame.loc[others[-1], "delta_mean"] == pytest.approx(delta.value)


# ----------------------------------------------------------------------------------------------- where nothing differs


@pytest.mark.parametrize("run", ["medical_coding-baseline", "enterprise_coding-tuned", "underwriting-model-c"])
def test_a_run_compared_with_itself_claims_nothing(store: Reading, run: str) -> None:
    frame = compare(store, baseline=run, candidate=run)
    known = frame[frame["num_paired"] > 0]
    assert (known["delta_mean"] == 0).all()
    assert known["ci_low"].isna().all()
    quadrants = compare_quadrants(store, baseline=run, candidate=run).set_index("quadrant")["share"]
    assert quadrants["same_same"] == 1
    failures = compare_failures(store, baseline=run, candidate=run)
    assert failures["tool_error_rate"].nunique() == 1


HALVED = ("medical_coding", "repository_research", "slides")


@pytest.fixture(scope="session")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """Attempts 0 and 1 of untrained models as one run each, attempts 2 and 3 as another."""
    folder = tmp_path_factory.mktemp("halves")
    lines = [
        {**line, "run": f"{name}-{'first' if line['attempt'] < 2 else 'second'}"}
        for name in HALVED
        for line in raw_rollouts(name, f"{name}-baseline")
    ]
    (folder / "halves.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ingest(Store(folder / "store"), Request([folder / "halves.jsonl"], workers=1))
    return open_store(folder / "store")


@pytest.mark.parametrize("name", HALVED)
def test_two_halves_of_one_models_attempts_claim_nothing(halves: Reading, name: str) -> None:
    """Every difference is chance, so none may stand after Holm's correction."""
    frame = compared(halves, f"{name}-first", f"{name}-second")
    assert frame.loc["reward", "num_paired"] > 30
    assert frame["p_value_holm"].dropna().min() > 0.05


def test_training_failures_are_not_scored_and_are_few(store: Reading) -> None:
    training = tuple(run for each in case_studies() for run in each.runs if run.endswith("-rft"))
    frame = rollouts(store, Filters(run_ids=training, splits=("train",)))
    dead = frame["status"] == "infra_error"
    assert frame.loc[dead, "reward"].isna().all()
    close_share(float(dead.mean()), 0.01, len(frame))
    by_step = behaviour_by_step(store, Filters(run_ids=training, splits=("valid",)))
    assert by_step["num_rollouts"].gt(0).all()
