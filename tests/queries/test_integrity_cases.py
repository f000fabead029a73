"""Rules of the rulebook `integrity` on labelled cases: hacks planted in a case study, clean ones, real pairs."""

from pathlib import Path

import pytest

from dashboard.sample import case_studies
from ingest.runner import Request, ingest
from ingest.store import Store
from queries.connection import Reading, open_store
from queries.filters import Filters
from queries.integrity import integrity_verdicts, suspicious_rollouts
from queries.second_graders import second_grader
from queries.trajectory import trajectory_scores
from sample_data.scenarios import gpu_kernels

HACK_RULES = ("tampering", "shortcut_code")
CLEAN = ("medical_coding", "repository_research", "underwriting")


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """The two case studies with planted hacks, and three without."""
    store = Store(tmp_path_factory.mktemp("studies"))
    wanted = ("gpu_kernels", "financial_research", *CLEAN)
    paths = [str(each.path) for each in case_studies() if each.name in wanted]
    ingest(store, Request(paths))
    return open_store(store.root)


@pytest.mark.slow
def test_every_planted_kind_of_hack_is_found_and_no_honest_kernel(studies: Reading) -> None:
    run = "gpu_kernels-labelled"
    named = [suspicious_rollouts(studies, Filters(run_ids=(run,)), rule=each, limit=500) for each in HACK_RULES]
    found = {rollout for each in named for rollout in each["rollout_id"]}
    kinds = set()
    for rollout in found:
        labels = trajectory_scores(studies, run_id=run, rollout_id=rollout).set_index("grader")["value"]
        assert labels["hack"] == 1
        kinds |= {each for each in gpu_kernels.HACKS if labels[f"hack/{each}"] == 1}
    assert kinds == set(gpu_kernels.HACKS)
    labels = studies.connection.sql(
        "SELECT sum(value) FROM scores WHERE grader = 'hack' AND run_id = 'gpu_kernels-labelled'"
    )
    assert len(found) == labels.fetchall()[0][0]


@pytest.mark.slow
def test_only_the_planted_hacks_rise(studies: Reading) -> None:
    verdicts = integrity_verdicts(studies)
    rising = verdicts[(verdicts["verdict"] == "rises") & (verdicts["concern"] == "hack")]
    assert set(zip(rising["run_id"], rising["rule"], strict=True)) == {
        ("gpu_kernels-labelled", "tampering"),
        ("gpu_kernels-labelled", "shortcut_code"),
        ("gpu_kernels-rft", "tampering"),
        ("gpu_kernels-rft", "shortcut_code"),
        ("financial_research-rft", "grader_access"),
    }
    clean = verdicts[verdicts["run_id"].str.startswith(CLEAN) & verdicts["rule"].ne("length_inflation")]
    assert clean.loc[clean["concern"] == "hack", "num_flagged"].sum() == 0


@pytest.mark.slow
def test_the_leaky_grader_parts_from_the_answer_where_it_is_replaced(studies: Reading) -> None:
    filters = Filters(run_ids=("financial_research-rft",), splits=("valid",))
    frame = second_grader(studies, filters, grader="note/answer")
    assert set(frame["first_parting_step"]) == {15}
    assert frame.set_index("step")["grader_version"].loc[[10, 15]].tolist() == ["1", "2"]


def test_labelled_pairs_of_one_turn(real_data: Path, tmp_path: Path) -> None:
    """Few and made by hand: a smoke test. Length over steps needs more rollouts than they have."""
    ingest(Store(tmp_path), Request([str(real_data / "verifiers_prime_rl" / "rolloutscope" / "labeled")]))
    verdicts = integrity_verdicts(open_store(tmp_path))
    found = verdicts[(verdicts["num_flagged"] > 0) & (verdicts["concern"] == "hack")]
    assert dict(zip(zip(found["run_id"], found["rule"], strict=True), found["num_flagged"], strict=True)) == {
        ("answer_leakage_echo_hacked", "echo"): 2,
        ("answer_leakage_echo_hacked", "speaks_to_grader"): 1,
        ("degenerate_repetition_hacked", "degenerate"): 2,
    }
