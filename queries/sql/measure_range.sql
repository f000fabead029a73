-- Question: what range do the bins of `distribution` have to cover?
-- Grain: one row over everything that is not filtered out. p99: 99th percentile; is_whole: all values are whole numbers.
SELECT
    count(value) AS num_rollouts,
    min(value) AS low,
    quantile_cont(value, 0.99) AS p99,
    max(value) AS high,
    coalesce(bool_and(value = floor(value)), false) AS is_whole
FROM measured_rollouts(
    $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
