-- Question: which runs are there, and how did they go?
-- Grain: run; the one with the latest activity first. Reads `run_summaries`, never `rollouts`.
-- Figures (`reward_last` …) are those of the last scored step of `reward_split`: valid where scored, else test, train,
-- production, unknown. reward_change: minus the first scored step of that split. failure_share: 0–1 over known endings.
WITH cells AS MATERIALIZED (
    SELECT
        run_id, split, step, num_rollouts, num_scored, num_samples, num_failed, num_status_known, reward_mean,
        tool_calls_mean, output_tokens_mean, first_at, last_at, environments,
        coalesce(list_position(['valid', 'test', 'train', 'production'], split), 9) AS place
    FROM run_summaries
),

whole AS (
    SELECT
        run_id,
        sum(num_rollouts)::BIGINT AS num_rollouts,
        sum(num_scored)::BIGINT AS num_scored,
        count(DISTINCT step) AS num_steps,
        min(step) AS first_step,
        max(step) AS last_step,
        list_sort(list_distinct(list(split))) AS splits,
        list_sort(list_distinct(flatten(list(from_json(environments, '["VARCHAR"]'))))) AS environments,
        sum(num_failed) / nullif(sum(num_status_known), 0) AS failure_share,
        sum(num_status_known)::BIGINT AS num_status_known,
        min(first_at) AS first_at,
        max(last_at) AS last_at
    FROM cells
    GROUP BY run_id
),

-- One curve a run: the cells of the split its reward is read from, in order of steps.
curve AS (
    SELECT * FROM cells WHERE reward_mean IS NOT NULL
    QUALIFY place = min(place) OVER (PARTITION BY run_id)
),

ends AS (
    SELECT
        run_id,
        any_value(split) AS reward_split,
        list(reward_mean ORDER BY step NULLS FIRST) AS reward_by_step,
        arg_max(c, coalesce(step, -1)) AS final,
        arg_min(c, coalesce(step, -1)) AS initial
    FROM curve AS c
    GROUP BY run_id
),

bad AS (SELECT run_id, sum(num_rejects)::BIGINT AS num_rejects FROM ingests GROUP BY run_id)

SELECT
    r.run_id,
    r.name,
    r.kind,
    coalesce(w.num_rollouts, 0) AS num_rollouts,
    r.provider,
    r.source_format,
    w.environments,
    r.model,
    r.base_model,
    coalesce(w.num_steps, 0) AS num_steps,
    w.first_step,
    w.last_step,
    w.splits,
    e.reward_split,
    e.final.step AS reward_step,
    e.final.reward_mean AS reward_last,
    e.final.num_samples AS reward_num_samples,
    e.initial.step AS reward_first_step,
    CASE WHEN len(e.reward_by_step) > 1 THEN e.initial.reward_mean END AS reward_first,
    CASE WHEN len(e.reward_by_step) > 1 THEN e.final.reward_mean - e.initial.reward_mean END AS reward_change,
    e.reward_by_step,
    e.final.tool_calls_mean AS tool_calls_mean,
    e.final.output_tokens_mean AS output_tokens_mean,
    w.failure_share,
    w.num_status_known,
    w.num_scored,
    w.first_at,
    w.last_at,
    r.status,
    coalesce(b.num_rejects, 0) AS num_rejects
FROM runs AS r
LEFT JOIN whole AS w ON r.run_id = w.run_id
LEFT JOIN ends AS e ON r.run_id = e.run_id
LEFT JOIN bad AS b ON r.run_id = b.run_id
WHERE $run_ids IS NULL OR list_contains($run_ids, r.run_id)
ORDER BY coalesce(w.last_at, r.ended_at, r.created_at) DESC NULLS LAST, r.run_id
