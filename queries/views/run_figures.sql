-- What each run holds and how it went, from `run_summaries` in one pass. Grain: run.
-- The curve is the scored cells of one split: valid where there are any, else test, train, production, unknown.
-- reward_by_step: its means in order of steps; initial, final: its first and last cell.
CREATE VIEW run_figures AS
WITH placed AS (
    SELECT
        *,
        CASE
            WHEN reward_mean IS NULL THEN 10
            ELSE coalesce(list_position(['valid', 'test', 'train', 'production'], split), 9)
        END AS place,
        coalesce(step, -1) AS place_in_time
    FROM run_summaries
),

cells AS (
    SELECT
        *,
        place < 10 AND place = min(place) OVER (PARTITION BY run_id) AS is_curve
    FROM placed
)

SELECT
    run_id,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    sum(num_scored)::BIGINT AS num_scored,
    count(DISTINCT step) AS num_steps,
    min(step) AS first_step,
    max(step) AS last_step,
    list_sort(list_distinct(list(split))) AS splits,
    list_sort(list_distinct(flatten(list(from_json(environments, '["VARCHAR"]'))))) AS environments,
    sum(num_failed) / nullif(sum(num_status_known), 0) AS failure_share,
    sum(num_status_known)::BIGINT AS num_status_known,
    min(first_at) AS first_at,
    max(last_at) AS last_at,
    list(reward_mean ORDER BY place_in_time) FILTER (WHERE is_curve) AS reward_by_step,
    arg_min(cells, place_in_time) FILTER (WHERE is_curve) AS initial,
    arg_max(cells, place_in_time) FILTER (WHERE is_curve) AS final
FROM cells
GROUP BY run_id;
