-- Question: what do these samples ask for?
-- Grain: environment and sample; ordered by them. As the first run that knows the sample says (order of ids).
-- prompt: beginning of the first line that says something, at most 200 characters; num_prompt_bytes: the whole, bytes.
SELECT
    environment,
    sample_id,
    left(trim(regexp_extract(first(prompt_text ORDER BY run_id), '[^\s].*')), 200) AS prompt,
    strlen(first(prompt_text ORDER BY run_id)) AS num_prompt_bytes,
    first(tags ORDER BY run_id) AS tags
FROM samples
WHERE
    list_contains($sample_ids, sample_id)
    AND ($run_ids IS NULL OR list_contains($run_ids, run_id))
GROUP BY environment, sample_id
ORDER BY environment NULLS FIRST, sample_id
