-- Question: which rollouts are these?
-- Grain: rollout; ordered as `sort` says, then by run, step, sample and attempt. Seconds, tokens and US dollars.
SELECT
    run_id,
    rollout_id,
    sample_id,
    attempt,
    split,
    step,
    status,
    reward,
    passed,
    num_tool_calls,
    num_tool_errors,
    num_turns,
    num_exact_repeats,
    num_near_repeats,
    num_wasted_calls,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    latency_s,
    cost_usd,
    subset,
    environment,
    stop_reason,
    error_type,
    native_id
FROM filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
WHERE
    ($sample_ids IS NULL OR list_contains($sample_ids, sample_id))
    AND ($rollout_ids IS NULL OR list_contains($rollout_ids, rollout_id))
ORDER BY
    CASE
        WHEN $sort = 'reward' THEN reward
        WHEN $sort = 'tool_calls' THEN -num_tool_calls
        WHEN $sort = 'turns' THEN -num_turns
        WHEN $sort = 'latency' THEN -latency_s
        WHEN $sort = 'output_tokens' THEN -output_tokens
        WHEN $sort = 'repeats' THEN -num_exact_repeats
        WHEN $sort = 'tool_errors' THEN -num_tool_errors
    END NULLS LAST,
    run_id, step NULLS FIRST, split NULLS LAST, sample_id NULLS LAST, attempt NULLS LAST, rollout_id
LIMIT $limit OFFSET $offset
