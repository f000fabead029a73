-- What is made of the arms of a comparison (see arms.sql) beside their samples.

-- One row per parallel wrapper of either arm; it failed (NOT is_executed) if none of its calls was executed.
CREATE MACRO arm_wrappers(p_baseline, p_candidate, p_environments) AS TABLE
SELECT
    r.arm,
    c.rollout_id,
    c.wrapper_id,
    bool_or(coalesce(c.is_executed, TRUE)) AS is_executed
FROM tool_calls AS c
INNER JOIN compared_rollouts(p_baseline, p_candidate, p_environments, 'sample_id') AS r
    ON c.run_id = r.run_id AND c.rollout_id = r.rollout_id
WHERE
    c.wrapper_id IS NOT NULL
    AND list_contains([struct_extract(p_baseline, 'run_id'), struct_extract(p_candidate, 'run_id')], c.run_id)
GROUP BY r.arm, c.rollout_id, c.wrapper_id;
