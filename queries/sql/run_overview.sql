-- Question: what does the store hold of each run? (what `observatory ingest` says when it is done)
-- Grain: run and split; ordered by them. first_reward / last_reward: reward_mean (over samples) at the first and last step
-- that has one; num_effective: rollouts known to be trained on; num_rejects: bad records of the whole run.
WITH s AS (
    SELECT * FROM run_summaries
    WHERE $run_ids IS NULL OR list_contains($run_ids, run_id)
),

bad AS (
    SELECT run_id, sum(num_rejects)::BIGINT AS num_rejects FROM ingests
    GROUP BY run_id
)

SELECT
    r.run_id,
    r.name,
    s.split,
    r.kind,
    r.source_format,
    r.reward_name,
    count(DISTINCT s.step) AS num_steps,
    min(s.step) AS first_step,
    max(s.step) AS last_step,
    list_sort(list_distinct(flatten(list(from_json(s.environments, '["VARCHAR"]'))))) AS environments,
    max(s.num_samples) AS num_samples_max,
    coalesce(sum(s.num_rollouts), 0)::BIGINT AS num_rollouts,
    coalesce(sum(s.num_effective), 0)::BIGINT AS num_effective,
    coalesce(sum(s.num_scored), 0)::BIGINT AS num_scored,
    arg_min(s.reward_mean, coalesce(s.step, -1)) FILTER (WHERE s.reward_mean IS NOT NULL) AS first_reward,
    arg_max(s.reward_mean, coalesce(s.step, -1)) FILTER (WHERE s.reward_mean IS NOT NULL) AS last_reward,
    coalesce(any_value(bad.num_rejects), 0) AS num_rejects
FROM runs AS r
LEFT JOIN s ON r.run_id = s.run_id
LEFT JOIN bad ON r.run_id = bad.run_id
WHERE $run_ids IS NULL OR list_contains($run_ids, r.run_id)
GROUP BY r.run_id, r.name, s.split, r.kind, r.source_format, r.reward_name
ORDER BY r.run_id, s.split NULLS LAST
