-- The agent's tool calls in rollouts restricted by the shared filters (answers without a call are no calls), with the
-- step, split, environment and unit of their rollout. `agent`: whose call it is, the rollout's own where calls do
-- not say; agents that are filtered on leave their own calls only. `is_failed`: flagged or inferred as an error, or never
-- executed. `repeats_known`: the source kept arguments, so that repeats could be told. `may_be_parallel`, `may_have_failed`:
-- false where the rollout is known to have no turn of several calls, no failed call.
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
    (r.num_parallel_turns IS DISTINCT FROM 0) AS may_be_parallel,
    (r.num_tool_errors IS DISTINCT FROM 0) AS may_have_failed,
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

-- The same, grouped by `p_by` (`run`, `split` of a run or `step` of a split) and told apart by `p_apart` (`environment` or
-- `agent`, NULL = not at all): the columns above the grain are NULL. `own_agent`: whose call it is, told apart or not.
CREATE MACRO grouped_calls(
    p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
SELECT
    c.* REPLACE (
        CASE WHEN p_by IN ('split', 'step') THEN c.split END AS split,
        CASE WHEN p_by = 'step' THEN c.step END AS step,
        CASE WHEN p_apart = 'environment' THEN c.environment END AS environment,
        CASE WHEN p_apart = 'agent' THEN c.agent END AS agent
    ),
    c.agent AS own_agent,
    hash(c.rollout_id) AS rollout
FROM filtered_calls(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS c;

-- Turns of two calls or more, one row each (of an agent, where these are told apart): how many calls, how many of them
-- failed, and in how many parallel wrappers they came. A wrapper of a single call is a row, too: it has a `num` of 0.
CREATE MACRO parallel_turns(
    p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
SELECT
    run_id,
    split,
    step,
    environment,
    agent,
    unit,
    rollout,
    CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END AS num,
    CASE WHEN count(*) > 1 THEN count(*) FILTER (WHERE is_failed) ELSE 0 END AS num_failed,
    len(list_distinct(list(wrapper_id) FILTER (WHERE wrapper_id IS NOT NULL))) AS num_wrappers,
    len(
        list_distinct(list(wrapper_id) FILTER (WHERE wrapper_id IS NOT NULL AND NOT coalesce(is_executed, TRUE)))
    ) AS num_wrappers_refused
FROM grouped_calls(
    p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
)
WHERE turn IS NOT NULL AND (may_be_parallel OR wrapper_id IS NOT NULL)
GROUP BY run_id, split, step, environment, agent, unit, rollout, branch, turn
HAVING count(*) > 1 OR count(wrapper_id) > 0;

-- Calls by sample: num_calls, num_failed, num_not_executed; p and pf, parallel calls and those of them that failed; s and
-- sf, the same of single ones; wrappers. Where nothing asks for agents, calls are counted from the facts of rollouts, and
-- only turns of several calls are looked at.
CREATE MACRO profiled_samples(
    p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
WITH counted AS (
    SELECT
        run_id, split, step, environment, agent, unit,
        sum(num_tool_calls) AS num_calls,
        sum(num_tool_errors) AS num_failed,
        sum(num_tool_calls - num_tool_calls_executed) AS num_not_executed,
        NULL::bigint AS num_rollouts_calling
    FROM grouped_rollouts(
        p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE num_tool_calls > 0 AND p_apart IS DISTINCT FROM 'agent' AND p_agents IS NULL
    GROUP BY run_id, split, step, environment, agent, unit
    UNION ALL
    SELECT
        run_id, split, step, environment, agent, unit,
        count(*) AS num_calls,
        count(*) FILTER (WHERE is_failed) AS num_failed,
        count(*) FILTER (WHERE NOT coalesce(is_executed, TRUE)) AS num_not_executed,
        count(DISTINCT rollout) AS num_rollouts_calling
    FROM grouped_calls(
        p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE p_apart IS NOT DISTINCT FROM 'agent' OR p_agents IS NOT NULL
    GROUP BY run_id, split, step, environment, agent, unit
),

parallel AS (
    SELECT
        run_id, split, step, environment, agent, unit,
        sum(num) AS p,
        sum(num_failed) AS pf,
        sum(num_wrappers) AS num_wrappers,
        sum(num_wrappers_refused) AS num_wrappers_refused
    FROM parallel_turns(
        p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    GROUP BY run_id, split, step, environment, agent, unit
)

SELECT
    c.*,
    coalesce(p.p, 0) AS p,
    coalesce(p.pf, 0) AS pf,
    c.num_calls - coalesce(p.p, 0) AS s,
    c.num_failed - coalesce(p.pf, 0) AS sf,
    coalesce(p.num_wrappers, 0) AS num_wrappers,
    coalesce(p.num_wrappers_refused, 0) AS num_wrappers_refused
FROM counted AS c
LEFT JOIN parallel AS p
    ON
        c.run_id = p.run_id AND c.unit = p.unit AND c.split IS NOT DISTINCT FROM p.split
        AND c.step IS NOT DISTINCT FROM p.step AND c.environment IS NOT DISTINCT FROM p.environment
        AND c.agent IS NOT DISTINCT FROM p.agent;
