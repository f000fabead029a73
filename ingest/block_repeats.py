"""What each of many tool calls says again: `ingest.repeats` by column, for blocks of plain rollouts.

The definitions are those of `ingest.repeats`; a test holds the two against each other. Nothing here knows a format.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from orjson import loads
from xxhash import xxh3_64_intdigest

from ingest.arrays import Flags, Ints, flags, is_known, nullable
from ingest.block_words import Words, near
from ingest.repeats import canonical, dump_canonical, tool_kind

Hashes = NDArray[np.uint64]


def block_repeats(of: Ints, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns that say what calls repeat, for calls of many rollouts, those of one beside one another, in order.

    `of` tells the rollout of each call; `columns` are those that `ingest.repeats.NEEDED` names, `arguments` only where
    the source gives them.
    """
    found, hashes = _identified(columns)
    outputs, has_output = _hashes(columns["output_text"].fill_null("")), is_known(columns["output_text"])
    known = is_known(columns["arguments_raw"]) & ~flags(pc.equal(columns["status"], "orphan"))
    speakers, tools = _codes(columns["requestor"]), _codes(columns["tool"])
    same = np.unique(hashes, return_inverse=True)[1]
    earlier = _latest_before(_grouped(of, speakers, same), known)
    is_exact = earlier < np.arange(len(of))
    kinds = [tool_kind(tool) for tool in columns["tool"].dictionary_encode().dictionary.to_pylist()]
    acts, reads = (np.array([each == kind for each in kinds], np.bool_)[tools] for kind in ("acts", "reads"))
    is_same, is_compared = outputs == outputs[earlier], has_output & has_output[earlier]
    may_change = flags(columns["is_executed"]) & ~reads
    changes: Ints = np.cumsum(may_change) - may_change
    is_idle: Flags = changes[np.minimum(earlier + 1, len(of) - 1)] == changes
    alike = _alike(found["arguments"], columns["arguments_raw"], _grouped(of, speakers, tools), known, is_exact)
    said = np.where(is_compared, np.where(is_same, 0, 1), 2)
    roots = pa.array(_roots(np.minimum(earlier, alike)))
    found |= {
        "output_bytes": pc.binary_length(columns["output_text"]),
        "output_hash": _hex(outputs, ~has_output),
        "arguments_hash": _hex(hashes),
        "near_key": _hex(hashes).take(roots),
        "repeat_of": columns["call_index"].take(nullable(earlier, ~is_exact)),
        "near_repeat_of": columns["call_index"].take(nullable(alike, alike == np.arange(len(of)))),
        "repeat_output": pa.array(_OUTPUTS).take(nullable(said, ~is_exact)),
        "is_wasted": nullable(is_exact & is_same & is_idle & ~acts, ~known | (is_exact & ~is_compared)),
    }
    return found


_OUTPUTS = ("same", "different", "unknown")


def _identified(columns: Mapping[str, pa.Array]) -> tuple[dict[str, pa.Array], Hashes]:
    """Canonical arguments, and the hash of each call's tool and arguments."""
    raw, said = columns["arguments_raw"], columns.get("arguments")
    if said is None:
        said = pa.array(_canonical(raw.cast(pa.binary()).to_pylist()), pa.string())
    is_parsed = said.is_valid()
    if said.null_count:
        unparsed = raw.filter(said.is_null()).to_pylist()
        said_so = pa.array([None if each is None or not each.strip() else False for each in unparsed], pa.bool_())
        is_parsed = pc.replace_with_mask(is_parsed, said.is_null(), said_so)
    keys = pc.binary_join_element_wise(columns["tool"], pc.coalesce(said, raw, "None"), "\0")
    return {"arguments": said, "is_parsed": is_parsed}, _hashes(keys)


def _canonical(raws: list[bytes | None]) -> list[bytes | None]:
    try:
        return [*map(dump_canonical, map(loads, raws))]  # type: ignore[arg-type]  # None is refused like other arguments
    except (ValueError, TypeError):
        return [canonical(raw) if raw else None for raw in raws]


def _hashes(texts: pa.Array) -> Hashes:
    found: list[bytes] = texts.cast(pa.binary()).to_pylist()
    return np.fromiter(map(xxh3_64_intdigest, found), np.uint64, len(found))


def _hex(hashes: Hashes, missing: Flags | None = None) -> pa.Array:
    """Hashes as sixteen hexadecimal digits each."""
    digits = hashes.astype(">u8").tobytes().hex().encode()
    offsets = np.arange(len(hashes) + 1, dtype=np.int32) * 16
    found = pa.StringArray.from_buffers(len(hashes), pa.py_buffer(offsets), pa.py_buffer(digits))
    return found if missing is None else pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), found)


def _codes(texts: pa.Array) -> Ints:
    found: Ints = texts.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _grouped(of: Ints, first: Ints, second: Ints) -> Ints:
    """A number for each (rollout, first, second)."""
    found: Ints = (of * (first.max(initial=0) + 1) + first) * (second.max(initial=0) + 1) + second
    return found


def _latest_before(groups: Ints, known: Flags) -> Ints:
    """For each known call the latest earlier known one of its group; itself where there is none."""
    found = np.arange(len(groups))
    order, nth = _ordered(groups, known)
    later = np.flatnonzero(nth > 0)
    found[order[later]] = order[later - 1]
    return found


def _ordered(groups: Ints, known: Flags) -> tuple[Ints, Ints]:
    """The known calls group by group, in order, and the number of each within its group."""
    calls = np.flatnonzero(known)
    order = calls[np.argsort(groups[calls], kind="stable")]
    ordered = groups[order]
    return order, np.arange(len(order)) - np.searchsorted(ordered, ordered)


def _alike(arguments: pa.Array, raw: pa.Array, groups: Ints, known: Flags, is_exact: Flags) -> Ints:
    """For each call the latest earlier one of its tool that is alike but not equal; itself where there is none."""
    found = np.arange(len(groups))
    order, nth = _ordered(groups, known)
    asked = (nth > 0) & ~is_exact[order]
    concerned = np.isin(groups[order], groups[order[asked]])
    order, nth = order[concerned], nth[concerned]
    if len(order):
        at = pa.array(order)
        places = np.arange(len(order))
        alike = near(Words.of(arguments.take(at), raw.take(at)), places, nth, ~is_exact[order])
        found[order] = order[alike]
    return found


def _roots(parents: Ints) -> Ints:
    """Where each chain of calls that repeat one another begins."""
    while True:
        above = parents[parents]
        if (above == parents).all():
            return parents
        parents = above
