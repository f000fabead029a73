-- Question: how many rollouts lie above a threshold, and what do they cost?
-- Grain: run (split, step, as `by` says); ordered by them. share: of rollouts with a value, 0–1; …_share: of all calls,
-- tokens and seconds, those of rollouts above; NULL where none are known or the total is 0.
-- share_sd: deviation to use with num_samples, as `clustered_sd` says.
WITH per_sample AS (
    SELECT
        run_id, split, step, unit,
        count(*) AS num_all,
        count(value) AS num_rollouts,
        count(*) FILTER (WHERE value > $threshold) AS num_tail,
        sum(num_tool_calls) AS tool_calls,
        sum(num_tool_calls) FILTER (WHERE value > $threshold) AS tail_tool_calls,
        sum(output_tokens) AS output_tokens,
        sum(output_tokens) FILTER (WHERE value > $threshold) AS tail_output_tokens,
        sum(input_tokens) AS input_tokens,
        sum(input_tokens) FILTER (WHERE value > $threshold) AS tail_input_tokens,
        sum(latency_s) AS latency_s,
        sum(latency_s) FILTER (WHERE value > $threshold) AS tail_latency_s
    FROM measured_rollouts(
        $measure, $by, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    GROUP BY run_id, split, step, unit
)

SELECT
    run_id,
    split,
    step,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    (sum(num_all) - sum(num_rollouts))::BIGINT AS num_missing,
    count(*) FILTER (WHERE num_rollouts > 0) AS num_samples,
    sum(num_tail)::BIGINT AS num_tail,
    sum(num_tail) / nullif(sum(num_rollouts), 0) AS share,
    clustered_sd(num_tail::DOUBLE, num_rollouts) AS share_sd,
    coalesce(sum(tail_tool_calls), 0) / nullif(sum(tool_calls), 0) AS tool_calls_share,
    coalesce(sum(tail_output_tokens), 0) / nullif(sum(output_tokens), 0) AS output_tokens_share,
    coalesce(sum(tail_input_tokens), 0) / nullif(sum(input_tokens), 0) AS input_tokens_share,
    coalesce(sum(tail_latency_s), 0) / nullif(sum(latency_s), 0) AS latency_share
FROM per_sample
GROUP BY run_id, split, step
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
