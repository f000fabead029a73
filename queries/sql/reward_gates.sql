-- Question: is there a part of the reward below a bound of which nothing else is paid?
-- Grain: run and grader that is not the reward itself; ordered by them. bound: the least the part is in a rollout with
-- more than the run's lowest reward; num_below: rollouts below it, which all have the lowest; num_held: of these, with
-- another part above 0; num_above, num_above_low: rollouts from the bound on, and those of them with the lowest reward all
-- the same; share_low: of all, those with the lowest; r_squared: of the reward, by the part. Failures are left out.
WITH scored AS (
    SELECT
        run_id, grader, rollout_id, value, reward,
        min(reward) OVER (PARTITION BY run_id) AS lowest,
        count(*) FILTER (WHERE value > 0) OVER (PARTITION BY rollout_id) - (value > 0)::int AS num_others
    FROM reward_part_scores(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE
        NOT is_total
        AND kind IN ('subscore', 'metric', 'reward')
        AND reward IS NOT NULL
        AND value IS NOT NULL
        AND NOT is_failed
),

bounded AS (
    SELECT *, min(value) FILTER (WHERE reward > lowest) OVER (PARTITION BY run_id, grader) AS bound
    FROM scored
)

SELECT
    run_id,
    grader,
    any_value(bound) AS bound,
    count(*) AS num_rollouts,
    count(*) FILTER (WHERE value < bound) AS num_below,
    count(*) FILTER (WHERE value < bound AND num_others > 0) AS num_held,
    count(*) FILTER (WHERE value >= bound) AS num_above,
    count(*) FILTER (WHERE value >= bound AND reward = lowest) AS num_above_low,
    avg((reward = lowest)::int) AS share_low,
    corr(value, reward) ** 2 AS r_squared
FROM bounded
GROUP BY run_id, grader
HAVING any_value(bound) IS NOT NULL
ORDER BY run_id, grader
