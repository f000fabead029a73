-- Question: how did every attempt at this sample go?
-- Grain: rollout; ordered by run, step, split and attempt. Tokens and seconds per rollout.
SELECT
    run_id,
    split,
    step,
    attempt,
    reward,
    passed,
    status,
    num_tool_calls,
    num_tool_errors,
    num_exact_repeats,
    num_turns,
    output_tokens,
    reasoning_tokens,
    latency_s,
    environment,
    rollout_id
FROM filtered_rollouts($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
WHERE sample_id = $sample_id AND ($environment IS NULL OR environment = $environment)
ORDER BY run_id, step NULLS FIRST, split NULLS LAST, attempt NULLS LAST, rollout_id
LIMIT $limit
