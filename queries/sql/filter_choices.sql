-- Question: by what can rollouts be restricted?
-- Grain: field (`agents`, `environments`, `tools`) and choice; ordered by field, most frequent first, then by choice.
-- num: rollouts of the environment's cells, calls of the tool, or rollouts, messages and calls of the agent.
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
),

agents AS (
    SELECT agent FROM rollouts
    WHERE agent IS NOT NULL
    UNION ALL
    SELECT agent FROM tool_calls
    WHERE agent IS NOT NULL
    UNION ALL
    SELECT agent FROM messages
    WHERE agent IS NOT NULL
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
UNION ALL
SELECT
    'agents' AS field,
    agent AS choice,
    count(*) AS num
FROM agents
GROUP BY agent
ORDER BY field ASC, num DESC, choice ASC
