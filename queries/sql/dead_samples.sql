-- Question: which sub-scores differ between an arm's attempts at a sample, and how far did the best attempt come?
-- Grain: sample that has sub-scores or assertions; ordered by environment and id. varying_subscore: the one with the
-- largest standard deviation over used attempts (varying_subscore_sd), where one varies; best_partial: the highest mean
-- of an attempt's sub-scores and assertions, where all of them lie in 0–1.
WITH parts AS (
    SELECT
        r.environment,
        r.sample_id,
        r.rollout_id,
        s.grader,
        coalesce(s.value, s.passed::DOUBLE) AS part
    FROM judged_attempts($arm, $environments, $threshold, $leave_out_failures) AS r
    INNER JOIN scores AS s ON r.run_id = s.run_id AND r.rollout_id = s.rollout_id
    WHERE
        r.is_used
        AND s.kind IN ('subscore', 'assertion')
        AND s.run_id = struct_extract($arm, 'run_id')
        AND coalesce(s.value, s.passed::DOUBLE) IS NOT NULL
),

graders AS (
    SELECT environment, sample_id, grader, stddev_samp(part) AS spread
    FROM parts
    GROUP BY environment, sample_id, grader
    HAVING spread > 1e-12
),

attempts AS (
    SELECT environment, sample_id, avg(part) AS partial, bool_and(part BETWEEN 0 AND 1) AS is_share
    FROM parts
    GROUP BY environment, sample_id, rollout_id
)

SELECT
    a.environment,
    a.sample_id,
    any_value(g.grader) AS varying_subscore,
    any_value(g.spread) AS varying_subscore_sd,
    max(a.partial) FILTER (a.is_share) AS best_partial
FROM attempts AS a
LEFT JOIN (
    FROM graders
    QUALIFY row_number() OVER (PARTITION BY environment, sample_id ORDER BY spread DESC, grader) = 1
) AS g ON a.environment IS NOT DISTINCT FROM g.environment AND a.sample_id = g.sample_id
GROUP BY a.environment, a.sample_id
ORDER BY a.environment NULLS FIRST, a.sample_id
