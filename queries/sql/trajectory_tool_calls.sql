-- Question: which tools were called in this rollout, and with what result?
-- Grain: tool call; in order. `arguments`, `output_text`: their first `max_chars` characters; output_bytes: the whole.
-- With `first` and `last`: calls that messages from `first` to `last` asked for, and those no message asked for.
SELECT
    call_index,
    turn,
    message_index,
    result_index,
    wrapper_id,
    requestor,
    agent,
    tool,
    tool_raw,
    CASE
        WHEN $max_chars IS NULL THEN coalesce(arguments, arguments_raw) ELSE
            left(coalesce(arguments, arguments_raw), $max_chars)
    END AS arguments,
    strlen(coalesce(arguments, arguments_raw)) AS num_argument_bytes,
    is_parsed,
    repeat_of,
    near_repeat_of,
    repeat_output,
    is_wasted,
    CASE WHEN $max_chars IS NULL THEN output_text ELSE left(output_text, $max_chars) END AS output_text,
    output_bytes,
    status,
    is_executed,
    coalesce(is_error_flagged, FALSE) OR coalesce(is_error_inferred, FALSE) OR status = 'error' AS is_error,
    is_error_inferred,
    error_kind,
    started_at,
    ended_at,
    latency_s,
    latency_source,
    exit_code,
    branch
FROM tool_calls
WHERE
    run_id = $run_id
    AND rollout_id = $rollout_id
    AND (message_index IS NULL OR (message_index >= $first AND ($last IS NULL OR message_index <= $last)))
ORDER BY call_index
