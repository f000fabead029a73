-- Question: how sure are the means of `behaviour_by_step`?
-- Grain and order: those of `behaviour_by_step`. …_sd: deviation to use with …_num_samples (samples known), as
-- `clustered_sd` says.
WITH per_sample AS (
    SELECT
        run_id, split, step, unit,
        sum(num_tool_calls)::DOUBLE AS tool_calls, count(num_tool_calls) AS num_tool_calls,
        sum(num_turns)::DOUBLE AS turns, count(num_turns) AS num_turns,
        sum(output_tokens)::DOUBLE AS output_tokens, count(output_tokens) AS num_output_tokens,
        sum(reasoning_tokens)::DOUBLE AS reasoning_tokens, count(reasoning_tokens) AS num_reasoning_tokens,
        sum(latency_s) AS latency, count(latency_s) AS num_latency
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, split, step, unit
)

SELECT
    run_id,
    split,
    step,
    count(*) AS num_samples,
    clustered_sd(tool_calls, num_tool_calls) AS tool_calls_sd,
    count(*) FILTER (WHERE num_tool_calls > 0) AS tool_calls_num_samples,
    clustered_sd(turns, num_turns) AS turns_sd,
    count(*) FILTER (WHERE num_turns > 0) AS turns_num_samples,
    clustered_sd(output_tokens, num_output_tokens) AS output_tokens_sd,
    count(*) FILTER (WHERE num_output_tokens > 0) AS output_tokens_num_samples,
    clustered_sd(reasoning_tokens, num_reasoning_tokens) AS reasoning_tokens_sd,
    count(*) FILTER (WHERE num_reasoning_tokens > 0) AS reasoning_tokens_num_samples,
    clustered_sd(latency, num_latency) AS latency_sd,
    count(*) FILTER (WHERE num_latency > 0) AS latency_num_samples
FROM per_sample
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
