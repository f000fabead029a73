-- Question: what do the rollouts themselves say of a run's health, step by step?
-- Grain: run, split, step; ordered by them. Means are over rollouts of which the number is known (num_…), tokens and
-- seconds; rates 0–1, of endings known (num_status) or of calls (num_calls). off_policy_age: step minus the policy version
-- at the first token. first_grader, last_grader: the first and the last version's name, by alphabet.
SELECT
    run_id,
    split,
    step,
    avg(output_tokens) AS output_tokens_mean,
    count(output_tokens) AS num_output_tokens,
    count(*) FILTER (WHERE status = 'truncated') / nullif(count(status), 0) AS truncation_rate,
    count(*) FILTER (WHERE is_failure(status)) / nullif(count(status), 0) AS error_rate,
    count(status) AS num_status,
    sum(num_tool_errors) / nullif(sum(num_tool_calls), 0) AS tool_error_rate,
    sum(num_tool_calls)::BIGINT AS num_calls,
    avg(latency_s) AS latency_mean_s,
    count(latency_s) AS num_latency,
    avg(queue_latency_s) AS queue_latency_mean_s,
    count(queue_latency_s) AS num_queue_latency,
    avg(step - policy_version_start) AS off_policy_age,
    count(policy_version_start) AS num_off_policy_age,
    min(grader_version) AS first_grader,
    max(grader_version) AS last_grader,
    max(ended_at) AS ended_at
FROM filtered_rollouts($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
WHERE step IS NOT NULL
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step
