-- Rules on the order of calls (see `queries.sequences`, whose `parameter` makes the struct that is taken here).

-- Whether a call is an event of a rule.
CREATE MACRO is_event(p_event, p_tool, p_is_failed, p_agent, p_arguments) AS
p_event['is_call']
AND (p_event['tools'] IS NULL OR list_contains(p_event['tools'], p_tool))
AND (p_event['status'] IS NULL OR p_is_failed = (p_event['status'] = 'error'))
AND (p_event['agent'] IS NULL OR coalesce(p_agent = p_event['agent'], FALSE))
AND (p_event['has'] IS NULL OR coalesce(contains(lower(p_arguments), p_event['has']), FALSE));

-- Rollouts of `grouped_rollouts` with `verdict` on a rule: `kept`, `broken`, `not applicable`, or `unknown` where the source
-- has no messages. A rollout is spelled as a digit a call (1 = the first event, 2 = the second, 3 = both, 0 = neither), and
-- one for its answer; patterns in it are found in linear time.
CREATE MACRO rollouts_under_rule(
    p_rule, p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset,
    p_agents
) AS TABLE
WITH calls AS (
    SELECT
        rollout,
        call_index,
        CASE WHEN is_event(p_rule['first'], tool, is_failed, own_agent, arguments_raw) THEN 1 ELSE 0 END
        + CASE WHEN is_event(p_rule['second'], tool, is_failed, own_agent, arguments_raw) THEN 2 ELSE 0 END AS event
    FROM grouped_calls(
        'run', NULL, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
),

spelled AS (
    SELECT
        rollout,
        string_agg(event::varchar, '' ORDER BY call_index) AS events
    FROM calls
    GROUP BY rollout
),

ended AS (
    SELECT
        r.*,
        coalesce(s.events, '') || CASE
            WHEN p_rule['answer'] <> '0' AND has_answered(r.status, r.final_answer) THEN p_rule['answer']
            ELSE ''
        END AS events
    FROM grouped_rollouts(
        p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    ) AS r
    LEFT JOIN spelled AS s ON r.rollout = s.rollout
)

SELECT
    * EXCLUDE (events),
    CASE
        WHEN num_tool_calls IS NULL THEN 'unknown'
        WHEN NOT regexp_matches(events, p_rule['applies']) THEN 'not applicable'
        WHEN regexp_matches(events, p_rule['broken']) = p_rule['is_kept_where_found'] THEN 'kept'
        ELSE 'broken'
    END AS verdict
FROM ended;
