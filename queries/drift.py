"""Questions about drift: how do two selections of rollouts differ in what goes in and in what the policy does?"""

from typing import Any, Final

import numpy as np
import pandas as pd

from ingest.errors import QuestionError
from queries.apart import (
    Apart,
    Sums,
    apart,
    curve_sums,
    decile_shares,
    points,
    stability_index,
    weighted_median,
)
from queries.arms import arms
from queries.connection import Reading
from queries.distributions import thinned
from queries.drift_selections import Asked, asked, drift_pairs, selection
from queries.drifting import CATEGORIES, MEASURES, SIDES, Drawn, Mix, Side, Values, drawn, mix
from queries.pairing import benjamini_hochberg, holm, unpaired_difference
from queries.shares_apart import share_differences
from queries.stats import Floats, no_spread

SHIFTED: Final = 0.05
"""Adjusted p-value up to which a shift counts as shown."""
MAX_POINTS: Final = 200
MIN_SAMPLES: Final = 2


def drift(
    store: Reading,
    *,
    first: str | None = None,
    first_split: str | None = None,
    second: str | None = None,
    second_split: str | None = None,
    environments: tuple[str, ...] | None = None,
) -> pd.DataFrame:
    """One row per measure, the data's first: how far apart do two selections of rollouts lie, and is it chance?

    A selection is `RUN@STEP`, `RUN@FROM..TO`, `RUN@all`, or `RUN` (of train those since the last validation but one, of
    production all, else the last step); what is not given is that of the first of `drift_pairs`. Not paired: samples
    are two independent sets, each sample weighs 1, its attempts share it.
    Columns: measure, kind (`data`: what goes in; `behaviour`: what the policy makes of it), unit, num_first, num_second
    (samples with a value; of a description all that tell it), num_unknown_first, num_unknown_second (samples without),
    first_mean, second_mean (over samples), first_median, second_median (half of the weight), difference (of the means,
    second − first), ci_low, ci_high (95 % Welch t over samples), ratio (of the means), statistic (`ks`: largest gap of
    the cumulative curves of rollouts; `tv`: share that would have to move to make the mixes equal), value (0–1),
    value_low, value_high (95 % basic bootstrap over samples, which takes the bias upwards off), chance_mean, chance_p95
    (what chance alone gives for so many samples), excess (value − chance_mean, at least 0), p_value, p_value_holm
    (adjusted over the measures), is_shifted (p_value_holm ≤ 0.05), psi (population stability index, Σ(q − p)·ln(q/p)
    over the first selection's deciles or the values; no test), category, category_first, category_second (the value of
    a description whose share moved most, and its shares), method (how chance was had), reason (why nothing is said).

    Raises:
        QuestionError: A selection is not there, or both are the same.
    """
    return _drift(store, asked(store, first, first_split, second, second_split, environments))


def _drift(store: Reading, pair: Asked) -> pd.DataFrame:
    found = drawn(store, pair)
    rows = [_measured(found, name, pair.seed("drift")) for name in MEASURES]
    rows += [_described(found, name, pair.seed("drift")) for name in CATEGORIES]
    rows = [row for kind in ("data", "behaviour") for row in rows if row["kind"] == kind]
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    frame = frame.astype(dict.fromkeys(_FLOATS, float) | dict.fromkeys(_COUNTS, "int64"))
    frame["p_value_holm"] = holm(frame["p_value"].to_numpy(float))
    frame["is_shifted"] = frame["p_value_holm"] <= SHIFTED
    frame["excess"] = (frame["value"] - frame["chance_mean"]).clip(lower=0)
    return frame


_COUNTS: Final = ("num_first", "num_second", "num_unknown_first", "num_unknown_second")
_FLOATS: Final = (
    *(
        "first_mean",
        "second_mean",
        "first_median",
        "second_median",
        "difference",
        "ci_low",
        "ci_high",
        "ratio",
        "value",
    ),
    *("value_low", "value_high", "chance_mean", "chance_p95", "excess", "p_value", "p_value_holm", "psi"),
    *("category_first", "category_second"),
)
_COLUMNS: Final = [
    *("measure", "kind", "unit", *_COUNTS, "first_mean", "second_mean", "first_median", "second_median", "difference"),
    *("ci_low", "ci_high", "ratio", "statistic", "value", "value_low", "value_high", "chance_mean", "chance_p95"),
    *("excess", "p_value", "p_value_holm", "is_shifted", "psi", "category", "category_first", "category_second"),
    *("method", "reason"),
]


