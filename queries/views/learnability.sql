-- An arm's attempts, judged: what learnability is told from. An arm is a struct {run_id, split, step} as in arms.sql.

-- One row per rollout of the arm that names its sample. is_passed (NULL = not known) is told as `success` says, one rule
-- an environment: the reader's threshold where one is given, else `passed` where any is known, else rewards that are all
-- 0 or 1; NULL where there is no rule. is_used: not an infrastructure or grader failure that is to be left out.
CREATE MACRO judged_attempts(p_arm, p_environments, p_threshold, p_leave_out_failures) AS TABLE
WITH own AS (
    SELECT
        *,
        coalesce(status IN ('infra_error', 'grader_error'), FALSE) AS is_failed,
        p_leave_out_failures IS FALSE OR coalesce(status NOT IN ('infra_error', 'grader_error'), TRUE) AS is_used
    FROM rollouts
    WHERE
        run_id = struct_extract(p_arm, 'run_id')
        AND split IS NOT DISTINCT FROM struct_extract(p_arm, 'split')
        AND step IS NOT DISTINCT FROM struct_extract(p_arm, 'step')
        AND (p_environments IS NULL OR list_contains(p_environments, environment))
        AND sample_id IS NOT NULL
),

rules AS (
    SELECT
        environment,
        CASE
            WHEN p_threshold IS NOT NULL THEN 'threshold'
            WHEN count(passed) > 0 THEN 'passed'
            WHEN bool_and(reward IN (0, 1)) THEN 'reward 0 or 1'
        END AS success
    FROM own
    WHERE is_used
    GROUP BY environment
)

SELECT
    own.*,
    rules.success,
    CASE rules.success
        WHEN 'passed' THEN own.passed
        WHEN 'reward 0 or 1' THEN own.reward = 1
        WHEN 'threshold' THEN own.reward >= p_threshold
    END AS is_passed
FROM own
LEFT JOIN rules ON own.environment IS NOT DISTINCT FROM rules.environment;
