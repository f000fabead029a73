-- Question: what do the reward and another grader give each sample at each step?
-- Grain: run, split, step, grader and sample with both; ordered by them. reward, second: means over the sample's rollouts
-- that have both; reward_sd, second_sd: standard deviations over all such rollouts of the run and split, the scale on
-- which the two are compared; versions: of the rollouts' graders at that step. The grader is `grader`, else of those that
-- judge beside the reward the one that scored the most rollouts of the run (labels first). Values of graders whose high
-- values are bad are turned. Failures are left out.
WITH judging AS (
    SELECT run_id, rollout_id, grader, value, kind = 'label' AS is_label
    FROM judgements($run_ids, $lower_is_better, $not_a_judge)
    WHERE $grader IS NULL
    UNION ALL
    SELECT
        run_id, rollout_id, grader,
        CASE WHEN regexp_matches(grader, $lower_is_better) THEN -value ELSE value END AS value,
        FALSE AS is_label
    FROM scores
    WHERE
        grader = $grader
        AND value IS NOT NULL
        AND ($run_ids IS NULL OR list_contains($run_ids, run_id))
),

paired AS (
    SELECT r.run_id, r.split, r.step, r.unit, r.reward, r.grader_version, j.grader, j.is_label, j.value
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS r
    INNER JOIN judging AS j ON hash(r.rollout_id) = hash(j.rollout_id)
    WHERE r.reward IS NOT NULL AND NOT is_failure(r.status)
),

counted AS (
    SELECT run_id, grader, is_label, count(*) AS num
    FROM paired
    GROUP BY run_id, grader, is_label
),

chosen AS (
    SELECT run_id, arg_min(grader, (NOT is_label, -num, grader)) AS grader
    FROM counted
    GROUP BY run_id
),

spread AS (
    SELECT
        b.run_id, b.split, b.step, b.unit, b.grader, b.reward, b.value, b.grader_version,
        stddev_samp(b.reward) OVER own AS reward_sd,
        stddev_samp(b.value) OVER own AS second_sd
    FROM paired AS b
    INNER JOIN chosen AS c ON b.run_id = c.run_id AND b.grader = c.grader
    WINDOW own AS (PARTITION BY b.run_id, b.split)
)

SELECT
    run_id,
    split,
    step,
    grader,
    unit,
    avg(reward) AS reward,
    avg(value) AS second,
    any_value(reward_sd) AS reward_sd,
    any_value(second_sd) AS second_sd,
    count(*) AS num_rollouts,
    max(grader_version) AS grader_version
FROM spread
GROUP BY run_id, split, step, grader, unit
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, grader, unit
