-- What scores say beside the reward, for the rulebook `integrity`.

-- Graders that judge a rollout beside the reward: labels, and metrics without a weight, which do not merely count something.
-- value: turned so that high is good (`p_lower` names graders whose high values are bad).
CREATE MACRO judgements(p_run_ids, p_lower, p_counts) AS TABLE
SELECT
    run_id,
    rollout_id,
    grader,
    kind,
    grader_version,
    CASE WHEN regexp_matches(grader, p_lower) THEN -value ELSE value END AS value
FROM scores
WHERE
    (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
    AND (kind = 'label' OR (kind = 'metric' AND coalesce(weight, 0) = 0))
    AND value IS NOT NULL
    AND NOT regexp_matches(grader, p_counts);

-- Per rollout, its parts for form and for correctness, as their names say, on a scale of 0 to 1 (or the grader's own lowest
-- to highest): the best of each. Rollouts that lack one of both have no row.
CREATE MACRO form_and_correctness(p_form, p_correct, p_run_ids) AS TABLE
WITH scored AS (
    SELECT run_id, rollout_id, grader, value, regexp_extract(grader, '[^/]+$') AS part
    FROM scores
    WHERE
        (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
        AND kind IN ('subscore', 'metric')
        AND value IS NOT NULL
),

named AS (
    SELECT
        run_id, grader,
        least(min(value), 0) AS low,
        greatest(max(value), 1) AS high,
        regexp_matches(any_value(part), p_form) AS is_form
    FROM scored
    GROUP BY run_id, grader
    HAVING regexp_matches(any_value(part), p_form) <> regexp_matches(any_value(part), p_correct)
)

SELECT
    s.rollout_id,
    arg_max(s.grader, s.value) FILTER (WHERE n.is_form) AS form_grader,
    max((s.value - n.low) / (n.high - n.low)) FILTER (WHERE n.is_form) AS form,
    arg_max(s.grader, s.value) FILTER (WHERE NOT n.is_form) AS correct_grader,
    max((s.value - n.low) / (n.high - n.low)) FILTER (WHERE NOT n.is_form) AS correct
FROM scored AS s
INNER JOIN named AS n ON s.run_id = n.run_id AND s.grader = n.grader
GROUP BY s.rollout_id
HAVING count(*) FILTER (WHERE n.is_form) > 0 AND count(*) FILTER (WHERE NOT n.is_form) > 0;
