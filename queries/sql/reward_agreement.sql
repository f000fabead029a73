-- Question: does the reward the trainer reported agree with its rollouts?
-- Grain: run, split, step, name of the reported reward; ordered by them. Only steps that have both.
-- all_mean, effective_mean: mean over scored rollouts, all and those that were trained on; sample_mean: all, mean over
-- samples of each sample's mean.
WITH per_sample AS (
    SELECT
        run_id, split, step, unit,
        sum(reward) AS reward_sum,
        count(reward) AS num_scored,
        sum(reward) FILTER (WHERE subset = 'effective') AS effective_sum,
        count(reward) FILTER (WHERE subset = 'effective') AS num_effective
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, NULL, NULL, NULL, NULL
    )
    GROUP BY ALL
),

given AS (
    SELECT
        run_id, split, step,
        sum(num_scored)::BIGINT AS num_scored,
        sum(num_effective)::BIGINT AS num_effective,
        sum(reward_sum) / nullif(sum(num_scored), 0) AS all_mean,
        sum(effective_sum) / nullif(sum(num_effective), 0) AS effective_mean,
        avg(reward_sum / nullif(num_scored, 0)) AS sample_mean
    FROM per_sample
    GROUP BY run_id, split, step
)

SELECT
    g.run_id, g.split, g.step, m.name,
    m.value AS reported,
    g.all_mean, g.effective_mean, g.sample_mean,
    g.num_scored, g.num_effective
FROM given AS g
INNER JOIN reward_metrics AS w ON g.run_id = w.run_id AND g.split = w.split
INNER JOIN metrics AS m
    ON g.run_id = m.run_id AND w.name = m.name AND g.step = m.step AND coalesce(m.split, w.split) = g.split
WHERE g.num_scored > 0 AND m.value IS NOT NULL
ORDER BY g.run_id, g.split, g.step, m.name
