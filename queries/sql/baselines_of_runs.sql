-- Question: which run is each run's baseline?
-- Grain: run that has one; ordered by run. The nearest of kind `baseline` among the runs it stems from (`parent_run`, up to
-- eight of them), else the only one in the store whose environments include all of the run's.
WITH RECURSIVE ancestors AS (
    SELECT run_id, parent_run, 1 AS generation
    FROM runs
    WHERE list_contains($run_ids, run_id) AND parent_run IS NOT NULL
    UNION ALL
    SELECT a.run_id, r.parent_run, a.generation + 1 AS generation
    FROM ancestors AS a
    INNER JOIN runs AS r ON a.parent_run = r.run_id
    WHERE a.generation < 8 AND r.parent_run IS NOT NULL
),

environments AS (
    SELECT run_id, list_sort(list_distinct(list(environment))) AS names
    FROM (SELECT run_id, unnest(from_json(environments, '["VARCHAR"]')) AS environment FROM run_summaries)
    GROUP BY run_id
),

stemming AS (
    SELECT a.run_id, arg_min(b.run_id, a.generation) AS baseline_id
    FROM ancestors AS a
    INNER JOIN runs AS b ON a.parent_run = b.run_id AND b.kind = 'baseline'
    GROUP BY a.run_id
),

alone AS (
    SELECT o.run_id, any_value(b.run_id) AS baseline_id
    FROM environments AS o
    INNER JOIN environments AS e ON list_has_all(e.names, o.names)
    INNER JOIN runs AS b ON e.run_id = b.run_id AND b.kind = 'baseline'
    WHERE list_contains($run_ids, o.run_id) AND len(o.names) > 0
    GROUP BY o.run_id
    HAVING count(DISTINCT b.run_id) = 1
)

SELECT
    coalesce(s.run_id, a.run_id) AS run_id,
    coalesce(s.baseline_id, a.baseline_id) AS baseline_id
FROM alone AS a
FULL JOIN stemming AS s ON a.run_id = s.run_id
WHERE coalesce(s.baseline_id, a.baseline_id) <> coalesce(s.run_id, a.run_id)
ORDER BY coalesce(s.run_id, a.run_id)
