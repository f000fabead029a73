-- Question: which attempts stand behind the quadrants of reward against cost?
-- Grain: rollout of a sample that both arms attempted; ordered by arm, pair_key, rollout_id.
-- reward: as graded, NULL = not scored; cost_value: the measure `$cost_measure` names, in its unit, NULL = not known.
WITH r AS (
    FROM compared_rollouts($baseline, $candidate, $environments, $pair_by)
    WHERE NOT ($leave_out_failures AND is_failed)
),

paired AS (
    SELECT *
    FROM r
    QUALIFY count(DISTINCT arm) OVER (PARTITION BY pair_key) = 2
)

SELECT
    arm,
    pair_key,
    rollout_id,
    reward,
    CASE $cost_measure
        WHEN 'tool_calls' THEN num_tool_calls
        WHEN 'tool_calls_succeeded' THEN num_tool_calls_succeeded
        WHEN 'tool_calls_failed' THEN num_tool_errors
        WHEN 'repeats' THEN num_exact_repeats
        WHEN 'turns' THEN num_turns
        WHEN 'sequential_rounds' THEN num_tool_rounds
        WHEN 'reasoning_tokens' THEN reasoning_tokens
        WHEN 'output_tokens' THEN output_tokens
        WHEN 'input_tokens' THEN input_tokens
        WHEN 'tool_output_bytes' THEN tool_output_bytes
        WHEN 'latency_s' THEN latency_s
        WHEN 'cost_usd' THEN cost_usd
    END::DOUBLE AS cost_value
FROM paired
ORDER BY arm, pair_key, rollout_id
