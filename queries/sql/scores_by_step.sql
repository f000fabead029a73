-- Question: how does each grader's score change over training?
-- Grain: run, split, step, grader, kind; ordered by kind and grader, then run, split, step.
-- score_mean: mean over samples of each sample's mean score; score_sd: standard deviation of those means over samples.
WITH per_sample AS (
    SELECT
        r.run_id, r.split, r.step, s.grader, s.kind, r.unit,
        avg(s.value) AS score,
        count(*) AS num_rollouts,
        count(s.value) AS num_scored
    FROM scores AS s
    INNER JOIN filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS r ON hash(s.rollout_id) = hash(r.rollout_id)
    WHERE ($run_ids IS NULL OR list_contains($run_ids, s.run_id)) AND (s.value IS NULL OR isfinite(s.value))
    GROUP BY ALL
)

SELECT
    run_id,
    split,
    step,
    grader,
    kind,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    sum(num_scored)::BIGINT AS num_scored,
    count(score) AS num_samples_scored,
    avg(score) AS score_mean,
    stddev_samp(score) AS score_sd
FROM per_sample
GROUP BY run_id, split, step, grader, kind
HAVING count(score) > 0
ORDER BY kind, grader, run_id, split NULLS LAST, step NULLS FIRST
