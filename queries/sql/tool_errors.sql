-- Question: which calls fail, and of what?
-- Grain: run (split, step as `by` says; environment or agent where `apart` does), tool, kind and source_kind; the most
-- frequent first. share: of the group's failed calls, 0–1; rate: of the tool's calls in the group, 0–1.
WITH calls AS (
    SELECT run_id, split, step, environment, agent, tool, count(*) AS num_calls
    FROM grouped_calls(
        $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset,
        $agents
    )
    GROUP BY run_id, split, step, environment, agent, tool
),

errors AS (
    SELECT
        run_id, split, step, environment, agent, tool, kind, source_kind,
        count(*) AS num_errors,
        count(DISTINCT rollout) AS num_rollouts,
        count(DISTINCT unit) AS num_samples
    FROM failed_calls(
        $error_patterns, $by, $apart, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments,
        $subset, $agents
    )
    GROUP BY run_id, split, step, environment, agent, tool, kind, source_kind
)

SELECT
    e.run_id, e.split, e.step, e.environment, e.agent, e.tool, e.kind, e.source_kind,
    e.num_errors,
    e.num_rollouts,
    e.num_samples,
    e.num_errors
    / sum(e.num_errors) OVER (PARTITION BY e.run_id, e.split, e.step, e.environment, e.agent) AS share,
    c.num_calls AS num_tool_calls,
    e.num_errors / c.num_calls AS rate
FROM errors AS e
INNER JOIN calls AS c
    ON
        e.run_id = c.run_id AND e.split IS NOT DISTINCT FROM c.split AND e.step IS NOT DISTINCT FROM c.step
        AND e.environment IS NOT DISTINCT FROM c.environment AND e.agent IS NOT DISTINCT FROM c.agent
        AND e.tool = c.tool
ORDER BY
    e.run_id ASC, e.split ASC NULLS LAST, e.step ASC NULLS FIRST, e.environment ASC NULLS LAST, e.agent ASC NULLS LAST,
    e.num_errors DESC, e.tool ASC, e.kind ASC, e.source_kind ASC
