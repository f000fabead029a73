-- Question: how do two arms differ, measure by measure?
-- Grain: measure; ordered by it.
-- num_paired: samples where it is known in both arms; num_only_…: known in that arm only; num_missing_…: samples of the
-- arm where it is not known; baseline_means, candidate_means: mean per sample in the unit of the measure, aligned (NULL
-- = not known), cluster_keys: what samples share.
SELECT
    measure,
    count(*) FILTER (baseline_mean IS NOT NULL AND candidate_mean IS NOT NULL) AS num_paired,
    count(*) FILTER (baseline_mean IS NOT NULL AND candidate_mean IS NULL) AS num_only_baseline,
    count(*) FILTER (baseline_mean IS NULL AND candidate_mean IS NOT NULL) AS num_only_candidate,
    count(*) FILTER (num_attempts_baseline > 0 AND baseline_mean IS NULL) AS num_missing_baseline,
    count(*) FILTER (num_attempts_candidate > 0 AND candidate_mean IS NULL) AS num_missing_candidate,
    list(baseline_mean ORDER BY pair_key) AS baseline_means,
    list(candidate_mean ORDER BY pair_key) AS candidate_means,
    list(cluster_key ORDER BY pair_key) AS cluster_keys
FROM compared_measures($baseline, $candidate, $environments, $pair_by, $leave_out_failures)
GROUP BY measure
ORDER BY measure
