-- Question: which arms can be compared?
-- Grain: run, split and step that has rollouts; ordered by them (no split last, no step first).
-- run_name: the run's name as given; num_…: counts; reward_mean: mean over samples of each sample's mean reward.
SELECT
    s.run_id,
    r.name AS run_name,
    r.kind,
    s.split,
    s.step,
    s.num_rollouts,
    s.num_scored,
    s.num_samples,
    s.reward_mean
FROM run_summaries AS s
LEFT JOIN runs AS r ON s.run_id = r.run_id
ORDER BY s.run_id, s.split NULLS LAST, s.step NULLS FIRST
