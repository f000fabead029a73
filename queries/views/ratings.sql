-- What graders, people and readers say of rollouts, made comparable. `p_rules` is the rulebook `graders` as a struct, see
-- `queries/grader_rules.py`: thresholds, the pattern of graders that mark what is wrong, words of readers' labels.

-- Graders that say something in some runs, one row per run and grader. `reward` is the rollouts' own reward where no
-- score of a run says it is the reward; readers are named `reader: NAME`. origin: the grader this one grades again for,
-- or itself; is_again: it does so. is_part: a part of another (`grader/part`). marks_wrong: a high score says "not right".
CREATE MACRO known_graders(p_rules, p_run_ids) AS TABLE
WITH counted AS (
    SELECT run_id, grader, kind, grader_version, count(*) AS num
    FROM scores
    WHERE p_run_ids IS NULL OR list_contains(p_run_ids, run_id)
    GROUP BY ALL
),

stored AS MATERIALIZED (
    SELECT
        run_id,
        grader,
        min(kind) AS kind,
        min(grader_version) AS version,
        list_sort(list_distinct(list(grader_version))) AS versions,
        sum(num)::bigint AS num_scores
    FROM counted
    GROUP BY run_id, grader
),

own AS (
    SELECT
        run_id,
        grader,
        kind,
        versions,
        num_scores,
        regexp_replace(
            CASE WHEN contains(grader, '@' || version) THEN left(grader, strpos(grader, '@' || version) - 1) ELSE grader END,
            '#[0-9]+$', ''
        ) AS stem
    FROM stored
),

named AS (
    SELECT
        o.run_id,
        o.grader,
        o.kind,
        o.versions,
        o.num_scores,
        coalesce(b.grader, o.grader) AS origin,
        b.grader IS NOT NULL AS is_again
    FROM own AS o
    LEFT JOIN stored AS b
        ON o.run_id = b.run_id AND o.stem = b.grader AND o.stem <> o.grader AND o.kind <> 'assertion'
    UNION ALL
    SELECT
        run_id,
        'reward' AS grader,
        'reward' AS kind,
        NULL AS versions,
        NULL AS num_scores,
        'reward' AS origin,
        FALSE AS is_again
    FROM runs
    WHERE
        (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
        AND run_id NOT IN (SELECT run_id FROM stored
WHERE kind = 'reward' OR grader = 'reward')
    UNION ALL
    SELECT DISTINCT
        run_id, 'reader: ' || author AS grader, 'label' AS kind, NULL AS versions, NULL AS num_scores,
        'reader: ' || author AS origin, FALSE AS is_again
    FROM annotations
    WHERE
        (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
        AND message_index IS NULL
        AND list_contains(struct_extract(p_rules, 'labels'), lower(label))
)

SELECT
    n.*,
    p.grader IS NOT NULL AS is_part,
    coalesce(
        struct_extract(p_rules, 'thresholds')[list_position(struct_extract(p_rules, 'graders'), n.origin)],
        struct_extract(p_rules, 'threshold')
    ) AS threshold,
    regexp_matches(n.origin, struct_extract(p_rules, 'wrong')) AND NOT starts_with(n.origin, 'reader: ') AS marks_wrong
FROM named AS n
LEFT JOIN stored AS p
    ON n.run_id = p.run_id AND contains(n.origin, '/') AND regexp_replace(n.origin, '/[^/]*$', '') = p.grader;

-- What some graders say, and readers: `value`, `passed` (what the grader itself says), and the rollout as a 64-bit hash.
CREATE MACRO said_of_rollouts(p_rules, p_graders, p_run_ids) AS TABLE
SELECT run_id, hash(rollout_id) AS rollout, grader, value, passed, kind, grader_version
FROM scores
WHERE
    (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
    AND (p_graders IS NULL OR list_contains(p_graders, grader))
UNION ALL
SELECT
    run_id,
    hash(rollout_id) AS rollout,
    'reader: ' || author AS grader,
    NULL AS value,
    arg_max(
        struct_extract(p_rules, 'is_right')[list_position(struct_extract(p_rules, 'labels'), lower(label))],
        (created_at, annotation_id)
    ) AS passed,
    'label' AS kind,
    NULL AS grader_version
FROM annotations
WHERE
    (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
    AND message_index IS NULL
    AND list_contains(struct_extract(p_rules, 'labels'), lower(label))
    AND (p_graders IS NULL OR list_contains(p_graders, 'reader: ' || author))
GROUP BY run_id, rollout_id, author;

-- Rollouts that both graders of a pair judged. `p_pairs` are structs {run_id, first_grader, first_threshold, first_wrong,
-- second_grader, …} (see `known_graders`), `p_graders` the graders in them, `p_own` those of the runs in which `reward` is
-- the rollouts' own. A reader's label is a value of 1 or 0; …_right is the verdict: the grader's own, of a reward else the
-- rollout's, else whether the score reaches the threshold.
CREATE MACRO rated_pairs(
    p_rules, p_pairs, p_graders, p_own, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments,
    p_subset, p_agents
) AS TABLE
WITH pairs AS (
    SELECT unnest(p_pairs, max_depth := 2)
),

said AS (
    SELECT run_id, rollout, grader, value, passed, kind = 'reward' AS is_reward, grader_version
    FROM said_of_rollouts(p_rules, p_graders, p_run_ids)
    WHERE coalesce(value, passed::double) IS NOT NULL
    UNION ALL
    SELECT
        run_id, hash(rollout_id) AS rollout, 'reward' AS grader, reward AS value, passed, TRUE AS is_reward, grader_version
    FROM rollouts
    WHERE list_contains(p_own, run_id) AND isfinite(reward)
),

paired AS (
    SELECT
        p.*,
        a.rollout,
        a.value AS a_value,
        a.passed AS a_passed,
        a.is_reward AS a_is_reward,
        a.grader_version AS first_version,
        b.value AS b_value,
        b.passed AS b_passed,
        b.is_reward AS b_is_reward,
        b.grader_version AS second_version
    FROM pairs AS p
    INNER JOIN said AS a ON p.run_id = a.run_id AND p.first_grader = a.grader
    INNER JOIN said AS b ON a.rollout = b.rollout AND p.run_id = b.run_id AND p.second_grader = b.grader
)

SELECT
    r.run_id,
    r.rollout_id,
    r.sample_id,
    r.unit,
    r.split,
    r.step,
    r.attempt,
    p.first_grader,
    p.second_grader,
    coalesce(p.a_value, p.a_passed::double) AS first_value,
    coalesce(p.b_value, p.b_passed::double) AS second_value,
    coalesce(p.a_passed, if(p.a_is_reward, r.passed, NULL), p.a_value >= p.first_threshold) <> p.first_wrong
        AS first_right,
    coalesce(p.b_passed, if(p.b_is_reward, r.passed, NULL), p.b_value >= p.second_threshold) <> p.second_wrong
        AS second_right,
    p.first_version,
    p.second_version
FROM paired AS p
INNER JOIN filtered_rollouts(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS r ON p.rollout = hash(r.rollout_id) AND p.run_id = r.run_id;
