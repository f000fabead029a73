-- Question: why did rollouts end without success?
-- Grain: run (split, step, as `by` says) and cause; ordered by them, the most frequent cause first. A group without any
-- has one row whose cause is NULL.
-- num: rollouts of the cause; num_zero: of these, with a reward at the floor; share: num / num_rollouts, 0–1.
-- share_sd: deviation to use with num_samples, as `clustered_sd_of` says.
WITH per_sample AS (
    SELECT run_id, split, step, unit, count(*)::DOUBLE AS n
    FROM measured_rollouts(
        'none', $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY ALL
),

totals AS (
    SELECT run_id, split, step, count(*) AS num_samples, sum(n) AS n, sum(n * n) AS nn
    FROM per_sample
    GROUP BY ALL
),

causes AS (
    SELECT c.run_id, c.split, c.step, c.cause, c.whose,
        sum(c.x) AS x, sum(c.x * c.x) AS xx, sum(c.x * s.n) AS xn, sum(c.num_zero) AS num_zero
    FROM causes_per_sample(
        $book, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS c
    INNER JOIN per_sample AS s ON hash(c.run_id, c.split, c.step, c.unit) = hash(s.run_id, s.split, s.step, s.unit)
    GROUP BY ALL
)

SELECT
    t.run_id,
    t.split,
    t.step,
    c.cause,
    c.whose,
    coalesce(c.x, 0)::BIGINT AS num,
    coalesce(c.num_zero, 0)::BIGINT AS num_zero,
    t.n::BIGINT AS num_rollouts,
    t.num_samples,
    coalesce(c.x, 0) / t.n AS share,
    clustered_sd_of(t.num_samples, coalesce(c.x, 0), t.n, coalesce(c.xx, 0), coalesce(c.xn, 0), t.nn) AS share_sd
FROM totals AS t
LEFT JOIN causes AS c ON hash(t.run_id, t.split, t.step) = hash(c.run_id, c.split, c.step)
ORDER BY t.run_id, t.split NULLS LAST, t.step NULLS FIRST, num DESC, c.cause
