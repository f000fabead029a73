-- Question: which runs ought to be training still, and when was each last heard of?
-- Grain: run; ordered by it. ended_at, last_at (end of its last rollout, metric or event): UTC; NULL = not known.
WITH numbers AS (
    SELECT run_id, max(recorded_at) AS heard_at
    FROM metrics
    GROUP BY run_id
),

told AS (
    SELECT run_id, max(created_at) AS heard_at
    FROM events
    GROUP BY run_id
),

tried AS (
    SELECT run_id, max(last_at) AS heard_at
    FROM run_summaries
    GROUP BY run_id
)

SELECT
    r.run_id,
    r.kind,
    r.provider,
    r.status,
    r.ended_at,
    greatest(n.heard_at, t.heard_at, a.heard_at) AS last_at
FROM runs AS r
LEFT JOIN numbers AS n ON r.run_id = n.run_id
LEFT JOIN told AS t ON r.run_id = t.run_id
LEFT JOIN tried AS a ON r.run_id = a.run_id
WHERE $run_ids IS NULL OR list_contains($run_ids, r.run_id)
ORDER BY r.run_id
