-- Question: what did readers say of which rollout?
-- Grain: annotation, newest first. is_latest: the last its author said of this rollout, message and rule (notes apart).
-- Columns of the rollout are NULL where the store no longer holds it.
WITH
rollout AS (
    SELECT
        run_id,
        rollout_id,
        sample_id,
        split,
        step,
        reward
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE rollout_id IN (SELECT rollout_id FROM annotations)
)

SELECT
    a.created_at,
    a.author,
    a.label,
    a.rule,
    a.note,
    a.message_index,
    row_number() OVER (
        PARTITION BY a.run_id, a.rollout_id, a.message_index, a.rule, a.author, a.label = 'note'
        ORDER BY a.created_at DESC, a.annotation_id DESC
    ) = 1
    AND a.label <> 'note' AS is_latest,
    r.sample_id,
    r.split,
    r.step,
    r.reward,
    a.run_id,
    a.rollout_id,
    a.annotation_id
FROM annotations AS a
LEFT JOIN rollout AS r ON a.run_id = r.run_id AND a.rollout_id = r.rollout_id
WHERE
    ($run_ids IS NULL OR list_contains($run_ids, a.run_id))
    AND ($rollout_id IS NULL OR a.rollout_id = $rollout_id)
    AND (r.rollout_id IS NOT NULL OR NOT $is_narrowed)
ORDER BY a.created_at DESC, a.annotation_id
