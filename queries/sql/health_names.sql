-- Question: which numbers did trainers report, by name?
-- Grain: run, split (as reported) and name; ordered by them. num_values: known; num_null: reported as null, NaN or
-- infinite; num_labelled: with labels (of one grader, tool …); first_step, last_step: optimizer updates, of known values.
SELECT
    run_id,
    split,
    name,
    count(value) AS num_values,
    (count(*) - count(value))::BIGINT AS num_null,
    count(*) FILTER (WHERE labels IS NOT NULL) AS num_labelled,
    count(*) FILTER (WHERE step IS NOT NULL) AS num_with_step,
    min(step) FILTER (WHERE value IS NOT NULL) AS first_step,
    max(step) FILTER (WHERE value IS NOT NULL) AS last_step
FROM metrics
WHERE
    ($run_ids IS NULL OR list_contains($run_ids, run_id))
    AND ($step_from IS NULL OR step >= $step_from)
    AND ($step_to IS NULL OR step <= $step_to)
GROUP BY run_id, split, name
ORDER BY run_id, split NULLS LAST, name
