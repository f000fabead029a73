-- Question: how does the reward change over training?
-- Grain: run, split, step (and environment, where `by_environment`); ordered by them.
-- reward_mean: mean over samples of each sample's mean reward; reward_sd: standard deviation of those means over samples.
-- reward_masked_mean: the same with infrastructure and grader failures left out. pass_rate: 0–1 over rollouts known.
WITH r AS (
    SELECT *, CASE WHEN $by_environment THEN environment END AS facet
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

per_sample AS (
    SELECT
        run_id, split, step, facet, unit,
        avg(reward) AS reward,
        avg(reward) FILTER (WHERE coalesce(status, '') NOT IN ('infra_error', 'grader_error')) AS reward_masked,
        count(*) AS num_rollouts,
        count(reward) AS num_scored,
        count(reward) FILTER (WHERE status IN ('infra_error', 'grader_error')) AS num_failed_scored,
        count(*) FILTER (WHERE status IN ('infra_error', 'grader_error')) AS num_failed,
        count(*) FILTER (WHERE passed) AS num_passed,
        count(passed) AS num_passed_known
    FROM r
    GROUP BY ALL
)

SELECT
    run_id,
    split,
    step,
    facet AS environment,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    sum(num_scored)::BIGINT AS num_scored,
    count(*) AS num_samples,
    count(reward) AS num_samples_scored,
    avg(reward) AS reward_mean,
    stddev_samp(reward) AS reward_sd,
    avg(reward_masked) AS reward_masked_mean,
    stddev_samp(reward_masked) AS reward_masked_sd,
    count(reward_masked) AS num_samples_masked,
    sum(num_failed)::BIGINT AS num_failed,
    sum(num_failed_scored)::BIGINT AS num_failed_scored,
    sum(num_passed)::BIGINT AS num_passed,
    sum(num_passed_known)::BIGINT AS num_passed_known,
    sum(num_passed) / nullif(sum(num_passed_known), 0) AS pass_rate
FROM per_sample
GROUP BY ALL
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST
