-- Question: which calls are repeated most within rollouts?
-- Grain: run, pattern (calls alike: one `near_key`); the most repeats first. num_repeats: exact and near ones together;
-- num_rollouts: those it is repeated in; most_in_rollout: repeats in the worst of them, which is the example.
WITH repeats AS MATERIALIZED (
    SELECT
        run_id,
        near_key,
        rollout_id,
        tool,
        call_index,
        repeat_of,
        repeat_output,
        is_wasted
    FROM filtered_calls(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE repeat_of IS NOT NULL OR near_repeat_of IS NOT NULL
),

patterns AS (
    SELECT
        run_id,
        near_key,
        min(tool) AS tool,
        count(*) AS num_repeats,
        count(repeat_of) AS num_exact_repeats,
        count(*) FILTER (WHERE repeat_output = 'same') AS num_same_output,
        count(*) FILTER (WHERE repeat_output = 'different') AS num_different_output,
        count(*) FILTER (WHERE is_wasted) AS num_wasted_calls
    FROM repeats
    GROUP BY run_id, near_key
    ORDER BY num_repeats DESC, run_id ASC, near_key ASC
    LIMIT $limit
),

per_rollout AS (
    SELECT
        r.run_id,
        r.near_key,
        r.rollout_id,
        count(*) AS num_repeats,
        min(r.call_index) AS call_index
    FROM repeats AS r
    INNER JOIN patterns AS p ON r.run_id = p.run_id AND r.near_key = p.near_key
    GROUP BY r.run_id, r.near_key, r.rollout_id
),

examples AS (
    SELECT
        run_id,
        near_key,
        count(*) AS num_rollouts,
        max(num_repeats) AS most_in_rollout,
        arg_max({'rollout_id': rollout_id, 'call_index': call_index}, (num_repeats, rollout_id)) AS worst
    FROM per_rollout
    GROUP BY run_id, near_key
)

SELECT
    p.run_id,
    p.tool,
    p.num_repeats,
    p.num_exact_repeats,
    p.num_repeats - p.num_exact_repeats AS num_near_repeats,
    p.num_same_output,
    p.num_different_output,
    p.num_wasted_calls,
    e.num_rollouts,
    e.most_in_rollout,
    c.arguments_raw[:500] AS example_arguments,
    e.worst.rollout_id AS example_rollout_id,
    e.worst.call_index AS example_call_index,
    p.near_key AS pattern
FROM patterns AS p
INNER JOIN examples AS e ON p.run_id = e.run_id AND p.near_key = e.near_key
INNER JOIN tool_calls AS c
    ON p.run_id = c.run_id AND e.worst.rollout_id = c.rollout_id AND e.worst.call_index = c.call_index
ORDER BY p.num_repeats DESC, p.run_id ASC, p.near_key ASC
