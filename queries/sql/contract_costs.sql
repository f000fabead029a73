-- Question: what do the rollouts over one limit cost, and what would be saved had they stopped at it?
-- Grain: run (split, step, as `by` says); ordered by them. Over rollouts whose value of the limited measure is known.
-- …_share: of all calls, tokens, seconds and US dollars, those spent in rollouts over the bound, 0–1 (NULL: none known).
-- …_saved: mean per rollout (over or not) had each over it cost only bound ÷ value of what it did: exact for the limited
-- measure, for the others as if they grew evenly with it.
WITH r AS (
    SELECT
        *,
        coalesce(value > $bound, FALSE) AS is_over,
        CASE WHEN value > $bound THEN 1 - $bound / value ELSE 0 END AS surplus
    FROM measured_rollouts(
        $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE value IS NOT NULL
)

SELECT
    run_id,
    split,
    step,
    count(*) AS num_rollouts,
    count(*) FILTER (WHERE is_over) AS num_over,
    avg(value) FILTER (WHERE is_over) - $bound AS excess_mean,
    sum(num_tool_calls * is_over::INTEGER) / nullif(sum(num_tool_calls), 0) AS tool_calls_share,
    sum(output_tokens * is_over::INTEGER) / nullif(sum(output_tokens), 0) AS output_tokens_share,
    sum(input_tokens * is_over::INTEGER) / nullif(sum(input_tokens), 0) AS input_tokens_share,
    sum(latency_s * is_over::INTEGER) / nullif(sum(latency_s), 0) AS latency_share,
    sum(cost_usd * is_over::INTEGER) / nullif(sum(cost_usd), 0) AS cost_share,
    avg(num_tool_calls * surplus) AS tool_calls_saved,
    avg(output_tokens * surplus) AS output_tokens_saved,
    avg(input_tokens * surplus) AS input_tokens_saved,
    avg(latency_s * surplus) AS latency_saved_s,
    avg(cost_usd * surplus) AS cost_saved_usd
FROM r
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
