-- Question: on which rollouts do two graders differ?
-- Grain: rollout, those with opposite verdicts first, then by how far the scores are apart, run, step and id.
-- num_total: how many there are.
SELECT
    run_id,
    rollout_id,
    sample_id,
    attempt,
    split,
    step,
    first_grader,
    second_grader,
    first_value,
    second_value,
    first_right,
    second_right,
    second_value - first_value AS difference,
    count(*) OVER () AS num_total
FROM rated_pairs(
    $rules, $pairs, $graders, $own, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset,
    $agents
)
WHERE
    CASE
        WHEN $cell = 'differ' THEN first_right <> second_right
        WHEN $cell = 'both_right' THEN first_right AND second_right
        WHEN $cell = 'only_first' THEN first_right AND NOT second_right
        WHEN $cell = 'only_second' THEN NOT first_right AND second_right
        WHEN $cell = 'neither' THEN NOT first_right AND NOT second_right
        ELSE TRUE
    END
    AND ($first_low IS NULL OR first_value >= $first_low - 1e-9)
    AND ($first_high IS NULL OR first_value < $first_high OR first_value BETWEEN $first_low - 1e-9 AND $first_low + 1e-9)
    AND ($second_low IS NULL OR second_value >= $second_low - 1e-9)
    AND (
        $second_high IS NULL OR second_value < $second_high OR second_value BETWEEN $second_low - 1e-9 AND $second_low + 1e-9
    )
ORDER BY first_right = second_right, abs(difference) DESC, run_id, step NULLS FIRST, rollout_id
LIMIT $limit OFFSET $offset
