-- Question: what versions had the graders at each step?
-- Grain: run and step with a version; ordered by them. versions: distinct grader versions of the rollouts, in order; where
-- rollouts name none, those of their scores, as `grader version`.
WITH r AS MATERIALIZED (
    SELECT run_id, rollout_id, step, grader_version
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE step IS NOT NULL
),

named AS (
    SELECT
        run_id,
        step,
        grader_version AS version,
        TRUE AS is_own
    FROM r
    WHERE grader_version IS NOT NULL
    UNION ALL
    SELECT
        r.run_id,
        r.step,
        s.grader || ' ' || s.grader_version AS version,
        FALSE AS is_own
    FROM scores AS s
    INNER JOIN r ON s.run_id = r.run_id AND s.rollout_id = r.rollout_id
    WHERE ($run_ids IS NULL OR list_contains($run_ids, s.run_id)) AND s.grader_version IS NOT NULL AND s.kind <> 'label'
)

SELECT
    run_id,
    step,
    coalesce(
        list_sort(list(DISTINCT version) FILTER (WHERE is_own)), list_sort(list(DISTINCT version))
    ) AS versions
FROM named
GROUP BY run_id, step
ORDER BY run_id, step
