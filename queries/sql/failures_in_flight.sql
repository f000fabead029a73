-- Question: do rollouts fail more often when many run at once?
-- Grain: run and number of rollouts in flight when a rollout began (itself included); ordered by them.
-- num: rollouts that began with so many in flight; num_failed: of these, what infrastructure or grader failed. Only
-- rollouts with a start and an end are counted, in flight as well. In runs of more than 20 000 rollouts time goes in
-- 4 000 slices: what ends within a slice still counts as running.
WITH r AS MATERIALIZED (
    SELECT run_id, epoch_us(started_at) AS began, epoch_us(ended_at) AS ended, is_foreign AS is_failed
    FROM rollouts_with_failures(
        $book, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE started_at IS NOT NULL AND ended_at >= started_at
),

grids AS (
    SELECT
        run_id, min(began) AS origin,
        CASE WHEN count(*) > 20000 THEN greatest((max(ended) - min(began)) // 4000, 1) ELSE 1 END AS width
    FROM r
    GROUP BY run_id
),

moments AS (
    SELECT r.run_id, (r.began - g.origin) // g.width AS slice, count(*) AS change, count(*) AS num,
        count(*) FILTER (WHERE r.is_failed) AS num_failed
    FROM r INNER JOIN grids AS g ON r.run_id = g.run_id
    GROUP BY ALL
    UNION ALL
    SELECT r.run_id, (r.ended - g.origin) // g.width AS slice, -count(*) AS change, 0 AS num, 0 AS num_failed
    FROM r INNER JOIN grids AS g ON r.run_id = g.run_id
    GROUP BY ALL
),

swept AS (
    SELECT run_id, num, num_failed,
        sum(change) OVER (PARTITION BY run_id ORDER BY slice, num DESC ROWS UNBOUNDED PRECEDING) AS in_flight
    FROM moments
)

SELECT run_id, in_flight::BIGINT AS in_flight, sum(num)::BIGINT AS num, sum(num_failed)::BIGINT AS num_failed
FROM swept
WHERE num > 0
GROUP BY ALL
ORDER BY run_id, in_flight
