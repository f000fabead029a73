-- Question: what was said in this rollout?
-- Grain: message; in order. `text`, `reasoning_text`: their first `max_chars` characters; num_text_bytes,
-- num_reasoning_bytes: the whole, bytes. Tokens and seconds per message.
SELECT
    message_index,
    role,
    agent,
    turn,
    CASE WHEN $max_chars IS NULL THEN text ELSE left(text, $max_chars) END AS text,
    strlen(text) AS num_text_bytes,
    CASE WHEN $max_chars IS NULL THEN reasoning_text ELSE left(reasoning_text, $max_chars) END AS reasoning_text,
    strlen(reasoning_text) AS num_reasoning_bytes,
    tool,
    tool_call_id,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    started_at,
    ended_at,
    latency_s,
    finish_reason,
    turn_reward,
    is_sampled,
    branch,
    logprob_mean,
    entropy_mean
FROM messages
WHERE
    run_id = $run_id
    AND rollout_id = $rollout_id
    AND message_index >= $first
    AND ($last IS NULL OR message_index <= $last)
ORDER BY message_index
