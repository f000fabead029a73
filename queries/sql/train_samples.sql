-- Question: how many samples was each run trained on?
-- Grain: run with train rollouts of its own, or of the run that it evaluates (said_by `parent`); ordered by it.
-- number: distinct samples of the train split; value: the same as text. The runs are `$of_runs`, not `$run_ids`: what an
-- evaluation's parent was trained on is in other files than its own.
WITH asked AS (
    SELECT
        run_id,
        unnest(CASE WHEN kind = 'evaluation' THEN [run_id, parent_run] ELSE [run_id] END) AS trained_id
    FROM runs
    WHERE list_contains($of_runs, run_id)
),

trained AS (
    SELECT
        run_id,
        count(DISTINCT hash(environment, sample_id)) AS num_samples
    FROM rollouts
    WHERE split = 'train' AND sample_id IS NOT NULL AND run_id IN (SELECT trained_id FROM asked)
    GROUP BY run_id
)

SELECT
    a.run_id,
    t.num_samples::VARCHAR AS value,
    t.num_samples::DOUBLE AS number,
    CASE WHEN t.run_id = a.run_id THEN 'run' ELSE 'parent' END AS said_by
FROM asked AS a
INNER JOIN trained AS t ON a.trained_id = t.run_id
QUALIFY row_number() OVER (PARTITION BY a.run_id ORDER BY t.run_id = a.run_id DESC) = 1
ORDER BY a.run_id
