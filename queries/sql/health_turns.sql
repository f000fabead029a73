-- Question: how certain is the policy, and how far is the trainer from the sampler, in turns after tool results and others?
-- Grain: run, split, step and is_after_tool (NULL: read by an older version); ordered by them. Turns: assistant messages
-- of which token figures were kept. Means are over turns, nats; …_p95: mean over turns of each turn's 95th percentile.
-- mismatch: distance of the trainer's from the sampler's log-probability; where only the signed mean was kept, its size.
SELECT
    r.run_id,
    r.split,
    r.step,
    m.is_after_tool,
    count(*) AS num_turns,
    count(DISTINCT m.rollout_id) AS num_rollouts,
    avg(coalesce(m.mismatch_abs_mean, abs(m.mismatch_mean))) AS mismatch_mean,
    avg(m.mismatch_p95) AS mismatch_p95,
    count(m.mismatch_mean) AS num_mismatch,
    avg(m.entropy_mean) AS entropy_mean,
    avg(m.entropy_p95) AS entropy_p95,
    count(m.entropy_mean) AS num_entropy,
    avg(m.logprob_mean) AS logprob_mean,
    avg(m.logprob_p05) AS logprob_p05,
    count(m.logprob_mean) AS num_logprob
FROM messages AS m
INNER JOIN
    filtered_rollouts($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents) AS r
    ON m.run_id = r.run_id AND m.rollout_id = r.rollout_id
WHERE
    r.step IS NOT NULL
    AND ($run_ids IS NULL OR list_contains($run_ids, m.run_id))
    AND coalesce(m.mismatch_mean, m.entropy_mean, m.logprob_mean) IS NOT NULL
GROUP BY r.run_id, r.split, r.step, m.is_after_tool
ORDER BY r.run_id, r.split NULLS LAST, r.step, m.is_after_tool NULLS FIRST
