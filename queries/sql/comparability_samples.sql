-- Question: which samples do two arms have, how often was each attempted, and how did the attempts end?
-- Grain: what samples are paired by; ordered by it. is_known: it identifies a sample (else: one rollout that none is
-- known of). baseline_…, candidate_…: sample_id and prompt_hash, NULL where that arm has none; counts of that arm's
-- rollouts: attempts, known (their status is known), failed (infra_error or grader_error), truncated, budget_exceeded,
-- unscored (no reward), and of their tool calls: calls, call_errors.
WITH r AS (
    SELECT
        arm,
        pair_key,
        sample_id,
        prompt_hash,
        status,
        is_failed,
        reward,
        num_tool_calls,
        num_tool_errors,
        pair_key <> arm || ' ' || rollout_id AS is_known
    FROM compared_rollouts($baseline, $candidate, $environments, $pair_by)
)

SELECT
    pair_key,
    bool_or(is_known) AS is_known,
    min(sample_id) FILTER (arm = 'baseline') AS baseline_sample_id,
    min(prompt_hash) FILTER (arm = 'baseline') AS baseline_prompt_hash,
    count(*) FILTER (arm = 'baseline') AS baseline_attempts,
    count(status) FILTER (arm = 'baseline') AS baseline_known,
    count(*) FILTER (arm = 'baseline' AND is_failed) AS baseline_failed,
    count(*) FILTER (arm = 'baseline' AND status = 'truncated') AS baseline_truncated,
    count(*) FILTER (arm = 'baseline' AND status = 'budget_exceeded') AS baseline_budget_exceeded,
    count(*) FILTER (arm = 'baseline' AND reward IS NULL) AS baseline_unscored,
    sum(num_tool_calls) FILTER (arm = 'baseline')::BIGINT AS baseline_calls,
    sum(num_tool_errors) FILTER (arm = 'baseline')::BIGINT AS baseline_call_errors,
    min(sample_id) FILTER (arm = 'candidate') AS candidate_sample_id,
    min(prompt_hash) FILTER (arm = 'candidate') AS candidate_prompt_hash,
    count(*) FILTER (arm = 'candidate') AS candidate_attempts,
    count(status) FILTER (arm = 'candidate') AS candidate_known,
    count(*) FILTER (arm = 'candidate' AND is_failed) AS candidate_failed,
    count(*) FILTER (arm = 'candidate' AND status = 'truncated') AS candidate_truncated,
    count(*) FILTER (arm = 'candidate' AND status = 'budget_exceeded') AS candidate_budget_exceeded,
    count(*) FILTER (arm = 'candidate' AND reward IS NULL) AS candidate_unscored,
    sum(num_tool_calls) FILTER (arm = 'candidate')::BIGINT AS candidate_calls,
    sum(num_tool_errors) FILTER (arm = 'candidate')::BIGINT AS candidate_call_errors
FROM r
GROUP BY pair_key
ORDER BY pair_key
