-- Question: what do an arm's attempts say of each sample?
-- Grain: sample (environment and id); ordered by them. Only used attempts are scored and judged (see judged_attempts).
-- num_failed: infrastructure and grader failures; num_limited: truncated or out of budget; num_known: attempts of which
-- it is known whether they passed; num_values: distinct rewards. is_pass_fail: in its environment, success decides the
-- reward: all passes have one reward, and all failures.
WITH r AS (
    FROM judged_attempts($arm, $environments, $threshold, $leave_out_failures)
),

kinds AS (
    SELECT
        environment,
        count(reward) > 0
        AND count(*) FILTER (WHERE reward IS NOT NULL AND is_passed IS NULL) = 0
        AND count(DISTINCT reward) FILTER (WHERE is_passed) <= 1
        AND count(DISTINCT reward) FILTER (WHERE NOT is_passed) <= 1 AS is_pass_fail
    FROM r
    WHERE is_used
    GROUP BY environment
)

SELECT
    r.environment,
    r.sample_id,
    count(*) AS num_attempts,
    count(*) FILTER (WHERE r.is_failed) AS num_failed,
    count(*) FILTER (WHERE r.status IN ('truncated', 'budget_exceeded')) AS num_limited,
    count(r.reward) FILTER (WHERE r.is_used) AS num_scored,
    avg(r.reward) FILTER (WHERE r.is_used) AS reward_mean,
    stddev_samp(r.reward) FILTER (WHERE r.is_used) AS reward_sd,
    min(r.reward) FILTER (WHERE r.is_used) AS reward_min,
    max(r.reward) FILTER (WHERE r.is_used) AS reward_max,
    count(DISTINCT r.reward) FILTER (WHERE r.is_used) AS num_values,
    any_value(r.success) AS success,
    coalesce(bool_and(k.is_pass_fail), FALSE) AS is_pass_fail,
    count(r.is_passed) FILTER (WHERE r.is_used) AS num_known,
    count(*) FILTER (WHERE r.is_passed AND r.is_used) AS num_passed
FROM r
LEFT JOIN kinds AS k ON r.environment IS NOT DISTINCT FROM k.environment
GROUP BY r.environment, r.sample_id
ORDER BY r.environment NULLS FIRST, r.sample_id
