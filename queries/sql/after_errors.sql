-- Question: what does the agent do after a call has failed?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does) and what_follows in the agent's next
-- round of calls; the most frequent first. num_recovered_next: a call of that kind there succeeded; num_recovered_later:
-- the same tool succeeded in any later round. share_sd: to use with num_samples (of the group, with a failed call).
WITH per_sample AS (
    SELECT
        run_id, split, step, environment, agent, unit, what_follows,
        count(*) AS hits,
        count(*) FILTER (WHERE
            CASE what_follows
                WHEN 'same call' THEN is_same_call_ok
                WHEN 'changed arguments' THEN is_same_tool_ok
                WHEN 'another tool' THEN is_ok
            END
        ) AS num_next,
        count(*) FILTER (WHERE is_recovered_later) AS num_later,
        count(DISTINCT rollout) AS num_rollouts,
        sum(count(*)) OVER (PARTITION BY run_id, split, step, environment, agent, unit) AS num
    FROM calls_after_errors(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, split, step, environment, agent, unit, what_follows
),

groups AS (
    SELECT run_id, split, step, environment, agent, sum(num) AS num, sum(num * num) AS num_2, count(*) AS num_units
    FROM (
        SELECT run_id, split, step, environment, agent, unit, any_value(num) AS num
        FROM per_sample
        GROUP BY run_id, split, step, environment, agent, unit
    )
    GROUP BY run_id, split, step, environment, agent
)

SELECT
    p.run_id, p.split, p.step, p.environment, p.agent, p.what_follows,
    sum(p.hits)::BIGINT AS num_errors,
    sum(p.num_rollouts)::BIGINT AS num_rollouts,
    any_value(g.num)::BIGINT AS num_all_errors,
    sum(p.hits) / any_value(g.num) AS share,
    share_sd(sum(p.hits), sum(p.hits * p.hits), sum(p.hits * p.num), any_value(g.num), any_value(g.num_2),
        any_value(g.num_units)) AS share_sd,
    any_value(g.num_units) AS num_samples,
    sum(p.num_next)::BIGINT AS num_recovered_next,
    sum(p.num_later)::BIGINT AS num_recovered_later
FROM per_sample AS p
INNER JOIN groups AS g
    ON
        p.run_id = g.run_id AND p.split IS NOT DISTINCT FROM g.split AND p.step IS NOT DISTINCT FROM g.step
        AND p.environment IS NOT DISTINCT FROM g.environment AND p.agent IS NOT DISTINCT FROM g.agent
GROUP BY p.run_id, p.split, p.step, p.environment, p.agent, p.what_follows
ORDER BY
    p.run_id ASC, p.split ASC NULLS LAST, p.step ASC NULLS FIRST, p.environment ASC NULLS LAST, p.agent ASC NULLS LAST,
    num_errors DESC, p.what_follows ASC
