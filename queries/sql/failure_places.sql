-- Question: where and when did what is not the policy's fail?
-- Grain: run, place (`kind`: run, host or tool) and slice of the run's time (48 equal ones, from 0); ordered by them.
-- num: rollouts that began in it, for tools the calls sent; num_failed: of these, what infrastructure or grader failed.
-- first_at: when the first slice begins; slice_s: seconds a slice lasts. Only what has a start is counted.
WITH r AS MATERIALIZED (
    SELECT run_id, host, epoch(started_at) AS began, is_foreign AS is_failed
    FROM rollouts_with_failures(
        $book, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE started_at IS NOT NULL
),

c AS (
    SELECT run_id, tool, epoch(started_at) AS began, is_failed AND list_contains($kinds, error_kind) AS is_failed
    FROM filtered_calls(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE $with_tools AND started_at IS NOT NULL
),

seen AS (
    SELECT run_id, 'run' AS kind, '' AS place, began, is_failed FROM r
    UNION ALL
    SELECT run_id, 'host' AS kind, host AS place, began, is_failed FROM r
    UNION ALL
    SELECT run_id, 'tool' AS kind, tool AS place, began, is_failed FROM c
),

spans AS (
    SELECT run_id, kind = 'tool' AS is_tool, min(began) AS first, greatest(max(began) - min(began), 1e-3) / 48 AS width
    FROM seen
    GROUP BY ALL
)

SELECT e.run_id, e.kind, e.place, least(floor((e.began - s.first) / s.width), 47)::BIGINT AS slice,
    count(*) AS num, count(*) FILTER (WHERE e.is_failed) AS num_failed,
    make_timestamptz((any_value(s.first) * 1e6)::BIGINT) AS first_at, any_value(s.width) AS slice_s
FROM seen AS e
INNER JOIN spans AS s ON e.run_id = s.run_id AND (e.kind = 'tool') = s.is_tool
WHERE e.place IS NOT NULL
GROUP BY ALL
ORDER BY e.run_id, e.kind, e.place, slice
