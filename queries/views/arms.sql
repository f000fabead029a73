-- The arms of a comparison, rollout by rollout. An arm is a struct {run_id, split, step}; split and step match exactly,
-- NULL included.

-- One row per rollout of each of some arms, a list of structs that have the name of theirs as `arm` beside the rest.
-- sample_suffix: the sample's id after its last `/`, `:` or `#`; sample_position: its sample's place, from 1, in the
-- order the arm's were read. pair_key is what samples are paired by: the column `p_pair_by` names, told apart by
-- environment where an arm has several; where nothing identifies the sample it is the rollout itself, which pairs with
-- nothing.
CREATE MACRO rollouts_of_arms(p_arms, p_environments, p_pair_by) AS TABLE
WITH wanted AS (
    SELECT unnest(p_arms, max_depth := 2)
),

found AS (
    SELECT
        w.arm,
        r.*,
        coalesce(s.prompt_hash, g.prompt_hash) AS prompt_hash,
        coalesce(s.cluster_key, g.cluster_key) AS cluster_key,
        coalesce(s.tags, g.tags) AS tags,
        coalesce(s.metadata, g.metadata) AS sample_metadata,
        coalesce(r.status IN ('infra_error', 'grader_error'), FALSE) AS is_failed,
        nullif(regexp_extract(r.sample_id, '[^/:#]+$'), '') AS sample_suffix,
        min(r.position) OVER (PARTITION BY w.arm, r.source_id, r.sample_id) AS first_position,
        count(DISTINCT r.environment) OVER (PARTITION BY w.arm) AS num_environments
    FROM rollouts AS r
    INNER JOIN wanted AS w
        ON
            r.run_id = w.run_id
            AND r.split IS NOT DISTINCT FROM w.split
            AND r.step IS NOT DISTINCT FROM w.step
    LEFT JOIN samples AS s
        ON r.run_id = s.run_id AND r.sample_id = s.sample_id AND r.environment IS NOT DISTINCT FROM s.environment
    LEFT JOIN any_samples AS g
        ON r.run_id = g.run_id AND r.sample_id = g.sample_id AND (g.is_general OR r.environment IS NULL)
    WHERE
        list_contains([struct_extract(each, 'run_id') FOR each IN p_arms], r.run_id)
        AND (p_environments IS NULL OR list_contains(p_environments, r.environment))
),

placed AS (
    SELECT
        *,
        CASE
            WHEN sample_id IS NOT NULL
                THEN dense_rank() OVER (PARTITION BY arm, sample_id IS NULL ORDER BY source_id, first_position)::varchar
        END AS sample_position
    FROM found
),

keyed AS (
    SELECT
        *,
        CASE p_pair_by
            WHEN 'sample_id' THEN sample_id
            WHEN 'sample_suffix' THEN sample_suffix
            WHEN 'prompt_hash' THEN prompt_hash
            WHEN 'position' THEN sample_position
        END AS named
    FROM placed
)

SELECT
    * EXCLUDE (named),
    coalesce(
        CASE WHEN max(num_environments) OVER () > 1 THEN coalesce(environment, '?') || ' · ' || named ELSE named END,
        arm || ' ' || rollout_id
    ) AS pair_key
FROM keyed;

-- One row per rollout of either arm, `baseline` or `candidate`.
CREATE MACRO compared_rollouts(p_baseline, p_candidate, p_environments, p_pair_by) AS TABLE
FROM rollouts_of_arms(
    [struct_insert(p_baseline, arm := 'baseline'), struct_insert(p_candidate, arm := 'candidate')],
    p_environments,
    p_pair_by
);

-- One row per arm and combination of what could pair its samples (key_…) and what describes it (field_…), as text.
CREATE MACRO arm_descriptions(p_baseline, p_candidate, p_environments) AS TABLE
SELECT DISTINCT
    arm,
    sample_id AS key_sample_id,
    sample_suffix AS key_sample_suffix,
    prompt_hash AS key_prompt_hash,
    sample_position AS key_position,
    environment AS field_environment,
    agent AS field_agent,
    model AS field_model,
    split AS field_split,
    sample_id_source AS field_sample_id_source,
    grader_version AS field_grader_version,
    prompt_version AS field_prompt_version,
    tools_version AS field_tools_version
FROM compared_rollouts(p_baseline, p_candidate, p_environments, 'sample_id');
