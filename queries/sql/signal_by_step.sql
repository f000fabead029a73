-- Question: which groups of attempts carried signal, step by step?
-- Grain: run, split, step and scope (`all`, and `effective` where it is known what was trained on); ordered by them.
-- A group: the source's own within run, split and step, else the attempts at a sample. Only groups of two scored rollouts
-- or more are counted, but for num_too_few, num_known and num_not_trained_on.
-- num_by_failures: rewards differ, but not among rollouts that did not fail. reward_sd_mean: mean over groups.
WITH r AS (
    SELECT
        run_id, split, step, subset,
        hash(environment, sample_id, group_id) AS group_key,
        coalesce(status IN ('infra_error', 'grader_error'), FALSE) AS is_failed,
        CASE WHEN NOT $leave_out_failures OR NOT is_failed THEN reward END AS graded
    FROM filtered_rollouts($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
    WHERE step IS NOT NULL AND coalesce(sample_id, group_id) IS NOT NULL
),

groups AS (
    SELECT
        run_id, split, step,
        count(graded) AS num_scored, min(graded) AS lowest, max(graded) AS highest, stddev_samp(graded) AS spread,
        coalesce(max(graded) FILTER (NOT is_failed) > min(graded) FILTER (NOT is_failed), FALSE) AS differs_by_itself,
        count(subset) > 0 AS is_known,
        coalesce(bool_or(subset = 'effective'), FALSE) AS is_effective
    FROM r
    GROUP BY run_id, split, step, group_key
),

scopes AS (
    FROM groups SELECT *, 'all' AS scope, num_scored >= 2 AS is_group
    UNION ALL
    FROM groups SELECT *, 'effective' AS scope, num_scored >= 2 AS is_group
    WHERE is_effective
)

SELECT
    run_id, split, step, scope,
    count(*) FILTER (is_group) AS num_groups,
    count(*) FILTER (NOT is_group) AS num_too_few,
    count(*) FILTER (is_group AND lowest = highest) AS num_zero_variance,
    count(*) FILTER (is_group AND lowest = 0 AND highest = 0) AS num_all_zero,
    count(*) FILTER (is_group AND lowest = 1 AND highest = 1) AS num_all_one,
    count(*) FILTER (is_group AND lowest = highest AND lowest NOT IN (0, 1)) AS num_all_other,
    count(*) FILTER (is_group AND lowest < highest) AS num_mixed,
    count(*) FILTER (is_group AND lowest < highest AND NOT differs_by_itself) AS num_by_failures,
    avg(spread) FILTER (is_group) AS reward_sd_mean,
    median(num_scored) FILTER (is_group) AS group_size_median,
    count(*) FILTER (is_known) AS num_known,
    count(*) FILTER (is_known AND NOT is_effective) AS num_not_trained_on
FROM scopes
GROUP BY run_id, split, step, scope
ORDER BY run_id, split NULLS LAST, step, scope
