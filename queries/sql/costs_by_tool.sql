-- Question: how many seconds and dollars does each tool take?
-- Grain: run, tool; ordered by run, then the most called first. Executed calls of the agent. num_costed: calls with a price,
-- usd: of these. Of all rollouts, also of those whose cost the source reports: these dollars are never added to that.
WITH priced AS (
    SELECT *, place_of($prices, 'tools', tool) AS priced_at
    FROM filtered_calls(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE coalesce(is_executed, TRUE)
)

SELECT
    run_id,
    tool,
    count(*) AS num_calls,
    count(known_seconds(latency_s)) AS num_hours_known,
    sum(known_seconds(latency_s)) / 3600 AS hours,
    count(priced_at) AS num_costed,
    sum(
        coalesce(price_of($prices, 'tool_call', priced_at), 0)
        + coalesce(price_of($prices, 'tool_second', priced_at) * known_seconds(latency_s), 0)
    ) FILTER (WHERE priced_at IS NOT NULL) AS usd
FROM priced
GROUP BY run_id, tool
ORDER BY run_id, num_calls DESC, tool
