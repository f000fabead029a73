-- Question: when does every rollout of a step start and end?
-- Grain: run, split, step; ordered by them. Lists of microseconds since 1970, of the rollouts that have a
-- start and an end not before it (num_timed of num_rollouts). first_at: UTC.
WITH own AS (
    SELECT
        run_id, split, step,
        CASE WHEN ended_at >= started_at THEN epoch_us(started_at) END AS start_us,
        CASE WHEN ended_at >= started_at THEN epoch_us(ended_at) END AS end_us
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
)

SELECT
    run_id,
    split,
    step,
    count(*) AS num_rollouts,
    count(end_us) AS num_timed,
    make_timestamptz(min(start_us)) AS first_at,
    make_timestamptz(max(end_us)) AS last_at,
    list(start_us) FILTER (WHERE start_us IS NOT NULL) AS starts_us,
    list(end_us) FILTER (WHERE start_us IS NOT NULL) AS ends_us
FROM own
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
