-- Question: what is the reward made of, and which part decides it?
-- Grain: run, split, step (as `by` says) and grader; ordered by run, split, step, kind, grader. score_mean, score_sd: mean
-- over samples of each sample's mean, and their deviation; share_low, share_high: of scored rollouts, those at 0 or below
-- and at 1 or above; correlation: with the reward, within samples (NULL where neither varies within any); r_squared: share
-- of the reward's variance over rollouts that a straight line in the part explains; variance_share: weight times the
-- covariance with the reward over its variance: shares of the weighted parts sum to 1 where the weights reproduce the
-- reward.
WITH scored AS (
    SELECT
        run_id, CASE WHEN $by <> 'run' THEN split END AS split, CASE WHEN $by = 'step' THEN step END AS step,
        grader, kind, is_total, unit, rollout_id, reward, weight, value
    FROM reward_part_scores(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

per_sample AS (
    SELECT
        run_id, split, step, grader, kind, unit,
        avg(value) AS score,
        count(*) AS num_rollouts,
        count(value) AS num_scored,
        count(*) FILTER (WHERE value <= 0) AS num_low,
        count(*) FILTER (WHERE value >= 1) AS num_high,
        covar_pop(value, reward) * count(value + reward) AS within_covariance,
        var_pop(value) FILTER (WHERE reward IS NOT NULL) * count(value + reward) AS within_value,
        var_pop(reward) FILTER (WHERE value IS NOT NULL) * count(value + reward) AS within_reward
    FROM scored
    GROUP BY run_id, split, step, grader, kind, unit
),

over_rollouts AS (
    SELECT
        run_id, split, step, grader, kind,
        bool_or(is_total) AS is_total,
        min(weight) AS weight_low,
        max(weight) AS weight_high,
        corr(value, reward) ** 2 AS r_squared,
        covar_pop(value, reward) / nullif(var_pop(reward) FILTER (WHERE value IS NOT NULL), 0) AS slope
    FROM scored
    GROUP BY run_id, split, step, grader, kind
)

SELECT
    p.run_id, p.split, p.step, p.grader, p.kind,
    any_value(o.is_total) AS is_total,
    any_value(CASE WHEN o.weight_low = o.weight_high THEN o.weight_low END) AS weight,
    sum(p.num_rollouts)::bigint AS num_rollouts,
    sum(p.num_scored)::bigint AS num_scored,
    count(p.score) AS num_samples,
    avg(p.score) AS score_mean,
    stddev_samp(p.score) AS score_sd,
    sum(p.num_low) / nullif(sum(p.num_scored), 0) AS share_low,
    sum(p.num_high) / nullif(sum(p.num_scored), 0) AS share_high,
    sum(p.within_covariance) / nullif(sqrt(sum(p.within_value) * sum(p.within_reward)), 0) AS correlation,
    any_value(CASE WHEN isfinite(o.r_squared) THEN o.r_squared END) AS r_squared,
    any_value(CASE WHEN o.weight_low = o.weight_high THEN o.weight_low * o.slope END) AS variance_share
FROM per_sample AS p
INNER JOIN over_rollouts AS o
    ON
        p.run_id = o.run_id
        AND p.split IS NOT DISTINCT FROM o.split
        AND p.step IS NOT DISTINCT FROM o.step
        AND p.grader = o.grader
        AND p.kind = o.kind
GROUP BY p.run_id, p.split, p.step, p.grader, p.kind
ORDER BY p.run_id, p.split NULLS LAST, p.step NULLS FIRST, p.kind, p.grader
