-- Question: which prompts stand in both selections, word for word?
-- Grain: prompt; the most attempted in the second selection first, then by sample id. sample ids: the first by name;
-- num_samples_…, num_rollouts_…: of that selection; prompt: its first 300 characters; num_total: how many prompts in all;
-- num_samples_of_second: samples of the second selection whose prompt is known.
WITH described AS (
    SELECT *
    FROM samples_of_selections($selections, $environments)
    WHERE prompt_hash IS NOT NULL
),

per_prompt AS (
    SELECT
        prompt_hash,
        min(sample_id) FILTER (side = 'first') AS first_sample_id,
        min(sample_id) FILTER (side = 'second') AS second_sample_id,
        count(DISTINCT unit) FILTER (side = 'first') AS num_samples_first,
        count(DISTINCT unit) FILTER (side = 'second') AS num_samples_second,
        coalesce(sum(num_rollouts) FILTER (side = 'first'), 0)::BIGINT AS num_rollouts_first,
        coalesce(sum(num_rollouts) FILTER (side = 'second'), 0)::BIGINT AS num_rollouts_second,
        left(min(prompt_text), 300) AS prompt
    FROM described
    GROUP BY prompt_hash
)

SELECT
    *,
    count(*) OVER () AS num_total,
    sum(num_samples_second) OVER ()::BIGINT AS num_samples_shared,
    (SELECT count(DISTINCT unit) FILTER (side = 'second') FROM described) AS num_samples_of_second
FROM per_prompt
WHERE num_samples_first > 0 AND num_samples_second > 0
ORDER BY num_rollouts_second DESC, second_sample_id, prompt_hash
LIMIT $limit
