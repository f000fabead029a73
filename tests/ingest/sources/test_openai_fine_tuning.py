"""Fine-tuning jobs: hand-built landed folders and single files with hand-computed rows, and broken ones."""

import base64
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import UnreadableError
from ingest.reading import Peek
from ingest.sources import openai_evals, openai_fine_tuning
from ingest.sources.base import Note, Options, Part, Reject, Rollout, Row

Json = dict[str, Any]
CSV = "step,train_mean_reward,full_valid_mean_reward,train_error_count_sql\n1,0.4,,0.02\n2,0.5,0.55,nan\n"


def job(**more: Any) -> Json:
    return {
        "object": "fine_tuning.job",
        "id": "ftjob-x",
        "model": "o4-mini",
        "fine_tuned_model": "ft:o4-mini:o::a",
        "created_at": 1760000000,
        "finished_at": 1760003600,
        "status": "succeeded",
        "result_files": ["file-r"],
        "metadata": {"team": "retail"},
        "eval_id": "eval_x",
        "error": {"code": "", "message": "", "param": None},
        "method": {
            "type": "reinforcement",
            "reinforcement": {
                "grader": {"type": "python", "name": "match"},
                "hyperparameters": {"n_epochs": 2},
                "tools": [{"name": "sql", "server_url": "https://t", "headers": {"Authorization": "Bearer hidden"}}],
            },
        },
        **more,
    }


def event(event_id: str, step: int | None, second: int = 0, **data: Any) -> Json:
    payload = {"step": step, **data} if step is not None else {}
    return {
        "object": "fine_tuning.job.event",
        "id": event_id,
        "created_at": 1760000000 + second,
        "level": "info",
        "type": "metrics" if payload else "message",
        "message": f"Step {step}/4" if payload else "Created fine-tuning job",
        "data": payload,
    }


def checkpoint(step: int, **metrics: float) -> Json:
    return {
        "object": "fine_tuning.job.checkpoint",
        "id": f"ftckpt_{step}",
        "created_at": 1760000500,
        "fine_tuned_model_checkpoint": f"ft:o4-mini:o::a:ckpt-step-{step}",
        "fine_tuning_job_id": "ftjob-x",
        "metrics": {"step": step, **metrics},
        "step_number": step,
    }


def page(*data: Json, has_more: bool = False) -> Json:
    return {"object": "list", "data": list(data), "has_more": has_more}


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def records(path: Path) -> list[Any]:
    return list(openai_fine_tuning.read(Part(path), Options()))


def rows(found: list[Any], table: str) -> list[Json]:
    return [each.values for each in found if isinstance(each, Row) and each.table == table]


def numbers(found: list[Any]) -> dict[tuple[int | None, str], tuple[str | None, float | None]]:
    return {(row["step"], row["name"]): (row["split"], row["value"]) for row in rows(found, "metrics")}


def test_job_becomes_a_run(tmp_path: Path) -> None:
    path = put(tmp_path / "job.json", job())
    assert openai_fine_tuning.matches(Peek(path))
    assert openai_fine_tuning.default_run(path) == "ftjob-x"
    (run,) = rows(records(path), "runs")
    assert (run["kind"], run["provider"], run["base_model"], run["model"]) == (
        "training",
        "openai",
        "o4-mini",
        "ft:o4-mini:o::a",
    )
    assert (run["status"], run["reward_name"], run["error_message"]) == ("succeeded", "grader score: match", None)
    assert run["created_at"] == datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)
    assert run["ended_at"] == datetime(2025, 10, 9, 9, 53, 20, tzinfo=UTC)
    assert run["hyperparameters"] == '{"n_epochs":2}'
    assert run["tags"] == '["team=retail"]'
    assert "hidden" not in run["config"]


def test_supervised_and_failed_job(tmp_path: Path) -> None:
    given = job(method={"type": "supervised"}, hyperparameters={"n_epochs": 3}, fine_tuned_model=None, finished_at=None)
    given["error"] = {"code": "invalid", "message": "bad file"}
    (run,) = rows(records(put(tmp_path / "job.json", given)), "runs")
    assert (run["hyperparameters"], run["error_message"], run["model"]) == ('{"n_epochs":3}', "bad file", None)
    assert (run["reward_name"], run["ended_at"]) == (None, None)


