-- Question: how many rollouts does each rule of the rulebook `integrity` name, step by step?
-- Grain: run, split, rule and step (`period` NULL), and the same by periods of equal length, `periods` of a run's steps
-- (`step` NULL); ordered by rule, run, split, then periods and steps. num_flagged of num_rollouts the rule applies to, in
-- num_samples; share: 0–1; share_sd: deviation to use with num_samples, as `clustered_sd` says; first_step, last_step: of
-- what the row is over. A rule has no row where it applies to nothing.
WITH per_sample AS (
    SELECT
        run_id, split, step, rule, unit,
        count(*) AS num,
        count(*) FILTER (WHERE is_flagged) AS num_flagged,
        min(step) OVER own AS lowest,
        max(step) OVER own AS highest
    FROM suspects(
        $names, $numbers, $texts, $answer_patterns, $answer_any, $call_patterns, $call_any,
        $max_rollouts, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, split, step, rule, unit
    WINDOW own AS (PARTITION BY run_id, split)
),

grains AS (
    SELECT run_id, split, rule, unit, step, NULL::INT AS period, num, num_flagged, step AS first_step, step AS last_step
    FROM per_sample
    UNION ALL
    SELECT
        run_id, split, rule, unit, NULL AS step,
        coalesce((step - lowest) * $periods // (highest - lowest + 1), 0)::INT AS period,
        sum(num) AS num,
        sum(num_flagged) AS num_flagged,
        min(step) AS first_step,
        max(step) AS last_step
    FROM per_sample
    GROUP BY run_id, split, rule, unit, coalesce((step - lowest) * $periods // (highest - lowest + 1), 0)
)

SELECT
    run_id,
    split,
    step,
    rule,
    sum(num)::BIGINT AS num_rollouts,
    count(*) AS num_samples,
    sum(num_flagged)::BIGINT AS num_flagged,
    sum(num_flagged) / sum(num) AS share,
    clustered_sd(num_flagged::DOUBLE, num::DOUBLE) AS share_sd,
    period,
    min(first_step) AS first_step,
    max(last_step) AS last_step
FROM grains
GROUP BY run_id, split, rule, step, period
ORDER BY rule, run_id, split NULLS LAST, period NULLS FIRST, step NULLS FIRST
