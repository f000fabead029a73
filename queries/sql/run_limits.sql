-- Question: which limits were runs configured with?
-- Grain: run and name of a limit; ordered by them. From the top level of `hyperparameters` and `config`: numbers above 0
-- whose name begins with `max`. measure: what they limit, as `distribution` names it; NULL = none of its measures
-- (as `max_steps`, which counts a trainer's updates).
WITH given AS (
    SELECT
        run_id,
        json(unnest([hyperparameters, config])) AS settings
    FROM runs
    WHERE $run_ids IS NULL OR list_contains($run_ids, run_id)
),

named AS (
    SELECT
        run_id,
        settings,
        unnest(json_keys(settings)) AS name
    FROM given
    WHERE json_type(settings) = 'OBJECT'
)

SELECT
    run_id,
    name,
    try_cast(settings ->> name AS DOUBLE) AS value,
    CASE
        WHEN name IN ('max_tool_calls', 'max_calls') THEN 'tool_calls'
        WHEN name = 'max_tool_calling_iterations' THEN 'sequential_rounds'
        WHEN name IN ('max_turns', 'max_assistant_turns') THEN 'turns'
        WHEN name IN ('max_messages', 'max_num_messages') THEN 'messages'
        WHEN name IN ('max_completion_length', 'max_completion_tokens', 'max_output_tokens', 'max_new_tokens')
            THEN 'output_tokens'
        WHEN name IN ('max_prompt_length', 'max_input_tokens') THEN 'input_tokens'
        WHEN name IN ('max_seconds', 'max_latency_s', 'max_duration_s') THEN 'latency_s'
        WHEN name IN ('max_cost', 'max_cost_usd') THEN 'cost_usd'
    END AS measure
FROM named
WHERE starts_with(name, 'max') AND try_cast(settings ->> name AS DOUBLE) > 0
ORDER BY run_id, name, value
