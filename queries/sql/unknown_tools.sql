-- Question: which tools are called that were never offered, or never once answered?
-- Grain: run and tool; ordered by run, then the most called first. is_offered: named by the run's configuration or by the
-- samples (NULL where neither lists tools). Listed are those not offered, and, where that is not known, those without a
-- single successful call.
WITH calls AS (
    SELECT
        run_id, tool,
        count(*) AS num_calls,
        count(*) FILTER (WHERE is_failed) AS num_failed,
        count(DISTINCT rollout) AS num_rollouts
    FROM grouped_calls(
        'run', NULL, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, tool
),

lists AS (
    SELECT run_id, json_extract(metadata, '$.tools') AS tools FROM samples
    UNION ALL
    SELECT run_id, json_extract(config, '$.tools') AS tools FROM runs
),

offered AS (
    SELECT DISTINCT
        l.run_id,
        coalesce(e.value ->> '$.function.name', e.value ->> '$.name', e.value ->> '$') AS tool
    FROM (
        SELECT DISTINCT run_id, tools
        FROM lists
        WHERE json_type(tools) = 'ARRAY'
    ) AS l,
        json_each(l.tools) AS e
)

SELECT
    c.run_id,
    c.tool,
    c.num_calls,
    c.num_failed,
    c.num_rollouts,
    CASE WHEN k.run_id IS NOT NULL THEN o.tool IS NOT NULL END AS is_offered
FROM calls AS c
LEFT JOIN offered AS o ON c.run_id = o.run_id AND c.tool = o.tool
LEFT JOIN (SELECT DISTINCT run_id FROM offered) AS k ON c.run_id = k.run_id
WHERE (k.run_id IS NOT NULL AND o.tool IS NULL) OR (k.run_id IS NULL AND c.num_failed = c.num_calls)
ORDER BY c.run_id ASC, c.num_calls DESC, c.tool ASC
