-- Question: how does the agent's behaviour change over training?
-- Grain: run, split, step; ordered by them. Means and percentiles are over rollouts; rates are 0–1, pooled over calls
-- (tool_error_rate, the repeat rates), over turns with calls (parallel_turn_rate) or over rollouts (the last two).
-- …_known: rollouts of which the number is known. Tokens and seconds. An unknown number is NULL, never 0.
SELECT
    run_id,
    split,
    step,
    count(*) AS num_rollouts,
    avg(num_tool_calls) AS tool_calls_mean,
    quantile_cont(num_tool_calls, 0.95) AS tool_calls_p95,
    count(num_tool_calls) AS num_tool_calls_known,
    avg(num_turns) AS turns_mean,
    count(num_turns) AS num_turns_known,
    avg(input_tokens) AS input_tokens_mean,
    count(input_tokens) AS num_input_tokens_known,
    avg(output_tokens) AS output_tokens_mean,
    count(output_tokens) AS num_output_tokens_known,
    avg(reasoning_tokens) AS reasoning_tokens_mean,
    count(reasoning_tokens) AS num_reasoning_tokens_known,
    avg(latency_s) AS latency_mean_s,
    quantile_cont(latency_s, [0.5, 0.95])[1] AS latency_p50_s,
    quantile_cont(latency_s, [0.5, 0.95])[2] AS latency_p95_s,
    count(latency_s) AS num_latency_known,
    sum(num_tool_calls)::BIGINT AS num_calls,
    sum(num_tool_errors) / nullif(sum(num_tool_calls), 0) AS tool_error_rate,
    sum(num_tool_calls) FILTER (WHERE num_exact_repeats IS NOT NULL)::BIGINT AS num_calls_repeats_known,
    sum(num_exact_repeats)
    / nullif(sum(num_tool_calls) FILTER (WHERE num_exact_repeats IS NOT NULL), 0) AS repeat_rate,
    sum(num_near_repeats)
    / nullif(sum(num_tool_calls) FILTER (WHERE num_near_repeats IS NOT NULL), 0) AS near_repeat_rate,
    sum(num_wasted_calls)
    / nullif(sum(num_tool_calls) FILTER (WHERE num_wasted_calls IS NOT NULL), 0) AS wasted_call_rate,
    sum(num_tool_rounds)::BIGINT AS num_tool_rounds,
    sum(num_parallel_turns) / nullif(sum(num_tool_rounds), 0) AS parallel_turn_rate,
    count(status) AS num_status_known,
    count(*) FILTER (WHERE status = 'truncated') / nullif(count(status), 0) AS truncation_rate,
    count(*) FILTER (WHERE num_tool_calls = 0) / nullif(count(num_tool_calls), 0) AS no_tool_call_rate
FROM filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
