-- Calls of `grouped_calls` that cannot be taken back, with the name of the first rule that matches as `rule`. Rules are
-- structs {name, tools, arguments}; `p_pattern` is any of their patterns, looked for first: one that is the same for all
-- rows is much faster. `p_named` are the tools whose every call matches, `p_searched` those whose arguments decide.
CREATE MACRO destructive_calls_of(
    p_rules, p_pattern, p_named, p_searched, p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses,
    p_tools, p_environments, p_subset, p_agents
) AS TABLE
WITH candidates AS (
    SELECT *
    FROM grouped_calls(
        p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE
        list_contains(p_named, tool)
        OR (list_contains(p_searched, tool) AND regexp_matches(arguments_raw, p_pattern))
)

SELECT
    *,
    list_filter(
        p_rules,
        LAMBDA each: list_contains(each['tools'], tool)
        AND (each['arguments'] IS NULL OR coalesce(regexp_matches(arguments_raw, each['arguments']), FALSE))
    )[1]['name'] AS rule
FROM candidates;
