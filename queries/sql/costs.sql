-- Question: how many tokens, hours and dollars do rollouts take?
-- Grain: run (split, step, environment, model, as `by` says); ordered by them. Tokens, hours (of rollouts, not of the clock)
-- and US dollars; …_known: rollouts of which they are known. usd: of num_costed rollouts, num_reported of them as the source
-- reports it; model_usd … environment_usd: parts of the rest. lacks_…: rollouts of the rest whose part is incomplete.
SELECT
    run_id,
    CASE WHEN $by IN ('split', 'step') THEN split END AS split,
    CASE WHEN $by = 'step' THEN step END AS step,
    CASE WHEN $by = 'environment' THEN environment END AS environment,
    CASE WHEN $by = 'model' THEN priced_model END AS model,
    count(*) AS num_rollouts,
    sum(known_seconds(latency_s)) / 3600 AS hours,
    count(known_seconds(latency_s)) AS num_hours_known,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(cached_tokens)::BIGINT AS cached_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
    count(coalesce(input_tokens, output_tokens)) AS num_tokens_known,
    sum(num_tool_calls)::BIGINT AS tool_calls,
    count(usd) AS num_costed,
    count(*) FILTER (WHERE is_reported) AS num_reported,
    sum(usd) FILTER (WHERE is_reported) AS reported_usd,
    sum(model_usd) FILTER (WHERE NOT is_reported) AS model_usd,
    sum(tools_usd) FILTER (WHERE NOT is_reported) AS tools_usd,
    sum(graders_usd) FILTER (WHERE NOT is_reported) AS graders_usd,
    sum(environment_usd) FILTER (WHERE NOT is_reported) AS environment_usd,
    sum(usd) AS usd,
    count(*) FILTER (WHERE NOT is_reported AND lacks_model) AS lacks_model,
    count(*) FILTER (WHERE NOT is_reported AND lacks_tools) AS lacks_tools,
    count(*) FILTER (WHERE NOT is_reported AND lacks_graders) AS lacks_graders,
    count(*) FILTER (WHERE NOT is_reported AND lacks_environment) AS lacks_environment
FROM spending(
    $prices, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY ALL
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST, model
