-- Question: by what can rollouts be restricted?
-- Grain: field (`environments`, `tools`) and value; ordered by field, most frequent first, then by value.
-- num: rollouts of the environment's cells, or calls of the tool.
WITH environments AS (
    SELECT
        unnest(from_json(environments, '["VARCHAR"]')) AS value,
        num_rollouts
    FROM run_summaries
),

tools AS (
    SELECT tool AS value, count(*) AS num FROM tool_calls
    GROUP BY tool
)

SELECT 'environments' AS field, value, sum(num_rollouts)::BIGINT AS num FROM environments
WHERE value IS NOT NULL
GROUP BY value
UNION ALL
SELECT 'tools' AS field, value, num FROM tools
ORDER BY field, num DESC, value
