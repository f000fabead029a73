-- Question: how often is each value of what describes a rollout found in two selections?
-- Grain: side, about (what is said: `environment`, `status`, `tools_version`, `prompt_version`, `tool`), sample (unit) and
-- value; ordered by them. num: rollouts of the sample; of `tool` its calls, orphaned answers and a simulated user's calls
-- left out.
WITH found AS (
    SELECT
        side, unit, run_id, rollout_id, environment, status, tools_version, prompt_version
    FROM rollouts_of_selections($selections, $environments)
),

said AS (
    SELECT side, unit, 'environment' AS about, environment AS value FROM found
    UNION ALL
    SELECT side, unit, 'status' AS about, status AS value FROM found
    UNION ALL
    SELECT side, unit, 'tools_version' AS about, tools_version AS value FROM found
    UNION ALL
    SELECT side, unit, 'prompt_version' AS about, prompt_version AS value FROM found
    UNION ALL
    SELECT f.side, f.unit, 'tool' AS about, c.tool AS value
    FROM found AS f
    INNER JOIN tool_calls AS c ON hash(f.rollout_id) = hash(c.rollout_id)
    WHERE
        list_contains([struct_extract(each, 'run_id') FOR each IN $selections], c.run_id)
        AND c.requestor <> 'user'
        AND c.status <> 'orphan'
)

SELECT
    side,
    about,
    unit,
    value,
    count(*) AS num
FROM said
WHERE value IS NOT NULL
GROUP BY side, about, unit, value
ORDER BY side, about, unit, value
