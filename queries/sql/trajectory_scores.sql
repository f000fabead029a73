-- Question: how was this rollout graded?
-- Grain: grader; rewards first, then by weight and name. explanation: its first 20 000 characters.
SELECT
    grader,
    value,
    text_value,
    weight,
    passed,
    kind,
    grader_version,
    left(explanation, 20000) AS explanation
FROM scores
WHERE run_id = $run_id AND rollout_id = $rollout_id
ORDER BY kind <> 'reward', weight DESC NULLS LAST, grader ASC, value ASC
