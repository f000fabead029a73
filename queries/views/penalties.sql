-- Graders that look like penalties, one row per run and grader: their name says so (penalty, punishment, overlong), or they
-- are not the reward, are sometimes below 0, and are never above 0 or are named after a budget or a length.
CREATE MACRO penalty_graders(p_run_ids) AS TABLE
SELECT run_id, grader
FROM scores
WHERE (p_run_ids IS NULL OR list_contains(p_run_ids, run_id)) AND kind IS DISTINCT FROM 'label'
GROUP BY run_id, grader
HAVING
    regexp_matches(lower(grader), 'penal|punish|overlong')
    OR (
        min(value) < 0
        AND NOT bool_or(coalesce(kind = 'reward', FALSE))
        AND (max(value) <= 0 OR regexp_matches(lower(grader), 'budget|length'))
    );
