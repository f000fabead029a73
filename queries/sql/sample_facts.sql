-- Question: what is this sample?
-- Grain: run and environment that describe it; ordered by them, what is said of any environment last. prompt_text: its
-- first 100 000 characters; num_prompt_bytes: the whole.
SELECT
    run_id,
    environment,
    sample_id,
    reference,
    tags,
    cluster_key,
    dataset_version,
    metadata,
    left(prompt_text, 100000) AS prompt_text,
    strlen(prompt_text) AS num_prompt_bytes
FROM samples
WHERE sample_id = $sample_id AND ($environment IS NULL OR environment IS NULL OR environment = $environment)
ORDER BY run_id, environment NULLS LAST
