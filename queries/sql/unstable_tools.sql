-- Question: how often does a tool return something different when another attempt at the same sample makes the same call?
-- Grain: run, environment and tool; the largest share first. num_pairs: calls (sample, tool, arguments) that two rollouts or
-- more made; num_unstable: those of them with different answers; share_sd: to use with num_samples.
WITH firsts AS (
    SELECT
        run_id, environment, unit, tool, rollout,
        hash(arguments_hash) AS arguments,
        arg_min(hash(output_hash), call_index) AS output
    FROM sampled_calls($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
    GROUP BY run_id, environment, unit, tool, rollout, hash(arguments_hash)
),

calls AS (
    SELECT
        run_id, environment, unit, tool, arguments,
        min(output) <> max(output) AS is_unstable
    FROM firsts
    GROUP BY run_id, environment, unit, tool, arguments
    HAVING count(*) > 1
),

per_sample AS (
    SELECT
        run_id, environment, unit, tool,
        count(*) AS num,
        count(*) FILTER (WHERE is_unstable) AS num_unstable
    FROM calls
    GROUP BY run_id, environment, unit, tool
)

SELECT
    run_id,
    environment,
    tool,
    sum(num)::BIGINT AS num_pairs,
    sum(num_unstable)::BIGINT AS num_unstable,
    count(*) AS num_samples,
    sum(num_unstable) / sum(num) AS share,
    clustered_sd(num_unstable::DOUBLE, num) AS share_sd
FROM per_sample
GROUP BY run_id, environment, tool
ORDER BY share DESC, num_unstable DESC, run_id ASC, environment ASC NULLS LAST, tool ASC
