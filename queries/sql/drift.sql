-- Question: what do the rollouts of two selections measure?
-- Grain: rollout; ordered by side, unit (its sample, as a number) and id. Tokens, bytes, seconds, US dollars; NULL = not
-- known.
SELECT
    side,
    unit,
    output_tokens::DOUBLE AS output_tokens,
    tool_output_bytes::DOUBLE AS tool_output_bytes,
    num_tool_calls::DOUBLE AS tool_calls,
    num_tool_errors::DOUBLE AS tool_errors,
    num_turns::DOUBLE AS turns,
    latency_s,
    cost_usd,
    reward
FROM rollouts_of_selections($selections, $environments)
ORDER BY side, unit, rollout_id
