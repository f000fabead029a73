-- Question: which runs and splits hold what could be compared?
-- Grain: run, split and step that has rollouts; ordered by run, split and step.
-- environments: of these rollouts; parent_run: the run this one continues or evaluates.
SELECT
    s.run_id,
    r.name AS run_name,
    r.kind,
    r.parent_run,
    s.split,
    s.step,
    s.num_rollouts,
    from_json(s.environments, '["VARCHAR"]') AS environments
FROM run_summaries AS s
LEFT JOIN runs AS r ON s.run_id = r.run_id
WHERE s.num_rollouts > 0
ORDER BY s.run_id, s.split NULLS LAST, s.step NULLS FIRST
