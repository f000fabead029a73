-- Both arms, sample by sample (see arms.sql).

-- One row per arm and sample: each measure's mean over the sample's attempts in which it is known (NULL = in none).
-- tool_error_rate is pooled over the sample's calls. reward_if_failures_zero and …_one bound the reward: what it would
-- be had every infrastructure or grader failure been graded 0, or 1.
CREATE MACRO arm_samples(p_baseline, p_candidate, p_environments, p_pair_by, p_leave_out_failures) AS TABLE
SELECT
    arm,
    pair_key,
    min(sample_id) AS sample_id,
    min(cluster_key) AS cluster_key,
    count(*) AS num_attempts,
    avg(reward) AS reward,
    avg(passed::integer) AS pass_rate,
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
    avg(tool_output_bytes) AS tool_output_bytes,
    avg(latency_s) AS latency_s,
    avg(cost_usd) AS cost_usd,
    avg(CASE WHEN is_failed THEN 0.0 ELSE reward END) AS reward_if_failures_zero,
    avg(CASE WHEN is_failed THEN 1.0 ELSE reward END) AS reward_if_failures_one
FROM compared_rollouts(p_baseline, p_candidate, p_environments, p_pair_by)
WHERE NOT (p_leave_out_failures AND is_failed)
GROUP BY arm, pair_key;

-- One row per sample of either arm and measure: the sample's mean in each arm, NULL where it is not known.
CREATE MACRO compared_measures(p_baseline, p_candidate, p_environments, p_pair_by, p_leave_out_failures) AS TABLE
WITH wide AS (
    FROM arm_samples(p_baseline, p_candidate, p_environments, p_pair_by, p_leave_out_failures)
),

long AS (
    FROM wide UNPIVOT INCLUDE NULLS (
        mean FOR measure IN (COLUMNS(* EXCLUDE (arm, pair_key, sample_id, cluster_key, num_attempts)))
    )
)

SELECT
    pair_key,
    measure,
    coalesce(min(sample_id) FILTER (arm = 'baseline'), min(sample_id)) AS sample_id,
    min(sample_id) FILTER (arm = 'candidate') AS candidate_sample_id,
    min(cluster_key) AS cluster_key,
    coalesce(sum(num_attempts) FILTER (arm = 'baseline'), 0)::bigint AS num_attempts_baseline,
    coalesce(sum(num_attempts) FILTER (arm = 'candidate'), 0)::bigint AS num_attempts_candidate,
    min(mean) FILTER (arm = 'baseline') AS baseline_mean,
    min(mean) FILTER (arm = 'candidate') AS candidate_mean
FROM long
GROUP BY pair_key, measure;

-- One row per parallel wrapper of either arm; it failed (NOT is_executed) if none of its calls was executed.
CREATE MACRO arm_wrappers(p_baseline, p_candidate, p_environments) AS TABLE
SELECT
    r.arm,
    c.rollout_id,
    c.wrapper_id,
    bool_or(coalesce(c.is_executed, TRUE)) AS is_executed
FROM tool_calls AS c
INNER JOIN compared_rollouts(p_baseline, p_candidate, p_environments, 'sample_id') AS r
    ON c.run_id = r.run_id AND c.rollout_id = r.rollout_id
WHERE
    c.wrapper_id IS NOT NULL
    AND list_contains([struct_extract(p_baseline, 'run_id'), struct_extract(p_candidate, 'run_id')], c.run_id)
GROUP BY r.arm, c.rollout_id, c.wrapper_id;
