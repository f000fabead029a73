-- Question: what did every sample cost, and was it solved?
-- Grain: run (split, step, as `by` says); ordered by them. Lists, aligned, one entry a sample: attempts, usd, tokens, hours
-- (of all its attempts; NULL where any of them is not known), solved (1 or 0; NULL = not known; `success`: by which rule).
-- Rollouts that name no sample are counted only (num_without_sample).
SELECT
    run_id,
    split,
    step,
    success,
    sum(attempts)::BIGINT AS num_rollouts,
    sum(num_nameless)::BIGINT AS num_without_sample,
    sum(num_reported)::BIGINT AS num_reported,
    coalesce(bool_or(is_lacking), FALSE) AS is_lower_bound,
    list(attempts::DOUBLE ORDER BY unit) FILTER (WHERE num_nameless = 0) AS attempts,
    list(usd ORDER BY unit) FILTER (WHERE num_nameless = 0) AS usd,
    list(tokens::DOUBLE ORDER BY unit) FILTER (WHERE num_nameless = 0) AS tokens,
    list(hours ORDER BY unit) FILTER (WHERE num_nameless = 0) AS hours,
    list(is_solved::DOUBLE ORDER BY unit) FILTER (WHERE num_nameless = 0) AS solved
FROM sample_spending(
    $prices, $by, $reward_at_least,
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id, split, step, success
ORDER BY run_id, split NULLS LAST, step NULLS FIRST
