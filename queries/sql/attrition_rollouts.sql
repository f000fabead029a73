-- Question: which rollouts were lost on the way to training?
-- Grain: rollout; by stage, then run, split, step and rollout. latency_s: seconds. num_total: how many there are.
SELECT
    run_id,
    rollout_id,
    sample_id,
    environment,
    attempt,
    split,
    step,
    status,
    lost_at,
    reason,
    reward,
    advantage,
    num_tool_calls,
    output_tokens,
    latency_s,
    count(*) OVER () AS num_total
FROM staged_rollouts(
    $book, 'none', $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
WHERE
    lost_at IS NOT NULL
    AND ($lost_at IS NULL OR lost_at = $lost_at)
    AND ($reason IS NULL OR reason = $reason)
ORDER BY
    list_position(['finished', 'scored', 'admitted', 'trained_on'], lost_at), run_id, split NULLS LAST,
    step NULLS FIRST, rollout_id
LIMIT $limit OFFSET $offset
