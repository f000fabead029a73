-- Question: by which models, agents, graders, versions and tools are the rollouts of two arms described?
-- Grain: thing, arm and value found; ordered by them. Over the samples that both arms attempted, over all where none is
-- in both. num_rollouts: rollouts that have the value (for dataset_version: samples).
-- graders: name, kind and weight as JSON, without assertions, which belong to single samples.
WITH r AS (
    FROM comparable_rollouts($baseline, $candidate, $environments, $pair_by)
),

fields AS (
    FROM (
        SELECT arm, environment, agent, model, grader_version, prompt_version, tools_version
        FROM r
    ) UNPIVOT (found FOR about IN (environment, agent, model, grader_version, prompt_version, tools_version))
),

graded AS (
    SELECT r.arm, s.rollout_id, s.grader, s.kind, s.weight, s.grader_version
    FROM scores AS s
    INNER JOIN r ON s.run_id = r.run_id AND s.rollout_id = r.rollout_id
    WHERE list_contains($run_ids, s.run_id) AND s.kind <> 'assertion'
)

SELECT about, arm, found, count(*) AS num_rollouts
FROM fields
GROUP BY about, arm, found
UNION ALL
SELECT
    'grader' AS about,
    arm,
    json_object('grader', grader, 'kind', kind, 'weight', weight)::VARCHAR AS found,
    count(*) AS num_rollouts
FROM graded
GROUP BY arm, grader, kind, weight
UNION ALL
SELECT
    'grader_version_of' AS about,
    arm,
    json_object('grader', grader, 'version', grader_version)::VARCHAR AS found,
    count(*) AS num_rollouts
FROM graded
WHERE grader_version IS NOT NULL
GROUP BY arm, grader, grader_version
UNION ALL
SELECT 'tool' AS about, r.arm, c.tool AS found, count(DISTINCT c.rollout_id) AS num_rollouts
FROM tool_calls AS c
INNER JOIN r ON c.run_id = r.run_id AND c.rollout_id = r.rollout_id
WHERE
    list_contains($run_ids, c.run_id)
    AND c.requestor <> 'user'
    AND c.status <> 'orphan'
GROUP BY r.arm, c.tool
UNION ALL
SELECT 'dataset_version' AS about, r.arm, s.dataset_version AS found, count(DISTINCT s.sample_id) AS num_rollouts
FROM samples AS s
INNER JOIN r ON s.run_id = r.run_id AND s.sample_id = r.sample_id
WHERE list_contains($run_ids, s.run_id) AND s.dataset_version IS NOT NULL
GROUP BY r.arm, s.dataset_version
ORDER BY about, arm, found
