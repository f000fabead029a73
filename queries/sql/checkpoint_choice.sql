-- Question: how did each sample do at each step?
-- Grain: run, step; ordered by them. One split; steps and scored rollouts only. Lists, aligned: unit (the sample), its
-- cluster (the sample itself where none is named, or clusters are not asked for), its mean reward at the step.
WITH per_sample AS (
    SELECT
        run_id,
        step,
        unit,
        min(sample_id) AS sample_id,
        min(environment) AS environment,
        avg(reward) AS reward
    FROM filtered_rollouts(
        $run_ids, [$split], $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE step IS NOT NULL AND isfinite(reward)
    GROUP BY run_id, step, unit
),

clustered AS (
    SELECT
        p.run_id,
        p.step,
        p.unit,
        p.reward,
        coalesce(s.cluster_key, g.cluster_key) AS cluster_key
    FROM per_sample AS p
    LEFT JOIN samples AS s
        ON
            $clusters AND p.run_id = s.run_id AND p.sample_id = s.sample_id
            AND p.environment IS NOT DISTINCT FROM s.environment
    LEFT JOIN any_samples AS g
        ON
            $clusters AND p.run_id = g.run_id AND p.sample_id = g.sample_id
            AND (g.is_general OR p.environment IS NULL)
)

SELECT
    run_id,
    step,
    list(unit ORDER BY unit) AS units,
    list(CASE WHEN cluster_key IS NULL THEN unit ELSE hash(cluster_key) END ORDER BY unit) AS clusters,
    list(reward ORDER BY unit) AS rewards
FROM clustered
GROUP BY run_id, step
ORDER BY run_id, step
