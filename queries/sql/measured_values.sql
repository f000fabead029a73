-- Question: which values does a measure take, at which samples?
-- Grain: run (split, step, as `by` says); ordered by them. known: the values that are known, in no
-- order; units: the sample of each; neither leaves this package.
SELECT
    run_id,
    split,
    step,
    count(*) - count(value) AS num_missing,
    coalesce(list(value) FILTER (WHERE value IS NOT NULL), []) AS known,
    coalesce(list(unit) FILTER (WHERE value IS NOT NULL), []) AS units
FROM measured_rollouts(
    $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
