-- Question: which tools are called again with the same or alike arguments, and what does it cost?
-- Grain: run, tool; ordered by run, then the most repeats first. Rates 0–1 over the calls of rollouts whose arguments
-- the source kept. Wasted tokens: bytes of the outputs / 4; seconds: of the wasted calls whose latency is known.
SELECT
    run_id,
    tool,
    count(*) FILTER (WHERE repeats_known) AS num_calls,
    count(*) FILTER (WHERE NOT repeats_known) AS num_calls_unknown,
    count(repeat_of) AS num_exact_repeats,
    count(*) FILTER (WHERE repeat_output = 'same') AS num_same_output,
    count(*) FILTER (WHERE repeat_output = 'different') AS num_different_output,
    count(*) FILTER (WHERE repeat_output = 'unknown') AS num_unknown_output,
    count(near_repeat_of) AS num_near_repeats,
    count(*) FILTER (WHERE is_wasted) AS num_wasted_calls,
    sum(output_bytes) FILTER (WHERE is_wasted)::BIGINT // 4 AS wasted_tokens_estimate,
    sum(latency_s) FILTER (WHERE is_wasted) AS wasted_latency_s,
    count(repeat_of) / nullif(count(*) FILTER (WHERE repeats_known), 0) AS repeat_rate,
    count(near_repeat_of) / nullif(count(*) FILTER (WHERE repeats_known), 0) AS near_repeat_rate,
    count(*) FILTER (WHERE is_wasted) / nullif(count(*) FILTER (WHERE repeats_known), 0) AS wasted_call_rate
FROM filtered_calls(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, tool
ORDER BY run_id, num_exact_repeats DESC, num_near_repeats DESC, num_calls DESC, tool
