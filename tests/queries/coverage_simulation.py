"""How often intervals called 95 % hold the true value: every method on every process, many data sets at a time.

`python -m tests.queries.coverage_simulation` draws the table anew and writes `queries/coverage.csv` and
`queries/COVERAGE.md`. Where a statistic of the product takes one data set, its arithmetic is repeated here for many;
`test_coverage` checks that both agree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from queries.cautious import ADDED, student_ratios, student_tails
from queries.coverage import DIFFERENCE, IGNORED, Coverage, as_csv, coverage
from queries.coverage_table import as_markdown
from queries.long_tail import effective_number
from queries.pairing import PASS_OR_FAIL, paired_proportions
from queries.resampling import MIN_CLUSTERS, resample, units_needed
from queries.stats import t_intervals, wilson
from queries.tails import dkw_half_width, percentile
from tests.queries.coverage_processes import PROCESSES, RATES, Arms, Floats, Process, cluster_codes

Bounds = tuple[Floats, Floats]
QUERIES = Path(__file__).parents[2] / "queries"
NUMS = (10, 20, 100, 1_000)
NUM_DATA_SETS, NUM_BOOTSTRAPPED, NUM_CHOSEN, NUM_RESAMPLES = 4_000, 2_000, 1_000, 999
SEED = 20
ATTEMPTS = 4
ALIKE = "log-normal, σ 1, 4 attempts a sample"
OUTER = np.array([[0.025], [0.975]])
FLAT = 1e-12


def intervals_of_difference(
    process: Process, arms: Arms, num_bootstrapped: int = NUM_BOOTSTRAPPED
) -> dict[str, Bounds]:
    """Bounds by method, each of shape (data sets,) or of the first `num_bootstrapped`; NaN where there are none."""
    baseline, candidate = arms
    deltas = candidate - baseline
    num = deltas.shape[1]
    plain = t_intervals(deltas.mean(1), deltas.std(1, ddof=1), num)
    codes = cluster_codes(num) if process.is_clustered else np.arange(num)
    if process.is_clustered:
        found = {IGNORED: plain, "clustered t": clustered_t(deltas, codes)}
    else:
        found = {"t": plain, "Welch t": welch(baseline, candidate)}
    parts = [of_resamples(each, codes, seed) for seed, each in enumerate(chunks(deltas[:num_bootstrapped]))]
    found |= {method: joined([part[method] for part in parts]) for method in parts[0]}
    if process.is_pass_or_fail:
        # Of single attempts the product takes no t.
        del found["t"]
        found[PASS_OR_FAIL] = of_discordant(deltas)
    if process.is_within_one:
        # There the cautious method is another.
        found = {method: bounds for method, bounds in found.items() if not method.startswith("studentised")}
        found[f"clustered {ADDED}" if process.is_clustered else ADDED] = with_added(deltas, codes)
    return found


def chunks(values: Floats) -> Iterator[Floats]:
    """Some data sets at a time: they share the draws of a bootstrap, whose luck must not be everybody's."""
    for start in range(0, len(values), 200):
        yield values[start : start + 200]


def joined(parts: Sequence[Bounds]) -> Bounds:
    return np.concatenate([low for low, _ in parts]), np.concatenate([high for _, high in parts])


def with_added(deltas: Floats, codes: NDArray[np.intp]) -> Bounds:
    mean, both = deltas.mean(1), np.array([[1.0, -1.0]] * len(deltas))
    low, high = clustered_t(np.hstack((deltas, both)), np.append(codes, codes[-1] + np.array([1, 2])))
    return np.clip(np.minimum(low, mean), -1, 1), np.clip(np.maximum(high, mean), -1, 1)


def of_discordant(deltas: Floats) -> Bounds:
    pairs = np.column_stack(((deltas > 0).sum(1), (deltas < 0).sum(1)))
    distinct, place = np.unique(pairs, axis=0, return_inverse=True)
    made = [paired_proportions(gained, lost, deltas.shape[1]) for gained, lost in distinct.tolist()]
    low, high = np.array([(each.low, each.high) for each in made]).T
    return low[place.ravel()], high[place.ravel()]


