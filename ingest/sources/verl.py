"""verl's dumped generations and its file logger's metrics.

Format (read in verl-project/verl at 1dda039b and 047621b2, earlier volcengine/verl): `trainer.rollout_data_dir` and
`trainer.validation_data_dir` each receive `<global_step>.jsonl`, one row per sample: `input` and `output` (decoded
text), `gts`, `score` (the reward), `step`, every list of the reward function's extra information, and `request_id`, or
in the v1 trainer `uid` = `<uid>_<session>_<turn>`. A session of the v1 trainer may be several rows with the final score
copied: they are one rollout. The file logger writes `{"step", "data": {name: number}}` per line.

The folder's name gives the split. Messages and tool calls are recovered from the text (`ingest.chat_template`,
`ingest.dialects.from_text`) and marked so. `passed` is the reward function's own verdict `acc` where that is a boolean,
and is never taken from a number. Tokens, times and how a rollout ended are not recorded.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ingest.chat_template import segments
from ingest.dialects import Conversation, from_text, prompt_hash, prompt_text
from ingest.errors import UnreadableError
from ingest.reading import Peek, dump_json, is_compressed, number, odd_score, text, whole
from ingest.sources.base import NOT_SCORED, Note, Options, Part, Record, Reject, Rollout, Row, Values, objects

NAME = "verl"
TITLE = "verl rollout and validation dumps"
FILLS = frozenset(
    {
        "sample",
        "step",
        "split",
        "reward",
        "subscores",
        "messages",
        "tool_calls",
        "tool_errors",
        "metrics",
        "checkpoints",
    }
)
HINT = "JSON lines with input, output, gts, score, step in <global_step>.jsonl; metrics with step, data"

_STEP_FILE = re.compile(r"(\d+)\.jsonl(?:\.gz|\.zst)?")
_CHECKPOINT = re.compile(r"global_step_(\d+)")
_UID = re.compile(r"(.+)_(\d+)_(\d+)", re.S)
_VALID = frozenset({"val", "valid", "validate", "validation", "eval", "evals", "evaluation"})
_GENERIC = _VALID | {
    "train",
    "training",
    "trainer",
    "rollout",
    "rollouts",
    "data",
    "dir",
    "dump",
    "dumps",
    "generations",
}
"""Words of folder names that name no run."""
_OWN = frozenset({"input", "output", "gts", "score", "step", "uid", "request_id", "data_source"})
_LONG_LIST = 32
"""Longer lists of numbers are token ids, masks or log-probabilities."""


def matches(peek: Peek) -> bool:
    """A dump file, a metrics file, a folder of dump files, or a folder of one such folder per split."""
    if not peek.is_dir:
        return _is_dump(peek) or _is_metrics(peek)
    return bool(_step_files(peek.path)) or len(_split_folders(peek.path)) > 1


def _is_dump(peek: Peek) -> bool:
    return {"input", "output", "score"} <= peek.keys and bool({"gts", "step"} & peek.keys)


def _is_metrics(peek: Peek) -> bool:
    if not {"step", "data"} <= peek.keys <= {"step", "data", "elapsed_seconds"}:
        return False
    data = peek.first["data"] if isinstance(peek.first, dict) else None
    return isinstance(data, dict) and any("/" in str(name) for name in data)


def _step_files(folder: Path) -> list[Path]:
    """Dump files of a folder by step; none unless the first that is not empty is of the format."""
    try:
        found = sorted((int(match[1]), each) for each in folder.iterdir() if (match := _STEP_FILE.fullmatch(each.name)))
    except OSError:
        return []
    files = [file for _, file in found if file.is_file()]
    first = next((peek for peek in map(Peek, files[:10]) if peek.head), None)
    return files if first is not None and _is_dump(first) else []


def _split_folders(folder: Path) -> dict[str, Path]:
    """The folder of dump files of each split; none where a split has two, because those are two runs."""
    found: dict[str, Path] = {}
    try:
        children = sorted(each for each in folder.iterdir() if each.is_dir())
    except OSError:
        return {}
    for child in children:
        if _step_files(child):
            if _split_of(child) in found:
                return {}
            found[_split_of(child)] = child
    return found


def _words(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[^a-z]+", name.lower())) - {""}


def _split_of(folder: Path) -> str:
    return "valid" if _words(folder.name) & _VALID else "train"


def default_run(path: Path) -> str:
    """The folder above the dumps, unless their own folder has a name that says more than `rollout_data`."""
    if path.is_file() and not _STEP_FILE.fullmatch(path.name):
        return path.parent.name if path.stem == "metrics" else path.stem
    folder = path.parent if path.is_file() else path
    is_dumps = path.is_file() or bool(_step_files(path))
    return folder.parent.name if is_dumps and _words(folder.name) <= _GENERIC else folder.name


def split(path: Path) -> Sequence[Part]:
    """Parts of a folder: what stands beside the dumps (the folder with no bytes of it), then every dump file."""
    files = [] if path.is_file() else _dumps(path)
    if not files or any(is_compressed(file) for file in files):  # the end of a part counts decompressed bytes
        return (Part(path),)
    return (Part(path, 0, 0), *(Part(file, 0, file.stat().st_size) for file in files))


def _dumps(folder: Path) -> list[Path]:
    return _step_files(folder) or [file for each in _split_folders(folder).values() for file in _step_files(each)]


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the run, its metrics and checkpoints, then one rollout per row (per session in the v1 trainer).

    Raises:
        UnreadableError: A file that was named itself cannot be read.
    """
    del options
    if part.end is None or part.path.is_dir():
        yield Row("runs", {"kind": "training", "provider": "verl", "reward_name": "score"})
    if not part.path.is_dir():
        yield from _metrics(part) if _is_metrics(Peek(part.path)) else _rollouts(part)
        return
    yield from _beside(part.path)
    for file in _dumps(part.path) if part.end is None else ():
        try:
            yield from _rollouts(Part(file))
        except UnreadableError as error:
            yield Reject(str(error), "end", file=str(file))


