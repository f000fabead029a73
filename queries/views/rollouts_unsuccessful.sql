-- Rollouts without success, and the one cause of each as the rulebook `failures` says. `p_book` is that rulebook as a
-- struct, see `queries/failure_rules.py`: rules in order, the floor of rewards, a pattern that any answer must match.

-- At and below this reward an attempt has earned nothing, as the rulebook says for its environment.
CREATE MACRO reward_floor(p_book, p_environment) AS
coalesce(
    struct_extract(p_book, 'floors')[list_position(struct_extract(p_book, 'floor_environments'), p_environment)],
    struct_extract(p_book, 'floor')
);

-- Whether a rollout is without success: an error ended it, it did not pass, or where no verdict is known its reward is
-- at the floor or there is none.
CREATE MACRO is_unsuccessful(p_book, p_environment, p_status, p_passed, p_reward) AS
coalesce(p_status IN ('infra_error', 'grader_error', 'cancelled'), FALSE)
OR NOT coalesce(p_passed, p_reward > reward_floor(p_book, p_environment), FALSE);

-- Whether a rule may lay it at infrastructure's or grader's door: most rollouts need not be looked at for that.
CREATE MACRO may_be_foreign(p_book, p_status, p_unrecovered_errors) AS
list_contains(struct_extract(p_book, 'foreign_statuses'), coalesce(p_status, 'unknown'))
OR (struct_extract(p_book, 'foreign_by_tools') AND coalesce(p_unrecovered_errors, '') <> '');

-- Whether a pattern is found in a text; '' is no condition.
CREATE MACRO fits(p_text, p_pattern) AS
p_pattern = '' OR coalesce(regexp_matches(left(p_text, 400), p_pattern), FALSE);

-- One row per rollout without success: what rules look at, `is_zero` (its reward is at the floor), `cause`, `whose`
-- (`infrastructure`, `grader`, `policy`, `unknown`) and the number of the rule, from 1. The first rule that fits wins.
-- Rollouts that ended alike are judged once: patterns are compiled for each text they are looked for in.
CREATE MACRO caused_rollouts(
    p_book, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents,
    p_may_be_foreign := FALSE
) AS TABLE
WITH failed AS MATERIALIZED (
    SELECT
        run_id, rollout_id, sample_id, unit, environment, host, attempt, step, split, status, stop_reason, error_type,
        error_message, unrecovered_errors, reward, passed, started_at, ended_at,
        CASE
            WHEN num_messages IS NOT NULL AND coalesce(final_answer, '') = '' THEN ''
            WHEN regexp_matches(left(final_answer, 400), struct_extract(p_book, 'answers')) THEN left(final_answer, 400)
        END AS answer,
        coalesce(reward <= reward_floor(p_book, environment), FALSE) AS is_zero,
        hash(status, stop_reason, error_type, error_message, unrecovered_errors, environment, reward IS NULL, answer)
            AS ending
    FROM filtered_rollouts(
        p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE
        is_unsuccessful(p_book, environment, status, passed, reward)
        AND (NOT p_may_be_foreign OR may_be_foreign(p_book, status, unrecovered_errors))
),

rules AS (
    SELECT unnest(struct_extract(p_book, 'rules'), max_depth := 2)
),

endings AS (
    SELECT DISTINCT ON (ending)
        ending, status, stop_reason, error_type, error_message, unrecovered_errors, environment, answer,
        reward IS NOT NULL AS is_scored,
        coalesce(answer, '-') <> '' AS is_answered
    FROM failed
),

judged AS (
    SELECT
        e.ending,
        min_by(struct_pack(rule := r.rule, cause := r.cause, whose := r.whose), r.rule) AS verdict
    FROM endings AS e
    INNER JOIN rules AS r
        ON
            (len(r.status) = 0 OR list_contains(r.status, coalesce(e.status, 'unknown')))
            AND (len(r.environment) = 0 OR list_contains(r.environment, e.environment))
            AND (r.scored IS NULL OR e.is_scored = r.scored)
            AND (r.has_answer IS NULL OR e.is_answered = r.has_answer)
    WHERE
        fits(e.stop_reason, r.stop_reason)
        AND fits(e.error_type, r.error_type)
        AND fits(e.error_message, r.error_message)
        AND (fits(e.stop_reason, r.error) OR fits(e.error_type, r.error) OR fits(e.error_message, r.error))
        AND fits(e.unrecovered_errors, r.tool_error)
        AND fits(e.answer, r.final_answer)
    GROUP BY e.ending
)

SELECT
    f.* EXCLUDE (answer, ending),
    struct_extract(j.verdict, 'rule') AS rule,
    coalesce(struct_extract(j.verdict, 'cause'), 'unclassified') AS cause,
    coalesce(struct_extract(j.verdict, 'whose'), 'unknown') AS whose
FROM failed AS f
LEFT JOIN judged AS j ON f.ending = j.ending;

-- The same counted: per run (split, step, as `p_by` says), sample and cause, x rollouts.
CREATE MACRO causes_per_sample(
    p_book, p_by, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
SELECT
    run_id,
    CASE WHEN p_by IN ('split', 'step') THEN split END AS split,
    CASE WHEN p_by = 'step' THEN step END AS step,
    unit,
    cause,
    whose,
    count(*)::double AS x,
    count(*) FILTER (WHERE is_zero) AS num_zero
FROM caused_rollouts(
    p_book, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
)
GROUP BY ALL;

-- Rollouts that infrastructure or grader failed, by the rules: the policy had no part in it.
CREATE MACRO foreign_failures(
    p_book, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
SELECT DISTINCT run_id, rollout_id, cause
FROM caused_rollouts(
    p_book, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents,
    p_may_be_foreign := TRUE
)
WHERE whose IN ('infrastructure', 'grader');

-- Rollouts restricted by the shared filters, with whether infrastructure or grader failed them.
CREATE MACRO rollouts_with_failures(
    p_book, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
SELECT
    r.*,
    f.rollout_id IS NOT NULL AS is_foreign
FROM filtered_rollouts(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS r
LEFT JOIN foreign_failures(
    p_book, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS f ON r.run_id = f.run_id AND r.rollout_id = f.rollout_id;
