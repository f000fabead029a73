"""The error about a file that nothing recognises: what it looks like, what is near, and how to map it."""

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.discover import discover
from ingest.sources import SOURCES
from ingest.unrecognised import explained


def said(folder: Path, content: Any, name: str = "x.jsonl") -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode() + b"\n")
    (error,) = discover([path]).errors
    return error


@pytest.mark.parametrize(
    ("record", "title"),
    [
        ({"type": "result", "result": {"sample": {"id": 1}, "grade": {"score": 1.0}}}, "letta-evals results"),
        ({"_ng_task_index": 0, "responses_create_params": {"input": []}}, "NeMo Gym rollouts"),
        ({"trajectories": [{"reward": 1.0, "messages_and_choices": []}]}, "ART trajectories"),
        ({"version": 2, "status": "success", "eval": {"task": "t"}}, "an Inspect log"),
        ({"resourceSpans": []}, "an OTLP trace export"),
        ({"info": {"trace_id": "tr-1"}, "data": {"spans": []}}, "MLflow traces"),
    ],
)
def test_formats_of_others_are_called_by_their_name(tmp_path: Path, record: Any, title: str) -> None:
    assert f"; {title}, by the look of it)" in said(tmp_path, record)


@pytest.mark.parametrize(
    ("record", "near"),
    [
        ({"input": "q", "output": "a", "gts": "4"}, "verl"),
        ({"task_id": 1, "reward": 1.0, "traj": []}, "tau_bench"),
        ({"example_id": 1, "reward": 1.0, "metrics": {}}, "verifiers_legacy"),
        ({"datasource": {}, "results": [], "sample": {}}, "openai_evals"),
        ({"rollout_id": "r", "sample_id": "s", "score": 1.0}, "observatory_jsonl"),
    ],
)
def test_the_nearest_format_is_the_one_whose_keys_are_there(tmp_path: Path, record: Any, near: str) -> None:
    error = said(tmp_path, record)
    assert f"Nearest formats: {near} (" in error
    assert error.endswith("--map messages=PATH")


def test_where_none_is_near_all_are_listed(tmp_path: Path) -> None:
    error = said(tmp_path, {"colour": "red"})
    assert f"Nearest formats: none; read are {', '.join(each.NAME for each in SOURCES)}." in error


def test_parquet_is_known_by_its_columns(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"step": [1], "completion": ["a"], "x" * 300: [1.0]}), buffer)
    error = said(tmp_path, buffer.getvalue(), "x.parquet")
    assert f"it is Parquet with the columns completion, step, {'x' * 80})" in error
    assert "Nearest formats: trl (" in error
    assert "--map" not in error
    assert "begins like Parquet but is not whole" in said(tmp_path, buffer.getvalue()[:-1], "y.parquet")


def test_what_is_no_json_is_said_to_be_none(tmp_path: Path) -> None:
    archive = io.BytesIO()
    zipfile.ZipFile(archive, "w").close()
    assert "it does not begin with JSON" in said(tmp_path, b"a,b\n1,2\n")
    assert "its first record holds no object" in said(tmp_path, b"[1, 2]\n")
    assert "it begins like JSON but its first record is not whole" in said(tmp_path, b'{"a": [1,')
    assert "the file is empty" in said(tmp_path, b"")
    archive.write(b"PK")
    assert "it is a ZIP archive" in said(tmp_path, archive.getvalue(), "x.eval")
    assert "keys colour" in said(tmp_path, gzip.compress(b'{"colour": 1}\n'), "x.jsonl.gz")


def test_a_folder_of_unknown_files_is_explained_by_its_first(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"type": "result", "result": {"sample": {}}}\n')
    (error,) = discover([tmp_path]).errors
    assert error.startswith(explained(tmp_path / "a.jsonl"))
    assert error.endswith(" 1 more of the folder's files are not recognised either.")