def test_events_are_ordered_and_every_number_becomes_a_metric(tmp_path: Path) -> None:
    newest = event(
        "e2",
        2,
        60,
        total_steps=4,
        scores={
            "train_reward_mean": 0.5,
            "valid_reward_mean": 0.6,
            "graders": [{"name": "match", "type": "python", "train_reward_mean": 0.5}],
        },
        timing={"step": {"sampling": 20.5}},
        train_mean_reward=0.5,
        train_error_count_sql=0.02,
        nobody_knows={"it": [{"v": 1}, {"v": 2}]},
        flag=True,
        text="x",
        missing=None,
        broken=float("nan"),
    )
    put(tmp_path / "events_page1.json", page(newest, event("e1", 1, 30, train_mean_reward=0.4), has_more=True))
    put(tmp_path / "events_page2.json", page(event("e1", 1, 30, train_mean_reward=0.4), event("e0", None)))
    found = records(tmp_path)
    assert [row["event_id"] for row in rows(found, "events")] == ["e0", "e1", "e2"]
    assert [row["step"] for row in rows(found, "events")] == [None, 1, 2]
    assert numbers(found) == {
        (1, "train_mean_reward"): ("train", 0.4),
        (2, "total_steps"): (None, 4.0),
        (2, "scores/train_reward_mean"): ("train", 0.5),
        (2, "scores/valid_reward_mean"): ("valid", 0.6),
        (2, "scores/graders/match/train_reward_mean"): ("train", 0.5),
        (2, "timing/step/sampling"): (None, 20.5),
        (2, "train_mean_reward"): ("train", 0.5),
        (2, "train_error_count_sql"): ("train", 0.02),
        (2, "nobody_knows/it/0/v"): (None, 1.0),
        (2, "nobody_knows/it/1/v"): (None, 2.0),
        (2, "broken"): (None, None),
    }
    labels = {row["name"]: row["labels"] for row in rows(found, "metrics") if row["labels"]}
    assert labels == {
        "scores/graders/match/train_reward_mean": '{"grader":"match"}',
        "train_error_count_sql": '{"tool":"sql"}',
    }


def test_last_of_two_events_of_a_step_comes_last(tmp_path: Path) -> None:
    given = page(event("b", 1, 9, train_loss=0.2), event("a", 1, 9, train_loss=0.3))
    found = rows(records(put(tmp_path / "events.json", given)), "metrics")
    assert [row["value"] for row in found] == [0.3, 0.2]
    assert [row["position"] for row in found] == [0, 1]


def test_message_is_parsed_only_where_the_data_holds_no_number(tmp_path: Path) -> None:
    human = event("a", None)
    human["message"] = "Step 10/20 , train mean reward=0.25, full validation mean reward=0.5, training loss=1e-3"
    both = event("b", 11, train_mean_reward=0.75)
    both["message"] = "Step 11/20, train mean reward=0.7"
    found = numbers(records(put(tmp_path / "events.json", page(both, human))))
    assert found == {
        (10, "train_mean_reward"): ("train", 0.25),
        (10, "full_valid_mean_reward"): ("valid", 0.5),
        (10, "train_loss"): ("train", 0.001),
        (11, "train_mean_reward"): ("train", 0.75),
    }