def _counts(found: Drawn, known: tuple[int, int]) -> dict[str, int]:
    made: dict[str, int] = {}
    for name, side, num in zip(SIDES, found.sides, known, strict=True):
        made |= {f"num_{name}": num, f"num_unknown_{name}": side.num_samples - num}
    return made


def _measured(found: Drawn, name: str, seed: int) -> dict[str, Any]:
    """The row of a number."""
    sides = tuple(each.measured[name] for each in found.sides)
    row: dict[str, Any] = {"measure": name, "kind": MEASURES[name][0], "unit": MEASURES[name][1], "statistic": "ks"}
    row |= _counts(found, (sides[0].num_samples, sides[1].num_samples))
    for side, own in zip(SIDES, sides, strict=True):
        if own.values.size:
            row[f"{side}_mean"] = float(own.means().mean())
            row[f"{side}_median"] = weighted_median(own.values, own.weights)
    distance = gap(found, sides, seed)
    if all(own.values.size for own in sides):
        means = unpaired_difference(sides[0].means(), sides[1].means())
        row |= {"difference": means.value, "ci_low": means.interval.low, "ci_high": means.interval.high}
        row["ratio"] = row["second_mean"] / row["first_mean"] if row["first_mean"] > 0 <= row["second_mean"] else None
        held = ({"values": own.values, "weights": own.weights} for own in sides)
        row["psi"] = stability_index(*decile_shares(*held), sides[0].num_samples, sides[1].num_samples)
    return row | _distance(distance)


def gap(found: Drawn, sides: tuple[Values, ...], seed: int) -> Apart:
    """The largest gap between the cumulative curves of a number, beside what chance gives."""
    if not all(each.values.size for each in sides):
        return Apart.none(_unknown([bool(each.values.size) for each in sides]))
    pooled = np.concatenate([each.values for each in sides])
    if no_spread(pooled.min(), pooled.max()):
        return Apart.none(f"every value is {pooled[0]:g}", 0.0)
    at = points(pooled, sum(each.num_units for each in found.sides))
    sums = [curve_of(side, own, at) for side, own in zip(found.sides, sides, strict=True)]
    alike = len(sides[0].attempts | sides[1].attempts) == 1 or all(each.is_constant for each in sides)
    batched = any(each.is_batched for each in found.sides)
    return apart(sums[0], sums[1], is_curve=True, is_exchangeable=alike and not batched, seed=seed)


def curve_of(side: Side, own: Values, at: Floats) -> Sums:
    """The cumulative curve of a number of one side, summed by unit."""
    return curve_sums(own.values, own.weights, side.units[own.samples], side.num_units, at)


def _unknown(known: list[bool]) -> str:
    where = [f"the {name} selection" for name, is_known in zip(SIDES, known, strict=True) if not is_known]
    return f"nothing is known of it in {' and '.join(where)}"


def _distance(found: Apart) -> dict[str, Any]:
    return {
        "value": found.value,
        "value_low": found.low,
        "value_high": found.high,
        "chance_mean": found.chance_mean,
        "chance_p95": found.chance_p95,
        "p_value": found.p_value,
        "method": found.method or None,
        "reason": found.reason,
    }


