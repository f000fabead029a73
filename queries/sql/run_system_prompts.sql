-- Question: which system message do rollouts of runs begin with?
-- Grain: run and sample, at most 40 samples of each run: first those that the most of the runs have, then at random but
-- always the same; ordered by run and sample. One rollout each is read, the last step's, for messages are long.
-- is_shared: all of the runs have the sample; prompt: its first system message, NULL where it has none.
WITH latest AS (
    SELECT
        run_id,
        sample_id,
        arg_max(rollout_id, (coalesce(step, -1), rollout_id)) AS rollout_id
    FROM rollouts
    WHERE list_contains($run_ids, run_id) AND sample_id IS NOT NULL AND num_messages > 0
    GROUP BY run_id, sample_id
),

shared AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY sample_id) AS num_runs
    FROM latest
),

picked AS (
    SELECT
        run_id,
        sample_id,
        rollout_id,
        num_runs = len($run_ids) AS is_shared
    FROM shared
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY num_runs DESC, hash(sample_id), sample_id) <= 40
)

SELECT
    p.run_id,
    p.sample_id,
    p.is_shared,
    arg_min(m.text, m.message_index) AS prompt
FROM picked AS p
LEFT JOIN messages AS m
    ON p.run_id = m.run_id AND p.rollout_id = m.rollout_id AND m.role = 'system' AND list_contains($run_ids, m.run_id)
GROUP BY p.run_id, p.sample_id, p.is_shared
ORDER BY p.run_id, p.sample_id
