-- Rollouts with the stage they were lost at: dispatched → finished → scored → admitted → trained_on. `lost_at` is NULL
-- where none is known, and of what was trained on, whatever it went through. `reason` says why. What a source does not
-- tell of a step (`…_known`) loses nothing there. Only training splits are trained on. `value`: a measure by name.
CREATE MACRO staged_rollouts(
    p_book, p_measure, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset,
    p_agents
) AS TABLE
WITH r AS (
    SELECT
        run_id, rollout_id, sample_id, unit, environment, attempt, split, step, status, reward, advantage, subset, value,
        latency_s, num_tool_calls, output_tokens, coalesce(split NOT IN ('valid', 'test', 'production'), TRUE) AS is_training
    FROM measured_rollouts(
        p_measure, 'step', p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset,
        p_agents
    )
),

told AS (
    SELECT
        run_id, split, step,
        count(status) > 0 AS is_status_known,
        count(reward) > 0 AS is_reward_known,
        count(advantage) > 0 AS is_advantage_known,
        count(subset) FILTER (WHERE is_training) > 0 AS is_subset_known
    FROM r
    GROUP BY ALL
),

caused AS (
    SELECT run_id, rollout_id, cause
    FROM caused_rollouts(
        p_book, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents,
        p_may_be_foreign := TRUE
    )
),

lost AS (
    SELECT
        r.*,
        t.* EXCLUDE (run_id, split, step),
        c.cause,
        coalesce(r.subset = 'effective', FALSE) AND r.is_training AS is_trained_on,
        CASE
            WHEN coalesce(r.subset = 'effective', FALSE) AND r.is_training THEN NULL
            WHEN r.status IN ('infra_error', 'cancelled') THEN 'finished'
            WHEN r.reward IS NULL AND t.is_reward_known THEN 'scored'
            WHEN r.advantage IS NULL AND t.is_advantage_known THEN 'admitted'
            WHEN t.is_subset_known THEN 'trained_on'
        END AS lost_at
    FROM r
    INNER JOIN told AS t ON hash(r.run_id, r.split, r.step) = hash(t.run_id, t.split, t.step)
    LEFT JOIN caused AS c ON r.run_id = c.run_id AND r.rollout_id = c.rollout_id
)

SELECT
    * EXCLUDE (cause),
    CASE lost_at
        WHEN 'finished' THEN CASE WHEN status = 'cancelled' THEN status ELSE coalesce(cause, status) END
        WHEN 'scored' THEN CASE WHEN status = 'grader_error' THEN status ELSE 'not_scored' END
        WHEN 'admitted' THEN 'no_advantage'
        WHEN 'trained_on'
            THEN CASE WHEN subset IS NULL THEN 'not_known' WHEN advantage = 0 THEN 'no_signal' ELSE 'left_out' END
    END AS reason
FROM lost;

-- Share of sorted values that lie below one, ties counted half.
CREATE MACRO share_below(p_values, p_value) AS
(len(list_filter(p_values, LAMBDA x: x < p_value)) + len(list_filter(p_values, LAMBDA x: x <= p_value)))
/ (2 * len(p_values));
