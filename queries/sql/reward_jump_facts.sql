-- Question: by what graders, prompts, tools and policy was each step made, of what environments, and how much of it failed?
-- Grain: run, split and step; ordered by them. Lists of distinct values that are known, in order; score_versions: of every
-- grader that names its version, `grader = version`. num_failed: what infrastructure or grader failed, by the rules in
-- force; num_effective: known to be trained on; policy_lag: mean of step - policy_version_start (versions), NULL = unknown.
WITH r AS MATERIALIZED (
    SELECT
        run_id, rollout_id, split, step, is_foreign, subset, policy_version_start, grader_version, prompt_version,
        tools_version, model, environment
    FROM rollouts_with_failures(
        $book, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE step IS NOT NULL
),

of_scores AS (
    SELECT
        r.run_id, r.split, r.step,
        list_sort(list(DISTINCT s.grader || ' = ' || s.grader_version)) AS score_versions
    FROM scores AS s
    INNER JOIN r ON s.run_id = r.run_id AND s.rollout_id = r.rollout_id
    WHERE ($run_ids IS NULL OR list_contains($run_ids, s.run_id)) AND s.grader_version IS NOT NULL
    GROUP BY r.run_id, r.split, r.step
),

of_rollouts AS (
    SELECT
        run_id, split, step,
        count(*) AS num_rollouts,
        count(*) FILTER (WHERE is_foreign) AS num_failed,
        count(*) FILTER (WHERE subset = 'effective') AS num_effective,
        avg(step - policy_version_start) AS policy_lag,
        list_sort(list(DISTINCT grader_version) FILTER (WHERE grader_version IS NOT NULL)) AS grader_versions,
        list_sort(list(DISTINCT prompt_version) FILTER (WHERE prompt_version IS NOT NULL)) AS prompt_versions,
        list_sort(list(DISTINCT tools_version) FILTER (WHERE tools_version IS NOT NULL)) AS tools_versions,
        list_sort(list(DISTINCT model) FILTER (WHERE model IS NOT NULL)) AS models,
        histogram(environment) FILTER (WHERE environment IS NOT NULL) AS environments
    FROM r
    GROUP BY run_id, split, step
)

SELECT
    o.run_id, o.split, o.step, o.num_rollouts, o.num_failed, o.num_effective, o.policy_lag, o.grader_versions,
    o.prompt_versions, o.tools_versions, o.models, o.environments, s.score_versions
FROM of_rollouts AS o
LEFT JOIN of_scores AS s ON o.run_id = s.run_id AND o.split IS NOT DISTINCT FROM s.split AND o.step = s.step
ORDER BY o.run_id, o.split NULLS LAST, o.step
