-- Question: which rollouts have values of a measure in a range?
-- Grain: rollout; ordered by value, run and rollout. Tokens and seconds. num_total: how many there are.
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
    num_turns,
    output_tokens,
    latency_s,
    count(*) OVER () AS num_total
FROM measured_rollouts(
    $measure, 'run', $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
WHERE value >= $at_least AND ($below IS NULL OR value < $below)
ORDER BY value, run_id, rollout_id
LIMIT $limit OFFSET $offset
