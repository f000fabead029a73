-- Question: what was read, from where, and how much of it was bad?
-- Grain: source and run; newest first. num_bytes in bytes; notes: JSON list of warnings.
SELECT
    run_id,
    source_format,
    path,
    num_rollouts,
    num_rejects,
    num_bytes,
    num_rows,
    notes,
    fills,
    started_at,
    ended_at,
    source_id
FROM ingests
WHERE $run_ids IS NULL OR list_contains($run_ids, run_id)
ORDER BY ended_at DESC, run_id ASC, source_id ASC
