-- Question: which step has the highest validation reward, and how does every other step differ from it?
-- Grain: run, step; ordered by run, then reward_mean from the highest. One split; steps and scored rollouts only.
-- delta_mean: mean over the samples scored at both steps of (this step's mean reward − the best step's); delta_sd: its
-- standard deviation over them. Of several equal highest steps the earliest is the best.
WITH per_sample AS (
    SELECT run_id, step, unit, avg(reward) AS reward
    FROM filtered_rollouts(
        $run_ids, [$split], $step_from, $step_to, $statuses, $tools, $environments, $subset
    )
    WHERE step IS NOT NULL AND reward IS NOT NULL
    GROUP BY run_id, step, unit
),

per_step AS (
    SELECT
        run_id, step,
        count(*) AS num_samples_scored,
        avg(reward) AS reward_mean,
        stddev_samp(reward) AS reward_sd
    FROM per_sample
    GROUP BY run_id, step
),

best AS (
    SELECT run_id, arg_max(step, (round(reward_mean, 12), -step)) AS step FROM per_step GROUP BY run_id
),

deltas AS (
    SELECT
        a.run_id, a.step,
        count(*) AS num_paired,
        avg(a.reward - b.reward) AS delta_mean,
        stddev_samp(a.reward - b.reward) AS delta_sd
    FROM per_sample AS a
    INNER JOIN best ON a.run_id = best.run_id
    INNER JOIN per_sample AS b ON best.run_id = b.run_id AND best.step = b.step AND a.unit = b.unit
    GROUP BY a.run_id, a.step
)

SELECT
    s.run_id, s.step, s.step = best.step AS is_best,
    s.num_samples_scored, s.reward_mean, s.reward_sd,
    coalesce(d.num_paired, 0) AS num_paired, d.delta_mean, d.delta_sd
FROM per_step AS s
INNER JOIN best ON s.run_id = best.run_id
LEFT JOIN deltas AS d ON s.run_id = d.run_id AND s.step = d.step
ORDER BY s.run_id, s.reward_mean DESC, s.step
