-- Question: which share of the calls goes to each tool?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does) and tool; the most called first. share:
-- of the group's calls, 0–1; share_sd: to use with num_samples. num_samples: of the group, with a call.
WITH per_tool AS (
    SELECT
        run_id, split, step, environment, agent, unit, tool,
        count(*) AS hits,
        count(*) FILTER (WHERE is_failed) AS num_failed
    FROM grouped_calls(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, split, step, environment, agent, unit, tool
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
        sum(num_failed) AS num_failed,
        count(*) AS num_samples_calling
    FROM counted
    GROUP BY run_id, split, step, environment, agent, tool
)

SELECT
    t.run_id, t.split, t.step, t.environment, t.agent, t.tool,
    t.hits::BIGINT AS num_calls,
    g.num::BIGINT AS num_all_calls,
    t.hits / g.num AS share,
    share_sd(t.hits, t.hits_2, t.hits_num, g.num, g.num_2, g.num_units) AS share_sd,
    g.num_units AS num_samples,
    t.num_samples_calling,
    t.num_failed::BIGINT AS num_failed
FROM tools AS t
INNER JOIN groups AS g
    ON
        t.run_id = g.run_id AND t.split IS NOT DISTINCT FROM g.split AND t.step IS NOT DISTINCT FROM g.step
        AND t.environment IS NOT DISTINCT FROM g.environment AND t.agent IS NOT DISTINCT FROM g.agent
ORDER BY
    t.run_id ASC, t.split ASC NULLS LAST, t.step ASC NULLS FIRST, t.environment ASC NULLS LAST, t.agent ASC NULLS LAST,
    t.hits DESC, t.tool ASC
