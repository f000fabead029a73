"""Verifiers v1 (0.2 and later): `traces.jsonl`, one episode per line, each with several traces or none.

Spec: `verifiers.v1.episode.Episode` and `verifiers.v1.trace.Trace`; versions seen: 0.3.1, 0.4.0, and bare traces as
prime-rl wrote them in between. Sample: `<env>--<model>--<harness>--<id>/traces.jsonl`. What an episode becomes is said
in `verifiers_episode`; a file of prime-rl read alone is read here, its run directory by `prime_rl`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.errors import UnreadableError
from ingest.reading import Peek, dump_json
from ingest.sources.base import Options, Part, Record, Reject, Row, Values, objects
from ingest.sources.verifiers_episode import Place, episode, is_record
from ingest.sources.verifiers_folder import first_object, is_eval, metadata_of, model_of, pieces, run_name
from ingest.sources.verifiers_trace import object_of, objects_in

NAME = "verifiers"
TITLE = "verifiers v1 episodes (traces.jsonl)"
HINT = "`traces.jsonl` with id, env, task, group, run, traces"
FILLS = frozenset(
    {"sample", "step", "split", "reward", "subscores", "status", "messages", "tool_calls", "tool_latency"}
    | {"tokens", "reasoning_tokens", "latency", "cost", "model"}
)
FILE = "traces.jsonl"


def matches(peek: Peek) -> bool:
    """A file of episodes (or traces), or a folder with `traces.jsonl`."""
    if peek.is_dir:
        if FILE not in peek.names:
            return False
        inner = Peek(peek.path / FILE)
        return is_record(first_object(inner)) or (not inner.head and "configs" in peek.names)
    return is_record(first_object(peek))


def default_run(path: Path) -> str:
    """The eval: its folder's name, or `<env>--<model>--<folder>`."""
    return run_name(path, frozenset({FILE}))


def split(path: Path) -> Sequence[Part]:
    """The one file, a big one in pieces."""
    return pieces(path / FILE if path.is_dir() else path)


def read(part: Part, options: Options) -> Iterator[Record]:
    """Yield the run, then the rollouts of every episode.

    Raises:
        UnreadableError: The file cannot be read, or is damaged.
    """
    file = part.path / FILE if part.path.is_dir() else part.path
    if not file.is_file():
        raise UnreadableError(f"{file}: there is no such file")
    settings = metadata_of(file.parent)
    if part.start == 0:
        yield _run(first_object(Peek(file)), settings)
    place = Place(file.name, "valid" if is_eval(file.parent) else None, model_of(settings))
    for found in objects(Part(file, part.start, part.end)):
        if isinstance(found, Reject):
            found.file = file.name
            yield found
        else:
            yield from episode(found[1], found[0], place)


def _run(record: Values, settings: Values) -> Row:
    first = object_of(next(iter(objects_in(record.get("traces"))), record))
    version = object_of(first.get("verifiers"))
    model = model_of(settings) or model_of(object_of(object_of(first.get("agent")).get("config")))
    reference = "@".join(str(each) for each in (version.get("version"), version.get("commit")) if each)
    kind = "training" if object_of(record.get("run")).get("type") == "train" else "evaluation"
    values = {
        "kind": kind,
        "provider": "verifiers",
        "source_format": NAME,
        "model": model,
        "reward_name": "sum of score × weight",
        "hyperparameters": dump_json(settings.get("sampling")),
        "config": dump_json(settings or None),
        "code_reference": f"verifiers {reference}" if reference else None,
    }
    return Row("runs", values)
