-- Question: did rollouts, tool calls or parallel wrappers fail more often in one arm?
-- Grain: arm; ordered by it.
-- num_…: counts; …_rate: 0–1 over rollouts whose status is known (failure = infra_error or grader_error), NULL where it
-- is known of none; tool_error_rate: failed calls / calls; num_wrappers: parallel wrappers, failed = none ran.
WITH r AS MATERIALIZED (
    SELECT
        arm, run_id, rollout_id, pair_key, sample_id, environment, reward, status, is_failed, num_tool_calls,
        num_tool_errors
    FROM compared_rollouts($baseline, $candidate, $environments, 'sample_id')
),

each_wrapper AS (
    SELECT
        r.arm,
        bool_or(coalesce(c.is_executed, TRUE)) AS is_executed
    FROM tool_calls AS c
    INNER JOIN r ON c.run_id = r.run_id AND c.rollout_id = r.rollout_id
    WHERE
        c.wrapper_id IS NOT NULL
        AND list_contains([struct_extract($baseline, 'run_id'), struct_extract($candidate, 'run_id')], c.run_id)
    GROUP BY r.arm, c.rollout_id, c.wrapper_id
),

wrappers AS (
    SELECT
        arm,
        count(*) AS num_wrappers,
        count(*) FILTER (NOT is_executed) AS num_failed
    FROM each_wrapper
    GROUP BY arm
)

SELECT
    r.arm,
    count(*) AS num_rollouts,
    count(DISTINCT r.pair_key) AS num_samples,
    count(r.sample_id) AS num_with_sample,
    count(r.reward) AS num_scored,
    count(DISTINCT r.environment) AS num_environments,
    count(r.status) AS num_status_known,
    count(*) FILTER (r.is_failed) AS num_failed,
    count(*) FILTER (r.is_failed) / nullif(count(r.status), 0) AS failure_rate,
    count(*) FILTER (r.status = 'infra_error') / nullif(count(r.status), 0) AS infra_error_rate,
    count(*) FILTER (r.status = 'grader_error') / nullif(count(r.status), 0) AS grader_error_rate,
    count(*) FILTER (r.status = 'truncated') / nullif(count(r.status), 0) AS truncation_rate,
    count(*) FILTER (r.status = 'budget_exceeded') / nullif(count(r.status), 0) AS budget_exceeded_rate,
    sum(r.num_tool_calls)::BIGINT AS num_tool_calls,
    sum(r.num_tool_errors)::BIGINT AS num_tool_calls_failed,
    sum(r.num_tool_errors) / nullif(sum(r.num_tool_calls), 0) AS tool_error_rate,
    coalesce(any_value(w.num_wrappers), 0) AS num_wrappers,
    coalesce(any_value(w.num_failed), 0) AS num_wrappers_failed
FROM r
LEFT JOIN wrappers AS w ON r.arm = w.arm
GROUP BY r.arm
ORDER BY r.arm
