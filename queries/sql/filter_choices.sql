-- Question: by what can rollouts be restricted?
-- Grain: field (`environments`, `tools`) and choice; ordered by field, most frequent first, then by choice.
-- num: rollouts of the environment's cells, or calls of the tool.
WITH environments AS (
    SELECT
        num_rollouts,
        unnest(from_json(environments, '["VARCHAR"]')) AS choice
    FROM run_summaries
),

tools AS (
    SELECT
        tool AS choice,
        count(*) AS num
    FROM tool_calls
    GROUP BY tool
)

SELECT
    'environments' AS field,
    choice,
    sum(num_rollouts)::BIGINT AS num
FROM environments
WHERE choice IS NOT NULL
GROUP BY choice
UNION ALL
SELECT
    'tools' AS field,
    choice,
    num
FROM tools
ORDER BY field ASC, num DESC, choice ASC
