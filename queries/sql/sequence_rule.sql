-- Question: how often do rollouts keep a rule on the order of their calls, and how do rewards differ?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does); ordered by them. rate: kept / (kept +
-- broken), 0–1. Rewards: means over samples. difference: kept − broken, at the same sample, split and step, of samples with
-- both; …_sd over samples, rate_sd to use with num_samples.
WITH cells AS (
    SELECT
        run_id, split, step, environment, agent, unit, own_split, own_step,
        count(*) AS num,
        count(*) FILTER (WHERE verdict = 'unknown') AS num_unknown,
        count(*) FILTER (WHERE verdict = 'kept') AS num_kept,
        count(*) FILTER (WHERE verdict = 'broken') AS num_broken,
        sum(reward) FILTER (WHERE verdict = 'kept') AS kept_sum,
        count(reward) FILTER (WHERE verdict = 'kept') AS kept_num,
        sum(reward) FILTER (WHERE verdict = 'broken') AS broken_sum,
        count(reward) FILTER (WHERE verdict = 'broken') AS broken_num
    FROM rollouts_under_rule(
        $rule, $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, split, step, environment, agent, unit, own_split, own_step
),

per_sample AS (
    SELECT
        run_id, split, step, environment, agent, unit,
        sum(num) AS num,
        sum(num_unknown) AS num_unknown,
        sum(num_kept) AS num_kept,
        sum(num_broken) AS num_broken,
        sum(kept_sum) / nullif(sum(kept_num), 0) AS kept,
        sum(broken_sum) / nullif(sum(broken_num), 0) AS broken,
        avg(kept_sum / nullif(kept_num, 0) - broken_sum / nullif(broken_num, 0)) AS difference
    FROM cells
    GROUP BY run_id, split, step, environment, agent, unit
)

SELECT
    run_id, split, step, environment, agent,
    sum(num)::BIGINT AS num_rollouts,
    sum(num_unknown)::BIGINT AS num_unknown,
    sum(num - num_unknown - num_kept - num_broken)::BIGINT AS num_not_applicable,
    sum(num_kept)::BIGINT AS num_kept,
    sum(num_broken)::BIGINT AS num_broken,
    count(*) FILTER (WHERE num_kept + num_broken > 0) AS num_samples,
    sum(num_kept) / nullif(sum(num_kept + num_broken), 0) AS rate,
    clustered_sd(num_kept::DOUBLE, num_kept + num_broken) AS rate_sd,
    avg(kept) AS kept_reward_mean,
    count(kept) AS num_samples_kept,
    avg(broken) AS broken_reward_mean,
    count(broken) AS num_samples_broken,
    avg(difference) AS difference_mean,
    stddev_samp(difference) AS difference_sd,
    count(difference) AS num_samples_both
FROM per_sample
GROUP BY run_id, split, step, environment, agent
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST, agent NULLS LAST