def _beside(folder: Path) -> Iterator[Record]:
    for each in sorted(folder.iterdir()):
        checkpoint = _CHECKPOINT.fullmatch(each.name)
        if checkpoint and each.is_dir():
            yield Row("checkpoints", {"step": int(checkpoint[1]), "checkpoint_id": each.name})
        elif each.suffix == ".jsonl" and each.is_file() and _is_metrics(Peek(each)):
            yield from _metrics(Part(each))


def _metrics(part: Part) -> Iterator[Record]:
    others: set[str] = set()
    for found in objects(part):
        if isinstance(found, Reject):
            found.file = str(part.path)
            yield found
            continue
        offset, row = found
        data = row.get("data")
        if not isinstance(data, dict):
            yield Reject("a line of metrics needs an object data", str(offset), str(row)[:200], str(part.path))
            continue
        for name, value in data.items():
            if value is None or isinstance(value, int | float):
                side = "valid" if name.startswith("val") else "train"
                values = {"step": whole(row.get("step")), "split": side, "name": name, "value": number(value)}
                yield Row("metrics", {**values, "position": offset})
            else:
                others.add(name)
    if others:
        yield Note(f"No numbers, and so no metrics: {', '.join(sorted(others))[:300]}.")


def _rollouts(part: Part) -> Iterator[Record]:
    """Rollouts of one dump file. Rows of a session stand together, because the trainer sorts them by `uid`."""
    seen: set[str | None] = set()
    session: str | None = None
    rows: list[tuple[int, Values]] = []
    dropped = is_odd = False
    for found in _rows(part):
        if isinstance(found, Reject):
            yield found
            continue
        offset, row = found
        is_odd |= odd_score(row.get("score")) is not None
        dropped |= any(_is_long_list(value) for value in row.values())
        own = _session(row)
        if own is not None and own == session:
            rows.append(found)
        elif own is not None and own in seen:
            reason = f"a row of session {own[:80]} stands apart from its other rows"
            yield Reject(reason, str(offset), str(row)[:200], str(part.path))
        else:
            if rows:
                yield _rollout(part.path, rows)
            session, rows = own, [found]
            seen.add(own)
    if rows:
        yield _rollout(part.path, rows)
    if is_odd:
        yield NOT_SCORED
    if dropped:
        yield Note("Long lists of numbers (token ids, masks, log-probabilities) in verl dumps are not stored.")


def _rows(part: Part) -> Iterator[tuple[int, Values] | Reject]:
    for found in objects(part):
        if isinstance(found, Reject):
            found.file = str(part.path)
            yield found
        elif not isinstance(found[1].get("output"), str):
            yield Reject("a row needs the text output", str(found[0]), str(found[1])[:200], str(part.path))
        else:
            yield found


def _session(row: Values) -> str | None:
    match = _UID.fullmatch(str(row.get("uid") or ""))
    return f"{match[1]}_{match[2]}" if match else None


def _turn(row: Values) -> int:
    match = _UID.fullmatch(str(row.get("uid")))
    return int(match[3]) if match else 0


