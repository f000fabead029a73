-- Question: of which commit or version of the code are runs?
-- Grain: run that says so; ordered by it.
SELECT
    run_id,
    code_reference
FROM runs
WHERE list_contains($run_ids, run_id) AND code_reference IS NOT NULL
ORDER BY run_id
