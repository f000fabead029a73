-- Question: which rollouts go round in circles the longest?
-- Grain: rollout; the longest loop first, then the most repeats, run and rollout. longest_loop: calls in the longest
-- series that goes through a cycle of one to four calls at least twice. num_total: rollouts that have a loop.
SELECT
    run_id,
    rollout_id,
    sample_id,
    attempt,
    split,
    step,
    status,
    longest_loop,
    num_exact_repeats,
    num_near_repeats,
    num_wasted_calls,
    num_tool_calls,
    reward,
    latency_s,
    count(*) OVER () AS num_total
FROM filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
WHERE longest_loop >= 2
ORDER BY longest_loop DESC, num_exact_repeats DESC, run_id ASC, rollout_id ASC
LIMIT $limit OFFSET $offset
