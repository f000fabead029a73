"""The words of many tool calls' arguments at once, and which of the calls are alike: `ingest.repeats` by column.

The definitions are those of `ingest.repeats`; a test holds the two against each other. Nothing here knows a format.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest.arrays import Flags, Ints, flags
from ingest.repeats import NEAR_CHARACTERS, NEAR_SIMILARITY, NEAR_WINDOW, words_of_call

Bytes = NDArray[np.uint8]

_EVERY = [chr(each) for each in range(256)]
_IS_WORD = np.array([each.isascii() and (each.isalnum() or each == "_") for each in _EVERY])
_IS_JOINT = np.array([each in "-./:" for each in _EVERY])
"""What makes one word of two, if it stands alone between them."""
_LOWER = np.array([ord(each.lower()) if each.isascii() else 32 for each in _EVERY], np.uint8)
_QUOTE, _COLON, _ESCAPE, _BLANK = b'":\\ '


@dataclass(frozen=True, slots=True)
class Words:
    """The words of calls: every different one of a call once, call by call, as whole numbers."""

    counts: Ints
    """Words of each call."""
    starts: Ints
    """Where the words of each call begin."""
    codes: Ints
    keys: Ints
    """`call * size + code` of every word, ascending."""
    size: int
    bits: NDArray[np.uint64]
    """For each call 64 bits, of which those of its words are set: for a first, quick comparison."""

    @classmethod
    def of(cls, arguments: pa.Array, raw: pa.Array) -> "Words":
        """Words of calls with these canonical arguments (NULL where they were no JSON), else of the raw text."""
        calls, words = _found(arguments, raw)
        coded = words.dictionary_encode()
        size = len(coded.dictionary) + 1
        keys = np.sort(calls * size + coded.indices.to_numpy(zero_copy_only=False))
        keys = keys[np.diff(keys, prepend=-1) != 0]
        counts = np.bincount(keys // size, minlength=len(raw))
        codes = keys % size
        starts = np.cumsum(counts) - counts
        bits = np.zeros(len(raw), np.uint64)
        if len(keys):
            flagged = np.uint64(1) << (codes & 63).astype(np.uint64)
            bits[counts > 0] = np.bitwise_or.reduceat(flagged, starts[counts > 0])
        return cls(counts, starts, codes, keys, size, bits)

    def are_alike(self, some: Ints, others: Ints) -> Flags:
        """Which pairs of calls have so many words in common that they are alike."""
        mine, theirs = self.bits[some], self.bits[others]
        most = np.minimum(
            self.counts[some] - np.bitwise_count(mine & ~theirs),
            self.counts[others] - np.bitwise_count(theirs & ~mine),
        )
        alike: Flags = self._enough(most, some, others)
        pairs = np.flatnonzero(alike)
        if len(pairs):
            alike[pairs] = self._enough(self._common(some[pairs], others[pairs]), some[pairs], others[pairs])
        return alike

    def _enough(self, common: Ints, some: Ints, others: Ints) -> Flags:
        found: Flags = (common > 0) & (common >= NEAR_SIMILARITY * (self.counts[some] + self.counts[others] - common))
        return found

    def _common(self, some: Ints, others: Ints) -> Ints:
        """Number of words that pairs of calls have in common."""
        counts = self.counts[some]
        pair = np.repeat(np.arange(len(some)), counts)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
        wanted = others[pair] * self.size + self.codes[self.starts[some][pair] + within]
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.bincount(pair[self.keys[at] == wanted], minlength=len(some))


def _found(arguments: pa.Array, raw: pa.Array) -> tuple[Ints, pa.Array]:
    """Every word with the number of its call, the same word several times."""
    is_plain = _are_plain(arguments)
    plain, others = np.flatnonzero(is_plain), np.flatnonzero(~is_plain)
    of, words = _plain_words(arguments.take(pa.array(plain)))
    found = [words_of_call(arguments[at].as_py(), raw[at].as_py()) for at in others.tolist()]
    extra = np.repeat(others, [len(each) for each in found])
    more = pa.array([word for each in found for word in each], pa.string())
    return np.concatenate([plain[of], extra]), pa.concat_arrays([words, more])


def _are_plain(said: pa.Array) -> Flags:
    """Which canonical arguments are an object in ASCII and compared whole; the words of others are found one by one."""
    is_short = flags(pc.less_equal(pc.binary_length(said), NEAR_CHARACTERS))
    found: Flags = is_short & flags(pc.string_is_ascii(said)) & flags(pc.starts_with(said, "{"))
    return found


def _plain_words(texts: pa.StringArray) -> tuple[Ints, pa.Array]:
    """The words of canonical JSON objects in ASCII, keys left out, with the number of the text of each."""
    if not len(texts):
        return np.zeros(0, np.int64), texts
    _, offsets, letters = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[: len(texts) + 1]
    said = np.frombuffer(letters, np.uint8)[: bounds[-1]].copy()
    _blank_escapes(said)
    quotes = np.flatnonzero(said == _QUOTE)
    starts, ends = quotes[::2], quotes[1::2]
    is_word = _IS_WORD[said]
    is_word[_covered(starts, ends, said[ends + 1] == _COLON, len(said))] = False
    _drop_nulls(is_word, said, quotes)
    is_word[1:-1] |= _IS_JOINT[said[1:-1]] & is_word[:-2] & is_word[2:]
    edges = np.flatnonzero(np.diff(is_word.view(np.int8), prepend=np.int8(0), append=np.int8(0)))
    begins, lengths = edges[::2], edges[1::2] - edges[::2]
    sizes = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    words = pa.StringArray.from_buffers(len(begins), pa.py_buffer(sizes), pa.py_buffer(_LOWER[said[is_word]]))
    return np.searchsorted(bounds, begins, "right") - 1, words


def _blank_escapes(said: Bytes) -> None:
    r"""Turn `\n`, `\"`, `\\` and `\u001f` into blanks: none of what canonical JSON escapes belongs to a word."""
    at = np.flatnonzero(said == _ESCAPE)
    if not len(at):
        return
    is_first = np.diff(at, prepend=-2) != 1
    run = np.maximum.accumulate(np.where(is_first, at, 0))
    at = at[(at - run) % 2 == 0]
    long = at[said[at + 1] == ord("u")]
    said[at] = said[at + 1] = _BLANK
    for place in range(2, 6):
        said[long + place] = _BLANK


def _covered(starts: Ints, ends: Ints, wanted: Flags, size: int) -> Flags:
    """The places of the wanted ranges."""
    steps = np.zeros(size, np.int8)
    steps[starts[wanted]] = 1
    steps[ends[wanted]] = -1
    return np.cumsum(steps, dtype=np.int8).view(np.bool_)


def _drop_nulls(is_word: Flags, said: Bytes, quotes: Ints) -> None:
    """`null` outside of strings is no word."""
    at = np.flatnonzero(said == ord("n"))
    at = at[_IS_BEFORE_VALUE[said[at - 1]]]
    at = at[np.searchsorted(quotes, at) % 2 == 0]
    for place in range(4):
        is_word[at + place] = False


_IS_BEFORE_VALUE = np.array([each in ":,[" for each in _EVERY])


def near(words: Words, order: Ints, nth: Ints, asked: Flags) -> Ints:
    """For each call asked about the latest earlier call that is alike, itself for all others.

    `order` lists the calls group by group (those of a tool in a rollout), `nth` counts them within their group in
    that order.
    """
    found = np.arange(len(order))
    pending = np.flatnonzero(asked[order] & (nth > 0))
    for back in range(1, NEAR_WINDOW + 1):
        pending = pending[nth[pending] >= back]
        if not len(pending):
            break
        some, others = order[pending], order[pending - back]
        alike = words.are_alike(some, others)
        found[some[alike]] = others[alike]
        pending = pending[~alike]
    return found
