-- Question: which fields are filled at all?
-- Grain: run; ordered by id. Each num_…: rollouts of the run that have the field; num_rollouts: all of them.
-- num_scores, num_metrics, num_checkpoints: rows of these tables.
WITH s AS (
    SELECT
        run_id,
        count(*) AS num_scores
    FROM scores
    GROUP BY run_id
),

m AS (
    SELECT
        run_id,
        count(*) AS num_metrics
    FROM metrics
    GROUP BY run_id
),

c AS (
    SELECT
        run_id,
        count(*) AS num_checkpoints
    FROM checkpoints
    GROUP BY run_id
),

r AS (
    SELECT
        run_id,
        count(*) AS num_rollouts,
        count(sample_id) AS num_sample,
        count(step) AS num_step,
        count(split) AS num_split,
        count(subset) AS num_subset,
        count(reward) AS num_reward,
        count(status) AS num_status,
        count(num_messages) AS num_messages,
        count(num_tool_calls) AS num_tool_calls,
        count(tool_latency_s) AS num_tool_latency,
        count(coalesce(output_tokens, input_tokens)) AS num_tokens,
        count(reasoning_tokens) AS num_reasoning_tokens,
        count(latency_s) AS num_latency,
        count(cost_usd) AS num_cost
    FROM filtered_rollouts($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
    GROUP BY run_id
)

SELECT
    r.*,
    coalesce(s.num_scores, 0) AS num_scores,
    coalesce(m.num_metrics, 0) AS num_metrics,
    coalesce(c.num_checkpoints, 0) AS num_checkpoints
FROM r
LEFT JOIN s ON r.run_id = s.run_id
LEFT JOIN m ON r.run_id = m.run_id
LEFT JOIN c ON r.run_id = c.run_id
ORDER BY r.run_id
