-- Question: what is each of several arms made of?
-- Grain: arm, its place in `$arms`; ordered by it; an arm without rollouts has counts of 0.
-- num_shared: samples every arm attempted; num_shared_with_first: samples that the first arm attempted too; …_rate: 0–1
-- over rollouts whose status is known; the last columns list distinct values.
WITH r AS (
    FROM rollouts_of_arms($arms, $environments, $pair_by)
),

by_sample AS (
    SELECT DISTINCT
        arm,
        pair_key
    FROM r
),

placed AS (
    SELECT
        arm,
        count(*) OVER (PARTITION BY pair_key) AS num_arms,
        min(arm) OVER (PARTITION BY pair_key) AS first_arm
    FROM by_sample
),

shared AS (
    SELECT
        arm,
        count(*) AS num_samples,
        count(*) FILTER (num_arms = len($arms)) AS num_shared,
        count(*) FILTER (first_arm = 0) AS num_shared_with_first
    FROM placed
    GROUP BY arm
),

wanted AS (SELECT unnest(range(len($arms))) AS arm)

SELECT
    w.arm,
    count(r.rollout_id) AS num_rollouts,
    coalesce(any_value(s.num_samples), 0) AS num_samples,
    count(r.sample_id) AS num_with_sample,
    count(r.reward) AS num_scored,
    coalesce(any_value(s.num_shared), 0) AS num_shared,
    coalesce(any_value(s.num_shared_with_first), 0) AS num_shared_with_first,
    count(DISTINCT r.environment) AS num_environments,
    count(r.status) AS num_status_known,
    count(*) FILTER (r.is_failed) AS num_failed,
    count(*) FILTER (r.is_failed) / nullif(count(r.status), 0) AS failure_rate,
    count(*) FILTER (r.status = 'truncated') / nullif(count(r.status), 0) AS truncation_rate,
    list_sort(list(DISTINCT r.environment) FILTER (r.environment IS NOT NULL)) AS environments,
    list_sort(list(DISTINCT r.agent) FILTER (r.agent IS NOT NULL)) AS agents,
    list_sort(list(DISTINCT r.model) FILTER (r.model IS NOT NULL)) AS models,
    list_sort(list(DISTINCT r.grader_version) FILTER (r.grader_version IS NOT NULL)) AS grader_versions,
    list_sort(list(DISTINCT r.prompt_version) FILTER (r.prompt_version IS NOT NULL)) AS prompt_versions,
    list_sort(list(DISTINCT r.tools_version) FILTER (r.tools_version IS NOT NULL)) AS tools_versions
FROM wanted AS w
LEFT JOIN r ON w.arm = r.arm
LEFT JOIN shared AS s ON w.arm = s.arm
GROUP BY w.arm
ORDER BY w.arm
