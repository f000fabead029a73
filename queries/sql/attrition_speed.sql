-- Question: are the slow ones lost?
-- Grain: run, split, stage and reason; ordered by them. Lost: before it was trained on (or as far as is known), but for
-- groups without signal, dropped on purpose. A lost rollout without a value counts with its sample's mean over kept ones.
-- slower (to 0.04): chance that a lost rollout lies above one kept at the same step, mean over samples that lost some, 0–1.
WITH r AS MATERIALIZED (
    SELECT *, hash(run_id, split, step) AS moment, hash(run_id, split, unit) AS task
    FROM staged_rollouts(
        $book, $measure, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE reason IS NULL OR reason NOT IN ('no_signal', 'not_known')
),

kept AS (
    SELECT moment, quantile_disc(value, [i / 25.0 FOR i IN range(1, 25)]) AS percentiles
    FROM r
    WHERE lost_at IS NULL AND isfinite(value)
    GROUP BY moment
),

typical AS (
    SELECT task, avg(value) AS value
    FROM r
    WHERE lost_at IS NULL AND isfinite(value)
    GROUP BY task
),

placed AS (
    SELECT l.run_id, l.split, l.unit, l.lost_at, l.reason, k.percentiles,
        l.value IS NULL AND t.value IS NOT NULL AS is_guessed, coalesce(l.value, t.value) AS value
    FROM r AS l LEFT JOIN typical AS t ON l.task = t.task LEFT JOIN kept AS k ON l.moment = k.moment
    WHERE l.lost_at IS NOT NULL
),

per_sample AS (
    SELECT run_id, split, unit, lost_at, reason, count(*) AS num_lost, count(*) FILTER (WHERE is_guessed) AS num_guessed,
        count(percentiles) FILTER (WHERE value IS NOT NULL) AS num_placed, median(value) AS value,
        avg(share_below(percentiles, value)) FILTER (WHERE value IS NOT NULL) AS slower
    FROM placed
    GROUP BY ALL
)

SELECT run_id, split, lost_at, reason, sum(num_lost)::BIGINT AS num_lost, sum(num_placed)::BIGINT AS num_placed,
    sum(num_guessed)::BIGINT AS num_guessed, count(slower) AS num_samples, avg(slower) AS slower,
    stddev_samp(slower) AS slower_sd, median(value) AS lost_median
FROM per_sample
GROUP BY ALL
ORDER BY run_id, split NULLS LAST, lost_at, reason
