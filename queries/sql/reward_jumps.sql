-- Question: what do the reward and each grader give each sample at each step?
-- Grain: run, split, score, kind, step and unit (the sample, see `filtered_rollouts`); ordered by them. score: `reward`, or
-- the name of a grader, which has scored rollouts with a step; kind: `reward`, else as stored. value: mean over the
-- sample's scored rollouts as graded, failures among them. Graders that count something (`not_a_judge`) are left out.
WITH r AS MATERIALIZED (
    SELECT run_id, rollout_id, split, step, unit, reward
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE step IS NOT NULL
),

scored AS (
    SELECT run_id, split, 'reward' AS score, 'reward' AS kind, step, unit, reward AS value
    FROM r
    WHERE reward IS NOT NULL
    UNION ALL
    SELECT r.run_id, r.split, s.grader AS score, s.kind, r.step, r.unit, s.value
    FROM scores AS s
    INNER JOIN r ON s.run_id = r.run_id AND s.rollout_id = r.rollout_id
    WHERE
        ($run_ids IS NULL OR list_contains($run_ids, s.run_id))
        AND s.kind <> 'reward'
        AND s.value IS NOT NULL
        AND isfinite(s.value)
        AND NOT regexp_matches(s.grader, $not_a_judge)
)

SELECT
    run_id,
    split,
    score,
    kind,
    step,
    unit,
    avg(value) AS value
FROM scored
GROUP BY run_id, split, score, kind, step, unit
ORDER BY run_id, split NULLS LAST, kind <> 'reward', score, kind, step, unit
