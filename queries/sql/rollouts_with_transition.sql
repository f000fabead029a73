-- Question: in which rollouts does one tool follow another?
-- Grain: rollout; the most frequent first, then by run and rollout. Consecutive calls (of a branch); from_tool NULL = before
-- the first call, to_tool NULL = after the last. num_transitions: how often in the rollout; num_total: rollouts there are.
WITH calls AS (
    SELECT run_id, rollout_id, branch, call_index, tool
    FROM filtered_calls(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

transitions AS (
    SELECT
        run_id,
        rollout_id,
        lag(tool) OVER (PARTITION BY run_id, rollout_id, branch ORDER BY call_index) AS from_tool,
        tool AS to_tool
    FROM calls
    UNION ALL
    SELECT run_id, rollout_id, arg_max(tool, call_index) AS from_tool, NULL AS to_tool FROM calls
    GROUP BY run_id, rollout_id, branch
),

found AS (
    SELECT run_id, rollout_id, count(*) AS num_transitions FROM transitions
    WHERE from_tool IS NOT DISTINCT FROM $from_tool AND to_tool IS NOT DISTINCT FROM $to_tool
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
    f.num_transitions,
    r.num_tool_calls,
    r.latency_s,
    count(*) OVER () AS num_total
FROM found AS f
INNER JOIN filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
) AS r ON f.run_id = r.run_id AND f.rollout_id = r.rollout_id
ORDER BY f.num_transitions DESC, r.run_id ASC, r.rollout_id ASC
LIMIT $limit OFFSET $offset
