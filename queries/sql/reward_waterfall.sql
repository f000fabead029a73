-- Question: where is reward lost, from the ideal to what was given?
-- Grain: run, split, step (as `by` says) and place in the list of losses; ordered by them. Places: 1 failures, then gates,
-- then parts, then what neither explains (`rest`), in the order given. lost_mean: over samples, of each sample's mean over
-- its complete or failed rollouts; lost_sd: its deviation; actual_mean: mean over samples of the stored reward. A failed
-- rollout loses all to failures, one below a gate's bound all to the first such gate; the losses of a rollout sum to
-- `ideal` minus its reward.
WITH lost AS (
    SELECT
        run_id,
        CASE WHEN $by <> 'run' THEN split END AS split,
        CASE WHEN $by = 'step' THEN step END AS step,
        unit,
        reward,
        CASE
            WHEN is_failed
                THEN list_concat([$ideal - reward], list_transform(range(len($gates) + len($parts) + 1), LAMBDA each: 0.0))
            WHEN closed IS NOT NULL
                THEN list_concat(
                    [0.0],
                    list_transform(
                        range(1, len($gates) + 1),
                        LAMBDA each: CASE WHEN each = closed THEN $ideal - reward ELSE 0.0 END
                    ),
                    list_transform(range(len($parts) + 1), LAMBDA each: 0.0)
                )
            ELSE list_concat(
                [0.0],
                list_transform(range(len($gates)), LAMBDA each: 0.0),
                missing,
                [$ideal - reward - coalesce(list_sum(missing), 0)]
            )
        END AS losses
    FROM weighed_rollouts(
        $parts, $gates, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
    WHERE is_complete OR is_failed
),

placed AS (
    SELECT run_id, split, step, unit, reward, unnest(losses) AS lost, generate_subscripts(losses, 1) AS place
    FROM lost
),

per_sample AS (
    SELECT run_id, split, step, unit, place, avg(lost) AS lost, avg(reward) AS reward, count(*) AS num
    FROM placed
    GROUP BY run_id, split, step, unit, place
)

SELECT
    run_id,
    split,
    step,
    place,
    sum(num)::bigint AS num_rollouts,
    count(*) AS num_samples,
    avg(lost) AS lost_mean,
    stddev_samp(lost) AS lost_sd,
    avg(reward) AS actual_mean,
    stddev_samp(reward) AS actual_sd
FROM per_sample
GROUP BY run_id, split, step, place
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, place
