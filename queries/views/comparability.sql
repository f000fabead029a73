-- What could make two arms incomparable (see arms.sql).

-- One row per rollout of the samples that both arms attempted; of all samples where no sample is in both.
CREATE MACRO comparable_rollouts(p_baseline, p_candidate, p_environments, p_pair_by) AS TABLE
WITH found AS (
    SELECT
        arm,
        run_id,
        rollout_id,
        sample_id,
        pair_key,
        environment,
        agent,
        model,
        grader_version,
        prompt_version,
        tools_version,
        num_messages,
        position
    FROM compared_rollouts(p_baseline, p_candidate, p_environments, p_pair_by)
),

paired AS (
    SELECT pair_key
    FROM found
    GROUP BY pair_key
    HAVING count(DISTINCT arm) = 2
)

SELECT
    f.*,
    p.pair_key IS NOT NULL AS is_paired
FROM found AS f
LEFT JOIN paired AS p ON f.pair_key = p.pair_key
WHERE p.pair_key IS NOT NULL OR NOT EXISTS (FROM paired);
