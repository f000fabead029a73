-- Question: how do arms fare on each of their samples?
-- Grain: arm and sample; ordered by pair_key and arm.
-- num_attempts: rollouts. A measure is its mean over the sample's attempts in which it is known, in its unit (NULL = in
-- none); tool_error_rate is pooled over the sample's calls. …_num, …_var: attempts in which it is known, and the variance
-- between them (n−1, NULL below two). reward_if_failures_…: the reward had every failure been graded 0, or 1.
-- from_metadata: what the sample's metadata hold at `$metadata_path`, as text.
SELECT
    arm,
    pair_key,
    min(sample_id) AS sample_id,
    count(*) AS num_attempts,
    min(environment) AS environment,
    min(cluster_key) AS cluster_key,
    min(tags) AS tags,
    min(sample_metadata ->> '$.difficulty') AS difficulty,
    min(CASE WHEN $metadata_path IS NOT NULL THEN sample_metadata ->> $metadata_path END) AS from_metadata,
    avg(reward) AS reward,
    avg(passed::INTEGER) AS pass_rate,
    avg(num_tool_calls) AS tool_calls,
    avg(num_tool_calls_succeeded) AS tool_calls_succeeded,
    avg(num_tool_errors) AS tool_calls_failed,
    sum(num_tool_errors) / nullif(sum(num_tool_calls), 0) AS tool_error_rate,
    avg(num_exact_repeats) AS repeats,
    avg(num_turns) AS turns,
    avg(num_tool_rounds) AS sequential_rounds,
    avg(reasoning_tokens) AS reasoning_tokens,
    avg(output_tokens) AS output_tokens,
    avg(input_tokens) AS input_tokens,
    avg(tool_output_tokens) AS tool_output_tokens,
    avg(tool_output_bytes) AS tool_output_bytes,
    avg(latency_s) AS latency_s,
    avg(queue_latency_s) AS queue_latency_s,
    avg(cost_usd) AS cost_usd,
    avg(CASE WHEN is_failed THEN 0.0 ELSE reward END) AS reward_if_failures_zero,
    avg(CASE WHEN is_failed THEN 1.0 ELSE reward END) AS reward_if_failures_one,
    count(reward) AS reward_num,
    var_samp(reward) AS reward_var,
    count(passed) AS pass_rate_num,
    var_samp(passed::INTEGER) AS pass_rate_var,
    count(num_tool_calls) AS tool_calls_num,
    var_samp(num_tool_calls) AS tool_calls_var,
    count(num_turns) AS turns_num,
    var_samp(num_turns) AS turns_var,
    count(output_tokens) AS output_tokens_num,
    var_samp(output_tokens) AS output_tokens_var,
    count(latency_s) AS latency_s_num,
    var_samp(latency_s) AS latency_s_var,
    count(cost_usd) AS cost_usd_num,
    var_samp(cost_usd) AS cost_usd_var
FROM rollouts_of_arms($arms, $environments, $pair_by)
WHERE NOT ($leave_out_failures AND is_failed)
GROUP BY arm, pair_key
ORDER BY pair_key, arm
