-- Question: in how many rollouts does the agent make calls that cannot be taken back?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does) and rule; ordered by them. share: of the
-- rollouts of which calls are known, 0–1; share_sd: to use with num_samples.
WITH hits AS (
    SELECT
        rollout, rule,
        count(*) AS num_calls,
        count(*) FILTER (WHERE NOT is_failed) AS num_ok
    FROM destructive_calls_of(
        $rules, $pattern, $named, $searched, 'run', NULL,
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY rollout, rule
),

known AS (
    SELECT run_id, split, step, environment, agent, unit, rollout
    FROM grouped_rollouts(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE num_tool_calls IS NOT NULL
),

per_sample AS (
    SELECT
        k.run_id, k.split, k.step, k.environment, k.agent, k.unit, n.rule,
        count(DISTINCT k.rollout) AS num,
        count(h.rollout) AS num_hit,
        coalesce(sum(h.num_calls), 0) AS num_calls,
        coalesce(sum(h.num_ok), 0) AS num_ok
    FROM known AS k
    CROSS JOIN (SELECT DISTINCT rule FROM hits) AS n
    LEFT JOIN hits AS h ON k.rollout = h.rollout AND n.rule = h.rule
    GROUP BY k.run_id, k.split, k.step, k.environment, k.agent, k.unit, n.rule
)

SELECT
    run_id, split, step, environment, agent, rule,
    sum(num)::BIGINT AS num_rollouts,
    count(*) AS num_samples,
    sum(num_hit)::BIGINT AS num_rollouts_hit,
    sum(num_hit) / sum(num) AS share,
    clustered_sd(num_hit::DOUBLE, num) AS share_sd,
    sum(num_calls)::BIGINT AS num_calls,
    sum(num_ok)::BIGINT AS num_ok
FROM per_sample
GROUP BY run_id, split, step, environment, agent, rule
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST, agent NULLS LAST, rule
