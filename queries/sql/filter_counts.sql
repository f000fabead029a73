-- Question: how many rollouts do the filters leave?
-- Grain: one row. num_rollouts: left; num_all: in the whole store.
SELECT
    (
        SELECT count(*) FROM filtered_rollouts(
            $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
        )
    ) AS num_rollouts,
    (SELECT coalesce(sum(num_rollouts), 0)::BIGINT FROM run_summaries) AS num_all
ORDER BY num_all
