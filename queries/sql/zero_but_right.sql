-- Question: which rollouts got no reward although something says that their answer is right?
-- Grain: rollout with a reward at its floor; most witnesses first, then by run, step and id. witnesses: `verdict` (it
-- passed), `label: …` (a person), `grader: …` (another grader passed it, or its own re-grade paid), `assertions` (all hold),
-- `reference` (its final answer equals the sample's). num_zero: rollouts at the floor; num_total: of these, right ones.
WITH zeros AS MATERIALIZED (
    SELECT *, hash(rollout_id) AS rollout
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE reward <= reward_floor($book, environment)
),

said AS (
    SELECT
        z.rollout, s.grader, s.kind, s.passed, s.value, g.threshold, g.is_again, g.is_part,
        reward_floor($book, z.environment) AS floor
    FROM said_of_rollouts($rules, NULL, $run_ids) AS s
    INNER JOIN zeros AS z ON s.rollout = z.rollout AND s.run_id = z.run_id
    INNER JOIN known_graders($rules, $run_ids) AS g ON s.run_id = g.run_id AND s.grader = g.grader
    WHERE NOT g.marks_wrong
),

found AS (
    SELECT rollout, 'verdict' AS witness FROM zeros
WHERE passed
    UNION ALL
    SELECT rollout, 'label: ' || grader AS witness
    FROM said
WHERE kind = 'label' AND NOT is_part AND coalesce(passed, value >= threshold)
    UNION ALL
    SELECT rollout, 'grader: ' || grader AS witness
    FROM said
    WHERE
        NOT is_part
        AND ((kind IN ('metric', 'subscore') AND passed) OR (kind <> 'label' AND is_again AND value > floor))
    UNION ALL
    SELECT rollout, 'assertions' AS witness
    FROM said
    WHERE kind = 'assertion'
    GROUP BY rollout
    HAVING bool_and(coalesce(passed, FALSE))
    UNION ALL
    SELECT z.rollout, 'reference' AS witness
    FROM zeros AS z
    INNER JOIN samples AS s
        ON z.run_id = s.run_id AND z.sample_id = s.sample_id AND z.environment IS NOT DISTINCT FROM s.environment
    WHERE normalised_answer(answer_said(left(z.final_answer, 10000))) = normalised_answer(s.reference)
)

SELECT
    z.run_id, z.rollout_id, z.sample_id, z.attempt, z.split, z.step, z.status, z.reward,
    list_sort(list_distinct(list(f.witness))) AS witnesses,
    (SELECT count(*) FROM zeros) AS num_zero,
    count(*) OVER () AS num_total
FROM zeros AS z
INNER JOIN found AS f ON z.rollout = f.rollout
GROUP BY ALL
HAVING $witness IS NULL OR bool_or(f.witness = $witness OR starts_with(f.witness, $witness || ':'))
ORDER BY len(witnesses) DESC, z.run_id, z.step NULLS FIRST, z.rollout_id
LIMIT $limit OFFSET $offset
