-- Question: how often does the agent repeat itself, step by step?
-- Grain: run, split, step; ordered by them. Only rollouts whose calls' arguments the source kept (num_rollouts; the others
-- are num_rollouts_unknown). Rates 0–1 over their calls. Wasted tokens: bytes of the outputs / 4.
SELECT
    run_id,
    split,
    step,
    count(num_exact_repeats) AS num_rollouts,
    count(*) - count(num_exact_repeats) AS num_rollouts_unknown,
    sum(num_tool_calls) FILTER (WHERE num_exact_repeats IS NOT NULL)::BIGINT AS num_calls,
    sum(num_exact_repeats)::BIGINT AS num_exact_repeats,
    sum(num_repeats_same_output)::BIGINT AS num_same_output,
    sum(num_repeats_changed_output)::BIGINT AS num_different_output,
    (sum(num_exact_repeats) - sum(num_repeats_same_output) - sum(num_repeats_changed_output))::BIGINT
        AS num_unknown_output,
    sum(num_near_repeats)::BIGINT AS num_near_repeats,
    sum(num_wasted_calls)::BIGINT AS num_wasted_calls,
    sum(wasted_tokens_estimate)::BIGINT AS wasted_tokens_estimate,
    sum(wasted_latency_s) AS wasted_latency_s,
    sum(num_exact_repeats)
    / nullif(sum(num_tool_calls) FILTER (WHERE num_exact_repeats IS NOT NULL), 0) AS repeat_rate,
    sum(num_near_repeats)
    / nullif(sum(num_tool_calls) FILTER (WHERE num_exact_repeats IS NOT NULL), 0) AS near_repeat_rate,
    sum(num_wasted_calls)
    / nullif(sum(num_tool_calls) FILTER (WHERE num_exact_repeats IS NOT NULL), 0) AS wasted_call_rate,
    count(*) FILTER (WHERE num_exact_repeats > 0) / nullif(count(num_exact_repeats), 0) AS rollouts_repeating_rate,
    count(*) FILTER (WHERE longest_loop >= 4) / nullif(count(longest_loop), 0) AS rollouts_looping_rate
FROM filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
