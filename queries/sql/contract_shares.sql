-- Question: how many rollouts are over one limit, and how many were stopped at it?
-- Grain: run (split, step, as `by` says); ordered by them. Over rollouts whose value of the limited measure is known.
-- share_over: 0–1; share_sd: deviation to use with num_samples, as `clustered_sd` says. …_at: exactly at the bound.
-- Stopped: status `budget_exceeded` or `truncated`; failed: `infra_error` or `grader_error`.
WITH r AS (
    SELECT
        run_id, split, step, unit, value,
        value > $bound AS is_over,
        value = $bound AS is_at,
        value IS NOT NULL AND status IS NOT NULL AS is_status_known,
        value IS NOT NULL AND status IN ('budget_exceeded', 'truncated') AS is_stopped,
        value > $bound AND is_failure(status) AS is_failed_over
    FROM measured_rollouts(
        $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

per_sample AS (
    SELECT
        run_id, split, step, unit,
        count(*) AS num_all,
        count(value) AS num_rollouts,
        count(*) FILTER (WHERE is_over) AS num_over,
        count(*) FILTER (WHERE is_at) AS num_at,
        count(*) FILTER (WHERE is_status_known) AS num_status_known,
        count(*) FILTER (WHERE is_stopped) AS num_stopped,
        count(*) FILTER (WHERE is_stopped AND is_over) AS num_stopped_over,
        count(*) FILTER (WHERE is_stopped AND is_at) AS num_stopped_at,
        count(*) FILTER (WHERE is_failed_over) AS num_failed_over
    FROM r
    GROUP BY run_id, split, step, unit
)

SELECT
    run_id, split, step,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    (sum(num_all) - sum(num_rollouts))::BIGINT AS num_missing,
    count(*) FILTER (WHERE num_rollouts > 0) AS num_samples,
    sum(num_over)::BIGINT AS num_over,
    sum(num_over) / nullif(sum(num_rollouts), 0) AS share_over,
    clustered_sd(num_over::DOUBLE, num_rollouts) AS share_sd,
    sum(num_at)::BIGINT AS num_at,
    sum(num_status_known)::BIGINT AS num_status_known,
    sum(num_stopped)::BIGINT AS num_stopped,
    sum(num_stopped_over)::BIGINT AS num_stopped_over,
    sum(num_stopped_at)::BIGINT AS num_stopped_at,
    sum(num_failed_over)::BIGINT AS num_failed_over
FROM per_sample
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
