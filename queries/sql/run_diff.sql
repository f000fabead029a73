-- Question: what is known of runs, beside what their configuration says?
-- Grain: run, section and name; ordered by them. value: JSON.
-- Sections: configuration, prompts, tools, grader, data, code (settings), identity and results (no settings).
WITH described AS (
    SELECT
        run_id,
        list_sort(list_distinct(list(dataset_version))) AS versions,
        list_sort(list_distinct(flatten(list(
            CASE WHEN json_type(tags) = 'ARRAY' THEN from_json(tags, '["VARCHAR"]') END
        )))) AS tags
    FROM samples
    WHERE list_contains($run_ids, run_id)
    GROUP BY run_id
)

FROM run_columns($run_ids)
UNION ALL
FROM run_rollout_values($run_ids)
UNION ALL
FROM run_splits($run_ids)
UNION ALL
FROM run_tools($run_ids)
UNION ALL
FROM run_graders($run_ids)
UNION ALL
SELECT run_id, 'data' AS section, 'data set version' AS name, to_json(versions) AS value
FROM described
WHERE len(versions) > 0
UNION ALL
SELECT run_id, 'data' AS section, 'tags of samples' AS name, to_json(tags) AS value
FROM described
WHERE len(tags) > 0
UNION ALL
SELECT
    run_id,
    'results' AS section,
    'last reward' || coalesce(', ' || final.split, '') AS name,
    to_json(final.reward_mean) AS value
FROM run_figures
WHERE list_contains($run_ids, run_id) AND final.reward_mean IS NOT NULL
ORDER BY run_id, section, name
