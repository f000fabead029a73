-- Question: where are rollouts lost on the way to training, and why?
-- Grain: run, split, step (environment, where `by_environment`), stage and reason; ordered by them, NULL (not lost) first.
-- num: rollouts; num_dispatched: all of the group; num_trained_failed: of those trained on, what an error ended.
-- is_…_known: whether the source tells it of this step at all.
WITH r AS (
    SELECT *, CASE WHEN $by_environment THEN environment END AS facet
    FROM staged_rollouts(
        $book, 'none', $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
)

SELECT
    run_id,
    split,
    step,
    facet AS environment,
    lost_at,
    reason,
    count(*) AS num,
    (sum(count(*)) OVER (PARTITION BY run_id, split, step, facet))::BIGINT AS num_dispatched,
    count(*) FILTER (WHERE is_trained_on AND status IN ('infra_error', 'grader_error')) AS num_trained_failed,
    bool_or(is_status_known) AS is_status_known,
    bool_or(is_reward_known) AS is_reward_known,
    bool_or(is_advantage_known) AS is_advantage_known,
    bool_or(is_subset_known) AS is_subset_known
FROM r
GROUP BY run_id, split, step, facet, lost_at, reason
ORDER BY
    run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST,
    list_position(['finished', 'scored', 'admitted', 'trained_on'], lost_at) NULLS FIRST, num DESC, reason
