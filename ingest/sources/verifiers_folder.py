"""What the folder around a verifiers file says: the run's name, its metadata or configuration, whether it is an eval.

Folders: `outputs/evals/<env>--<model>/<hash>/` (legacy) and `<output>/<env>--<model>--<harness>--<id>/` (v1).
A file read alone is described by what lies beside it, as far as something does.
"""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.dialects import Values
from ingest.errors import UnreadableError
from ingest.reading import Peek, is_compressed, number, parse_json, read_bytes, text
from ingest.sources.base import Part, Row

EVAL_FOLDERS = frozenset({"eval", "evals"})
MODEL_SEPARATOR = "--"
"""What verifiers writes for `/` in a model's name, and between the parts of a folder's name."""
PIECE_BYTES = 64 * 1024 * 1024


def pieces(file: Path) -> Sequence[Part]:
    """A file of lines in pieces that can be read at the same time; a small or compressed one is one piece."""
    size = file.stat().st_size if file.is_file() else 0
    if size <= PIECE_BYTES or is_compressed(file):
        return (Part(file),)
    return [Part(file, start, min(start + PIECE_BYTES, size)) for start in range(0, size, PIECE_BYTES)]


def first_object(peek: Peek) -> Values:
    """The first JSON object of a file, a broken first line passed over; empty where there is none."""
    if isinstance(peek.first, dict):
        return peek.first
    for line in peek.head.split(b"\n")[:20]:
        try:
            value = parse_json(line.strip())
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return {}


def read_settings(path: Path) -> Values:
    """A JSON or TOML file that holds one object; empty where it is absent or broken."""
    try:
        if path.suffix == ".toml":
            return tomllib.loads(read_bytes(path).decode("utf-8", "replace"))
        value = parse_json(read_bytes(path))
    except (UnreadableError, ValueError, OSError, RecursionError):  # the last: lists in lists without end, in TOML
        return {}
    return value if isinstance(value, dict) else {}


def metadata_of(folder: Path) -> Values:
    """`metadata.json` of a legacy eval, else the resolved configuration of a v1 one."""
    for name in ("metadata.json", "configs/resolved/eval.json", "configs/eval.toml"):
        found = read_settings(folder / name)
        if found:
            return found
    return {}


def model_of(settings: Values) -> str | None:
    """The model named by metadata or configuration: a text, or an object with a name."""
    model = settings.get("model")
    if isinstance(model, dict):
        model = model.get("name")
    return model if isinstance(model, str) and model else None


def environment_of(settings: Values) -> str | None:
    """The environment named by metadata or configuration."""
    for value in (settings.get("env_id"), settings.get("env")):
        if isinstance(value, dict):
            taskset = value.get("taskset")
            value = value.get("id") or value.get("name") or (taskset.get("id") if isinstance(taskset, dict) else None)
        if isinstance(value, str) and value:
            return value
    return None


def is_eval(path: Path) -> bool:
    """Whether a folder is, or lies at most two below, an `eval` or `evals` folder."""
    return any(part in EVAL_FOLDERS for part in path.parts[-3:])


def run_name(path: Path, file_names: frozenset[str]) -> str:
    """Default run: `<env>--<model>--<folder>` of an eval's folder, the file's stem of a file that stands alone.

    The last part stays even where one eval is there: a second one must not change the name of the first.
    """
    folder = path
    if not path.is_dir():
        if path.name.removesuffix(".zst").removesuffix(".gz") not in file_names:
            return path.name.split(".", 1)[0] or path.name
        folder = path.parent
    name = folder.name or "verifiers"
    if MODEL_SEPARATOR in name:
        return name
    if MODEL_SEPARATOR in folder.parent.name:
        return f"{folder.parent.name}{MODEL_SEPARATOR}{name}"
    settings = metadata_of(folder)
    environment, model = environment_of(settings), model_of(settings)
    if environment and model:
        return MODEL_SEPARATOR.join((environment, model.replace("/", MODEL_SEPARATOR), name))
    return name


def numbers(value: object, name: str) -> Iterator[tuple[str, float | None]]:
    """Numeric leaves below a value, nested keys joined by `/`; NULL, NaN and infinite leaves come as None."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{name}/{key}" if name else str(key))
    elif value is None or isinstance(value, bool | int | float):
        yield name, number(value)


def metadata_metrics(settings: Values) -> Iterator[Row]:
    """Averages, pass rates, usage and cost that a legacy eval wrote into its metadata."""
    position = 0
    for key, value in settings.items():
        if key.startswith(("avg_", "pass_")) or key in ("usage", "cost"):
            for name, found in numbers(value, text(key) or ""):
                values = {"split": "valid", "name": name, "value": found, "position": position}
                yield Row("metrics", values)
                position += 1
