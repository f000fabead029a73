-- Question: do the samples that both arms attempted have the same system message in both?
-- Grain: sample, at most 60 of them, taken at random but always the same; ordered by pair_key. Of each arm one rollout
-- is read, for messages are long. …_prompt: hash of its first system message, '' where it has none, NULL where nothing
-- is known of its messages.
WITH picked AS (
    SELECT
        pair_key,
        min(rollout_id) FILTER (arm = 'baseline' AND num_messages > 0) AS baseline_rollout,
        min(rollout_id) FILTER (arm = 'candidate' AND num_messages > 0) AS candidate_rollout
    FROM comparable_rollouts($baseline, $candidate, $environments, $pair_by)
    WHERE is_paired
    GROUP BY pair_key
    HAVING baseline_rollout IS NOT NULL AND candidate_rollout IS NOT NULL
    ORDER BY hash(pair_key), pair_key
    LIMIT 60
),

wanted AS (
    SELECT unnest([baseline_rollout, candidate_rollout]) AS rollout_id
    FROM picked
),

prompts AS (
    SELECT
        m.rollout_id,
        md5(arg_min(m.text, m.message_index)) AS prompt
    FROM messages AS m
    SEMI JOIN wanted AS w ON m.rollout_id = w.rollout_id
    WHERE m.role = 'system' AND list_contains($run_ids, m.run_id)
    GROUP BY m.rollout_id
)

SELECT
    p.pair_key,
    coalesce(b.prompt, '') AS baseline_prompt,
    coalesce(c.prompt, '') AS candidate_prompt
FROM picked AS p
LEFT JOIN prompts AS b ON p.baseline_rollout = b.rollout_id
LEFT JOIN prompts AS c ON p.candidate_rollout = c.rollout_id
ORDER BY p.pair_key
