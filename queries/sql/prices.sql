-- Question: which models, tools, graders and environments are there that could have a price?
-- Grain: kind, name; ordered by kind (model, tool, grader, environment), then the most used first. Of whole runs.
-- num_used: rollouts of a model or environment, calls of a tool, scores of a grader. A rollout that names no model has that
-- of its run. Sub-scores (`grader/part`) are not listed; they have no price unless a pattern names them.
WITH acted AS (
    SELECT run_id, model, environment, count(*) AS num_used
    FROM rollouts
    WHERE $run_ids IS NULL OR list_contains($run_ids, run_id)
    GROUP BY run_id, model, environment
),

found AS (
    SELECT 1 AS place, 'model' AS kind, coalesce(a.model, r.model, r.base_model, '') AS name, a.num_used
    FROM acted AS a
    LEFT JOIN runs AS r ON a.run_id = r.run_id
    UNION ALL
    SELECT 2 AS place, 'tool' AS kind, tool AS name, count(*) AS num_used
    FROM tool_calls
    WHERE ($run_ids IS NULL OR list_contains($run_ids, run_id)) AND requestor <> 'user' AND status <> 'orphan'
    GROUP BY tool
    UNION ALL
    SELECT 3 AS place, 'grader' AS kind, grader AS name, count(*) AS num_used
    FROM scores
    WHERE ($run_ids IS NULL OR list_contains($run_ids, run_id)) AND kind IN ('reward', 'subscore')
    GROUP BY grader
    UNION ALL
    SELECT 4 AS place, 'environment' AS kind, coalesce(environment, '') AS name, num_used
    FROM acted
)

SELECT kind, name, sum(num_used)::BIGINT AS num_used
FROM found
GROUP BY place, kind, name
ORDER BY place, num_used DESC, name
