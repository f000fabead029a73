-- Question: how do rollouts end, step by step?
-- Grain: run, split, step, status, stop reason; ordered by run, split, step, then the most frequent first.
-- share: of all rollouts of the step, 0–1. NULL status = not known how it ended.
SELECT
    run_id,
    split,
    step,
    status,
    stop_reason,
    count(*) AS num_rollouts,
    count(*) / sum(count(*)) OVER (PARTITION BY run_id, split, step) AS share
FROM filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step, status, stop_reason
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, num_rollouts DESC, status NULLS LAST, stop_reason NULLS LAST
