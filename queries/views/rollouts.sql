-- Rollouts restricted by the shared filters. Every question about rollouts starts from this macro; a NULL parameter is
-- no restriction. `unit` is what means are taken over: the sample (the same id in another environment is another one), or
-- the rollout itself where the sample is unknown; a 64-bit hash of their names, which groups as fast as a short text.
-- An agent took part where the rollout is its own, or where it wrote a message or made a call of it.
CREATE MACRO filtered_rollouts(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents := NULL
) AS TABLE
SELECT
    r.*,
    CASE WHEN r.sample_id IS NULL THEN hash(r.rollout_id) ELSE hash(r.environment, r.sample_id) END AS unit
FROM rollouts AS r
WHERE
    (p_run_ids IS NULL OR list_contains(p_run_ids, r.run_id))
    AND (p_splits IS NULL OR list_contains(p_splits, r.split))
    AND (p_step_from IS NULL OR r.step >= p_step_from)
    AND (p_step_to IS NULL OR r.step <= p_step_to)
    AND (p_statuses IS NULL OR list_contains(p_statuses, r.status))
    AND (p_environments IS NULL OR list_contains(p_environments, r.environment))
    AND (p_subset IS NULL OR p_subset = 'all' OR r.subset = p_subset)
    AND (
        p_tools IS NULL
        -- The CASE keeps ids from being read, for the lookup below is planned even where nothing is to be looked up.
        OR CASE WHEN p_tools IS NOT NULL THEN r.rollout_id END IN (
            SELECT c.rollout_id FROM tool_calls AS c
            WHERE
                p_tools IS NOT NULL
                AND list_contains(p_tools, c.tool)
                AND c.requestor <> 'user'
                AND c.status <> 'orphan'
                AND (p_run_ids IS NULL OR list_contains(p_run_ids, c.run_id))
        )
    )
    AND (
        p_agents IS NULL
        OR list_contains(p_agents, r.agent)
        OR CASE WHEN p_agents IS NOT NULL THEN r.rollout_id END IN (
            SELECT c.rollout_id FROM tool_calls AS c
            WHERE
                p_agents IS NOT NULL
                AND list_contains(p_agents, c.agent)
                AND (p_run_ids IS NULL OR list_contains(p_run_ids, c.run_id))
            UNION ALL
            SELECT m.rollout_id FROM messages AS m
            WHERE
                p_agents IS NOT NULL
                AND list_contains(p_agents, m.agent)
                AND (p_run_ids IS NULL OR list_contains(p_run_ids, m.run_id))
        )
    );
