-- Question: which policies were saved?
-- Grain: run, step; ordered by them.
SELECT
    run_id,
    step,
    checkpoint_id,
    model,
    created_at,
    metrics
FROM checkpoints
WHERE
    ($run_ids IS NULL OR list_contains($run_ids, run_id))
    AND ($step_from IS NULL OR step >= $step_from)
    AND ($step_to IS NULL OR step <= $step_to)
ORDER BY run_id, step NULLS FIRST, checkpoint_id
