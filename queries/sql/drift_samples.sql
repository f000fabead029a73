-- Question: what is known of the samples of two selections?
-- Grain: sample of a selection; ordered by side and unit (the sample as a number).
-- num_rollouts: attempts at it; prompt_bytes: length of its prompt; tags: JSON list.
SELECT
    side,
    unit,
    min(environment) AS environment,
    max(num_rollouts) AS num_rollouts,
    max(strlen(prompt_text))::DOUBLE AS prompt_bytes,
    min(prompt_hash) AS prompt_hash,
    min(cluster_key) AS cluster_key,
    min(tags) AS tags
FROM samples_of_selections($selections, $environments)
GROUP BY side, unit
ORDER BY side, unit
