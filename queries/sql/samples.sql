-- Question: which samples are there, and how does each of them go?
-- Grain: sample (environment and id), over runs, splits and steps; ordered as `sort` says, then by environment and id.
-- reward_first / reward_last: at the first and last scored step, mean over the runs and splits that have two of them.
-- reward_sd: of attempts at the same run, split and step, pooled. tool_calls_mean: over rollouts. num_all: before paging.
-- Cells (curve and step) may be as many as rollouts: they are grouped by a 64-bit hash of the curve's names.
WITH r AS (
    SELECT environment, sample_id, run_id, split, step, reward, num_tool_calls
    FROM filtered_rollouts($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
    WHERE sample_id IS NOT NULL
),

cells AS (
    SELECT
        hash(environment, sample_id, run_id, split) AS curve,
        step,
        avg(reward) AS cell_mean,
        coalesce(var_samp(reward) * (count(reward) - 1), 0) AS squares,
        count(reward) - 1 AS freedom
    FROM r
    WHERE reward IS NOT NULL
    GROUP BY curve, step
),

ends AS (
    SELECT
        curve,
        CASE WHEN count(step) > 1 THEN arg_min(cell_mean, step) END AS first_mean,
        CASE WHEN count(step) > 1 THEN arg_max(cell_mean, step) END AS last_mean,
        sum(squares) AS squares, sum(freedom) AS freedom
    FROM cells
    GROUP BY curve
),

curves AS (
    SELECT
        environment, sample_id, run_id,
        hash(environment, sample_id, run_id, split) AS curve,
        min(step) AS first_step, max(step) AS last_step,
        count(*) AS num_rollouts, count(reward) AS num_scored, sum(reward) AS rewards,
        sum(num_tool_calls) AS calls, count(num_tool_calls) AS num_counted
    FROM r
    GROUP BY environment, sample_id, run_id, split
)

SELECT
    c.environment,
    c.sample_id,
    count(DISTINCT c.run_id) AS num_runs,
    min(c.first_step) AS first_step,
    max(c.last_step) AS last_step,
    sum(c.num_rollouts)::BIGINT AS num_rollouts,
    sum(c.num_scored)::BIGINT AS num_scored,
    avg(e.first_mean) AS reward_first,
    avg(e.last_mean) AS reward_last,
    avg(e.last_mean) - avg(e.first_mean) AS reward_change,
    sum(c.rewards) / nullif(sum(c.num_scored), 0) AS reward_mean,
    sqrt(sum(e.squares) / nullif(sum(e.freedom), 0)) AS reward_sd,
    sum(c.calls) / nullif(sum(c.num_counted), 0) AS tool_calls_mean,
    count(*) OVER () AS num_all
FROM curves AS c
LEFT JOIN ends AS e ON c.curve = e.curve
GROUP BY c.environment, c.sample_id
ORDER BY
    CASE $sort
        WHEN 'reward' THEN reward_mean
        WHEN 'loss' THEN reward_change
        WHEN 'gain' THEN -reward_change
        WHEN 'spread' THEN -reward_sd
        WHEN 'tool_calls' THEN -tool_calls_mean
        WHEN 'rollouts' THEN -sum(c.num_rollouts)
    END NULLS LAST, c.environment NULLS FIRST, c.sample_id
LIMIT $limit OFFSET $offset
