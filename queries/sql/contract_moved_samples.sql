-- Question: how does each sample stand to one limit in two arms?
-- Grain: sample of either arm; ordered by pair_key. num_attempts_…: its rollouts, num_known_…: of them those whose value of
-- the limited measure is known; share_over_…: of these, those over the bound, 0–1; …_mean: their mean value, in its unit
-- (both NULL = known of none). `run_ids`: those of the arms.
SELECT
    c.pair_key,
    coalesce(min(c.environment) FILTER (c.arm = 'baseline'), min(c.environment)) AS environment,
    coalesce(min(c.sample_id) FILTER (c.arm = 'baseline'), min(c.sample_id)) AS sample_id,
    min(c.sample_id) FILTER (c.arm = 'candidate') AS candidate_sample_id,
    count(*) FILTER (c.arm = 'baseline') AS num_attempts_baseline,
    count(*) FILTER (c.arm = 'candidate') AS num_attempts_candidate,
    count(m.value) FILTER (c.arm = 'baseline') AS num_known_baseline,
    count(m.value) FILTER (c.arm = 'candidate') AS num_known_candidate,
    avg((m.value > $bound)::INTEGER) FILTER (c.arm = 'baseline') AS share_over_baseline,
    avg((m.value > $bound)::INTEGER) FILTER (c.arm = 'candidate') AS share_over_candidate,
    avg(m.value) FILTER (c.arm = 'baseline') AS baseline_mean,
    avg(m.value) FILTER (c.arm = 'candidate') AS candidate_mean
FROM compared_rollouts($baseline, $candidate, $environments, $pair_by) AS c
INNER JOIN measured_rollouts($measure, 'run', $run_ids, NULL, NULL, NULL, NULL, NULL, NULL, NULL) AS m
    ON c.run_id = m.run_id AND c.rollout_id = m.rollout_id
WHERE NOT ($leave_out_failures AND c.is_failed)
GROUP BY c.pair_key
ORDER BY c.pair_key
