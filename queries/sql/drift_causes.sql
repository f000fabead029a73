-- Question: how often does each cause end rollouts of two selections without success?
-- Grain: side, sample (unit) and cause, `success` where there is none; ordered by them. num: rollouts of the sample.
-- Where a part of either selection is not judged at all (traffic without a grader), only what is judged counts in both: a
-- rollout that nobody scored has not failed.
WITH caused AS (
    SELECT
        hash(rollout_id) AS place,
        cause
    FROM caused_rollouts(
        $book, [struct_extract(each, 'run_id') FOR each IN $selections], $splits, $step_from, $step_to, NULL, NULL,
        $environments, NULL, NULL
    )
),

found AS (
    SELECT
        side,
        unit,
        hash(rollout_id) AS place,
        reward IS NOT NULL OR passed IS NOT NULL AS is_judged,
        coalesce(status IN ('infra_error', 'grader_error', 'cancelled'), FALSE) AS is_error
    FROM rollouts_of_selections($selections, $environments)
),

unjudged AS (
    SELECT avg((NOT is_judged AND NOT is_error)::INTEGER) AS part
    FROM found
    GROUP BY side
)

SELECT
    f.side,
    'failure_cause' AS about,
    f.unit,
    coalesce(c.cause, 'success') AS value,
    count(*) AS num
FROM found AS f
LEFT JOIN caused AS c ON f.place = c.place
WHERE f.is_judged OR (SELECT max(part) <= 0.05 FROM unjudged)
GROUP BY ALL
ORDER BY f.side, f.unit, value
