-- Question: which tools does the agent call, how often, and how do they do?
-- Grain: run, step, tool; ordered by run, step, then the most called first. error_rate and share: 0–1, share of the calls
-- of the run and step. num_rollouts: those that called it, only if `reach` asks for it. latency: over calls whose seconds
-- are known.
SELECT
    run_id,
    step,
    tool,
    count(*) AS num_calls,
    count(*) FILTER (WHERE is_failed) AS num_errors,
    count(*) FILTER (WHERE is_failed) / count(*) AS error_rate,
    count(repeat_of) AS num_repeats,
    nullif(count(DISTINCT CASE WHEN $reach THEN rollout_id END), 0) AS num_rollouts,
    count(*) / sum(count(*)) OVER (PARTITION BY run_id, step) AS share,
    count(latency_s) AS num_latency_known,
    quantile_cont(latency_s, [0.5, 0.95])[1] AS latency_p50_s,
    quantile_cont(latency_s, [0.5, 0.95])[2] AS latency_p95_s
FROM filtered_calls(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, step, tool
ORDER BY run_id, step NULLS FIRST, num_calls DESC, tool