def test_the_same_number_of_events_results_and_checkpoints_is_stored_once(tmp_path: Path) -> None:
    put(tmp_path / "job.json", job())
    put(tmp_path / "events.json", page(event("e1", 1, train_mean_reward=0.4, train_error_count_sql=0.03)))
    put(tmp_path / "results.csv", CSV)
    put(tmp_path / "results64.csv", base64.b64encode(CSV.encode()).decode())
    put(tmp_path / "checkpoints.json", page(checkpoint(2, full_valid_mean_reward=0.55, completion_tokens_mean=300.0)))
    found = records(tmp_path)
    assert openai_fine_tuning.default_run(tmp_path) == "ftjob-x"
    assert sorted((row["step"], row["name"], row["value"]) for row in rows(found, "metrics") if row["value"]) == [
        (1, "train_error_count_sql", 0.03),
        (1, "train_mean_reward", 0.4),
        (2, "completion_tokens_mean", 300.0),
        (2, "full_valid_mean_reward", 0.55),
        (2, "train_mean_reward", 0.5),
    ]
    assert numbers(found)[(2, "train_error_count_sql")] == ("train", None)
    assert any(isinstance(each, Note) and "differ" in each.text for each in found)
    (saved,) = rows(found, "checkpoints")
    assert (saved["step"], saved["checkpoint_id"], saved["model"]) == (2, "ftckpt_2", "ft:o4-mini:o::a:ckpt-step-2")


@pytest.mark.parametrize("encode", [str.encode, lambda text: base64.b64encode(b"\xef\xbb\xbf" + text.encode())])
def test_result_file_plain_or_base64(tmp_path: Path, encode: Any) -> None:
    path = tmp_path / "file-r"
    path.write_bytes(encode(CSV))
    assert openai_fine_tuning.matches(Peek(path))
    assert openai_fine_tuning.default_run(path) == tmp_path.name
    assert numbers(records(path)) == {
        (1, "train_mean_reward"): ("train", 0.4),
        (1, "train_error_count_sql"): ("train", 0.02),
        (2, "train_mean_reward"): ("train", 0.5),
        (2, "full_valid_mean_reward"): ("valid", 0.55),
        (2, "train_error_count_sql"): ("train", None),
    }


def test_result_file_with_paths_and_broken_rows(tmp_path: Path) -> None:
    path = put(
        tmp_path / "r.csv",
        "step,errors/graders/match/train_other_error_mean,train_loss\r\n1,0.25,2\r\nx,1,2\r\n\r\n2,1,2,3\r\n3,oops,1\r\n",
    )
    found = records(path)
    assert numbers(found) == {
        (1, "errors/graders/match/train_other_error_mean"): ("train", 0.25),
        (1, "train_loss"): ("train", 2.0),
        (3, "train_loss"): ("train", 1.0),
    }
    assert rows(found, "metrics")[0]["labels"] == '{"grader":"match"}'
    assert [(each.position, each.snippet) for each in found if isinstance(each, Reject)] == [
        ("3", "x,1,2"),
        ("5", "2,1,2,3"),
        ("6", "3,oops,1"),
    ]


def test_folder_with_eval_runs_reads_their_rollouts_into_the_job(tmp_path: Path) -> None:
    put(tmp_path / "job.json", job())
    run = {"object": "eval.run", "id": "r1", "eval_id": "eval_x", "name": "Step 4", "status": "completed"}
    item = {
        "object": "eval.run.output_item",
        "id": "i1",
        "run_id": "r1",
        "eval_id": "eval_x",
        "status": "pass",
        "datasource_item": {"messages": [{"role": "user", "content": "q"}], "answer": "7"},
        "results": [{"name": "match", "score": 0.5, "passed": True}],
        "sample": {"output": [{"role": "assistant", "content": "7"}]},
    }
    put(tmp_path / "evals" / "runs-0001.json", page(run))
    put(tmp_path / "evals" / "r1" / "items-0001.json", page(item))
    put(tmp_path / "evals" / "r1" / "run.json", run)
    put(tmp_path / "README.txt", "hello")
    put(tmp_path / ".job.json.part", "{")
    assert openai_fine_tuning.matches(Peek(tmp_path))
    found = records(tmp_path)
    (rollout,) = (each for each in found if isinstance(each, Rollout))
    assert rollout.run is None
    assert (rollout.values["step"], rollout.values["split"], rollout.values["reward"]) == (4, "valid", 0.5)
    assert rollout.values["raw_ref"] == "evals/r1/items-0001.json#data/0"
    assert len(rows(found, "runs")) == 1
    assert [each.text for each in found if isinstance(each, Note)] == [
        "Files in the job's folder that are none of its answers were skipped: README.txt."
    ]


