-- Question: what would the reward be had nothing failed that is not the policy's?
-- Grain: run, split, step; ordered by them. Left out: what infrastructure or grader failed, by the rules in force.
-- reward_mean: mean over samples of each sample's mean reward, as graded; reward_kept: without what is left out;
-- bound_low, bound_high: had these earned the lowest, the highest reward there is in their environment. …_sd: over samples.
WITH r AS MATERIALIZED (
    SELECT run_id, split, step, environment, unit, reward, is_foreign
    FROM rollouts_with_failures(
        $book, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

reach AS (
    SELECT environment, least($lowest, min(reward)) AS low, greatest($highest, max(reward)) AS high
    FROM r
    GROUP BY environment
),

per_sample AS (
    SELECT
        r.run_id, r.split, r.step, r.unit, count(*) AS num, count(r.reward) AS num_scored,
        count(*) FILTER (WHERE r.is_foreign) AS num_out,
        avg(r.reward) AS reward,
        avg(r.reward) FILTER (WHERE NOT r.is_foreign) AS kept,
        avg(CASE WHEN r.is_foreign THEN reach.low ELSE r.reward END) AS low,
        avg(CASE WHEN r.is_foreign THEN reach.high ELSE r.reward END) AS high,
        min(reach.low) AS lowest, max(reach.high) AS highest
    FROM r
    INNER JOIN reach ON r.environment IS NOT DISTINCT FROM reach.environment
    GROUP BY ALL
)

SELECT run_id, split, step,
    sum(num)::BIGINT AS num_rollouts, sum(num_scored)::BIGINT AS num_scored, sum(num_out)::BIGINT AS num_left_out,
    avg(reward) AS reward_mean, stddev_samp(reward) AS reward_sd, count(reward) AS num_samples_scored,
    avg(kept) AS reward_kept_mean, stddev_samp(kept) AS reward_kept_sd, count(kept) AS num_samples_kept,
    avg(low) AS bound_low, stddev_samp(low) AS bound_low_sd, avg(high) AS bound_high, stddev_samp(high) AS bound_high_sd,
    count(low) AS num_samples_bounded, min(lowest) AS lowest, max(highest) AS highest
FROM per_sample
GROUP BY ALL
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
