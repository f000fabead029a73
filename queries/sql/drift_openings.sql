-- Question: with how much does a rollout of two selections begin?
-- Grain: sample of a selection; ordered by side and unit. Means over its attempts: opening_bytes (system and user messages
-- before the first answer; NULL unless $with_text), first_input_tokens (what the model was given at its first call).
WITH found AS (
    SELECT
        side,
        unit,
        hash(rollout_id) AS place
    FROM rollouts_of_selections($selections, $environments)
),

openings AS (
    SELECT
        hash(rollout_id) AS place,
        sum(CASE WHEN $with_text AND turn IS NULL AND role IN ('system', 'user') THEN strlen(text) END) AS num_bytes,
        min_by(input_tokens, message_index) FILTER (WHERE turn = 0 AND role = 'assistant') AS num_tokens
    FROM messages
    WHERE
        list_contains([struct_extract(each, 'run_id') FOR each IN $selections], run_id)
        AND (turn IS NULL OR turn = 0)
        AND role IN ('system', 'user', 'assistant')
    GROUP BY ALL
)

SELECT
    f.side,
    f.unit,
    avg(o.num_bytes) AS opening_bytes,
    avg(o.num_tokens) AS first_input_tokens
FROM found AS f
INNER JOIN openings AS o ON f.place = o.place
GROUP BY f.side, f.unit
ORDER BY f.side, f.unit
