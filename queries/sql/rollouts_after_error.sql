-- Question: in which rollouts does a failed call have this after it?
-- Grain: rollout; the most such failed calls first. num_total: how many there are.
WITH found AS (
    SELECT rollout, count(*) AS num_found
    FROM calls_after_errors(
        'run', NULL, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE what_follows = $what_follows
    GROUP BY rollout
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
    f.num_found,
    r.num_tool_calls,
    r.num_tool_errors,
    r.latency_s,
    count(*) OVER () AS num_total
FROM found AS f
INNER JOIN grouped_rollouts(
    'step', NULL, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
) AS r ON f.rollout = r.rollout
ORDER BY f.num_found DESC, r.run_id ASC, r.rollout_id ASC
LIMIT $limit OFFSET $offset
