-- Question: what did trainers report of a run's health, step by step?
-- Grain: run, split, measure and step; ordered by them. `$chosen`: which name fills which measure of which run and split,
-- and how its value is turned into the measure's unit (`plus` + `times` * value).
-- value: NULL where it was reported as null, NaN or infinite. Numbers with labels (of one grader, tool …) are left out.
-- recorded_at: UTC.
SELECT
    m.run_id,
    c.split,
    c.measure,
    m.step,
    c.name,
    c.plus + c.times * m.value AS value,
    m.recorded_at
FROM metrics AS m
INNER JOIN
    (SELECT unnest($chosen, recursive := TRUE)) AS c
    ON m.run_id = c.run_id AND m.name = c.name AND m.split IS NOT DISTINCT FROM c.reported_split
WHERE
    m.step IS NOT NULL
    AND m.labels IS NULL
    AND ($run_ids IS NULL OR list_contains($run_ids, m.run_id))
    AND ($step_from IS NULL OR m.step >= $step_from)
    AND ($step_to IS NULL OR m.step <= $step_to)
ORDER BY m.run_id, c.split NULLS LAST, c.measure, m.step
