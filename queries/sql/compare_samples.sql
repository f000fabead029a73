-- Question: how does each sample differ between two arms?
-- Grain: sample that both arms attempted, and measure; ordered by pair_key and measure (the function puts the measures
-- side by side). num_attempts_…: rollouts; …_mean: mean over the sample's attempts in which the measure is known, in
-- its unit (NULL = in none); delta: candidate minus baseline.
SELECT
    pair_key,
    sample_id,
    candidate_sample_id,
    num_attempts_baseline,
    num_attempts_candidate,
    measure,
    baseline_mean,
    candidate_mean,
    candidate_mean - baseline_mean AS delta
FROM compared_measures($baseline, $candidate, $environments, $pair_by, $leave_out_failures)
WHERE num_attempts_baseline > 0 AND num_attempts_candidate > 0
ORDER BY pair_key, measure
