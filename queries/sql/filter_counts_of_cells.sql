-- Question: how many rollouts do the filters leave, where they name whole runs, splits and steps only?
-- Grain: one row, as `filter_counts`; reads `run_summaries`, never `rollouts`.
SELECT
    coalesce(sum(num_rollouts) FILTER (
        WHERE
        ($run_ids IS NULL OR list_contains($run_ids, run_id))
        AND ($splits IS NULL OR list_contains($splits, split))
        AND ($step_from IS NULL OR step >= $step_from)
        AND ($step_to IS NULL OR step <= $step_to)
    ), 0)::BIGINT AS num_rollouts,
    coalesce(sum(num_rollouts), 0)::BIGINT AS num_all
FROM run_summaries
ORDER BY num_all
