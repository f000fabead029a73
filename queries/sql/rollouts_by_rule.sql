-- Question: which rollouts keep, or break, a rule on the order of their calls?
-- Grain: rollout; by run, step, sample and attempt. num_total: how many there are.
SELECT
    run_id,
    rollout_id,
    sample_id,
    attempt,
    own_split AS split,
    own_step AS step,
    status,
    reward,
    num_tool_calls,
    num_tool_errors,
    latency_s,
    verdict,
    count(*) OVER () AS num_total
FROM rollouts_under_rule(
    $rule, 'run', NULL, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
WHERE verdict = $verdict
ORDER BY run_id, own_step NULLS FIRST, own_split NULLS LAST, sample_id NULLS LAST, attempt NULLS LAST, rollout_id
LIMIT $limit OFFSET $offset
