-- Question: what is this arm: which model, before or after tuning, and what of it says nothing about samples?
-- Grain: the arm (no row where it has no rollouts). models, prompt_versions: distinct ones of its rollouts, in order.
-- first_step: of the run, over all splits; num_…: rollouts.
SELECT
    u.kind,
    u.base_model,
    u.parent_run,
    list_sort(list_distinct(list(r.model))) AS models,
    list_sort(list_distinct(list(r.prompt_version))) AS prompt_versions,
    (
        SELECT min(s.step) FROM run_summaries AS s
        WHERE s.run_id = struct_extract($arm, 'run_id')
    ) AS first_step,
    count(*) AS num_rollouts,
    count(*) FILTER (WHERE r.sample_id IS NULL) AS num_without_sample,
    count(*) FILTER (WHERE r.status IN ('infra_error', 'grader_error')) AS num_failed,
    count(*) FILTER (WHERE r.reward IS NULL) AS num_not_scored,
    count(DISTINCT r.environment) AS num_environments
FROM rollouts AS r
LEFT JOIN runs AS u ON r.run_id = u.run_id
WHERE
    r.run_id = struct_extract($arm, 'run_id')
    AND r.split IS NOT DISTINCT FROM struct_extract($arm, 'split')
    AND r.step IS NOT DISTINCT FROM struct_extract($arm, 'step')
    AND ($environments IS NULL OR list_contains($environments, r.environment))
GROUP BY u.kind, u.base_model, u.parent_run
