-- Question: which rollouts ended without success, and why?
-- Grain: rollout; those the infrastructure or the grader failed first, then by run, split, step and rollout. num_total:
-- how many there are. latency_s: seconds. rule: number of the rule that gave the cause.
SELECT
    run_id,
    rollout_id,
    sample_id,
    environment,
    attempt,
    split,
    step,
    status,
    cause,
    whose,
    rule,
    reward,
    passed,
    stop_reason,
    error_type,
    left(error_message, 300) AS error_message,
    unrecovered_errors,
    host,
    started_at,
    count(*) OVER () AS num_total
FROM caused_rollouts($book, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
WHERE
    ($cause IS NULL OR cause = $cause)
    AND ($host IS NULL OR host = $host)
    AND ($started_from IS NULL OR started_at >= $started_from::TIMESTAMPTZ)
    AND ($started_to IS NULL OR started_at < $started_to::TIMESTAMPTZ)
ORDER BY list_position(['infrastructure', 'grader', 'unknown', 'policy'], whose), run_id, split, step, rollout_id
LIMIT $limit OFFSET $offset
