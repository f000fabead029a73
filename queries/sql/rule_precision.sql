-- Question: how many of a rule's findings are real, as far as readers looked?
-- Grain: run and rule whose findings were judged; ordered by rule and run. A rollout is judged once: real where a reader
-- called any of its findings by the rule real; where readers contradict one another it is counted in num_conflicting alone.
-- share: num_real / num_rollouts; share_sd: deviation to use with num_samples, as `clustered_sd` says.
WITH by_author AS (
    SELECT run_id, rollout_id, rule, author, bool_or(is_yes) AS is_real
    FROM findings_judged($rules, $run_ids)
    WHERE rule IS NOT NULL
    GROUP BY run_id, rollout_id, rule, author
),

by_rollout AS (
    SELECT
        run_id, rollout_id, rule,
        bool_and(is_real) AS is_real,
        bool_or(is_real) <> bool_and(is_real) AS is_conflicting,
        list(author) AS authors
    FROM by_author
    GROUP BY run_id, rollout_id, rule
),

per_sample AS (
    SELECT
        b.run_id, b.rule, r.unit,
        count(*) AS num_judged,
        count(*) FILTER (WHERE NOT b.is_conflicting) AS num,
        count(*) FILTER (WHERE b.is_real AND NOT b.is_conflicting) AS num_real,
        flatten(list(b.authors)) AS authors
    FROM by_rollout AS b
    INNER JOIN filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS r ON b.run_id = r.run_id AND b.rollout_id = r.rollout_id
    GROUP BY b.run_id, b.rule, r.unit
)

SELECT
    run_id,
    rule,
    sum(num_judged)::BIGINT AS num_judged,
    sum(num_real)::BIGINT AS num_real,
    (sum(num) - sum(num_real))::BIGINT AS num_false_alarm,
    (sum(num_judged) - sum(num))::BIGINT AS num_conflicting,
    len(list_distinct(flatten(list(authors)))) AS num_reviewers,
    sum(num)::BIGINT AS num_rollouts,
    count(*) FILTER (WHERE num > 0) AS num_samples,
    sum(num_real) / nullif(sum(num), 0) AS share,
    clustered_sd(num_real::DOUBLE, num) AS share_sd
FROM per_sample
GROUP BY run_id, rule
ORDER BY rule, run_id
