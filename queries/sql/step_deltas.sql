-- Question: how does the reward of every step differ from that of one of them, sample by sample?
-- Grain: run, step; ordered by run, step. One split; steps and scored rollouts only. The reference is the `first` step,
-- or the `best`: the highest reward_mean, of several equal ones the earliest.
-- delta_mean: mean over the samples scored at both steps of (this step's mean reward − the reference's).
WITH per_sample AS (
    SELECT
        run_id,
        step,
        unit,
        avg(reward) AS reward
    FROM filtered_rollouts(
        $run_ids, [$split], $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE step IS NOT NULL AND reward IS NOT NULL
    GROUP BY run_id, step, unit
),

per_step AS (
    SELECT
        run_id,
        step,
        count(*) AS num_samples_scored,
        avg(reward) AS reward_mean,
        stddev_samp(reward) AS reward_sd
    FROM per_sample
    GROUP BY run_id, step
),

reference AS (
    SELECT
        run_id,
        CASE
            WHEN $reference = 'best' THEN arg_max(step, (round(reward_mean, 12), -step))
            ELSE min(step)
        END AS step
    FROM per_step
    GROUP BY run_id
),

deltas AS (
    SELECT
        a.run_id,
        a.step,
        count(*) AS num_paired,
        avg(a.reward - b.reward) AS delta_mean,
        stddev_samp(a.reward - b.reward) AS delta_sd
    FROM per_sample AS a
    INNER JOIN reference AS f ON a.run_id = f.run_id
    INNER JOIN per_sample AS b ON f.run_id = b.run_id AND f.step = b.step AND a.unit = b.unit
    GROUP BY a.run_id, a.step
)

SELECT
    s.run_id,
    s.step,
    f.step AS reference_step,
    s.num_samples_scored,
    s.reward_mean,
    s.reward_sd,
    coalesce(d.num_paired, 0) AS num_paired,
    d.delta_mean,
    d.delta_sd
FROM per_step AS s
INNER JOIN reference AS f ON s.run_id = f.run_id
LEFT JOIN deltas AS d ON s.run_id = d.run_id AND s.step = d.step
ORDER BY s.run_id, s.step
