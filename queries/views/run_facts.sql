-- What is known of runs as a whole, fact by fact: run_id, section, name and value (JSON; never NULL).

-- What their sources say of them, but for configuration and hyperparameters.
CREATE MACRO run_columns(p_run_ids) AS TABLE
WITH facts AS (
    SELECT
        run_id,
        -- `recursive` names the columns after the struct's fields: there is nothing to alias.
        unnest([  -- noqa: AL03
            {'section': 'configuration', 'name': 'kind', 'value': to_json(kind)},
            {'section': 'configuration', 'name': 'provider', 'value': to_json(provider)},
            {'section': 'configuration', 'name': 'base model', 'value': to_json(base_model)},
            {'section': 'configuration', 'name': 'model', 'value': to_json(model)},
            {'section': 'configuration', 'name': 'parent run', 'value': to_json(parent_run)},
            {'section': 'grader', 'name': 'reward', 'value': to_json(reward_name)},
            {'section': 'code', 'name': 'code reference', 'value': to_json(code_reference)},
            {'section': 'identity', 'name': 'run', 'value': to_json(name)},
            {'section': 'identity', 'name': 'source format', 'value': to_json(source_format)},
            {'section': 'identity', 'name': 'tags', 'value': tags},
            {'section': 'identity', 'name': 'created at, UTC', 'value': to_json(created_at)},
            {'section': 'identity', 'name': 'started at, UTC', 'value': to_json(started_at)},
            {'section': 'identity', 'name': 'ended at, UTC', 'value': to_json(ended_at)},
            {'section': 'results', 'name': 'status', 'value': to_json(status)},
            {'section': 'results', 'name': 'error', 'value': to_json(error_message)}
        ], recursive := TRUE)
    FROM runs
    WHERE list_contains(p_run_ids, run_id)
)

FROM facts
WHERE value IS NOT NULL AND value::varchar <> 'null';

-- What their rollouts name: a text, or where it changed a list in order of steps, each with those it was seen in.
CREATE MACRO run_rollout_values(p_run_ids) AS TABLE
WITH named AS (
    SELECT run_id, name, found, min(step) AS first_step, max(step) AS last_step
    FROM (
        SELECT
            run_id, step, environment, agent, model AS acting_model, grader_version, prompt_version, tools_version
        FROM rollouts
        WHERE list_contains(p_run_ids, run_id)
    ) UNPIVOT (
        found FOR name IN (environment, agent, acting_model, grader_version, prompt_version, tools_version)
    )
    GROUP BY run_id, name, found
)

SELECT
    run_id,
    CASE name
        WHEN 'environment' THEN 'data'
        WHEN 'grader_version' THEN 'grader'
        WHEN 'prompt_version' THEN 'prompts'
        WHEN 'tools_version' THEN 'tools'
        ELSE 'configuration'
    END AS section,
    CASE name
        WHEN 'acting_model' THEN 'model that acted'
        WHEN 'tools_version' THEN 'tools offered, version'
        ELSE replace(name, '_', ' ')
    END AS name,
    CASE
        WHEN count(*) = 1 THEN to_json(min(found))
        ELSE to_json(list(
            found || CASE
                WHEN first_step IS NULL OR name = 'environment' THEN ''
                ELSE ' (steps ' || first_step || '–' || last_step || ')'
            END ORDER BY first_step, found
        ))
    END AS value
FROM named
GROUP BY ALL;

-- How many rollouts, samples, steps and attempts there are of each split, and which samples: equal sets, equal digests.
CREATE MACRO run_splits(p_run_ids) AS TABLE
WITH per_sample AS (
    SELECT run_id, split, step, environment, sample_id, count(*) AS num
    FROM rollouts
    WHERE list_contains(p_run_ids, run_id)
    GROUP BY run_id, split, step, environment, sample_id
),

per_split AS (
    SELECT
        run_id,
        coalesce(', ' || split, '') AS suffix,
        sum(num)::bigint AS num_rollouts,
        count(DISTINCT step) AS num_steps,
        min(step) AS first_step,
        max(step) AS last_step,
        count(DISTINCT sample_id) AS num_samples,
        median(num) FILTER (sample_id IS NOT NULL) AS attempts,
        md5(string_agg(DISTINCT sample_id, chr(10) ORDER BY sample_id)) AS digest
    FROM per_sample
    GROUP BY run_id, split
),

facts AS (
    SELECT
        run_id,
        -- `recursive` names the columns after the struct's fields: there is nothing to alias.
        unnest([  -- noqa: AL03
            {'section': 'data', 'name': 'samples' || suffix, 'value': to_json(nullif(num_samples, 0))},
            {'section': 'data', 'name': 'sample ids' || suffix, 'value': to_json('digest ' || digest[:8])},
            {'section': 'data', 'name': 'attempts per sample' || suffix, 'value': to_json(attempts)},
            {'section': 'results', 'name': 'rollouts' || suffix, 'value': to_json(num_rollouts)},
            {'section': 'results', 'name': 'steps' || suffix, 'value': to_json(nullif(num_steps, 0))},
            {'section': 'results', 'name': 'first step' || suffix, 'value': to_json(first_step)},
            {'section': 'results', 'name': 'last step' || suffix, 'value': to_json(last_step)}
        ], recursive := TRUE)
    FROM per_split
)

FROM facts
WHERE value IS NOT NULL AND value::varchar <> 'null';

-- Which tools were called, and how often: the hundred that were called most.
CREATE MACRO run_tools(p_run_ids) AS TABLE
WITH used AS (
    SELECT run_id, tool, count(*) AS num_calls
    FROM tool_calls
    WHERE list_contains(p_run_ids, run_id) AND requestor <> 'user' AND status <> 'orphan'
    GROUP BY run_id, tool
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY num_calls DESC, tool) <= 100
)

SELECT run_id, 'tools' AS section, 'tools called' AS name, to_json(list(tool ORDER BY tool)) AS value
FROM used
GROUP BY run_id
UNION ALL
SELECT run_id, 'results' AS section, 'calls of ' || tool AS name, to_json(num_calls) AS value
FROM used;
