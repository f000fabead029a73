"""The table of `queries/INTEGRITY.md`: what every rule names in the case studies and in real files.

python -m tests.integrity_table STORE…     # stores that hold them; prints Markdown
"""

import sys
from pathlib import Path

import pandas as pd

from queries.connection import open_store
from queries.integrity import integrity_verdicts


def rates(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per run and rule of concern `hack`: rollouts named, rollouts it applies to, whether it rises."""
    own = verdicts[verdicts["concern"] == "hack"]
    summed = own.groupby(["run_id", "rule"], sort=False).agg(
        named=("num_flagged", "sum"),
        of=("num_rollouts", "sum"),
        rises=("verdict", lambda said: bool((said == "rises").any())),
    )
    return summed.reset_index()


def markdown(verdicts: pd.DataFrame) -> str:
    """The rates as a Markdown table, a row a run, a column a rule; "–" where the rule does not apply."""
    found = rates(verdicts)
    rules = sorted(found["rule"].unique())
    lines = [f"| run | {' | '.join(rules)} |", f"|---|{'---|' * len(rules)}"]
    for run_id, own in found.groupby("run_id"):
        cells = dict.fromkeys(rules, "–")
        for row in own.itertuples():
            text = f"{row.named}/{row.of}"
            cells[str(row.rule)] = f"**{text}, rises**" if row.rises else f"**{text}**" if row.named else text
        lines.append(f"| {run_id} | {' | '.join(cells.values())} |")
    return "\n".join(lines)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        print(markdown(integrity_verdicts(open_store(Path(folder)))), end="\n\n")  # noqa: T201 - its only purpose
