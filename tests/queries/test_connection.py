"""Questions about few runs of a store of many are asked of the files of these runs alone."""

import shutil
from pathlib import Path

import duckdb
import pytest

from ingest.errors import QuestionError, StoreError
from queries import connection
from queries.arms import arms
from queries.compare import compare
from queries.connection import Reading, at_once, open_store
from queries.curves import reward_curve
from queries.filters import EVERYTHING, Filters
from queries.rollouts import rollouts
from queries.runs import runs
from tests.stores import build_store, rollout

ONE = Filters(run_ids=("a",))


@pytest.fixture
def store(tmp_path: Path) -> Reading:
    rewards = [("a", 0.0), ("a", 1.0), ("b", 0.25), ("c", 0.75)]
    return build_store(tmp_path, [rollout(run, sample_id=f"s{reward}", reward=reward) for run, reward in rewards])


def test_the_answer_is_the_same(store: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [runs(store), runs(store, ONE), reward_curve(store, ONE), reward_curve(store, EVERYTHING)]
    monkeypatch.setattr(connection, "MANY_FILES", 0)
    narrow = open_store(store.root)
    again = [runs(narrow), runs(narrow, ONE), reward_curve(narrow, ONE), reward_curve(narrow, EVERYTHING)]
    for before, after in zip(whole, again, strict=True):
        assert len(before) > 0
        assert before.equals(after)


def test_a_comparison_reads_its_arms_alone(store: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compare(store, baseline="a", candidate="b")
    monkeypatch.setattr(connection, "MANY_FILES", 0)
    narrow = open_store(store.root)
    shutil.rmtree(store.root / "lake" / "rollouts" / "run_id=c")
    assert compare(narrow, baseline="a", candidate="b").equals(whole)


def test_other_runs_are_not_read(store: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MANY_FILES", 0)
    found = open_store(store.root)
    shutil.rmtree(store.root / "lake" / "rollouts" / "run_id=b")
    curve = reward_curve(found, ONE)
    assert (curve["num_rollouts"].tolist(), curve["reward_mean"].tolist()) == ([2], [0.5])
    with pytest.raises(StoreError, match="is gone"):
        reward_curve(found, Filters(run_ids=("b",)))


def test_the_narrow_connection_is_locked_too(store: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MANY_FILES", 0)
    narrow = connection._narrowed(open_store(store.root), ("a",))
    assert narrow is not store.connection
    for forbidden in ("SET threads = 1", "COPY (SELECT 1) TO '/tmp/x.csv'", "FROM read_text('/etc/hostname')"):
        with pytest.raises(duckdb.Error):
            narrow.execute(forbidden)


def test_several_things_are_asked_at_once_and_answered_in_their_order(tmp_path: Path) -> None:
    made = [rollout("a", sample_id=f"s{n}", step=n, split="valid", reward=n / 9) for n in range(9)]
    opened = build_store(tmp_path, made)
    found = at_once(lambda step: rollouts(opened, Filters(step_from=step, step_to=step)), range(9))
    assert [frame["step"].tolist() for frame in found] == [[step] for step in range(9)]
    with pytest.raises(QuestionError, match="no question"):
        at_once(lambda name: opened.ask(name, {}), ["run_names", "nothing"])
    assert at_once(lambda name: opened.ask(name, {}), []) == []


def test_arms_are_looked_up_once_and_nobody_writes_into_the_answer(tmp_path: Path) -> None:
    opened = build_store(tmp_path, [rollout("a", sample_id="s", step=0, split="valid", reward=1.0)])
    found = arms(opened)
    found.loc[:, "run_id"] = "written"
    assert arms(opened)["run_id"].tolist() == ["a"]
