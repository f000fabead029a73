-- Question: which rollouts does one rule of the rulebook `integrity` name, and on what evidence?
-- Grain: rollout; those first that a hash with $seed puts first (the same five for everyone), a page of them.
-- kind, evidence: in words; num_total: how many are named in all.
SELECT
    s.run_id,
    s.rollout_id,
    r.sample_id,
    r.attempt,
    s.split,
    s.step,
    r.status,
    s.reward,
    s.kind,
    s.evidence,
    r.num_tool_calls,
    r.output_tokens,
    count(*) OVER () AS num_total
FROM suspects(
    $names, $numbers, $texts, $answer_patterns, $answer_any, $call_patterns, $call_any,
    $max_rollouts, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
) AS s
INNER JOIN rollouts AS r ON s.run_id = r.run_id AND s.rollout_id = r.rollout_id
WHERE s.rule = $rule AND s.is_flagged
ORDER BY hash(s.rollout_id, $seed), s.run_id, s.rollout_id
LIMIT $limit OFFSET $offset
