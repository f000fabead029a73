-- Question: which scores do two graders give the same rollouts?
-- Grain: run, and a cell of scores of both; ordered by them. …_low, …_high: bounds of its bin; equal where a grader gives
-- at most $bins different scores. Else $bins equal bins from the least to the greatest, upper bounds not in them but for
-- the last, which reaches a little further.
WITH rated AS MATERIALIZED (
    FROM rated_pairs(
        $rules, $pairs, $graders, $own, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset,
    $agents
    )
),

ranges AS (
    SELECT
        min(first_value) AS first_min,
        (max(first_value) - min(first_value)) / $bins AS first_width,
        count(DISTINCT first_value) <= $bins AS first_exact,
        min(second_value) AS second_min,
        (max(second_value) - min(second_value)) / $bins AS second_width,
        count(DISTINCT second_value) <= $bins AS second_exact
    FROM rated
),

placed AS (
    SELECT
        r.*,
        x.*,
        CASE WHEN NOT x.first_exact THEN least($bins - 1, floor((r.first_value - x.first_min) / x.first_width)) END AS i,
        CASE WHEN NOT x.second_exact THEN least($bins - 1, floor((r.second_value - x.second_min) / x.second_width)) END AS j
    FROM rated AS r
    CROSS JOIN ranges AS x
)

SELECT
    run_id,
    coalesce(first_min + i * first_width, first_value) AS first_low,
    coalesce(first_min + (i + 1) * first_width + if(i = $bins - 1, 1e-9, 0), first_value) AS first_high,
    coalesce(second_min + j * second_width, second_value) AS second_low,
    coalesce(second_min + (j + 1) * second_width + if(j = $bins - 1, 1e-9, 0), second_value) AS second_high,
    count(*) AS num_rollouts,
    count(DISTINCT unit) AS num_samples,
    count(*) FILTER (WHERE first_right <> second_right) AS num_disagree
FROM placed
GROUP BY ALL
ORDER BY run_id, first_low, second_low
