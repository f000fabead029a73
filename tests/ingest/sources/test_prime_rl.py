"""prime-rl run directories in every layout: hand-built ones with hand-computed rows, broken ones, the real files."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ingest.discover import discover, recognise
from ingest.reading import Peek
from ingest.schema import table
from ingest.sources import prime_rl
from ingest.sources.base import FIELDS, Note, Options, Part, Record, Reject, Rollout, Row

Values = dict[str, Any]


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    path.write_bytes(zstandard.compress(text.encode()) if path.suffix == ".zst" else text.encode())
    return path


def records(path: Path) -> list[Record]:
    return list(prime_rl.read(Part(path), Options()))


def told(path: Path, *names: str) -> list[tuple[Any, ...]]:
    """The named columns of every rollout, in order."""
    found = [each.values for each in records(path) if isinstance(each, Rollout)]
    return [tuple(values.get(name) for name in names) for values in found]


def notes(path: Path) -> list[str]:
    return [each.text for each in records(path) if isinstance(each, Note)]


def rejects(path: Path) -> list[Reject]:
    return [each for each in records(path) if isinstance(each, Reject)]


def row(example: int, reward: float = 1.0, **more: Any) -> Values:
    said = [{"role": "assistant", "content": "7"}]
    return {"example_id": example, "prompt": "q", "completion": said, "reward": reward, "is_completed": True, **more}


def trace(trace_id: str | None, **more: Any) -> Values:
    nodes = [
        {"message": {"role": "user", "content": "q"}, "token_ids": [1, 2], "mask": [False, False]},
        {
            "parent": 0,
            "message": {"role": "assistant", "content": "a"},
            "sampled": True,
            "token_ids": [3, 4, 5],
            "mask": [False, True, True],
            "logprobs": [-1.0, -2.0],
        },
    ]
    rewards = {"right": {"score": 0.5, "weight": 2.0}}
    return {"id": trace_id, "nodes": nodes, "rewards": rewards, "ok": True, "is_completed": True, **more}


def episode(*traces: Values, name: str = "e1", work: str = "train", step: int = 1) -> Values:
    return {
        "id": name,
        "env": {"id": "coding"},
        "task": {"key": "k1"},
        "run": {"type": "train", "id": "r", "work": {"type": work, "step": step}},
        "ok": bool(traces),
        "errors": [],
        "traces": list(traces),
    }


class TestStepFiles:
    def test_step_and_split_come_from_the_place(self, tmp_path: Path) -> None:
        write(tmp_path / "rollouts" / "step_10" / "train_rollouts.jsonl", row(0, 0.25))
        write(tmp_path / "rollouts" / "step_2" / "train_rollouts.jsonl", row(0, 0.5), row(1, 0.75))
        write(tmp_path / "rollouts" / "step_2" / "eval_rollouts.jsonl", row(0, 1.0))
        assert told(tmp_path, "step", "split", "subset", "sample_id", "reward", "native_id") == [
            (2, "valid", "all", "0", 1.0, None),
            (2, "train", None, "0", 0.5, None),
            (2, "train", None, "1", 0.75, None),
            (10, "train", None, "0", 0.25, None),
        ]

    def test_rows_of_several_files_are_told_apart(self, tmp_path: Path) -> None:
        for step in range(3):
            write(tmp_path / f"step_{step}" / "train_rollouts.jsonl", row(0, rollout_id="0:1"))
        assert told(tmp_path, "raw_ref", "native_attempt") == [
            ("step_0/train_rollouts.jsonl:0", 1),
            ("step_1/train_rollouts.jsonl:0", 1),
            ("step_2/train_rollouts.jsonl:0", 1),
        ]
        positions = [each for (each,) in told(tmp_path, "position")]
        assert positions == sorted(set(positions))

    def test_bare_traces_stand_in_step_files_of_the_time_between(self, tmp_path: Path) -> None:
        write(tmp_path / "rollouts" / "step_4" / "train_rollouts.jsonl", trace("t1", task={"key": "k"}))
        assert told(tmp_path, "native_id", "step", "split", "reward") == [("t1", 4, "train", 1.0)]

    def test_parts_bring_what_the_whole_brings(self, tmp_path: Path) -> None:
        for step in range(3):
            write(tmp_path / "rollouts" / f"step_{step}" / "train_rollouts.jsonl", row(0), row(1))
        write(tmp_path / "metrics.jsonl", {"step": 0, "loss/mean": 0.5})
        write(tmp_path / "configs" / "trainer.toml", "model = 'm'\n")
        whole, apart = records(tmp_path), []
        for part in prime_rl.split(tmp_path):
            apart += list(prime_rl.read(part, Options()))
        assert len(prime_rl.split(tmp_path)) == 4
        assert [type(each) for each in apart] == [type(each) for each in whole]
        for each, other in zip(apart, whole, strict=True):
            if isinstance(each, Rollout) and isinstance(other, Rollout):
                other.values["position"] = each.values["position"]
        assert apart == whole
        assert told(tmp_path, "raw_ref", "model")[0] == ("rollouts/step_0/train_rollouts.jsonl:0", "m")

    def test_a_file_out_of_a_run_is_read_alone(self, tmp_path: Path) -> None:
        root = tmp_path / "my-run"
        update = {"trace_id": "t1", "step": 8, "subset": "effective"}
        write(root / "traces" / "annotations" / "orchestrator" / "0.jsonl", update, {"trace_id": "t9"})
        files = {
            write(root / "step_7" / "train_rollouts.jsonl", row(0)): (None, 7, "train", None),
            write(root / "rollouts" / "step_7" / "train" / "effective" / "traces.jsonl", episode(trace("t1"))): (
                ("t1", 7, "train", "effective")
            ),
            write(root / "rollouts" / "step_7" / "train" / "all" / "traces.jsonl", episode(trace("t1"))): (
                ("t1", 7, "train", None)
            ),
            write(root / "traces" / "stream" / "00003.jsonl.zst", episode(trace("t1"))): (
                "t1",
                8,
                "train",
                "effective",
            ),
        }
        for file, expected in files.items():
            assert recognise(file) is prime_rl
            assert prime_rl.default_run(file) == "my-run"
            assert told(file, "native_id", "step", "split", "subset") == [expected]
            assert notes(file) == []


class TestCohorts:
    def cohort(self, root: Path, step: int, subset: str, *episodes: Any, kind: str = "train") -> Path:
        return write(root / "rollouts" / f"step_{step}" / kind / subset / "traces.jsonl", *episodes)

    def test_a_trace_in_both_cohorts_is_one_rollout(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "all", episode(trace("t1"), trace("t2")), episode(name="e2"))
        self.cohort(tmp_path, 3, "effective", episode(trace("t2", info={"advantage": 0.5})))
        assert told(tmp_path, "native_id", "subset", "step", "advantage", "status") == [
            ("t2", "effective", 3, 0.5, "completed"),
            ("t1", "all", 3, None, "completed"),
            ("e2", "all", 3, None, "infra_error"),
        ]

    def test_a_trace_that_arrived_a_step_before_it_was_shipped(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "all", episode(trace("t1"), step=2))
        self.cohort(tmp_path, 4, "all", episode(trace("t2"), step=3))
        self.cohort(tmp_path, 4, "effective", episode(trace("t1"), step=2))
        assert told(tmp_path, "native_id", "subset", "step") == [("t1", "effective", 4), ("t2", "all", 4)]

    def test_what_no_cohort_has_decided_yet_is_not_known(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "effective", episode(trace("t1")))
        self.cohort(tmp_path, 4, "all", episode(trace("t2")))
        assert told(tmp_path, "native_id", "subset") == [("t1", "effective"), ("t2", None)]

    def test_effective_alone(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "effective", episode(trace("t1")))
        assert told(tmp_path, "native_id", "subset", "step", "split") == [("t1", "effective", 3, "train")]

    def test_evals_are_valid_and_never_trained_on(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "all", episode(trace("t1"), work="eval"), kind="eval")
        self.cohort(tmp_path, 3, "effective", episode(trace("t1"), work="eval"), kind="eval")
        assert told(tmp_path, "native_id", "split", "subset") == [("t1", "valid", "all")]

    def test_one_id_twice_in_one_cohort_stays_twice(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "all", episode(trace("t1")), episode(trace("t1")))
        self.cohort(tmp_path, 3, "effective", episode(trace("t1")))
        assert told(tmp_path, "native_id", "subset") == [("t1", "effective"), ("t1", "all")]

    def test_traces_without_id_are_matched_by_content(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "all", episode(trace(None)), episode(trace(None, stop_condition="max_turns")))
        self.cohort(tmp_path, 3, "effective", episode(trace(None)))
        assert told(tmp_path, "status", "subset") == [("completed", "effective"), ("truncated", "all")]

    def test_annotations_beside_a_cohort(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "all", episode(trace("t1")))
        update = {"version": 1, "trace_id": "t1", "info": {"subset": "effective", "advantage": -0.5}, "branches": []}
        write(tmp_path / "rollouts" / "step_3" / "train" / "annotations" / "orchestrator.jsonl", update)
        assert told(tmp_path, "native_id", "subset", "advantage") == [("t1", "effective", -0.5)]

    def test_a_stream_that_repeats_a_cohort_adds_only_what_is_new(self, tmp_path: Path) -> None:
        self.cohort(tmp_path, 3, "all", episode(trace("t1")))
        write(tmp_path / "traces" / "stream" / "00000.jsonl", episode(trace("t1")), episode(trace("t2")))
        assert told(tmp_path, "native_id") == [("t1",), ("t2",)]


class TestStream:
    def stream(self, root: Path, *episodes: Any, name: str = "00000.jsonl") -> Path:
        return write(root / "traces" / "stream" / name, *episodes)

    def annotate(self, root: Path, *updates: Any, producer: str = "orchestrator", name: str = "00000.jsonl") -> Path:
        return write(root / "traces" / "annotations" / producer / name, *updates)

    def test_step_subset_and_advantage_arrive_later_and_the_last_wins(self, tmp_path: Path) -> None:
        self.annotate(
            tmp_path,
            {"trace_id": "t1", "step": 5, "subset": "all", "advantage": 0.1},
            {"trace_id": "t2", "step": 5, "subset": "all", "advantage": 0.0},
            {"trace_id": "t1", "subset": "effective"},
        )
        self.annotate(tmp_path, {"trace_id": "t1", "info": {"step": 6}}, name="00001.jsonl.zst")
        self.stream(tmp_path, episode(trace("t1"), trace("t2"), step=4))
        self.stream(tmp_path, episode(trace("t3"), name="e2", step=4), name="00001.jsonl.zst")
        assert told(tmp_path, "native_id", "step", "subset", "advantage") == [
            ("t1", 6, "effective", 0.1),
            ("t2", 5, "all", 0.0),
            ("t3", 4, None, None),
        ]
        assert json.loads(told(tmp_path, "metadata")[0][0])["dispatch_step"] == 4

    def test_trainer_streams_are_folded_onto_the_nodes_and_summarised(self, tmp_path: Path) -> None:
        streams = {"trainer_logprobs": [None, None, None, -1.5, -2.1], "entropies": [0.0, 0.0, 0.0, 1.0, 2.0]}
        old = {"index": 0, "trainer_logprobs": [0.0] * 5}
        self.annotate(tmp_path, {"trace_id": "t1", "branches": [old]}, producer="trainer")
        self.annotate(
            tmp_path, {"trace_id": "t1", "branches": [{"index": 0, **streams}]}, producer="trainer", name="1.jsonl"
        )
        self.stream(tmp_path, episode(trace("t1")))
        (found,) = [each for each in records(tmp_path) if isinstance(each, Rollout)]
        message = (found.messages or [])[1]
        assert message["mismatch_mean"] == pytest.approx(-0.3)  # (-1.5 + 1.0 - 2.1 + 2.0) / 2
        assert message["entropy_mean"] == pytest.approx(1.5)
        assert message["logprob_mean"] == pytest.approx(-1.5)
        assert not {"trainer_logprobs", "token_ids", "logprobs"} & message.keys()

    @pytest.mark.parametrize(
        "branch",
        [
            {"index": 0, "trainer_logprobs": [0.0] * 4},
            {"index": 0, "trainer_logprobs": [0.0, 0.0, 0.0, None, -1.0]},
            {"index": 3, "trainer_logprobs": [0.0] * 5},
            {"index": "0", "trainer_logprobs": [0.0] * 5},
            {"index": 0, "trainer_logprobs": "none"},
        ],
    )
    def test_streams_that_do_not_cover_a_node_leave_it(self, tmp_path: Path, branch: Values) -> None:
        self.annotate(tmp_path, {"trace_id": "t1", "branches": [branch]}, producer="trainer")
        self.stream(tmp_path, episode(trace("t1")))
        (found,) = [each for each in records(tmp_path) if isinstance(each, Rollout)]
        assert "mismatch_mean" not in (found.messages or [])[1]

    def test_an_annotation_without_trace_is_a_note(self, tmp_path: Path) -> None:
        self.annotate(tmp_path, {"trace_id": "t1", "step": 1}, {"trace_id": "t9", "step": 1})
        self.stream(tmp_path, episode(trace("t1")))
        assert notes(tmp_path) == ["1 annotated traces stand in no file of this run, for example t9."]

    def test_episodes_that_only_the_index_lists_are_a_note(self, tmp_path: Path) -> None:
        self.stream(tmp_path, episode(trace("t1")))
        write(tmp_path / "traces" / "stream.index.jsonl", {"id": "e1", "chunk": 0}, {"id": "e2", "chunk": 1})
        assert notes(tmp_path) == ["The index lists 1 episodes whose chunk is not in this folder; they are not read."]

    def test_a_chunk_caught_while_it_was_sealed_is_read_once(self, tmp_path: Path) -> None:
        self.stream(tmp_path, episode(trace("t1")))
        self.stream(tmp_path, episode(trace("t1")), name="00000.jsonl.zst")
        self.stream(tmp_path, "half", name="00001.jsonl.zst.tmp")
        assert told(tmp_path, "native_id") == [("t1",)]

    def test_the_place_of_the_latest_version(self, tmp_path: Path) -> None:
        home = tmp_path / "monitors" / "file"
        write(home / "traces" / "stream" / "00000.jsonl", episode(trace("t1")))
        write(home / "traces" / "annotations" / "orchestrator" / "00000.jsonl", {"trace_id": "t1", "info": {"step": 9}})
        write(home / "traces" / "live" / "t5.jsonl", {"open": {}, "trace": "t5"})
        write(home / "metrics.jsonl", {"step": 9, "time": 1.0, "producer": "trainer", "loss/mean": 0.5})
        assert told(tmp_path, "native_id", "step") == [("t1", 9)]
        (metric,) = [each.values for each in records(tmp_path) if isinstance(each, Row) and each.table == "metrics"]
        assert (metric["step"], metric["value"], metric["labels"]) == (9, 0.5, '{"producer":"trainer"}')

    def test_broken_records_are_rejects_and_stop_nothing(self, tmp_path: Path) -> None:
        self.annotate(
            tmp_path, {"step": 1}, "[1]\n", {"trace_id": "t1", "info": 3, "branches": 4, "step": "x"}, '{"tra'
        )
        self.stream(tmp_path, {"hello": 1}, episode(trace("t1")), '{"id": "e2", "traces": [')
        damaged = self.stream(tmp_path, *[episode(trace(f"d{n}")) for n in range(50)], name="00001.jsonl.zst")
        damaged.write_bytes(damaged.read_bytes()[:-9])
        self.stream(tmp_path, episode(trace("t2")), name="00002.jsonl")
        found = [(each.file, each.reason.split(":")[0]) for each in rejects(tmp_path)]
        annotations = "traces/annotations/orchestrator/00000.jsonl"
        assert found[:3] == [
            (annotations, "an annotation without trace_id"),
            (annotations, "a line must hold a JSON object, not list"),
            (annotations, "not JSON"),
        ]
        assert [file for file, _ in found[3:]] == ["traces/stream/00000.jsonl"] * 2 + ["traces/stream/00001.jsonl.zst"]
        assert ("t1", 1) in told(tmp_path, "native_id", "step")
        assert ("t2", 1) in told(tmp_path, "native_id", "step")


class TestAbout:
    def test_every_numeric_leaf_is_a_metric_and_its_prefix_decides_the_split(self, tmp_path: Path) -> None:
        write(
            tmp_path / "metrics.jsonl",
            {"step": 3, "time": 10.0, "reward/all/mean": 0.6, "eval/math/avg@4": 0.5, "note": "x", "nested": {"a": 1}},
            {"step": 3, "time": 11.0, "loss/mean": None, "optim/lr": 1e-6, "perf/mfu": True},
            '{"step": 4, "loss/mean": NaN}\n',
            {"step": None, "time": 12.0, "inference/agg/kv": 0.25},
            '{"step": 5, "lo',
        )
        write(tmp_path / "step_3" / "train_rollouts.jsonl", row(0))
        found = [each.values for each in records(tmp_path) if isinstance(each, Row) and each.table == "metrics"]
        assert [(each["step"], each["split"], each["name"], each["value"]) for each in found] == [
            (3, "train", "reward/all/mean", 0.6),
            (3, "valid", "eval/math/avg@4", 0.5),
            (3, None, "nested/a", 1.0),
            (3, "train", "loss/mean", None),
            (3, None, "optim/lr", 1e-6),
            (3, None, "perf/mfu", 1.0),
            (4, "train", "loss/mean", None),
            (None, None, "inference/agg/kv", 0.25),
        ]
        assert len(rejects(tmp_path)) == 1
        assert all(each.keys() <= set(table("metrics").names) for each in found)
        assert len({(each["position"], each["name"]) for each in found}) == 8

    def test_the_run_row_comes_from_the_last_attempts_configuration(self, tmp_path: Path) -> None:
        write(tmp_path / "step_0" / "train_rollouts.jsonl", row(0))
        write(tmp_path / "metrics.jsonl", {"step": 0, "time": 1e9})
        for attempt, size in ((2, 64), (10, 128)):
            resolved = tmp_path / "configs" / f"attempt_{attempt}" / "resolved"
            write(resolved / "orchestrator.json", {"model": {"name": "org/base"}, "batch_size": size, "host": "x"})
            write(resolved / "trainer.json", {"model": {"name": "org/base"}, "optim": {"lr": 1e-6}})
        (run,) = [each for each in records(tmp_path) if isinstance(each, Row) and each.table == "runs"]
        values = run.values
        assert (values["kind"], values["provider"], values["base_model"]) == ("training", "prime-rl", "org/base")
        assert values["started_at"].timestamp() == 1e9
        assert json.loads(values["hyperparameters"]) == {
            "orchestrator": {"batch_size": 128},
            "trainer": {"optim": {"lr": 1e-6}},
        }
        assert json.loads(values["config"])["orchestrator"]["host"] == "x"
        assert values.keys() <= set(table("runs").names)

    def test_toml_configuration_and_a_broken_one(self, tmp_path: Path) -> None:
        write(tmp_path / "step_0" / "train_rollouts.jsonl", row(0))
        write(tmp_path / "configs" / "rl.toml", "max_steps = 5\n[trainer.model]\nname = 'org/m'\n")
        write(tmp_path / "configs" / "trainer.toml", "this is = not toml =")
        run = records(tmp_path)[0]
        assert isinstance(run, Row)
        assert (run.values["model"], json.loads(run.values["hyperparameters"])) == ("org/m", {"rl": {"max_steps": 5}})

    def test_checkpoints(self, tmp_path: Path) -> None:
        write(tmp_path / "step_0" / "train_rollouts.jsonl", row(0))
        for step in (10, 5):
            (tmp_path / "checkpoints" / f"step_{step}").mkdir(parents=True)
        (tmp_path / "weights" / "step_5").mkdir(parents=True)
        found = [each.values for each in records(tmp_path) if isinstance(each, Row) and each.table == "checkpoints"]
        assert [(each["step"], each["checkpoint_id"]) for each in found] == [
            (5, "checkpoints/step_5"),
            (10, "checkpoints/step_10"),
        ]

    def test_evals_within_the_run_belong_to_it(self, tmp_path: Path) -> None:
        write(tmp_path / "step_0" / "train_rollouts.jsonl", row(0))
        folder = tmp_path / "evals" / "step_20" / "math--m" / "ab12cd34"
        write(folder / "results.jsonl", row(7, 0.5))
        write(folder / "metadata.json", {"env_id": "math", "model": "m"})
        assert told(tmp_path, "step", "split", "environment", "model", "sample_id")[1:] == [
            (20, "valid", "math", "m", "7")
        ]


class TestRecognition:
    @pytest.mark.parametrize(
        "file",
        [
            "step_0/train_rollouts.jsonl",
            "rollouts/step_7/eval_rollouts.jsonl.zst",
            "rollouts/step_7/train/effective/traces.jsonl",
            "rollouts/step_7/eval/all/traces.jsonl",
            "traces/stream/00000.jsonl",
            "traces/annotations/trainer/00000.jsonl",
            "monitors/file/metrics.jsonl",
            "run_default/rollouts/step_0/train_rollouts.jsonl",
        ],
    )
    def test_each_layout_is_one_run_named_after_its_folder(self, tmp_path: Path, file: str) -> None:
        write(tmp_path / "my-run" / file, row(0))
        (found,) = discover([tmp_path]).found
        assert (found.source, found.path.name) == (prime_rl, "my-run")
        assert prime_rl.default_run(found.path) == "my-run"

    def test_a_run_may_have_any_name(self, tmp_path: Path) -> None:
        root = tmp_path / "eval"
        file = write(root / "step_7" / "train_rollouts.jsonl", row(0))
        assert prime_rl.default_run(root) == "eval"
        assert told(root, "raw_ref") == told(file, "raw_ref")

    def test_metrics_with_a_configuration_are_a_run_and_without_one_are_not(self, tmp_path: Path) -> None:
        write(tmp_path / "metrics.jsonl", {"step": 0, "loss/mean": 1.0})
        assert not prime_rl.matches(Peek(tmp_path))
        write(tmp_path / "configs" / "trainer.toml", "max_steps = 1\n")
        assert prime_rl.matches(Peek(tmp_path))

    def test_a_folder_above_several_runs_is_walked_into(self, tmp_path: Path) -> None:
        for name in ("run_default", "run_b"):
            write(tmp_path / name / "rollouts" / "step_0" / "train_rollouts.jsonl", row(0))
        write(tmp_path / "outputs" / "evals" / "e--m" / "ab12cd34" / "results.jsonl", row(0))
        assert recognise(tmp_path) is None
        found = [(each.source.NAME, each.source.default_run(each.path)) for each in discover([tmp_path]).found]
        assert found == [("verifiers_legacy", "e--m--ab12cd34"), ("prime_rl", "run_b"), ("prime_rl", tmp_path.name)]

    @pytest.mark.parametrize("inner", ["rollouts", "traces", "monitors/file"])
    def test_an_inner_folder_may_be_named_itself(self, tmp_path: Path, inner: str) -> None:
        root = tmp_path / "my-run"
        write(root / "rollouts" / "step_0" / "train" / "all" / "traces.jsonl", episode(trace("t1")))
        for home in (root, root / "monitors" / "file"):
            write(home / "traces" / "stream" / "00000.jsonl", episode(trace("t1")))
            write(home / "traces" / "stream.index.jsonl", {"id": "e1"})
        assert prime_rl.matches(Peek(root / inner))
        assert prime_rl.default_run(root / inner) == "my-run"
        assert told(root / inner, "native_id") == [("t1",)]

    def test_other_folders_are_not_claimed(self, tmp_path: Path) -> None:
        (tmp_path / "step_0").mkdir()
        (tmp_path / "traces").mkdir()
        write(tmp_path / "rollouts" / "0.jsonl", {"input": "x"})
        assert not prime_rl.matches(Peek(tmp_path))
        assert not prime_rl.matches(Peek(tmp_path / "rollouts" / "0.jsonl"))
        assert not prime_rl.matches(Peek(tmp_path / "absent"))

    def test_fills_are_known_fields(self) -> None:
        assert FIELDS.keys() >= prime_rl.FILLS


class TestRealFiles:
    def test_step_files(self, real_data: Path) -> None:
        root = real_data / "verifiers_prime_rl" / "rolloutscope" / "prime_rl_run"
        assert recognise(root) is prime_rl
        assert told(root, "step", "sample_id", "reward", "output_tokens") == [
            (0, "0", 0.0, 14),
            (0, "0", 1.0, 14),
            (0, "1", 0.5, 11),
            (1, "0", 1.0, 5),
            (1, "1", 0.75, 18),
        ]
        assert json.loads(told(root, "metadata")[0][0])["env_seed"] == 7
        assert prime_rl.default_run(root) == "prime_rl_run"

    def test_index_and_annotations_without_chunks(self, real_data: Path) -> None:
        root = real_data / "verifiers_prime_rl" / "upstream_v1" / "prime-rl-v0.9.1.dev46-stream"
        assert recognise(root) is prime_rl
        assert told(root, "native_id") == []
        assert notes(root) == [
            "3 annotated traces stand in no file of this run, for example trace-0001.",
            "The index lists 3 episodes whose chunk is not in this folder; they are not read.",
        ]

    def test_annotations_join_the_episodes_they_were_made_for(self, real_data: Path, tmp_path: Path) -> None:
        upstream = real_data / "verifiers_prime_rl" / "upstream_v1"
        shutil.copytree(
            upstream / "prime-rl-v0.9.1.dev46-stream" / "traces", tmp_path / "traces", copy_function=shutil.copy
        )
        tmp_path.joinpath("traces").chmod(0o755)
        content = (upstream / "verifiers-0.3.1-eval" / "traces.jsonl").read_text()
        write(tmp_path / "traces" / "stream" / "00000.jsonl.zst", content)
        assert told(tmp_path, "native_id", "step", "subset", "advantage", "reward", "status") == [
            ("trace-0001", 0, "effective", 0.5, 1.2, "completed"),
            ("trace-0002", 0, "effective", -0.5, 1.2, "completed"),
            ("trace-0003", 0, "all", 0.0, 0.2, "completed"),
            ("episode-0003", 0, "all", None, None, "infra_error"),
        ]
        assert notes(tmp_path) == []
