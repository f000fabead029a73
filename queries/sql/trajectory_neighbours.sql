-- Question: where can one go from this rollout?
-- Grain: rollout; `relation` is `previous` or `next` (by sample and attempt, within run, step and split, of those the
-- filters leave) or `attempt` (at the same sample in the same run, those of the nearest steps); ordered by relation.
WITH own AS (
    SELECT
        *,
        { 'unknown': sample_id IS NULL, 'sample': sample_id, 'attempt': attempt, 'id': rollout_id } AS place
    FROM rollouts
    WHERE run_id = $run_id AND rollout_id = $rollout_id
),

peers AS (
    SELECT
        p.*,
        { 'unknown': p.sample_id IS NULL, 'sample': p.sample_id, 'attempt': p.attempt, 'id': p.rollout_id } AS place
    FROM filtered_rollouts([$run_id], NULL, NULL, NULL, $statuses, $tools, $environments, $subset, $agents) AS p
    WHERE p.rollout_id <> $rollout_id
),

found AS (
    SELECT
        p.* EXCLUDE (unit),
        CASE WHEN p.place < o.place THEN 'previous' ELSE 'next' END AS relation,
        row_number()
            OVER (PARTITION BY relation ORDER BY CASE relation WHEN 'next' THEN p.place END, p.place DESC)
            AS nth
    FROM peers AS p
    INNER JOIN own AS o ON p.step IS NOT DISTINCT FROM o.step AND p.split IS NOT DISTINCT FROM o.split
    QUALIFY nth = 1
    UNION ALL BY NAME
    SELECT
        a.*,
        'attempt' AS relation,
        row_number() OVER (ORDER BY abs(coalesce(a.step - o.step, 0)), a.step, a.split, a.attempt, a.rollout_id) AS nth
    FROM rollouts AS a
    INNER JOIN own AS o ON a.sample_id = o.sample_id AND a.environment IS NOT DISTINCT FROM o.environment
    WHERE a.run_id = $run_id AND a.rollout_id <> $rollout_id
    QUALIFY nth <= $max_attempts
)

SELECT
    relation,
    rollout_id,
    sample_id,
    split,
    step,
    attempt,
    reward,
    status,
    num_tool_calls
FROM found
ORDER BY relation, step NULLS FIRST, split, attempt, rollout_id
