-- Question: which tool follows which?
-- Grain: run, from_tool, to_tool; ordered by run, from_tool, then the most frequent first. Consecutive calls of a rollout
-- (of a branch of it); from_tool NULL = before its first call, to_tool NULL = after its last. share: of all that follows
-- from_tool, 0–1.
WITH trajectories AS (
    SELECT
        run_id,
        list_transform(
            list_sort(list({'call_index': call_index, 'tool': tool})), LAMBDA each: each.tool
        ) AS tools
    FROM filtered_calls(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, rollout_id, branch
),

transitions AS (
    SELECT
        run_id,
        unnest(list_prepend(NULL, tools)) AS from_tool,
        unnest(list_append(tools, NULL)) AS to_tool
    FROM trajectories
)

SELECT
    run_id,
    from_tool,
    to_tool,
    count(*) AS num_transitions,
    count(*) / sum(count(*)) OVER (PARTITION BY run_id, from_tool) AS share
FROM transitions
GROUP BY run_id, from_tool, to_tool
ORDER BY run_id ASC, from_tool ASC NULLS FIRST, num_transitions DESC, to_tool ASC NULLS LAST
