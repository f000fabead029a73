-- Question: where does a rollout say this?
-- Grain: place (a message's text or reasoning, a call's tool, arguments or output) that holds $text whatever its case; in
-- order. An answer that is a call's result counts as that call's output. snippet: around the first of num_matches.
WITH calls AS (
    SELECT message_index, result_index, call_index, tool, arguments_raw, output_text FROM tool_calls
    WHERE run_id = $run_id AND rollout_id = $rollout_id
),

said AS (
    SELECT message_index, role, text, reasoning_text FROM messages
    WHERE run_id = $run_id AND rollout_id = $rollout_id
),

answered AS (
    SELECT result_index FROM calls
    WHERE result_index IS NOT NULL
),

places AS (
    SELECT message_index, NULL AS call_index, role AS place, text AS held FROM said
    WHERE message_index NOT IN (SELECT a.result_index FROM answered AS a)
    UNION ALL
    SELECT message_index, NULL AS call_index, 'reasoning' AS place, reasoning_text AS held FROM said
    UNION ALL
    SELECT message_index, call_index, 'call' AS place, concat_ws(' ', tool, arguments_raw) AS held FROM calls
    UNION ALL
    SELECT c.message_index, c.call_index, 'output' AS place, coalesce(c.output_text, s.text) AS held
    FROM calls AS c LEFT JOIN said AS s ON c.result_index = s.message_index
),

found AS (
    SELECT *, strpos(lower(held), lower($text)) AS first_at FROM places
    WHERE contains(lower(held), lower($text))
)

SELECT
    message_index,
    call_index,
    place,
    substring(held, greatest(1, first_at - 48), 128 + length($text)) AS snippet,
    ((length(held) - length(replace(lower(held), lower($text), ''))) // length($text))::BIGINT AS num_matches
FROM found
ORDER BY message_index ASC NULLS LAST, call_index ASC NULLS FIRST, place ASC
LIMIT $limit
