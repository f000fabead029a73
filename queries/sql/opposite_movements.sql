-- Question: how do reward and calls of each environment, or agent, move from a run's first step to its last?
-- Grain: run, measure (`reward`, `tool_calls`) and part (an environment or agent, as `apart` says; NULL = all together);
-- ordered by them. Over the samples known at both steps; deltas last − first; tool_calls of an agent: its own, per rollout.
WITH r AS (
    SELECT run_id, step, unit, environment, agent, reward, num_tool_calls,
        min(step) OVER (PARTITION BY run_id) AS first_step,
        max(step) OVER (PARTITION BY run_id) AS last_step
    FROM filtered_rollouts(
        $run_ids, [$split], $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE step IS NOT NULL
    QUALIFY step IN (first_step, last_step) AND first_step < last_step
),

calls AS (
    SELECT run_id, step, unit, agent, count(*) AS num
    FROM filtered_calls(
        $run_ids, [$split], $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE $apart = 'agent' AND agent IS NOT NULL
    GROUP BY run_id, step, unit, agent
),

known AS (
    SELECT run_id, step, unit, count(num_tool_calls) AS num
    FROM r
    GROUP BY run_id, step, unit
    HAVING count(num_tool_calls) > 0
),

values_of AS (
    SELECT run_id, step, unit, 'reward' AS measure, CASE $apart WHEN 'agent' THEN agent ELSE environment END AS part,
        FALSE AS is_total, avg(reward) AS value
    FROM r
    GROUP BY ALL
    UNION ALL
    SELECT run_id, step, unit, 'tool_calls' AS measure, environment AS part, FALSE AS is_total,
        avg(num_tool_calls) AS value
    FROM r
    WHERE $apart = 'environment'
    GROUP BY ALL
    UNION ALL
    SELECT k.run_id, k.step, k.unit, 'tool_calls' AS measure, a.agent AS part, FALSE AS is_total,
        coalesce(c.num, 0) / k.num AS value
    FROM known AS k
    INNER JOIN (SELECT DISTINCT run_id, agent FROM calls) AS a ON k.run_id = a.run_id
    LEFT JOIN calls AS c ON k.run_id = c.run_id AND k.step = c.step AND k.unit = c.unit AND a.agent = c.agent
    UNION ALL
    SELECT run_id, step, unit, 'reward' AS measure, NULL AS part, TRUE AS is_total, avg(reward) AS value
    FROM r
    GROUP BY ALL
    UNION ALL
    SELECT run_id, step, unit, 'tool_calls' AS measure, NULL AS part, TRUE AS is_total, avg(num_tool_calls) AS value
    FROM r
    GROUP BY ALL
)

SELECT
    a.run_id, a.measure, a.part, a.is_total,
    any_value(e.first_step) AS first_step,
    any_value(e.last_step) AS last_step,
    count(*) AS num_paired,
    avg(a.value) AS first_mean,
    avg(b.value) AS last_mean,
    avg(b.value - a.value) AS delta_mean,
    stddev_samp(b.value - a.value) AS delta_sd
FROM values_of AS a
INNER JOIN (SELECT DISTINCT run_id, first_step, last_step FROM r) AS e ON a.run_id = e.run_id AND a.step = e.first_step
INNER JOIN values_of AS b
    ON
        a.run_id = b.run_id AND e.last_step = b.step AND a.unit = b.unit AND a.measure = b.measure
        AND a.part IS NOT DISTINCT FROM b.part AND a.is_total = b.is_total
WHERE a.value IS NOT NULL AND b.value IS NOT NULL AND (a.is_total OR a.part IS NOT NULL)
GROUP BY a.run_id, a.measure, a.part, a.is_total
ORDER BY a.run_id, a.measure, a.is_total, a.part
