-- Question: what do the distributions of a measure look like in numbers?
-- Grain: run (split, step, as `by` says); ordered by them. Over rollouts, in the measure's own unit; sd with n − 1.
-- num_missing: rollouts without a value. num_splits, num_steps: how many are pooled in the row.
SELECT
    run_id,
    split,
    step,
    count(value) AS num_rollouts,
    count(*) - count(value) AS num_missing,
    count(DISTINCT coalesce(own_split, '')) AS num_splits,
    count(DISTINCT coalesce(own_step, -1)) AS num_steps,
    avg(value) AS mean,
    stddev_samp(value) AS sd,
    min(value) AS min,
    quantile_cont(value, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[1] AS p25,
    quantile_cont(value, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[2] AS p50,
    quantile_cont(value, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[3] AS p75,
    quantile_cont(value, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[4] AS p90,
    quantile_cont(value, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[5] AS p95,
    quantile_cont(value, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[6] AS p99,
    max(value) AS max
FROM measured_rollouts(
    $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
