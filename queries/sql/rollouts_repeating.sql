-- Question: which rollouts repeat calls (of one pattern, of one tool)?
-- Grain: rollout; the most repeats first, then by run and rollout. num_repeats: exact and near ones of what is asked for;
-- seconds. num_total: how many rollouts there are.
WITH repeats AS (
    SELECT
        run_id,
        rollout_id,
        count(*) AS num_repeats
    FROM filtered_calls(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE
        (repeat_of IS NOT NULL OR near_repeat_of IS NOT NULL)
        AND ($pattern IS NULL OR near_key = $pattern)
        AND ($tool IS NULL OR tool = $tool)
    GROUP BY run_id, rollout_id
)

SELECT
    r.run_id,
    r.rollout_id,
    r.sample_id,
    r.attempt,
    r.split,
    r.step,
    r.status,
    r.reward,
    c.num_repeats,
    r.num_tool_calls,
    r.latency_s,
    count(*) OVER () AS num_total
FROM repeats AS c
INNER JOIN filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
) AS r ON c.run_id = r.run_id AND c.rollout_id = r.rollout_id
ORDER BY c.num_repeats DESC, r.run_id ASC, r.rollout_id ASC
LIMIT $limit OFFSET $offset
