-- Calls of `grouped_calls` that failed, with the `kind` of failure: `not_executed` (handed to no tool, as the calls of a
-- parallel wrapper that does not parse), else the first of `p_patterns` that is found in the source's own word or at the
-- beginning of the answer (`unknown_tool`, `invalid_arguments`, `timeout`), `invalid_arguments` too where they are no
-- JSON, else `other`. `source_kind`: the source's own word.
CREATE MACRO failed_calls(
    p_patterns, p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments,
    p_subset, p_agents
) AS TABLE
WITH failed AS (
    SELECT
        *,
        coalesce(error_kind, '') || chr(10) || coalesce(substr(output_text, 1, 400), '') AS said
    FROM grouped_calls(
        p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE is_failed
)

SELECT
    * EXCLUDE (said),
    coalesce(error_kind, 'not said') AS source_kind,
    CASE
        WHEN NOT coalesce(is_executed, true) THEN 'not_executed'
        WHEN regexp_matches(said, p_patterns[1]) THEN 'unknown_tool'
        WHEN is_parsed = false OR regexp_matches(said, p_patterns[2]) THEN 'invalid_arguments'
        WHEN regexp_matches(said, p_patterns[3]) THEN 'timeout'
        ELSE 'other'
    END AS kind
FROM failed;

-- Failed calls of `grouped_calls` with `what_follows` in the agent's next round of calls: `same call`, `changed arguments`
-- (of the same tool), `another tool`; with no further call `answers`, or `gives up`. is_…_ok: a call of that kind there
-- succeeded; is_recovered_later: the same tool succeeded in any later round.
CREATE MACRO calls_after_errors(
    p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
WITH rounds AS (
    SELECT
        run_id, split, step, environment, agent, unit, rollout, branch, own_agent, call_index, tool, is_failed,
        CASE WHEN arguments_raw IS NOT null THEN hash(arguments_hash) END AS arguments,
        dense_rank() OVER (PARTITION BY rollout, branch, own_agent ORDER BY coalesce(turn, call_index)) AS round
    FROM grouped_calls(
        p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE may_have_failed
),

marked AS (
    SELECT
        *,
        max(CASE WHEN NOT is_failed THEN round END) OVER (PARTITION BY rollout, branch, own_agent, tool) AS last_ok
    FROM rounds
),

followed AS (
    SELECT
        f.run_id, f.split, f.step, f.environment, f.agent, f.unit, f.rollout, f.call_index,
        coalesce(any_value(f.last_ok) > any_value(f.round), false) AS is_recovered_later,
        count(n.tool) > 0 AS is_calling,
        coalesce(bool_or(n.tool = f.tool), false) AS is_same_tool,
        coalesce(bool_or(n.tool = f.tool AND n.arguments = f.arguments), false) AS is_same_call,
        coalesce(bool_or(NOT n.is_failed), false) AS is_ok,
        coalesce(bool_or(n.tool = f.tool AND NOT n.is_failed), false) AS is_same_tool_ok,
        coalesce(bool_or(n.tool = f.tool AND n.arguments = f.arguments AND NOT n.is_failed), false) AS is_same_call_ok
    FROM marked AS f
    LEFT JOIN rounds AS n
        ON
            f.rollout = n.rollout AND f.round + 1 = n.round
            AND f.branch IS NOT DISTINCT FROM n.branch AND f.own_agent IS NOT DISTINCT FROM n.own_agent
    WHERE f.is_failed
    GROUP BY ALL
)

SELECT
    f.*,
    CASE
        WHEN f.is_same_call THEN 'same call'
        WHEN f.is_same_tool THEN 'changed arguments'
        WHEN f.is_calling THEN 'another tool'
        WHEN has_answered(r.status, r.final_answer) THEN 'answers'
        ELSE 'gives up'
    END AS what_follows
FROM followed AS f
INNER JOIN grouped_rollouts(
    'run', null, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS r ON f.rollout = r.rollout;
