-- Question: which samples get better, and when?
-- Grain: cell of a sample and a bin of steps that has rollouts; ordered by row (lowest mean first) and column.
-- value: mean over the cell's rollouts of `measure`. Beyond `max_steps` steps, neighbours share a column: step_from to
-- step_to. Beyond `max_samples` samples, those with the most rollouts are shown, ties by hash. num_…_all: before that.
WITH r AS (
    SELECT
        run_id,
        split,
        step,
        environment,
        sample_id,
        CASE $measure WHEN 'reward' THEN reward WHEN 'tool_calls' THEN num_tool_calls END::DOUBLE AS measured
    FROM filtered_rollouts($run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents)
    WHERE sample_id IS NOT NULL AND step IS NOT NULL
),

bins AS (
    SELECT
        step,
        ((row_number() OVER (ORDER BY step) - 1) * least($max_steps, count(*) OVER ())) // count(*) OVER () AS bin,
        count(*) OVER () AS num_steps_all
    FROM (SELECT DISTINCT step FROM r)
),

picked AS (
    SELECT
        environment,
        sample_id,
        avg(measured) AS row_mean,
        count(*) OVER () AS num_samples_all
    FROM r
    GROUP BY environment, sample_id
    QUALIFY row_number() OVER (ORDER BY count(*) DESC, hash(sample_id), environment, sample_id ASC) <= $max_samples
),

places AS (
    SELECT
        *,
        row_number() OVER (ORDER BY row_mean NULLS LAST, environment, sample_id) - 1 AS place
    FROM picked
)

SELECT
    r.run_id,
    r.split,
    p.environment,
    p.sample_id,
    p.place,
    b.bin,
    min(b.step) AS step_from,
    max(b.step) AS step_to,
    count(*) AS num_rollouts,
    count(r.measured) AS num_known,
    avg(r.measured) AS value,
    any_value(p.num_samples_all) AS num_samples_all,
    any_value(b.num_steps_all) AS num_steps_all
FROM r
INNER JOIN bins AS b ON r.step = b.step
INNER JOIN places AS p ON r.sample_id = p.sample_id AND r.environment IS NOT DISTINCT FROM p.environment
GROUP BY r.run_id, r.split, p.environment, p.sample_id, p.place, b.bin
ORDER BY p.place, b.bin, r.run_id, r.split
