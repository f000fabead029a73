"""Which arms the comparison page offers, and which two it opens with. Pure functions on the answer to `arms`."""

import pandas as pd

from ingest.errors import QuestionError
from queries.arms import arm

_PREFERRED = ("valid", "test")
_CANDIDATES = ("evaluation", "training", None, "production", "baseline")
"""Kinds of run in the order in which they are likely to be what shall be judged."""


def choices(arms: pd.DataFrame, split: str | None) -> pd.DataFrame:
    """The arms of each run's split that a comparison takes, with `arm` as it is written in links.

    The split is the one given, else `valid`, `test`, or a run's only one; other runs are left out.
    """
    kept = []
    for _, rows in arms.groupby("run_id", sort=False):
        splits = [None if pd.isna(each) else each for each in rows["split"].unique()]
        only = splits[:1] if len(splits) == 1 else []
        wanted = [split] if split is not None else [*(each for each in _PREFERRED if each in splits), *only]
        if wanted and wanted[0] in splits:
            kept.append(rows[rows["split"].isna() if wanted[0] is None else rows["split"] == wanted[0]])
    found = pd.concat(kept) if kept else arms.iloc[:0]
    return found.assign(arm=[written(row.run_id, row.step) for row in found.itertuples()]).reset_index(drop=True)


def written(run_id: object, step: object) -> str:
    """An arm as it is written: `RUN@STEP`, or `RUN` without a step."""
    return str(run_id) if pd.isna(step) else f"{run_id}@{int(step)}"  # type: ignore[call-overload]  # pandas-stubs know no scalar of it


def opening(
    offered: pd.DataFrame, run_ids: tuple[str, ...] | None = None, runs: pd.DataFrame | None = None
) -> tuple[str, str] | None:
    """The two arms to open with: the last step of what is judged, against a baseline run, else against its first step.

    `run_ids` are the runs chosen in the sidebar, if any are. With `runs`, the answer to `runs`, a run of the same
    environment is preferred: others share no samples. None where there are no two arms.
    """
    if run_ids is not None:
        offered = offered[offered["run_id"].isin(run_ids)]
    if len(offered) < 2:
        return None
    kinds = offered["kind"].astype(object).where(offered["kind"].notna(), None)
    order = [_CANDIDATES.index(kind) for kind in kinds]
    judged = offered.loc[[rank == min(order) for rank in order], "run_id"].iloc[-1]
    own, others = offered[offered["run_id"] == judged], offered[offered["run_id"] != judged]
    if runs is not None:
        alike = others[others["run_id"].isin(of_same_environment(runs, judged))]
        others = alike if len(alike) or len(own) > 1 else others
    baselines = others[kinds[others.index] == "baseline"]
    against = baselines if len(baselines) else own.iloc[:1] if len(own) > 1 else others
    return str(against["arm"].iloc[-1]), str(own["arm"].iloc[-1])


def of_same_environment(runs: pd.DataFrame, run_id: str) -> set[str]:
    """The runs that share an environment with the baseline's, or have none as it has none."""
    known = {
        str(row["run_id"]): set() if row["environments"] is None else {str(each) for each in row["environments"]}
        for row in runs[["run_id", "environments"]].to_dict("records")
    }
    own = known.get(run_id, set())
    return {run_id for run_id, each in known.items() if own & each or not (own or each)}


def refused(arms: pd.DataFrame, text: str, split: str | None) -> str:
    """Why an arm as a link names it is none that is there; empty where it is one."""
    try:
        arm(arms, text, split)
    except QuestionError as error:
        return str(error)
    return ""
