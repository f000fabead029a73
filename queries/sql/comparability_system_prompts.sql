-- Question: do the samples that both arms attempted have the same system message in both?
-- Grain: sample, the 24 that were read first; ordered by pair_key. Of each arm one rollout is read, its first: messages
-- are long, and those that stand together are read without the rest, however many there are.
-- …_prompt: hash of its first system message, '' where it has none; samples of whose messages nothing is known are left
-- out.
WITH picked AS (
    SELECT
        pair_key,
        arg_min(rollout_id, (position, rollout_id)) FILTER (arm = 'baseline' AND num_messages > 0) AS baseline_rollout,
        arg_min(rollout_id, (position, rollout_id)) FILTER (arm = 'candidate' AND num_messages > 0) AS candidate_rollout
    FROM comparable_rollouts($baseline, $candidate, $environments, $pair_by)
    WHERE is_paired
    GROUP BY pair_key
    HAVING baseline_rollout IS NOT NULL AND candidate_rollout IS NOT NULL
    ORDER BY min(position), pair_key
    LIMIT 24
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