def _described(found: Drawn, name: str, seed: int) -> dict[str, Any]:
    """The row of a description."""
    row: dict[str, Any] = {"measure": name, "kind": CATEGORIES[name][0], "unit": CATEGORIES[name][1], "statistic": "tv"}
    held = mix(found, name)
    if held is None:
        return row | _counts(found, (0, 0)) | _distance(Apart.none(_unknown([False, False])))
    known = tuple(len(each.totals) for each in held.by_sample)
    row |= _counts(found, (known[0], known[1]))
    if not all(known):
        return row | _distance(Apart.none(_unknown([bool(each) for each in known])))
    if len(held.values) == 1:
        return row | _distance(Apart.none(f"there is one value: {held.values[0][:60]}"))
    shares = [each.shares for each in held.by_sample]
    moved = shares[1] - shares[0]
    most = int(np.argmax(np.abs(moved) + 1e-9 * (moved > 0)))  # of two that moved alike the one that gained
    row |= {"category": held.values[most], "category_first": shares[0][most], "category_second": shares[1][most]}
    row["psi"] = stability_index(shares[0], shares[1], known[0], known[1])
    return row | _distance(mixed(held, seed))


def mixed(held: Mix, seed: int) -> Apart:
    """The total variation of a description, beside what chance gives."""
    return apart(*held.sums, is_curve=False, is_exchangeable=held.is_exchangeable, seed=seed)


def drift_categories(
    store: Reading,
    *,
    first: str | None = None,
    first_split: str | None = None,
    second: str | None = None,
    second_split: str | None = None,
    environments: tuple[str, ...] | None = None,
    by: str | None = None,
) -> pd.DataFrame:
    """One row per description and value, the largest move of each first: which values gained or lost a share?

    `by`: one description alone. Selections as `drift` takes them. Columns: by (`environment`, `tag`, `tools_version`,
    `prompt_version`, `tool`, `status`, `failure_cause`), kind, value, num_first, num_second (samples that tell the
    description), first_share, second_share (every sample weighs 1, divided among its rollouts or tags; of tools as many
    as it makes calls, mean over its attempts), difference (second − first), ci_low, ci_high (95 % t over samples, with
    one sample more that has the value and one that has not in each selection; NULL under two samples), p_value,
    p_value_bh (adjusted over all rows).

    Raises:
        QuestionError: A selection is not there, both are the same, or there is no such description.
    """
    if by is not None and by not in CATEGORIES:
        raise QuestionError(f"by must be one of {', '.join(CATEGORIES)}, not {by!r}")
    found = drawn(store, asked(store, first, first_split, second, second_split, environments))
    frames = [pd.DataFrame(columns=["by", "kind", *_SHARES])]
    for name in CATEGORIES:
        held = mix(found, name) if by in (None, name) else None
        if held is not None and all(len(each.totals) for each in held.by_sample):
            shares = share_differences(*held.by_sample)
            frames.append(pd.DataFrame({"by": name, "kind": CATEGORIES[name][0], "value": list(held.values), **shares}))
    frame = pd.concat(frames[1:], ignore_index=True) if len(frames) > 1 else frames[0]
    frame["p_value_bh"] = benjamini_hochberg(frame["p_value"].to_numpy(float))
    order = frame.assign(
        place=frame["by"].map({name: place for place, name in enumerate(CATEGORIES)}),
        size=-frame["difference"].astype(float).abs(),
    ).sort_values(["place", "size", "value"], kind="stable")
    return order.drop(columns=["place", "size"]).reset_index(drop=True)


_SHARES: Final = (
    *("value", "num_first", "num_second", "first_share", "second_share", "difference", "ci_low", "ci_high", "p_value"),
)


def drift_curve(
    store: Reading,
    *,
    measure: str,
    first: str | None = None,
    first_split: str | None = None,
    second: str | None = None,
    second_split: str | None = None,
    environments: tuple[str, ...] | None = None,
) -> pd.DataFrame:
    """At most 200 rows per selection, ordered by side and value: how is a measure distributed in either selection?

    Selections as `drift` takes them. Columns: side (`first`, `second`), run_id, split, value (in the measure's unit),
    share_at_most (of rollouts, each sample weighing 1, 0–1), num_samples. Every row is exact; where there are more
    distinct values, rows are thinned out evenly in share.

    Raises:
        QuestionError: A selection is not there, both are the same, or there is no such measure.
    """
    if measure not in MEASURES:
        raise QuestionError(f"measure must be one of {', '.join(MEASURES)}, not {measure!r}")
    pair = asked(store, first, first_split, second, second_split, environments)
    names = ["side", "run_id", "split", "value", "share_at_most", "num_samples"]
    frames = [pd.DataFrame(columns=names)]
    for name, side, chosen in zip(SIDES, drawn(store, pair).sides, (pair.first, pair.second), strict=True):
        own = side.measured[measure]
        if own.values.size:
            x, place = np.unique(own.values, return_inverse=True)
            at_most = np.cumsum(np.bincount(place, weights=own.weights)) / own.weights.sum()
            kept = thinned(at_most, MAX_POINTS)
            about = {"side": name, "run_id": chosen.run_id, "split": chosen.split}
            shown = {"value": x[kept], "share_at_most": at_most[kept], "num_samples": own.num_samples}
            frames.append(pd.DataFrame({**about, **shown}))
    return pd.concat(frames[1:], ignore_index=True) if len(frames) > 1 else frames[0]


