-- Question: which runs are there, and how did they go?
-- Grain: run; the one with the latest activity first. Reads `run_summaries`, never `rollouts`.
-- Figures (`reward_last` …) are those of the last scored step of `reward_split`: valid where scored, else test, train,
-- production, unknown. reward_change: minus the first scored step of that split. failure_share: 0–1 over known endings.
WITH bad AS (
    SELECT
        run_id,
        sum(num_rejects)::BIGINT AS num_rejects
    FROM ingests
    GROUP BY run_id
)

SELECT
    r.run_id,
    r.name,
    r.kind,
    r.provider,
    r.source_format,
    f.environments,
    r.model,
    r.base_model,
    f.first_step,
    f.last_step,
    f.splits,
    f.final.split AS reward_split,
    f.final.step AS reward_step,
    f.final.reward_mean AS reward_last,
    f.final.num_samples AS reward_num_samples,
    f.initial.step AS reward_first_step,
    f.reward_by_step,
    f.final.tool_calls_mean,
    f.final.output_tokens_mean,
    f.failure_share,
    f.num_status_known,
    f.num_scored,
    f.first_at,
    f.last_at,
    r.status,
    coalesce(f.num_rollouts, 0) AS num_rollouts,
    coalesce(f.num_steps, 0) AS num_steps,
    CASE WHEN len(f.reward_by_step) > 1 THEN f.initial.reward_mean END AS reward_first,
    CASE WHEN len(f.reward_by_step) > 1 THEN f.final.reward_mean - f.initial.reward_mean END AS reward_change,
    coalesce(b.num_rejects, 0) AS num_rejects
FROM runs AS r
LEFT JOIN run_figures AS f ON r.run_id = f.run_id
LEFT JOIN bad AS b ON r.run_id = b.run_id
WHERE $run_ids IS NULL OR list_contains($run_ids, r.run_id)
ORDER BY coalesce(f.last_at, r.ended_at, r.created_at) DESC NULLS LAST, r.run_id ASC
