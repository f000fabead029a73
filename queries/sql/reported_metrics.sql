-- Question: which numbers did the trainer report?
-- Grain: run, split, step, name, labels; ordered by is_reward first, then name, run, split, step.
-- `split`: as reported, else the split its name speaks of. `is_reward`: this is the trainer's mean reward of that split.
SELECT
    m.run_id,
    coalesce(m.split, w.split) AS split,
    m.step,
    m.name,
    m.labels,
    m.value,
    m.recorded_at,
    w.name IS NOT NULL AS is_reward
FROM metrics AS m
LEFT JOIN reward_metrics AS w
    ON m.run_id = w.run_id AND m.name = w.name AND (m.split = w.split OR m.split IS NULL)
WHERE
    ($run_ids IS NULL OR list_contains($run_ids, m.run_id))
    AND ($splits IS NULL OR coalesce(m.split, w.split) IS NULL OR list_contains($splits, coalesce(m.split, w.split)))
    AND ($step_from IS NULL OR m.step >= $step_from)
    AND ($step_to IS NULL OR m.step <= $step_to)
    AND ($names IS NULL OR list_contains($names, m.name))
    AND (NOT $only_reward OR w.name IS NOT NULL)
ORDER BY is_reward DESC, m.name, m.run_id, split NULLS LAST, m.step NULLS FIRST, m.labels NULLS FIRST