def production_drift(
    store: Reading, *, arm: str, split: str | None = None, environments: tuple[str, ...] | None = None
) -> pd.DataFrame:
    """One row per production run and measure: were samples that a checkpoint is judged on like those of production?

    `arm` is `RUN@STEP`; `split` as comparisons choose it. Production runs are those that `drift_pairs` relates to the
    run; without any there is no row, nor for production itself. Columns: run_id, split, steps (of the arm, as
    selections are written), production_run, related_by (`run`, `family`, `environment`), production_split, then those
    of `drift`, the arm first and production second.

    Raises:
        QuestionError: The arm is not there.
    """
    judged = selection(arms(store), arm, split)
    pairs = drift_pairs(store)
    pairs = pairs[(pairs["about"] == "valid_production") & (pairs["run_id"] == judged.run_id)]
    frames = []
    for row in pairs.to_dict("records"):
        other = selection(arms(store), str(row["second"]), str(row["second_split"]))
        if other != judged:
            frame = _drift(store, Asked(judged, other, environments))
            own = {"run_id": judged.run_id, "split": judged.split, "steps": judged.steps}
            about = own | {name: row[key] for name, key in _PRODUCTION.items()}
            frames.append(pd.DataFrame({**{key: [value] * len(frame) for key, value in about.items()}, **frame}))
    return (
        pd.concat(frames, ignore_index=True)
        if frames
        else pd.DataFrame(columns=["run_id", "split", "steps", *_PRODUCTION, *_COLUMNS])
    )


_PRODUCTION: Final = {
    "production_run": "second_run_id",
    "related_by": "related_by",
    "production_split": "second_split",
}


def drift_selections(
    store: Reading,
    *,
    first: str | None = None,
    first_split: str | None = None,
    second: str | None = None,
    second_split: str | None = None,
    environments: tuple[str, ...] | None = None,
) -> pd.DataFrame:
    """One row per selection, the first one first: what is compared?

    Selections as `drift` takes them. Columns: side, run_id, run_name, split, step_from, step_to (NULL: every step, or
    none), every_step, num_rollouts, num_samples, num_shared (samples of the same id and environment in both),
    num_clusters (clusters that samples name; 0 = none), prompt_from (where prompts' lengths are from: `samples` or
    `messages`).

    Raises:
        QuestionError: A selection is not there, or both are the same.
    """
    pair = asked(store, first, first_split, second, second_split, environments)
    found = drawn(store, pair)
    shared = np.intersect1d(
        found.first.about["unit"].to_numpy(np.uint64), found.second.about["unit"].to_numpy(np.uint64)
    )
    rows = []
    for name, side, chosen in zip(SIDES, found.sides, (pair.first, pair.second), strict=True):
        about = {"side": name, "run_id": chosen.run_id, "run_name": chosen.name, "split": chosen.split}
        steps = {"step_from": chosen.step_from, "step_to": chosen.step_to, "every_step": chosen.every_step}
        counts = {"num_rollouts": int(side.about["num_rollouts"].sum()), "num_samples": side.num_samples}
        clusters = {"num_shared": len(shared), "num_clusters": int(side.about["cluster_key"].nunique())}
        rows.append({**about, **steps, **counts, **clusters, "prompt_from": found.prompt_from})
    return pd.DataFrame(rows).astype({"step_from": "Int64", "step_to": "Int64"})
