-- Question: how does the agent call its tools: how many at once, in how many rounds, and which calls fail?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does); ordered by them. Parallel calls share
-- their turn with another; a call whose turn is not known is a single one. …_sd: to use with num_samples, as
-- `clustered_sd` says; difference_sd of parallel_error_rate − single_error_rate. Rates 0–1, pooled over calls.
WITH totals AS (
    SELECT
        *,
        sum(p) OVER own AS all_p,
        sum(pf) OVER own / nullif(sum(p) OVER own, 0) AS rate_p,
        sum(s) OVER own AS all_s,
        sum(sf) OVER own / nullif(sum(s) OVER own, 0) AS rate_s
    FROM profiled_samples(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WINDOW own AS (PARTITION BY run_id, split, step, environment, agent)
)

SELECT
    run_id, split, step, environment, agent,
    count(*) AS num_samples,
    sum(num_calls)::BIGINT AS num_calls,
    sum(num_failed)::BIGINT AS num_failed,
    sum(num_not_executed)::BIGINT AS num_not_executed,
    sum(p)::BIGINT AS num_parallel_calls,
    sum(p) / sum(num_calls) AS parallel_call_share,
    clustered_sd(p::DOUBLE, num_calls) AS parallel_call_share_sd,
    any_value(rate_p) AS parallel_error_rate,
    clustered_sd(pf::DOUBLE, p) AS parallel_error_rate_sd,
    count(*) FILTER (WHERE p > 0) AS num_samples_parallel,
    any_value(rate_s) AS single_error_rate,
    clustered_sd(sf::DOUBLE, s) AS single_error_rate_sd,
    count(*) FILTER (WHERE s > 0) AS num_samples_single,
    any_value(rate_p - rate_s) AS error_rate_difference,
    count(*) * sqrt(
        sum(((pf - rate_p * p) / all_p - (sf - rate_s * s) / all_s) ** 2) / nullif(count(*) - 1, 0)
    ) AS error_rate_difference_sd,
    sum(num_wrappers)::BIGINT AS num_wrappers,
    sum(num_wrappers_refused)::BIGINT AS num_wrappers_refused,
    sum(num_rollouts_calling)::BIGINT AS num_rollouts_calling
FROM totals
GROUP BY run_id, split, step, environment, agent
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST, agent NULLS LAST
