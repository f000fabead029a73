-- Question: which penalties do rollouts over one limit get, against the rest?
-- Grain: run (split, step, as `by` says) and grader that looks like a penalty (see `penalty_graders`); ordered by them.
-- …_mean: over rollouts, NULL = none; …_sd: to use with num_samples_…, as `clustered_sd` says.
WITH per_sample AS (
    SELECT
        m.run_id, m.split, m.step, s.grader, m.unit,
        count(*) FILTER (WHERE m.value > $bound) AS num_over,
        count(*) FILTER (WHERE m.value <= $bound) AS num_rest,
        coalesce(sum(s.value) FILTER (WHERE m.value > $bound), 0) AS sum_over,
        coalesce(sum(s.value) FILTER (WHERE m.value <= $bound), 0) AS sum_rest
    FROM scores AS s
    INNER JOIN penalty_graders($run_ids) AS p ON s.run_id = p.run_id AND s.grader = p.grader
    INNER JOIN measured_rollouts(
        $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS m ON s.run_id = m.run_id AND s.rollout_id = m.rollout_id
    WHERE m.value IS NOT NULL AND s.value IS NOT NULL
    GROUP BY m.run_id, m.split, m.step, s.grader, m.unit
)

SELECT
    run_id, split, step,
    grader,
    sum(num_over)::BIGINT AS num_over,
    count(*) FILTER (WHERE num_over > 0) AS num_samples_over,
    sum(sum_over) / nullif(sum(num_over), 0) AS over_mean,
    clustered_sd(sum_over, num_over) AS over_sd,
    sum(num_rest)::BIGINT AS num_rest,
    count(*) FILTER (WHERE num_rest > 0) AS num_samples_rest,
    sum(sum_rest) / nullif(sum(num_rest), 0) AS rest_mean,
    clustered_sd(sum_rest, num_rest) AS rest_sd
FROM per_sample
GROUP BY run_id, split, step, grader
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, grader
