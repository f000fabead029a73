-- Question: how many dollars does each grader take?
-- Grain: run, grader; ordered by run, then the most used first. num_calls: scores, sub-scores apart; num_costed: those with
-- a price, usd: of these. Of all rollouts, also of those whose cost the source reports: never added to that.
WITH priced AS (
    SELECT s.run_id, s.grader, place_of($prices, 'graders', s.grader) AS priced_at
    FROM scores AS s
    INNER JOIN filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS r ON hash(s.rollout_id) = hash(r.rollout_id)
    WHERE $run_ids IS NULL OR list_contains($run_ids, s.run_id)
)

SELECT
    run_id,
    grader,
    count(*) AS num_calls,
    count(priced_at) AS num_costed,
    sum(price_of($prices, 'grader_call', priced_at)) AS usd
FROM priced
GROUP BY run_id, grader
ORDER BY run_id, num_calls DESC, grader
