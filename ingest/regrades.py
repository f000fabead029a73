"""Names what graders say of a rollout more than once: a re-grade stands beside the first score and never replaces it.

The first keeps the grader's name. What another version of the grader says is `grader@version`, what the same version
says again `grader#2` (and `grader@version#2`). Only the first can be the reward.
"""

from collections.abc import Sequence

from ingest.dialects import Values


def named_apart(rows: list[Values], version: str | None = None, earlier: Sequence[Values] = ()) -> list[Values]:
    """Rows of `scores`, every one under a name of its own and with a kind; `rows` itself is changed.

    `version` is the one the reward came from, where the rollout names it: a score of that version comes first, wherever
    it stands. `earlier` are scores of the rollout that were read before and keep their names.
    """
    first = {row["grader"]: row for row in reversed(earlier)}
    known = set(first)
    for row in rows:
        name = row["grader"]
        is_preferred = version is not None and row.get("grader_version") == version
        if name not in first or (name not in known and is_preferred and first[name].get("grader_version") != version):
            first[name] = row
    taken = set(first)
    for row in rows:
        original = first[row["grader"]]
        if original is row:
            row.setdefault("kind", "subscore")
            continue
        row.setdefault("kind", original.get("kind", "subscore"))
        if row["kind"] == "reward":
            row["kind"] = "metric"
        again = row.get("grader_version")
        is_other = again is not None and again != original.get("grader_version")
        row["grader"] = _free(f"{row['grader']}@{again}" if is_other else row["grader"], taken)
    return rows


def _free(name: str, taken: set[str]) -> str:
    """The name, or with a number from 2 where it is taken; it is then taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}#{number}", number + 1
    taken.add(found)
    return found
