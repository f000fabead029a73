-- Question: how does each source describe the configuration of runs?
-- Grain: run and distinct description; ordered by run, then the one that wins first (lowest precedence).
-- hyperparameters, config: JSON as reported, NULL where that source has none.
SELECT
    run_id,
    hyperparameters::VARCHAR AS hyperparameters,
    config::VARCHAR AS config
FROM runs_stored
WHERE list_contains($run_ids, run_id) AND (hyperparameters IS NOT NULL OR config IS NOT NULL)
GROUP BY run_id, hyperparameters, config
ORDER BY run_id, min(precedence), min(source_id)
