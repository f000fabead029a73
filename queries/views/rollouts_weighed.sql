-- The parts of a reward: what graders gave rollouts left by the filters, one row per rollout and part. Assertions belong to
-- single samples and are none. is_total: the grader is the reward itself (kind `reward`, and its number is the rollout's in
-- every rollout of the run it scored).
CREATE MACRO reward_part_scores(
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
WITH r AS (
    SELECT run_id, rollout_id, split, step, unit, reward, is_failure(status) AS is_failed
    FROM filtered_rollouts(
        p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
)

SELECT
    r.*,
    s.grader,
    s.kind,
    s.weight,
    CASE WHEN isfinite(s.value) THEN s.value END AS value,
    s.kind = 'reward'
    AND bool_and(s.kind <> 'reward' OR coalesce(abs(s.value - r.reward) < 1e-6, TRUE)) OVER (PARTITION BY r.run_id, s.grader)
        AS is_total
FROM scores AS s
INNER JOIN r ON hash(s.rollout_id) = hash(r.rollout_id)
WHERE (p_run_ids IS NULL OR list_contains(p_run_ids, s.run_id)) AND s.kind <> 'assertion';

-- Rollouts with a reward, and what given weights make of their parts. p_parts: a list of {grader, weight, best};
-- p_gates: a list of {grader, bound}. terms: weight times value, missing: weight times what is missing to the best, in
-- the order of the parts; closed: the place of the first gate whose part is below its bound; is_complete: it has every
-- part and gate (a failed rollout often has a reward and no parts).
CREATE MACRO weighed_rollouts(
    p_parts, p_gates,
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
WITH r AS (
    SELECT run_id, rollout_id, split, step, unit, reward, is_failure(status) AS is_failed
    FROM filtered_rollouts(
        p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE reward IS NOT NULL
),

given AS (
    SELECT rollout_id, map_from_entries(list((grader, value))) AS of_grader
    FROM scores
    WHERE (p_run_ids IS NULL OR list_contains(p_run_ids, run_id)) AND kind <> 'assertion' AND isfinite(value)
    GROUP BY run_id, rollout_id
),

scored AS (
    SELECT r.*, given.of_grader FROM r LEFT JOIN given ON hash(r.rollout_id) = hash(given.rollout_id)
)

SELECT
    * EXCLUDE (of_grader),
    list_transform(p_parts, LAMBDA part: part['weight'] * of_grader[part['grader']]) AS terms,
    list_transform(p_parts, LAMBDA part: part['weight'] * (part['best'] - of_grader[part['grader']])) AS missing,
    list_position(list_transform(p_gates, LAMBDA gate: of_grader[gate['grader']] < gate['bound']), TRUE) AS closed,
    coalesce(list_bool_and(list_transform(p_parts, LAMBDA part: of_grader[part['grader']] IS NOT NULL)), TRUE)
    AND coalesce(list_bool_and(list_transform(p_gates, LAMBDA gate: of_grader[gate['grader']] IS NOT NULL)), TRUE)
        AS is_complete
FROM scored;
