-- Question: which values does a measure take?
-- Grain: run (split, step, as `by` says); ordered by them. `values`: those known, in no order; never leaves this package.
SELECT
    run_id,
    split,
    step,
    count(*) - count(value) AS num_missing,
    coalesce(list(value) FILTER (WHERE value IS NOT NULL), []) AS known
FROM measured_rollouts(
    $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
