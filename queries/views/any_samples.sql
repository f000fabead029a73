-- What is said of a sample where its own environment is not described: without an environment (is_general), which holds
-- for any; else, for rollouts that name none themselves, of the first environment. One row per run and sample.
CREATE VIEW any_samples AS
SELECT
    run_id,
    sample_id,
    first(prompt_hash ORDER BY environment NULLS FIRST) AS prompt_hash,
    first(prompt_text ORDER BY environment NULLS FIRST) AS prompt_text,
    first(cluster_key ORDER BY environment NULLS FIRST) AS cluster_key,
    first(tags ORDER BY environment NULLS FIRST) AS tags,
    first(metadata ORDER BY environment NULLS FIRST) AS metadata,
    bool_or(environment IS NULL) AS is_general
FROM samples
GROUP BY run_id, sample_id
