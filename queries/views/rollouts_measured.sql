-- Whether a rollout ended in a failure that is not the policy's own.
CREATE MACRO is_failure(p_status) AS coalesce(p_status IN ('infra_error', 'grader_error'), false);

-- Seconds that are known and no nonsense, never negative; else NULL.
CREATE MACRO known_seconds(p_s) AS CASE WHEN isfinite(p_s) THEN greatest(p_s, 0) END;

-- Standard deviation to use with the number of samples for the interval of a mean over rollouts, where attempts at a
-- sample are alike: from the number of samples that have known values, and over these the sums of each sample's sum x and
-- count n. Equal counts give the deviation of sample means.
-- Source: Miller 2024 (arXiv 2411.00640), appendix A, linearised for unequal counts; rounding noise counts as zero.
CREATE MACRO clustered_sd_of(p_samples, p_x, p_n, p_xx, p_xn, p_nn) AS
sqrt(
    p_samples * p_samples / nullif(p_samples - 1, 0)
    * CASE
        WHEN p_xx - 2 * (p_x / nullif(p_n, 0)) * p_xn + (p_x / nullif(p_n, 0)) ** 2 * p_nn > 1e-12 * p_xx
            THEN p_xx - 2 * (p_x / nullif(p_n, 0)) * p_xn + (p_x / nullif(p_n, 0)) ** 2 * p_nn
        ELSE 0
    END
) / nullif(p_n, 0);

-- The same as an aggregate over samples, from each sample's sum and count of known values.
CREATE MACRO clustered_sd(p_sum, p_num) AS
clustered_sd_of(
    count(*) FILTER (WHERE p_num > 0),
    sum(p_sum),
    sum(p_num),
    sum(p_sum * p_sum),
    sum(p_sum * p_num),
    sum(p_num * p_num)
);

-- Rollouts of `filtered_rollouts` with one of their measures as `value`, grouped by `p_by`: `run`, `split` (of a run) or
-- `step` (of a split); the columns above the grain are NULL. Only the chosen column is read.
CREATE MACRO measured_rollouts(
    p_measure, p_by, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset,
    p_agents := null
) AS TABLE
SELECT
    r.* REPLACE (
        CASE WHEN p_by IN ('split', 'step') THEN r.split END AS split,
        CASE WHEN p_by = 'step' THEN r.step END AS step
    ),
    r.split AS own_split,
    r.step AS own_step,
    CASE p_measure
        WHEN 'tool_calls' THEN r.num_tool_calls
        WHEN 'tool_errors' THEN r.num_tool_errors
        WHEN 'repeats' THEN r.num_exact_repeats
        WHEN 'sequential_rounds' THEN r.num_tool_rounds
        WHEN 'turns' THEN r.num_turns
        WHEN 'messages' THEN r.num_messages
        WHEN 'input_tokens' THEN r.input_tokens
        WHEN 'output_tokens' THEN r.output_tokens
        WHEN 'reasoning_tokens' THEN r.reasoning_tokens
        WHEN 'tool_output_bytes' THEN r.tool_output_bytes
        WHEN 'latency_s' THEN r.latency_s
        WHEN 'tool_latency_s' THEN r.tool_latency_s
        WHEN 'cost_usd' THEN r.cost_usd
        WHEN 'reward' THEN r.reward
    END::double AS value
FROM filtered_rollouts(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS r;

-- Rollouts of `filtered_rollouts`, grouped by `p_by` (`run`, `split` of a run or `step` of a split) and told apart by
-- `p_apart` (`environment` or `agent`, NULL = not at all): the columns above the grain are NULL. `own_…`: as they are.
CREATE MACRO grouped_rollouts(
    p_by, p_apart, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
SELECT
    r.* REPLACE (
        CASE WHEN p_by IN ('split', 'step') THEN r.split END AS split,
        CASE WHEN p_by = 'step' THEN r.step END AS step,
        CASE WHEN p_apart = 'environment' THEN r.environment END AS environment,
        CASE WHEN p_apart = 'agent' THEN r.agent END AS agent
    ),
    r.split AS own_split,
    r.step AS own_step,
    hash(r.rollout_id) AS rollout
FROM filtered_rollouts(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS r;

-- As `clustered_sd`, for a share whose hits are counted apart from what it is a share of (units without a hit are no
-- rows): from the sums over units of hits h, h², h·n, and of all n, n², and how many units there are.
CREATE MACRO share_sd(p_hits, p_hits_2, p_hits_num, p_num, p_num_2, p_units) AS
sqrt(
    p_units * p_units / nullif(p_units - 1, 0)
    * greatest(p_hits_2 - 2 * (p_hits / p_num) * p_hits_num + (p_hits / p_num) ** 2 * p_num_2, 0)
) / nullif(p_num, 0);

-- Whether a rollout ended with an answer, from how it ended, else from its final answer.
CREATE MACRO has_answered(p_status, p_final_answer) AS
CASE
    WHEN p_status = 'completed' THEN true
    WHEN p_status IN ('truncated', 'budget_exceeded', 'infra_error', 'cancelled') THEN false
    ELSE p_final_answer IS NOT null
END;
