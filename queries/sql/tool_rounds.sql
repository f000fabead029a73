-- Question: how many rounds of calls does a rollout take, and how much tool time runs in parallel?
-- Grain: run (split, step as `by` says; environment or agent of the rollout where `apart` does); ordered by them.
-- time_share: seconds of the critical path (the slowest call of each turn) / seconds of all calls, over the rollouts of
-- which both are known and not 0. …_sd: to use with the number of samples named beside it, as `clustered_sd` says.
WITH per_sample AS (
    SELECT
        run_id, split, step, environment, agent, unit,
        count(*) AS num,
        count(num_tool_calls) AS num_known,
        sum(num_tool_calls) AS num_calls,
        sum(num_turns) FILTER (WHERE num_tool_calls IS NOT NULL) AS num_turns,
        sum(num_tool_rounds) AS num_rounds,
        sum(num_parallel_turns) AS num_parallel_turns,
        max(max_parallel_calls) AS max_parallel_calls,
        count(*) FILTER (WHERE tool_critical_path_s IS NOT NULL AND tool_latency_s > 0) AS num_timed,
        sum(tool_critical_path_s) FILTER (WHERE tool_latency_s > 0) AS critical_path_s,
        sum(tool_latency_s) FILTER (WHERE tool_critical_path_s IS NOT NULL AND tool_latency_s > 0) AS tool_latency_s
    FROM grouped_rollouts(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, split, step, environment, agent, unit
)

SELECT
    run_id, split, step, environment, agent,
    sum(num_known)::BIGINT AS num_rollouts,
    sum(num - num_known)::BIGINT AS num_unknown,
    count(*) FILTER (WHERE num_known > 0) AS num_samples,
    sum(num_calls)::BIGINT AS num_calls,
    sum(num_calls) / nullif(sum(num_turns), 0) AS calls_per_turn,
    sum(num_rounds) / nullif(sum(num_known), 0) AS rounds_mean,
    clustered_sd(num_rounds::DOUBLE, num_known) AS rounds_sd,
    sum(num_calls) / nullif(sum(num_rounds), 0) AS calls_per_round,
    sum(num_rounds)::BIGINT AS num_rounds,
    sum(num_parallel_turns) / nullif(sum(num_rounds), 0) AS parallel_turn_rate,
    clustered_sd(num_parallel_turns::DOUBLE, num_rounds) AS parallel_turn_rate_sd,
    count(*) FILTER (WHERE num_rounds > 0) AS num_samples_calling,
    max(max_parallel_calls) AS max_parallel_calls,
    sum(num_timed)::BIGINT AS num_timed,
    count(*) FILTER (WHERE num_timed > 0) AS num_samples_timed,
    sum(critical_path_s) AS critical_path_s,
    sum(tool_latency_s) AS tool_latency_s,
    sum(critical_path_s) / nullif(sum(tool_latency_s), 0) AS time_share,
    clustered_sd(critical_path_s, tool_latency_s) AS time_share_sd
FROM per_sample
GROUP BY run_id, split, step, environment, agent
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST, agent NULLS LAST
