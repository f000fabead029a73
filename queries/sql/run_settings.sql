-- Question: what do runs say of how they were made?
-- Grain: run of `$of_runs` (is_asked), or one that such a run says it continues or evaluates; ordered by run_id. Settings
-- as the source gave them, JSON where the dictionary says so; has_training: whether it has rollouts of the train split.
WITH asked AS (
    SELECT
        run_id,
        parent_run
    FROM runs
    WHERE $of_runs IS NULL OR list_contains($of_runs, run_id)
),

trained AS (
    SELECT DISTINCT run_id
    FROM run_summaries
    WHERE split = 'train'
)

SELECT
    r.run_id,
    r.name,
    r.kind,
    r.parent_run,
    r.base_model,
    r.model,
    r.provider,
    r.code_reference,
    r.tags,
    r.hyperparameters,
    r.config,
    r.run_id IN (SELECT a.run_id FROM asked AS a) AS is_asked,
    r.run_id IN (SELECT t.run_id FROM trained AS t) AS has_training
FROM runs AS r
WHERE
    r.run_id IN (SELECT a.run_id FROM asked AS a)
    OR r.run_id IN (SELECT a.parent_run FROM asked AS a)
    OR r.name IN (SELECT a.parent_run FROM asked AS a)
ORDER BY r.run_id
