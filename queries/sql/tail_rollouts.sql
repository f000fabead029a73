-- Question: which rollouts lie above a threshold?
-- Grain: rollout; the highest value first, then by run and rollout. Tokens and seconds. num_total: how many there are.
SELECT
    run_id,
    rollout_id,
    sample_id,
    attempt,
    own_split AS split,
    own_step AS step,
    status,
    value,
    reward,
    num_tool_calls,
    num_tool_errors,
    num_exact_repeats,
    num_turns,
    output_tokens,
    latency_s,
    count(*) OVER () AS num_total
FROM measured_rollouts(
    $measure, 'run', $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
WHERE value > $threshold
ORDER BY value DESC, run_id, rollout_id
LIMIT $limit OFFSET $offset
