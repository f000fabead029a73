-- Executed calls of `filtered_calls` whose sample, arguments and answer are known: what attempts can be compared by.
CREATE MACRO sampled_calls(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
SELECT
    c.*,
    r.sample_id,
    hash(c.rollout_id) AS rollout
FROM filtered_calls(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS c
INNER JOIN rollouts AS r ON hash(c.rollout_id) = hash(r.rollout_id)
WHERE
    r.sample_id IS NOT NULL
    AND (p_run_ids IS NULL OR list_contains(p_run_ids, r.run_id))
    AND c.arguments_raw IS NOT NULL
    AND c.output_hash IS NOT NULL
    AND coalesce(c.is_executed, TRUE);
