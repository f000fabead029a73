-- Question: where do the seconds of a rollout go?
-- Grain: run (split, step, environment, as `by` and `by_environment` say), part; ordered by them, parts in fixed order.
-- Over the rollouts whose latency is known. seconds: of the part, where it is known; `rest`: latency that no part accounts
-- for, never negative. overlap_s: by how much the parts exceed the latency, summed over num_overlapping rollouts.
-- share_sd: deviation of seconds / latency to use with num_samples, as `clustered_sd` says. Seconds.
WITH timed AS (
    SELECT
        *,
        coalesce(model_s, 0) + coalesce(tools_s, 0) + coalesce(user_s, 0) + coalesce(queue_s, 0)
        + coalesce(setup_s, 0) + coalesce(grading_s, 0) - latency_s AS over_s
    FROM time_parts(
        $by, $by_environment, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    )
),

per_sample AS (
    SELECT
        run_id, split, step, environment, unit,
        count(*) AS num_all,
        count(latency_s) AS num_rollouts,
        coalesce(sum(latency_s), 0) AS latency_s,
        coalesce(sum(over_s) FILTER (WHERE over_s > 0), 0) AS overlap_s,
        -- Times are kept to the microsecond: by rounding alone parts may exceed the whole by a few.
        count(*) FILTER (WHERE over_s > 1e-3) AS num_overlapping,
        [
            {'part': 'model', 'seconds': sum(model_s), 'num': count(model_s)},
            {'part': 'tools', 'seconds': sum(tools_s), 'num': count(tools_s)},
            {'part': 'user', 'seconds': sum(user_s), 'num': count(user_s)},
            {'part': 'queue', 'seconds': sum(queue_s), 'num': count(queue_s)},
            {'part': 'setup', 'seconds': sum(setup_s), 'num': count(setup_s)},
            {'part': 'grading', 'seconds': sum(grading_s), 'num': count(grading_s)},
            {'part': 'rest', 'seconds': sum(CASE WHEN over_s > 0 THEN 0 ELSE -over_s END), 'num': count(latency_s)}
        ] AS parts
    FROM timed
    GROUP BY run_id, split, step, environment, unit
),

long AS (
    SELECT * EXCLUDE (parts), unnest(parts) AS spent, unnest(range(7)) AS place
    FROM per_sample
)

SELECT
    run_id,
    split,
    step,
    environment,
    spent.part,
    sum(num_all)::BIGINT AS num_all,
    sum(num_rollouts)::BIGINT AS num_rollouts,
    count(*) FILTER (WHERE latency_s > 0) AS num_samples,
    sum(latency_s) AS latency_s,
    sum(spent.seconds) AS seconds,
    sum(spent.num)::BIGINT AS num_known,
    clustered_sd(coalesce(spent.seconds, 0), latency_s) AS share_sd,
    sum(overlap_s) AS overlap_s,
    sum(num_overlapping)::BIGINT AS num_overlapping
FROM long
GROUP BY run_id, split, step, environment, spent.part, place
ORDER BY run_id, split NULLS LAST, step NULLS FIRST, environment NULLS LAST, place
