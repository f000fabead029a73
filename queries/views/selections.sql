-- Two selections of rollouts that are compared as a whole. A selection is a struct {side, run_id, split, step_from, step_to,
-- every_step}: a run's rollouts of exactly this split (NULL included), at every step, within steps, or (bounds NULL) those
-- without one.

-- One row per rollout of each selection, with the side it is on. `unit`: its sample (the same id in another environment is
-- another one), or the rollout itself where that is unknown.
CREATE MACRO rollouts_of_selections(p_selections, p_environments) AS TABLE
WITH wanted AS (
    SELECT unnest(p_selections, max_depth := 2)
)

SELECT
    w.side,
    r.*,
    CASE WHEN r.sample_id IS NULL THEN hash(r.rollout_id) ELSE hash(r.environment, r.sample_id) END AS unit
FROM rollouts AS r
INNER JOIN wanted AS w
    ON
        r.run_id = w.run_id
        AND r.split IS NOT DISTINCT FROM w.split
        AND (
            w.every_step
            OR r.step BETWEEN w.step_from AND w.step_to
            OR (r.step IS NULL AND w.step_from IS NULL)
        )
WHERE
    list_contains([struct_extract(each, 'run_id') FOR each IN p_selections], r.run_id)
    AND (p_environments IS NULL OR list_contains(p_environments, r.environment));

-- One row per sample of each selection (an unknown one is its rollout), with what its run says of it.
CREATE MACRO samples_of_selections(p_selections, p_environments) AS TABLE
WITH found AS (
    SELECT
        side,
        unit,
        run_id,
        sample_id,
        environment,
        count(*) AS num_rollouts
    FROM rollouts_of_selections(p_selections, p_environments)
    GROUP BY side, unit, run_id, sample_id, environment
)

SELECT
    f.*,
    coalesce(s.prompt_hash, g.prompt_hash) AS prompt_hash,
    coalesce(s.cluster_key, g.cluster_key) AS cluster_key,
    coalesce(s.tags, g.tags) AS tags,
    coalesce(s.prompt_text, g.prompt_text) AS prompt_text
FROM found AS f
LEFT JOIN samples AS s
    ON f.run_id = s.run_id AND f.sample_id = s.sample_id AND f.environment IS NOT DISTINCT FROM s.environment
LEFT JOIN any_samples AS g
    ON f.run_id = g.run_id AND f.sample_id = g.sample_id AND (g.is_general OR f.environment IS NULL);
