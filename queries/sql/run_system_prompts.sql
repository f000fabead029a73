-- Question: which system message do rollouts of runs begin with?
-- Grain: run and sample, at most 24 samples of each run: those that the most of the runs have, of these the ones read
-- first; ordered by run and sample. One rollout each is read, its first: messages are long, and those that stand together
-- are read without the rest, however many there are.
-- is_shared: all of the runs have the sample; prompt: its first system message, NULL where it has none.
WITH earliest AS (
    SELECT
        run_id,
        sample_id,
        arg_min(rollout_id, (position, rollout_id)) AS rollout_id,
        min(position) AS position
    FROM rollouts
    WHERE list_contains($run_ids, run_id) AND sample_id IS NOT NULL AND num_messages > 0
    GROUP BY run_id, sample_id
),

shared AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY sample_id) AS num_runs
    FROM earliest
),

picked AS (
    SELECT
        run_id,
        sample_id,
        rollout_id,
        num_runs = len($run_ids) AS is_shared
    FROM shared
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY num_runs DESC, position, sample_id) <= 24
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