def test_evals_leave_a_folder_with_a_job_to_the_job(tmp_path: Path) -> None:
    put(tmp_path / "job.json", job())
    put(tmp_path / "runs.json", page({"object": "eval.run", "id": "r1", "name": "Step 1"}))
    assert not openai_evals.matches(Peek(tmp_path))
    assert openai_fine_tuning.matches(Peek(tmp_path))


def test_page_of_jobs_is_a_run_each(tmp_path: Path) -> None:
    found = records(put(tmp_path / "jobs.json", page(job(id="ftjob-a"), job(id="ftjob-b", status="paused"))))
    assert [(each.run, each.values["status"]) for each in found if isinstance(each, Row) and each.table == "runs"] == [
        ("ftjob-a", "succeeded"),
        ("ftjob-b", "paused"),
    ]


def test_a_result_file_that_is_cut_off_leaves_the_rest_of_the_job(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps({"object": "fine_tuning.job", "id": "ftjob-1"}))
    table = "step,train_loss,valid_loss\n" + "".join(f"{n},0.{n * 7919 % 99991},0.1\n" for n in range(9_000))
    packed = gzip.compress(table.encode())
    (tmp_path / "result.csv").write_bytes(packed[: len(packed) // 2])
    found = list(openai_fine_tuning.read(Part(tmp_path), Options()))
    assert [each.file for each in found if isinstance(each, Reject)] == ["result.csv"]
    assert [each.table for each in found if isinstance(each, Row)] == ["runs"]


def test_broken_files_of_a_folder_are_rejects_and_the_rest_is_read(tmp_path: Path) -> None:
    put(tmp_path / "job.json", job())
    whole = json.dumps(page(event("e1", 1, train_loss=1.5), event("e2", 2, train_loss=1.0)))
    put(tmp_path / "events.json", whole[:-60])
    put(tmp_path / "checkpoints.json", page(checkpoint(1), {"object": "other"}, "x"))  # type: ignore[arg-type]  # hostile on purpose
    put(tmp_path / "events2.json", '{"object": "fine_tuning.job.event", "id"')
    found = records(tmp_path)
    assert numbers(found) == {(1, "train_loss"): ("train", 1.5)}
    assert sorted((each.file, each.position) for each in found if isinstance(each, Reject)) == [
        ("checkpoints.json", "#data/1"),
        ("checkpoints.json", "#data/2"),
        ("events.json", "#data/1"),
        ("events2.json", "0"),
    ]


def test_wrong_types_become_null(tmp_path: Path) -> None:
    odd = {"object": "fine_tuning.job", "id": 3, "method": "x", "metadata": 1, "error": 4, "created_at": "soon"}
    put(tmp_path / "job.json", odd)
    put(tmp_path / "events.json", page({"object": "fine_tuning.job.event", "data": [1], "message": None}))
    put(
        tmp_path / "checkpoints.json",
        page({"object": "fine_tuning.job.checkpoint", "metrics": "x", "step_number": "n"}),
    )
    found = records(tmp_path)
    (run,) = rows(found, "runs")
    assert (run["created_at"], run["hyperparameters"], run["error_message"]) == (None, None, "4")
    assert [row["event_id"] for row in rows(found, "events")] == ["events.json#data/0"]
    assert [row["step"] for row in rows(found, "checkpoints")] == [None]
    assert rows(found, "metrics") == []


@pytest.mark.parametrize("text", ["", '{"object": "fine_tuning.job", "id"', "nothing"])
def test_single_file_that_holds_nothing_is_unreadable(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableError, match=r"job\.json"):
        records(put(tmp_path / "job.json", text))


@pytest.mark.parametrize(
    "text",
    [
        "epoch,step,train_loss\n0,1,2\n",
        "step,value\n1,2\n",
        "c3RlcA==",
        "name,train_loss\na,1\n",
        '{"object": "fine_tuning.jobless"}',
        '{"a": "\\"object\\": \\"fine_tuning.job\\""}',
        "",
    ],
)
def test_other_files_are_not_recognised(tmp_path: Path, text: str) -> None:
    assert not openai_fine_tuning.matches(Peek(put(tmp_path / "other.csv", text)))
