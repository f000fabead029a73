-- Question: which run holds this rollout?
-- Grain: run (at most one). Reads one narrow column of all runs: ask once, then name the run in every other question.
SELECT run_id FROM rollouts
WHERE rollout_id = $rollout_id
ORDER BY run_id