def _is_long_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) > _LONG_LIST and all(isinstance(each, int | float) for each in value)


def _rollout(path: Path, rows: list[tuple[int, Values]]) -> Rollout:
    offset = rows[0][0]
    rows = sorted(rows, key=lambda found: _turn(found[1]))  # the trainer sorts as text: 10 before 2
    first = rows[0][1]
    last = rows[-1][1]
    talk, asked, is_joined = _conversation([row for _, row in rows])
    side, file_step = _split_of(path.parent), _STEP_FILE.fullmatch(path.name)
    step = whole(last.get("step"))
    step = step if step is not None else int(file_step[1]) if file_step else None
    sample_id = prompt_hash(talk.messages[:asked]) if asked else None
    uid = _UID.fullmatch(str(first.get("uid") or ""))
    extra = {name: value for name, value in last.items() if name not in _OWN and not _is_long_list(value)}
    kept = {name: value for name, value in extra.items() if not isinstance(value, bool | int | float)}
    kept |= {name: last[name] for name in ("step", "uid") if _is_unread(name, last.get(name))}
    if (stated := odd_score(last.get("score"))) is not None:
        kept["score"] = stated
    if len(rows) > 1:
        kept |= {"num_segments": len(rows)} | ({} if is_joined else {"segments": "inputs of later segments left out"})
    values: Values = {
        "native_id": f"{uid[1]}_{uid[2]}" if uid else text(first.get("request_id")) or None,
        "native_attempt": int(uid[2]) if uid else None,
        "sample_id": sample_id,
        "sample_id_source": "prompt_hash" if sample_id else None,
        "group_id": uid[1] if uid else f"{side}/{step}/{sample_id}",
        "environment": text(last.get("data_source")),
        "step": step,
        "split": side,
        "reward": number(last.get("score")),
        "passed": _verdict(last.get("acc")),
        "final_answer": next((m["text"] for m in reversed(talk.messages[asked:]) if m["role"] == "assistant"), None),
        "position": ((step or 0) * 2 + (side == "valid")) * 2**36 + offset,
        "raw_ref": f"{path.parent.name}/{path.name}@{offset}",
        "metadata": dump_json(kept or None),
    }
    sample = {
        "prompt_text": prompt_text(talk.messages[:asked]),
        "prompt_hash": sample_id,
        "reference": text(last.get("gts")),
    }
    return Rollout(values, talk.messages, talk.tool_calls, _scores(extra), sample if asked else None)


def _is_unread(name: str, value: Any) -> bool:
    """Whether a field of ours holds what no column takes."""
    return value is not None and (whole(value) is None if name == "step" else not _UID.fullmatch(str(value)))


def _verdict(acc: Any) -> bool | None:
    """The reward function's own yes or no; some dumps wrote numpy's booleans as text."""
    return {"True": True, "False": False}.get(str(acc)) if isinstance(acc, bool | str) else None


def _scores(extra: Values) -> list[Values]:
    return [
        {"grader": name, "value": number(value), "passed": value if isinstance(value, bool) else None, "kind": "metric"}
        for name, value in extra.items()
        if isinstance(value, bool | int | float)
    ]


def _conversation(rows: list[Values]) -> tuple[Conversation, int, bool]:
    """The conversation of a rollout's rows, how many of its messages are the prompt, and whether all inputs joined on.

    A later segment's input repeats the conversation so far: only what goes on from there is new. Where it does not
    repeat it (a compacted context), its output alone is added.
    """
    talk = Conversation()
    asked, is_joined = 0, True
    for position, row in enumerate(rows):
        messages, prefix = _prompt(row.get("input"))
        before = [(message["role"], message["text"] or "") for message in talk.messages]
        goes_on = messages[: len(before)] == before
        is_joined &= goes_on
        for role, said in messages[len(before) :] if goes_on else []:
            talk.say(role, said, **({"is_sampled": False} if role == "assistant" else {}))
        asked = asked if position else len(talk.messages)
        from_text(prefix + str(row["output"]), talk)
    return talk, asked, is_joined


def _prompt(decoded: Any) -> tuple[list[tuple[str, str]], str]:
    """Messages of an input, and what its template already wrote of the answer (`<think>`)."""
    pieces = [(role, text(piece.strip()) or "") for role, piece in segments(str(decoded or ""), "user")]
    if pieces and pieces[-1][0] == "assistant" and pieces[-1][1] == "<think>":
        return pieces[:-1], "<think>"
    return pieces, ""
