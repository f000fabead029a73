-- Question: which calls return something different when another attempt at the same sample makes them again?
-- Grain: run, environment, sample and call (tool and canonical arguments); the most different answers first. Of each
-- rollout counts its first such call that was executed and whose answer is known. num_total: how many there are.
-- rollout_id, other_rollout_id: two whose answers differ.
WITH firsts AS (
    SELECT
        run_id, environment, sample_id, tool, rollout_id, arguments_hash,
        arg_min(output_hash, call_index) AS output,
        arg_min(substr(arguments_raw, 1, 500), call_index) AS arguments
    FROM sampled_calls($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
    GROUP BY run_id, environment, sample_id, tool, rollout_id, arguments_hash
)

SELECT
    run_id,
    environment,
    sample_id,
    tool,
    count(*) AS num_rollouts,
    count(DISTINCT output) AS num_outputs,
    any_value(arguments) AS example_arguments,
    arg_min(rollout_id, output) AS rollout_id,
    arg_max(rollout_id, output) AS other_rollout_id,
    arguments_hash,
    count(*) OVER () AS num_total
FROM firsts
GROUP BY run_id, environment, sample_id, tool, arguments_hash
HAVING min(output) <> max(output)
ORDER BY num_outputs DESC, num_rollouts DESC, run_id ASC, environment ASC NULLS LAST, sample_id ASC, arguments_hash ASC
LIMIT $limit OFFSET $offset
