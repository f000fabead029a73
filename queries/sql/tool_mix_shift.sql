-- Question: how often does each arm of a comparison call each tool, sample by sample?
-- Grain: pair_key (what the arms' samples are paired by), arm and tool; ordered by them.
WITH arms AS (
    SELECT arm, pair_key, run_id, rollout_id
    FROM compared_rollouts($baseline, $candidate, $environments, $pair_by)
)

SELECT
    a.pair_key,
    a.arm,
    c.tool,
    count(*) AS num_calls
FROM arms AS a
INNER JOIN tool_calls AS c ON a.run_id = c.run_id AND a.rollout_id = c.rollout_id
WHERE
    list_contains([$baseline.run_id, $candidate.run_id], c.run_id)
    AND c.requestor <> 'user'
    AND c.status <> 'orphan'
GROUP BY a.pair_key, a.arm, c.tool
ORDER BY a.pair_key, a.arm, c.tool
