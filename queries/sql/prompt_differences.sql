-- Question: which samples that two runs share have another prompt in the other run?
-- Grain: sample; ordered by id and environment. num_shared: samples in both runs, num_known: of these, those whose prompt
-- is known in both; num_different: of these, those listed here (all of them, though only `limit` rows come).
-- Where none differs, one row without a sample carries the counts.
WITH sides AS (
    SELECT run_id, sample_id, environment, prompt_text, coalesce(prompt_hash, md5(prompt_text)) AS prompt_hash
    FROM samples
    WHERE list_contains($run_ids, run_id)
),

pairs AS (
    SELECT
        b.sample_id,
        b.environment,
        b.prompt_text AS baseline_prompt,
        c.prompt_text AS candidate_prompt,
        b.prompt_hash IS NOT NULL AND c.prompt_hash IS NOT NULL AS is_known,
        b.prompt_hash <> c.prompt_hash AS is_different
    FROM sides AS b
    INNER JOIN sides AS c
        ON b.sample_id = c.sample_id AND (b.environment IS NOT DISTINCT FROM c.environment)
    WHERE b.run_id = $baseline AND c.run_id = $candidate
),

counts AS (
    SELECT
        count(*) AS num_shared,
        count(*) FILTER (is_known) AS num_known,
        count(*) FILTER (is_different) AS num_different
    FROM pairs
),

listed AS (
    SELECT *
    FROM pairs
    WHERE is_different
    ORDER BY sample_id, environment
    LIMIT $limit
)

SELECT l.sample_id, l.environment, l.baseline_prompt, l.candidate_prompt, c.num_shared, c.num_known, c.num_different
FROM counts AS c
LEFT JOIN listed AS l ON TRUE
ORDER BY l.sample_id NULLS FIRST, l.environment NULLS FIRST
