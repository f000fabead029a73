-- Question: which runs are there?
-- Grain: run; ordered by when it began (unknown last), then by id: the fixed order that also gives runs their colours.
WITH began AS (
    SELECT
        run_id,
        min(first_at) AS first_at
    FROM run_summaries
    GROUP BY run_id
)

SELECT
    r.run_id,
    r.name,
    r.kind
FROM runs AS r
LEFT JOIN began AS b ON r.run_id = b.run_id
ORDER BY coalesce(r.started_at, r.created_at, b.first_at) NULLS LAST, r.run_id
