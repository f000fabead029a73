-- Question: which tool does a rollout call first?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does) and tool (NULL = no call); the most
-- frequent first. share: of the group's rollouts, 0–1; share_sd: to use with num_samples. reward_mean: over samples.
WITH firsts AS (
    SELECT
        rollout,
        arg_min(tool, call_index) AS tool
    FROM grouped_calls(
        'run', NULL, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY rollout
),

per_tool AS (
    SELECT
        r.run_id, r.split, r.step, r.environment, r.agent, r.unit, f.tool,
        count(*) AS hits,
        avg(r.reward) AS reward
    FROM grouped_rollouts(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS r
    LEFT JOIN firsts AS f ON r.rollout = f.rollout
    WHERE r.num_tool_calls IS NOT NULL
    GROUP BY r.run_id, r.split, r.step, r.environment, r.agent, r.unit, f.tool
),

counted AS (
    SELECT *, sum(hits) OVER (PARTITION BY run_id, split, step, environment, agent, unit) AS num
    FROM per_tool
),

groups AS (
    SELECT run_id, split, step, environment, agent, sum(num) AS num, sum(num * num) AS num_2, count(*) AS num_units
    FROM (
        SELECT run_id, split, step, environment, agent, unit, any_value(num) AS num
        FROM counted
        GROUP BY run_id, split, step, environment, agent, unit
    )
    GROUP BY run_id, split, step, environment, agent
),

tools AS (
    SELECT
        run_id, split, step, environment, agent, tool,
        sum(hits) AS hits,
        sum(hits * hits) AS hits_2,
        sum(hits * num) AS hits_num,
        avg(reward) AS reward_mean,
        count(reward) AS num_samples_scored
    FROM counted
    GROUP BY run_id, split, step, environment, agent, tool
)

SELECT
    t.run_id, t.split, t.step, t.environment, t.agent, t.tool,
    t.hits::BIGINT AS num_first,
    g.num::BIGINT AS num_rollouts,
    t.hits / g.num AS share,
    share_sd(t.hits, t.hits_2, t.hits_num, g.num, g.num_2, g.num_units) AS share_sd,
    g.num_units AS num_samples,
    t.reward_mean,
    t.num_samples_scored
FROM tools AS t
INNER JOIN groups AS g
    ON
        t.run_id = g.run_id AND t.split IS NOT DISTINCT FROM g.split AND t.step IS NOT DISTINCT FROM g.step
        AND t.environment IS NOT DISTINCT FROM g.environment AND t.agent IS NOT DISTINCT FROM g.agent
ORDER BY
    t.run_id ASC, t.split ASC NULLS LAST, t.step ASC NULLS FIRST, t.environment ASC NULLS LAST, t.agent ASC NULLS LAST,
    t.hits DESC, t.tool ASC NULLS LAST
