-- Question: which records could not be read, and why?
-- Grain: bad record; ordered by run, file and position. At most `limit` rows.
SELECT
    run_id,
    reason,
    file,
    position,
    snippet,
    source_id
FROM rejects
WHERE $run_ids IS NULL OR list_contains($run_ids, run_id)
ORDER BY run_id, file, try_cast(position AS BIGINT) NULLS LAST, position, reason
LIMIT $limit
