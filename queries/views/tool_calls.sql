-- The agent's tool calls in rollouts restricted by the shared filters (answers without a call are no calls), with the
-- step, split, environment and unit of their rollout. `agent`: whose call it is, the rollout's own where calls do
-- not say; agents that are filtered on leave their own calls only. `is_failed`: flagged or inferred as an error, or never
-- executed. `repeats_known`: the source kept arguments, so that repeats could be told.
-- Joined by a 64-bit hash of the rollout's id, which is no longer than a number and hashes the run already.
CREATE MACRO filtered_calls(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents := NULL
) AS TABLE
SELECT
    c.* REPLACE (coalesce(c.agent, r.agent) AS agent),
    r.step,
    r.split,
    r.environment,
    r.unit,
    r.num_exact_repeats IS NOT NULL AS repeats_known,
    coalesce(c.is_error_flagged, FALSE) OR coalesce(c.is_error_inferred, FALSE)
    OR c.status = 'error' OR NOT coalesce(c.is_executed, TRUE) AS is_failed
FROM tool_calls AS c
INNER JOIN filtered_rollouts(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS r ON hash(c.rollout_id) = hash(r.rollout_id)
WHERE
    (p_run_ids IS NULL OR list_contains(p_run_ids, c.run_id))
    AND (p_agents IS NULL OR list_contains(p_agents, coalesce(c.agent, r.agent)))
    AND c.requestor <> 'user'
    AND c.status <> 'orphan';
