-- Where the seconds of a rollout go. One row per rollout restricted by the shared filters, grouped by `p_by` (`run`,
-- `split` of a run, `step` of a split) and, if `p_by_environment`, by environment; the columns above the grain are NULL.
-- latency_s: NULL where it is not known; then no part is either. Parts are seconds on the clock, NULL = not known:
-- tools_s: calls side by side count as the slowest of them; 0 without a call. user_s: waiting for a simulated user.
-- setup_s: before anything else, as the source says (`timing.setup` of verifiers and prime-rl, `setup_latency_s` in a
-- rollout's metadata), else from the rollout's start to that of its first message, where that is later, less queueing.
CREATE MACRO time_parts(
    p_by, p_by_environment, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset,
    p_agents
) AS TABLE
WITH said AS (
    SELECT
        hash(rollout_id) AS place,
        sum(latency_s) FILTER (WHERE role = 'user' AND turn IS NOT NULL) AS user_s,
        min(started_at) AS first_at
    FROM messages
    WHERE
        (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
        AND (started_at IS NOT NULL OR (role = 'user' AND latency_s IS NOT NULL))
    GROUP BY hash(rollout_id)
),

own AS (
    SELECT
        r.*,
        said.user_s,
        coalesce(r.latency_s >= 0 AND isfinite(r.latency_s), FALSE) AS is_timed,
        epoch(said.first_at) - epoch(r.started_at) - coalesce(r.queue_latency_s, 0) AS before_s
    FROM filtered_rollouts(
        p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    ) AS r
    LEFT JOIN said ON hash(r.rollout_id) = said.place
)

SELECT
    run_id,
    CASE WHEN p_by IN ('split', 'step') THEN split END AS split,
    CASE WHEN p_by = 'step' THEN step END AS step,
    CASE WHEN p_by_environment THEN environment END AS environment,
    unit,
    CASE WHEN is_timed THEN latency_s END AS latency_s,
    CASE WHEN is_timed THEN known_seconds(model_latency_s) END AS model_s,
    CASE
        WHEN NOT is_timed THEN NULL
        WHEN num_tool_calls = 0 THEN 0
        WHEN tool_critical_path_s IS NOT NULL THEN known_seconds(tool_critical_path_s)
        WHEN max_parallel_calls <= 1 THEN known_seconds(tool_latency_s)
    END AS tools_s,
    CASE WHEN is_timed THEN known_seconds(user_s) END AS user_s,
    CASE WHEN is_timed THEN known_seconds(queue_latency_s) END AS queue_s,
    CASE
        WHEN NOT is_timed THEN NULL
        WHEN contains(metadata, '"setup')
            THEN known_seconds(
                coalesce(
                    try_cast(metadata ->> '$.setup_latency_s' AS double),
                    try_cast(metadata ->> '$.timing.setup.duration' AS double)
                )
            )
        WHEN before_s > 0 THEN before_s
    END AS setup_s,
    CASE WHEN is_timed THEN known_seconds(grading_latency_s) END AS grading_s
FROM own;
