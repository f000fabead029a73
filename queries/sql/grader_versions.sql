-- Question: how did each version of a grader score, step by step?
-- Grain: run, split, grader, step and version; ordered by them. Scores whose version is known; `reward` is the rollouts'
-- own reward in runs where no score is the reward. score_mean, score_sd: over samples, of each sample's mean score.
WITH said AS (
    SELECT run_id, hash(rollout_id) AS rollout, grader, grader_version, value
    FROM scores
    WHERE grader_version IS NOT NULL AND kind <> 'assertion' AND isfinite(value)
),

rollout AS (
    FROM filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

versioned AS (
    SELECT r.run_id, r.split, r.step, s.grader, s.grader_version, r.unit, s.value
    FROM said AS s
    INNER JOIN rollout AS r ON s.rollout = hash(r.rollout_id) AND s.run_id = r.run_id
    UNION ALL
    SELECT run_id, split, step, 'reward' AS grader, grader_version, unit, reward AS value
    FROM rollout
    WHERE
        grader_version IS NOT NULL
        AND isfinite(reward)
        AND run_id NOT IN (SELECT run_id FROM scores
WHERE kind = 'reward' OR grader = 'reward')
),

per_sample AS (
    SELECT run_id, split, step, grader, grader_version, unit, avg(value) AS score, count(*) AS num
    FROM versioned
    GROUP BY ALL
)

SELECT
    run_id,
    split,
    grader,
    step,
    grader_version,
    sum(num)::BIGINT AS num_rollouts,
    count(*) AS num_samples,
    avg(score) AS score_mean,
    stddev_samp(score) AS score_sd
FROM per_sample
GROUP BY run_id, split, grader, step, grader_version
ORDER BY run_id, split NULLS LAST, grader, step NULLS FIRST, grader_version
