-- Question: which rollouts make certain calls?
-- Grain: rollout; those with the most such calls first. num_found: of the tool, arguments, kind of error, what follows and
-- size that are given, as `which` says: any, failed, parallel (wider than one call a turn), or not executed. num_total.
WITH calls AS (
    SELECT
        rollout,
        is_failed,
        coalesce(is_executed, TRUE) AS is_executed,
        count(*) OVER (PARTITION BY rollout, branch, turn, turn IS NULL) > 1 AND turn IS NOT NULL AS is_parallel
    FROM grouped_calls(
        'run', NULL, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE
        ($tool IS NULL OR tool = $tool OR $which = 'parallel')
        AND ($arguments_hash IS NULL OR arguments_hash = $arguments_hash)
        AND ($at_least_bytes IS NULL OR output_bytes >= $at_least_bytes)
        AND ($error_kind IS NULL OR (is_failed AND coalesce(error_kind, 'not said') = $error_kind))
),

found AS (
    SELECT rollout, count(*) AS num_found
    FROM calls
    WHERE
        CASE $which
            WHEN 'failed' THEN is_failed
            WHEN 'parallel' THEN is_parallel
            WHEN 'not executed' THEN NOT is_executed
            ELSE TRUE
        END
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
