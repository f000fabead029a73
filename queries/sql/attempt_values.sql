-- Question: which rewards did an arm's attempts at each sample get, and how often?
-- Grain: sample and reward, of attempts that are used and scored; ordered by them. sample: its number from 0 in the order
-- of `learnability`; num_attempts: how often it got this reward.
WITH numbered AS (
    SELECT
        reward,
        is_used,
        dense_rank() OVER (ORDER BY environment NULLS FIRST, sample_id) - 1 AS sample
    FROM judged_attempts($arm, $environments, $threshold, $leave_out_failures)
)

SELECT
    sample,
    reward,
    count(*) AS num_attempts
FROM numbered
WHERE is_used AND reward IS NOT NULL
GROUP BY sample, reward
ORDER BY sample, reward
