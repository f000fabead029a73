-- Question: what do sources say that failures can be told by?
-- Grain: run; ordered by it. num_…: rollouts with it known; num_untold: with failed calls, read before it was noted
-- which of them were the last of their tool; num_zero: with a reward at the floor; lowest_reward: the lowest there is.
SELECT
    run_id,
    count(*) AS num_rollouts,
    count(status) AS num_status,
    count(reward) AS num_reward,
    count(passed) AS num_passed,
    count(started_at) AS num_start,
    count(*) FILTER (WHERE ended_at >= started_at) AS num_times,
    count(host) AS num_host,
    count(*) FILTER (WHERE num_tool_errors > 0 AND unrecovered_errors IS NULL) AS num_untold,
    count(*) FILTER (WHERE reward <= reward_floor($book, environment)) AS num_zero,
    min(reward) AS lowest_reward
FROM filtered_rollouts(
    $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
)
GROUP BY run_id
ORDER BY run_id
