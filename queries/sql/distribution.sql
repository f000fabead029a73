-- Question: how are the values of a measure distributed over rollouts?
-- Grain: run (split, step, as `by` says) and bin; ordered by them. Bins are the same for every group: `num_bins` of them,
-- each `width` wide, from `origin`; the last one holds whatever lies above. share: of the group's rollouts with a value.
WITH binned AS (
    SELECT
        run_id, split, step,
        -- The small addend keeps 0.3 / 0.1 in bin 3.
        least(floor((value - $origin) / $width + 1e-9), $num_bins - 1)::INTEGER AS bin,
        value
    FROM measured_rollouts(
        $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE value IS NOT NULL
)

SELECT
    run_id,
    split,
    step,
    bin,
    $origin + bin * $width AS bin_low,
    $origin + (bin + 1) * $width AS bin_high,
    max(value) AS value_max,
    count(*) AS num_rollouts,
    count(*) / sum(count(*)) OVER (PARTITION BY run_id, split, step) AS share
FROM binned
GROUP BY run_id, split, step, bin
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, bin
