-- Question: how large are tools' answers, and which of them are huge or cut off?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does) and tool; the most bytes first. Bytes;
-- shares 0–1 of the outputs that are known (num_outputs), truncated_share of those of at least `read_bytes` bytes
-- (num_read), which alone are looked through.
WITH calls AS (
    SELECT run_id, split, step, environment, agent, tool, rollout, output_bytes
    FROM grouped_calls(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

read AS (
    SELECT
        run_id, split, step, environment, agent, tool,
        count(*) AS num_read,
        count(*) FILTER (WHERE regexp_matches(output_text, $truncated)) AS num_truncated
    FROM grouped_calls(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE output_bytes >= $read_bytes
    GROUP BY run_id, split, step, environment, agent, tool
),

sizes AS (
    SELECT
        run_id, split, step, environment, agent, tool,
        count(*) AS num_calls,
        count(output_bytes) AS num_outputs,
        quantile_cont(output_bytes, [0.5, 0.95])[1] AS p50_bytes,
        quantile_cont(output_bytes, [0.5, 0.95])[2] AS p95_bytes,
        max(output_bytes) AS max_bytes,
        sum(output_bytes)::BIGINT AS sum_bytes,
        count(*) FILTER (WHERE output_bytes >= $huge_bytes) AS num_huge,
        count(DISTINCT CASE WHEN output_bytes >= $huge_bytes THEN rollout END) AS num_rollouts_huge
    FROM calls
    GROUP BY run_id, split, step, environment, agent, tool
)

SELECT
    s.*,
    s.num_huge / nullif(s.num_outputs, 0) AS huge_share,
    coalesce(d.num_read, 0) AS num_read,
    coalesce(d.num_truncated, 0) AS num_truncated,
    d.num_truncated / d.num_read AS truncated_share
FROM sizes AS s
LEFT JOIN read AS d
    ON
        s.run_id = d.run_id AND s.split IS NOT DISTINCT FROM d.split AND s.step IS NOT DISTINCT FROM d.step
        AND s.environment IS NOT DISTINCT FROM d.environment AND s.agent IS NOT DISTINCT FROM d.agent
        AND s.tool = d.tool
ORDER BY
    s.run_id ASC, s.split ASC NULLS LAST, s.step ASC NULLS FIRST, s.environment ASC NULLS LAST, s.agent ASC NULLS LAST,
    s.sum_bytes DESC NULLS LAST, s.tool ASC
