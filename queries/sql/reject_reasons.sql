-- Question: which faults are the most frequent among the bad records?
-- Grain: run and reason; most frequent first. example_file, example_position: where one of them stands.
SELECT
    run_id,
    reason,
    count(*) AS num_rejects,
    count(DISTINCT file) AS num_files,
    min(file) AS example_file,
    arg_min(position, file) AS example_position
FROM rejects
WHERE $run_ids IS NULL OR list_contains($run_ids, run_id)
GROUP BY run_id, reason
ORDER BY num_rejects DESC, run_id ASC, reason ASC
