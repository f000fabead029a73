-- Question: which calls cannot be taken back?
-- Grain: call; by run, step, rollout and order in it. arguments: the first 500 characters. num_total: how many there are.
WITH found AS (
    SELECT *
    FROM destructive_calls_of(
        $rules, $pattern, $named, $searched, 'step', NULL,
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE $rule IS NULL OR rule = $rule
)

SELECT
    run_id,
    rollout_id,
    split,
    step,
    environment,
    own_agent AS agent,
    rule,
    tool,
    substr(arguments_raw, 1, 500) AS arguments,
    NOT is_failed AS is_ok,
    call_index,
    count(*) OVER () AS num_total
FROM found
ORDER BY run_id, step NULLS FIRST, split NULLS LAST, rollout_id, call_index
LIMIT $limit OFFSET $offset