def welch(baseline: Floats, candidate: Floats) -> Bounds:
    """Arms on samples of their own: the candidate's data sets are another's."""
    other, num = np.roll(candidate, 1, axis=0), baseline.shape[1]
    parts = np.stack([each.var(1, ddof=1) / num for each in (baseline, other)])
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = parts.sum(0) ** 2 / (parts**2).sum(0) * (num - 1)
        half = special.stdtrit(degrees, 0.975) * np.sqrt(parts.sum(0))
    half[parts.sum(0) <= FLAT] = np.nan
    middle = other.mean(1) - baseline.mean(1)
    return middle - half, middle + half


def clustered_t(deltas: Floats, codes: NDArray[np.intp]) -> Bounds:
    mean = deltas.mean(1, keepdims=True)
    sums = units_of(deltas - mean, codes)
    num = len(sums)
    error = np.sqrt(num / (num - 1) * (sums**2).sum(0)) / deltas.shape[1]
    half = special.stdtrit(num - 1, 0.975) * error
    return mean[:, 0] - half, mean[:, 0] + half


def units_of(values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Sums by cluster, shape (clusters, data sets); codes are sorted."""
    return np.add.reduceat(values.T, np.searchsorted(codes, np.arange(codes[-1] + 1)), axis=0)


def of_resamples(deltas: Floats, codes: NDArray[np.intp], seed: int) -> dict[str, Bounds]:
    """All bootstraps of one set of draws, shared by the data sets: a seed does not know the data it is for."""
    mean, spread = deltas.mean(1), deltas.std(1) > FLAT
    x, num = units_of(deltas - mean[:, None], codes), np.bincount(codes).astype(float)
    is_single = len(num) == len(codes)
    if len(num) < (units_needed() if is_single else MIN_CLUSTERS):
        return {}
    kind = " bootstrap" if is_single else " cluster bootstrap"
    columns = [x, x**2, np.column_stack((num, num**2, num**0))] + ([] if is_single else [x * num[:, None]])
    sums = resample(np.hstack(columns), lambda each: each, seed=seed, num_resamples=NUM_RESAMPLES)
    first, squares, rest, *cross = np.split(sums, np.cumsum([each.shape[1] for each in columns])[:-1], axis=1)
    nums, num_squares, units = rest.T[:, :, None]
    means = np.sort(first / nums, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = (first, nums, squares, cross[0] if cross else first, num_squares, units)
        lowest, highest = student_tails(student_ratios(np.stack(np.broadcast_arrays(*parts), axis=-1)))
        low_t, high_t = clustered_t(deltas, codes)
        error = (high_t - low_t) / 2 / special.stdtrit(len(num) - 1, 0.975)
        low, high = mean - highest * error, mean - lowest * error
        known = np.isfinite(low) & np.isfinite(high) & spread
        found = {"percentile" + kind: shifted(mean, quantiles(means, OUTER, spread))}
        if is_single:
            found["BCa" + kind] = shifted(mean, quantiles(means, bca_tails(means, x), spread))
    student = np.where(known, (np.minimum(low, low_t), np.maximum(high, high_t)), np.nan)
    return found | {"studentised" + kind: (student[0], student[1])}


def shifted(mean: Floats, bounds: Floats) -> Bounds:
    return mean + bounds[0], mean + bounds[1]


def bca_tails(means: Floats, x: Floats) -> Floats:
    """Where to read sorted mean deviations of resamples, shape (resamples, data sets): (2, data sets)."""
    acceleration = (x**3).sum(0) / (6 * (x**2).sum(0) ** 1.5)
    tolerance = FLAT * np.abs(means).max(0)
    z0 = special.ndtri(((means < -tolerance).mean(0) + (means <= tolerance).mean(0)) / 2)
    moved = z0 + special.ndtri(OUTER)
    return np.asarray(special.ndtr(z0 + moved / (1 - acceleration * moved)))


def quantiles(ordered: Floats, tails: Floats, spread: NDArray[np.bool_]) -> Floats:
    """Interpolated quantiles of each column at its own tails, shape (2, columns); NaN without spread."""
    place = np.broadcast_to(tails, (2, ordered.shape[1])) * (len(ordered) - 1)
    below = np.floor(np.nan_to_num(place)).astype(int)
    first, second = (np.take_along_axis(ordered, at, axis=0) for at in (below, np.minimum(below + 1, len(ordered) - 1)))
    return np.where(spread & np.isfinite(place), first + (place - below) * (second - first), np.nan)


def log_ratio(arms: Arms) -> Bounds:
    baseline, candidate = arms
    means = [each.mean(1, keepdims=True) for each in arms]
    with np.errstate(invalid="ignore", divide="ignore"):
        residuals = candidate / means[1] - baseline / means[0]
        low, high = t_intervals(np.log(means[1] / means[0])[:, 0], residuals.std(1, ddof=1), baseline.shape[1])
        return np.exp(low), np.exp(high)


def covered(key: tuple[str, str, str, int], truth: float, bounds: Bounds, **about: float) -> Coverage:
    low, high = bounds
    known = np.isfinite(low) & np.isfinite(high)
    slack = 1e-12
    inside = (low - slack <= truth) & (truth <= high + slack)
    target, method, process, num = key
    return Coverage(
        target=target,
        method=method,
        process=process,
        num=num,
        num_units=int(about.get("num_units", num)),
        share=float(inside[known].mean()),
        share_none=float(1 - known.mean()),
        width=float((high - low)[known].mean()),
        skewness=about.get("skewness", np.nan),
        share_zero=about.get("share_zero", np.nan),
        num_data_sets=int(known.sum()),
    )


def features(deltas: Floats) -> Mapping[str, float]:
    """What a reader's own differences would look like: their skewness (median of its size), and the share of zeros."""
    deviations = deltas - deltas.mean(1, keepdims=True)
    squares = (deviations**2).mean(1)
    skew = (deviations**3).mean(1)[squares > FLAT] / squares[squares > FLAT] ** 1.5
    return {"skewness": float(np.median(np.abs(skew))), "share_zero": float((np.abs(deltas) <= 1e-9).mean())}


def differences(process: Process, num: int, scale: float = 1.0, seed: int = SEED) -> Iterator[Coverage]:
    """The coverage of a mean difference, and of a ratio of means, by every method that applies."""
    generator = np.random.default_rng([seed, num])
    arms = process.draw(generator, (int(NUM_DATA_SETS * scale), num))
    about = dict(features(arms[1] - arms[0]))
    units = int(cluster_codes(num)[-1]) + 1 if process.is_clustered else num
    for method, bounds in intervals_of_difference(process, arms, int(NUM_BOOTSTRAPPED * scale)).items():
        key = (DIFFERENCE, method, process.name, num)
        if np.isfinite(bounds[0]).mean() > 0.05:
            yield covered(key, process.difference, bounds, **about, num_units=num if method == IGNORED else units)
    if process.ratio is not None:
        key = ("ratio of means", "log ratio", process.name, num)
        yield covered(key, process.ratio, log_ratio(arms))


def others(num: int, scale: float = 1.0, seed: int = SEED) -> Iterator[Coverage]:
    """The coverage of shares, percentiles and whole distributions."""
    generator = np.random.default_rng([seed, num, 1])
    data_sets = int(NUM_DATA_SETS * scale)
    for rate, _ in RATES:
        one = wilson(generator.binomial(num, rate, data_sets), num)
        yield covered(("share", "Wilson", f"pass rate {rate:g}, 1 attempt", num), rate, one)
        chance = generator.beta(2 * rate, 2 * (1 - rate), (data_sets, num))
        three = of_attempts(generator.binomial(3, chance), 3)
        yield covered(("share", "Wilson, effective number", f"pass rate {rate:g}, 3 attempts", num), rate, three)
    for name, values, quantile in per_rollout(generator, (data_sets, num)):
        if name == ALIKE:
            yield from of_alike(name, values, quantile)
            continue
        values.sort(axis=1)
        for p in (0.5, 0.95):
            ranks = percentile(np.arange(num), p).interval
            if ranks.low is not None and ranks.high is not None:
                bounds = (values[:, int(ranks.low)], values[:, int(ranks.high)])
                yield covered((f"P{100 * p:g}", "order statistics", name, num), quantile(p), bounds)
    places = np.sort(generator.random((data_sets, num)), axis=1)
    steps = np.arange(num + 1) / num
    off = np.maximum(steps[1:] - places, places - steps[:-1]).max(1)
    half = dkw_half_width(num) or np.nan
    yield covered(("whole distribution", "DKW band", "any", num), 0.0, (off - half, np.full(data_sets, half)))


def of_alike(name: str, values: Floats, quantile: Callable[[float], float]) -> Iterator[Coverage]:
    """Percentiles and the whole distribution of four attempts at each sample."""
    num = values.shape[1]
    samples = np.arange(num) // ATTEMPTS
    for p in (0.5, 0.95):
        found = [percentile(each, p, samples=samples).interval for each in values]
        bounds = np.array([(each.low, each.high) for each in found], dtype=np.float64).T
        if np.isfinite(bounds).any():
            yield covered((f"P{100 * p:g}", "order statistics", name, num), quantile(p), (bounds[0], bounds[1]))


def of_attempts(passed: NDArray[np.int64], attempts: int) -> Bounds:
    """Wilson for as many independent rollouts as the samples' attempts are worth, as `tail_share` has it."""
    num = passed.shape[1]
    share = passed.sum(1) / (num * attempts)
    squares = ((passed - share[:, None] * attempts) ** 2).sum(1)
    deviation = np.sqrt(num * num / (num - 1) * squares) / (num * attempts)
    rollouts = np.full(len(share), float(num * attempts))
    effective = effective_number(share, deviation, rollouts, np.full(len(share), float(num)))
    return wilson(share * effective, effective)


def per_rollout(
    generator: np.random.Generator, shape: tuple[int, int]
) -> Iterator[tuple[str, Floats, Callable[[float], float]]]:
    """Values of rollouts, and their true quantiles."""
    normal = generator.normal(size=shape)
    yield "log-normal, σ 1", np.exp(normal), lambda p: float(np.exp(special.ndtri(p)))
    counts = np.arange(60)
    yield (
        "ties (Poisson counts around 4)",
        generator.poisson(4.0, shape).astype(float),
        lambda p: float(np.searchsorted(special.pdtr(counts, 4.0), p)),
    )
    # Half of the variance of four rollouts is their sample's.
    common = np.repeat(generator.normal(size=(shape[0], -(-shape[1] // ATTEMPTS))), ATTEMPTS, axis=1)[:, : shape[1]]
    alike = (common + generator.normal(size=shape)) / 2**0.5
    yield ALIKE, np.exp(alike), lambda p: float(np.exp(special.ndtri(p)))


def checkpoints(num: int, scale: float = 1.0, seed: int = SEED) -> Iterator[Coverage]:
    """The coverage of what the step chosen for its mean reward, of eight, is truly worth."""
    for name, rise in (("8 steps, all equal", 0.0), ("8 steps, rising", 0.1)):
        generator = np.random.default_rng([seed, num, 2])
        truth = rise * np.arange(8.0)
        rewards = generator.normal(size=(int(NUM_CHOSEN * scale), num, 1)) + truth
        rewards = rewards + generator.normal(size=rewards.shape)
        made = [of_chosen(each, seed) for seed, each in enumerate(chunks(rewards))]
        low, high = joined([(low, high) for low, high, _ in made])
        best = np.concatenate([best for _, _, best in made])
        yield covered(("chosen checkpoint", "basic bootstrap", name, num), 0.0, (low - truth[best], high - truth[best]))


def of_chosen(rewards: Floats, seed: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Bounds of `selection.choose` and the step it chooses, of rewards of shape (data sets, samples, steps)."""
    data_sets, num, steps = rewards.shape
    means = rewards.mean(1)
    best = means.argmax(1)
    drawn = resample(
        np.moveaxis(rewards, 0, 1).reshape(num, -1), lambda sums: sums / num, seed=seed, num_resamples=NUM_RESAMPLES
    ).reshape(-1, data_sets, steps)
    off = drawn - means
    of_best = np.take_along_axis(off, drawn.argmax(-1)[..., None], axis=-1)[..., 0]
    wider = float(np.sqrt(num / (num - 1)) * special.stdtrit(num - 1, 0.975))
    value = np.take_along_axis(means, best[:, None], axis=1)[:, 0]
    low = value - np.quantile(off.max(-1), special.ndtr(wider), axis=0)
    return low, value - np.quantile(of_best, special.ndtr(-wider), axis=0), best


def simulate(scale: float = 1.0, seed: int = SEED) -> tuple[Coverage, ...]:
    """All rows, in the order in which they are published."""
    found = [row for process in PROCESSES for num in NUMS for row in differences(process, num, scale, seed)]
    found += [row for num in NUMS for row in others(num, scale, seed)]
    return tuple(found + [row for num in NUMS for row in checkpoints(num, scale, seed)])


def main() -> None:
    rows = simulate()
    (QUERIES / "coverage.csv").write_text(as_csv(rows), encoding="utf-8")
    coverage.cache_clear()
    (QUERIES / "COVERAGE.md").write_text(as_markdown(coverage()), encoding="utf-8")


if __name__ == "__main__":
    main()
