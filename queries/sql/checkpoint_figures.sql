-- Question: how does every checkpoint end its rollouts, and how alike are its attempts?
-- Grain: run, step; ordered by them. One split; steps only. Rates are 0–1 over rollouts of which it is known.
-- num_samples_repeated: samples with two scored attempts or more; agree_share: of these, those whose attempts all have
-- the same reward.
WITH per_sample AS (
    SELECT
        run_id,
        step,
        unit,
        count(*) AS num_rollouts,
        count(status) AS num_status_known,
        count(*) FILTER (WHERE is_failure(status)) AS num_failed,
        count(*) FILTER (WHERE status = 'truncated') AS num_truncated,
        count(*) FILTER (WHERE status = 'budget_exceeded') AS num_budget_exceeded,
        count(num_tool_calls) AS num_calls_known,
        count(reward) AS num_scored,
        max(reward) - min(reward) AS reward_range
    FROM filtered_rollouts(
        $run_ids, [$split], $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE step IS NOT NULL
    GROUP BY run_id, step, unit
)

SELECT
    run_id,
    step,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    count(*) AS num_samples,
    sum(num_status_known)::BIGINT AS num_status_known,
    sum(num_failed) / nullif(sum(num_status_known), 0) AS failure_rate,
    sum(num_truncated) / nullif(sum(num_status_known), 0) AS truncation_rate,
    sum(num_budget_exceeded) / nullif(sum(num_status_known), 0) AS budget_exceeded_rate,
    count(*) FILTER (WHERE num_calls_known > 0) AS num_samples_calls_known,
    count(*) FILTER (WHERE num_scored > 1) AS num_samples_repeated,
    count(*) FILTER (WHERE num_scored > 1 AND reward_range <= 1e-12)
    / nullif(count(*) FILTER (WHERE num_scored > 1), 0) AS agree_share
FROM per_sample
GROUP BY run_id, step
ORDER BY run_id, step
