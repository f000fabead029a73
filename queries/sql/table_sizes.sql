-- Question: how much does every table hold?
-- Grain: table; in the order of the contract (ingest/schema.py). num_rows and num_runs: of the runs asked for.
WITH counted AS (
    SELECT 0 AS place, 'runs' AS table_name, run_id FROM runs
    UNION ALL
    SELECT 1 AS place, 'checkpoints' AS table_name, run_id FROM checkpoints
    UNION ALL
    SELECT 2 AS place, 'metrics' AS table_name, run_id FROM metrics
    UNION ALL
    SELECT 3 AS place, 'events' AS table_name, run_id FROM events
    UNION ALL
    SELECT 4 AS place, 'samples' AS table_name, run_id FROM samples
    UNION ALL
    SELECT 5 AS place, 'rollouts' AS table_name, run_id FROM rollouts
    UNION ALL
    SELECT 6 AS place, 'messages' AS table_name, run_id FROM messages
    UNION ALL
    SELECT 7 AS place, 'tool_calls' AS table_name, run_id FROM tool_calls
    UNION ALL
    SELECT 8 AS place, 'scores' AS table_name, run_id FROM scores
    UNION ALL
    SELECT 9 AS place, 'annotations' AS table_name, run_id FROM annotations
    UNION ALL
    SELECT 10 AS place, 'ingests' AS table_name, run_id FROM ingests
    UNION ALL
    SELECT 11 AS place, 'rejects' AS table_name, run_id FROM rejects
    UNION ALL
    SELECT 12 AS place, 'run_summaries' AS table_name, run_id FROM run_summaries
)

SELECT
    table_name,
    count(*) AS num_rows,
    count(DISTINCT run_id) AS num_runs
FROM counted
WHERE $run_ids IS NULL OR list_contains($run_ids, run_id)
GROUP BY place, table_name
ORDER BY place
