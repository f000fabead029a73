-- Question: which samples (tools, hosts, environments, as `by` says) are among the slowest of their step again and again?
-- Grain: run, name (and environment, of samples); ordered by them. Over steps of 20 rollouts with a latency or more.
-- num_slow: rollouts above the P95 of their step's latencies; expected_slow: how many chance alone would put there.
-- slow_sd: deviation of num_slow / num_rollouts over num_samples, as `clustered_sd` says. latency_mean_s: seconds.
WITH own AS (
    SELECT run_id, split, step, unit, rollout_id, sample_id, environment, host, latency_s
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE latency_s >= 0 AND isfinite(latency_s)
),

limits AS (
    SELECT run_id, split, step, quantile_disc(latency_s, 0.95) AS p95
    FROM own
    GROUP BY run_id, split, step
    HAVING count(*) >= 20
),

flagged AS (
    SELECT o.*, (o.latency_s > l.p95)::INTEGER AS is_slow
    FROM own AS o
    INNER JOIN limits AS l
        ON o.run_id = l.run_id AND o.split IS NOT DISTINCT FROM l.split AND o.step IS NOT DISTINCT FROM l.step
),

chances AS (
    SELECT run_id, split, step, avg(is_slow) AS chance
    FROM flagged
    GROUP BY run_id, split, step
),

called AS (
    SELECT DISTINCT hash(rollout_id) AS place, tool
    FROM tool_calls
    WHERE $by = 'tool' AND requestor <> 'user' AND ($run_ids IS NULL OR list_contains($run_ids, run_id))
),

named AS (
    SELECT
        f.*,
        c.chance,
        CASE $by
            WHEN 'sample' THEN f.sample_id
            WHEN 'tool' THEN called.tool
            WHEN 'host' THEN f.host
            WHEN 'environment' THEN f.environment
        END AS name,
        CASE WHEN $by IN ('sample', 'environment') THEN f.environment END AS own_environment
    FROM flagged AS f
    INNER JOIN chances AS c
        ON f.run_id = c.run_id AND f.split IS NOT DISTINCT FROM c.split AND f.step IS NOT DISTINCT FROM c.step
    LEFT JOIN called ON $by = 'tool' AND hash(f.rollout_id) = called.place
),

per_sample AS (
    SELECT
        run_id, own_environment AS environment, name, unit,
        count(*) AS num_rollouts,
        sum(is_slow) AS num_slow,
        sum(chance) AS expected_slow,
        sum(latency_s) AS latency_s
    FROM named
    WHERE name IS NOT NULL
    GROUP BY ALL
)

SELECT
    run_id, environment, name,
    count(*) AS num_samples,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    sum(num_slow)::BIGINT AS num_slow,
    sum(expected_slow) AS expected_slow,
    clustered_sd(num_slow::DOUBLE, num_rollouts) AS slow_sd,
    sum(latency_s) / sum(num_rollouts) AS latency_mean_s
FROM per_sample
GROUP BY run_id, environment, name
ORDER BY run_id, name, environment
