-- Question: where did another version of a grader take over, and how did the same samples score before and after?
-- Grain: run, split, grader and version that took over in training; ordered by them. before_step: the last step of the
-- version before it, earlier than first_step, the first of the new one. …_mean: over samples scored at both steps;
-- change_mean, change_sd: of their differences, after − before.
WITH said AS (
    SELECT r.run_id, r.split, r.step, s.grader, s.grader_version, r.unit, avg(s.value) AS score
    FROM scores AS s
    INNER JOIN filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS r ON hash(s.rollout_id) = hash(r.rollout_id) AND s.run_id = r.run_id
    WHERE
        s.grader_version IS NOT NULL AND s.kind <> 'assertion' AND isfinite(s.value) AND r.step IS NOT NULL
        AND NOT ends_with(s.grader, '@' || s.grader_version)
    GROUP BY ALL
),

spans AS (
    SELECT
        run_id, split, grader, grader_version,
        min(step) AS first_step,
        lag(grader_version) OVER (PARTITION BY run_id, split, grader ORDER BY min(step), grader_version) AS earlier_version
    FROM said
    GROUP BY run_id, split, grader, grader_version
),

changes AS (
    SELECT n.*, max(s.step) AS before_step
    FROM spans AS n
    INNER JOIN said AS s
        ON
            n.run_id = s.run_id AND n.split IS NOT DISTINCT FROM s.split AND n.grader = s.grader
            AND n.earlier_version = s.grader_version AND n.first_step > s.step
    GROUP BY ALL
)

SELECT
    c.run_id,
    c.split,
    c.grader,
    c.earlier_version,
    c.grader_version,
    c.before_step,
    c.first_step,
    count(*) AS num_samples,
    avg(b.score) AS before_mean,
    avg(a.score) AS after_mean,
    avg(a.score - b.score) AS change_mean,
    stddev_samp(a.score - b.score) AS change_sd
FROM changes AS c
INNER JOIN said AS b
    ON
        c.run_id = b.run_id AND c.split IS NOT DISTINCT FROM b.split AND c.grader = b.grader
        AND c.earlier_version = b.grader_version AND c.before_step = b.step
INNER JOIN said AS a
    ON
        c.run_id = a.run_id AND c.split IS NOT DISTINCT FROM a.split AND c.grader = a.grader
        AND c.grader_version = a.grader_version AND c.first_step = a.step AND b.unit = a.unit
GROUP BY ALL
ORDER BY c.run_id, c.split NULLS LAST, c.grader, c.first_step, c.grader_version
