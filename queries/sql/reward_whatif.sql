-- Question: what would each sample's reward be with other weights?
-- Grain: run, split, step and sample with a rollout that has every part; ordered by them. stored_mean, new_mean: over the
-- sample's complete rollouts; num_rollouts, num_complete: all scored, and those with every part.
SELECT
    run_id,
    split,
    step,
    unit,
    count(*) AS num_rollouts,
    count(*) FILTER (WHERE is_complete) AS num_complete,
    avg(reward) FILTER (WHERE is_complete) AS stored_mean,
    avg(CASE WHEN closed IS NULL THEN list_sum(terms) ELSE 0 END) FILTER (WHERE is_complete) AS new_mean
FROM weighed_rollouts(
    $parts, $gates, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step, unit
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, unit
