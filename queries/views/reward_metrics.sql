-- Which of the numbers a trainer reports is its mean reward, by split: a run's `reward_name` where that is the name of
-- one of its metrics, else the first of the names that known trainers use. A metric of no split is of the split its name
-- speaks of; names that speak of none (priority from 20) then count as the train batch's.
CREATE VIEW known_reward_metrics AS
SELECT
    known.split,
    known.pattern,
    known.priority
FROM (
    VALUES
    ('train', 'scores/train_reward_mean', 1), ('valid', 'scores/valid_reward_mean', 1),
    ('train', 'train_reward_mean', 2), ('valid', 'valid_reward_mean', 2),
    ('train', 'train_mean_reward', 3), ('valid', 'full_valid_mean_reward', 3),
    ('train', 'reward', 4), ('valid', 'eval_reward', 4),
    ('train', 'reward/all/mean', 5), ('valid', 'eval/all/reward/mean', 5),
    ('train', 'reward/mean', 6), ('valid', 'eval/reward/mean', 6),
    ('train', 'critic/score/mean', 7), ('valid', 'val-core/*/reward/mean@*', 7),
    ('train', 'critic/rewards/mean', 8), ('valid', 'val-core/*/mean@*', 8),
    ('train', 'env/all/reward/total', 9), ('valid', 'test/env/all/reward/total', 9),
    ('train', 'reward/avg_raw_reward', 10), ('valid', 'eval/all/avg_score', 10),
    ('valid', 'reward', 20), ('valid', 'reward/mean', 21), ('valid', 'avg_reward', 22), ('test', 'avg_reward', 22)
) AS known (split, pattern, priority);

CREATE VIEW reward_metrics AS
WITH names AS (SELECT DISTINCT run_id, split, name FROM metrics
WHERE value IS NOT NULL
),

candidates AS (
    SELECT n.run_id, coalesce(n.split, 'train') AS split, n.name, 0 AS priority
    FROM names AS n
    INNER JOIN runs AS r
        ON n.run_id = r.run_id AND (n.name = r.reward_name OR starts_with(r.reward_name, n.name || ' '))
    UNION ALL
    SELECT n.run_id, k.split, n.name, k.priority
    FROM names AS n INNER JOIN known_reward_metrics AS k ON n.name GLOB k.pattern
    WHERE n.split = k.split OR (n.split IS NULL AND k.priority < 20)
)

SELECT DISTINCT run_id, split, name
FROM candidates
QUALIFY rank() OVER (PARTITION BY run_id, split ORDER BY priority) = 1;
