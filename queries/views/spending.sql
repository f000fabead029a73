-- What rollouts cost, in US dollars, by the prices in `p_prices`: a struct of lists, for each kind of thing the names that
-- have a price and the prices beside them (`queries/prices.py`); a name that is in no list has no price, which is not 0.
CREATE MACRO has_prices(p_prices, p_kind) AS len(struct_extract(p_prices, p_kind)) > 0;
CREATE MACRO place_of(p_prices, p_kind, p_name) AS list_position(struct_extract(p_prices, p_kind)::varchar[], p_name);
CREATE MACRO price_of(p_prices, p_what, p_place) AS list_extract(struct_extract(p_prices, p_what)::double[], p_place);

-- One row per rollout restricted by the shared filters. model_usd, tools_usd, graders_usd, environment_usd: NULL where
-- nothing of it has a price. usd: what the source reports, if that is preferred and there, else the sum of those (else
-- what is reported): never both. lacks_…: a part of the computed cost that is incomplete, as tokens or a price are missing.
CREATE MACRO spending(
    p_prices, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset,
    p_agents
) AS TABLE
WITH called AS (
    SELECT
        hash(c.rollout_id) AS place,
        sum(
            coalesce(price_of(p_prices, 'tool_call', priced_at), 0)
            + coalesce(price_of(p_prices, 'tool_second', priced_at) * known_seconds(c.latency_s), 0)
        ) FILTER (WHERE priced_at IS NOT NULL) AS usd,
        bool_or(
            priced_at IS NULL OR (c.latency_s IS NULL AND price_of(p_prices, 'tool_second', priced_at) > 0)
        ) AS is_lacking
    FROM (
        SELECT *, place_of(p_prices, 'tools', tool) AS priced_at
        FROM tool_calls
        WHERE
            has_prices(p_prices, 'tools')
            AND (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
            AND requestor <> 'user'
            AND status <> 'orphan'
            AND coalesce(is_executed, TRUE)
    ) AS c
    GROUP BY hash(c.rollout_id)
),

graded AS (
    SELECT
        hash(g.rollout_id) AS place,
        sum(price_of(p_prices, 'grader_call', priced_at)) AS usd,
        bool_or(priced_at IS NULL AND g.kind IN ('reward', 'subscore') AND NOT contains(g.grader, '/')) AS is_lacking
    FROM (
        SELECT *, place_of(p_prices, 'graders', grader) AS priced_at
        FROM scores
        WHERE has_prices(p_prices, 'graders') AND (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
    ) AS g
    GROUP BY hash(g.rollout_id)
),

own AS (
    SELECT
        r.*,
        coalesce(r.model, runs.model, runs.base_model, '') AS priced_model,
        place_of(p_prices, 'models', coalesce(r.model, runs.model, runs.base_model, '')) AS model_at,
        place_of(p_prices, 'environments', coalesce(r.environment, '')) AS environment_at,
        CASE WHEN r.cost_usd >= 0 AND isfinite(r.cost_usd) THEN r.cost_usd END AS reported_usd,
        called.usd AS tools_usd,
        graded.usd AS graders_usd,
        -- Where no tool or grader at all has a price, one call, one reward is enough to lack something.
        CASE WHEN has_prices(p_prices, 'tools') THEN called.is_lacking ELSE r.num_tool_calls > 0 END AS lacks_tools,
        CASE WHEN has_prices(p_prices, 'graders') THEN graded.is_lacking ELSE r.reward IS NOT NULL END AS lacks_graders
    FROM filtered_rollouts(
        p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    ) AS r
    LEFT JOIN runs ON r.run_id = runs.run_id
    LEFT JOIN called ON hash(r.rollout_id) = called.place
    LEFT JOIN graded ON hash(r.rollout_id) = graded.place
),

computed AS (
    SELECT
        *,
        CASE
            WHEN coalesce(input_tokens, output_tokens) IS NOT NULL
                THEN
                    greatest(coalesce(input_tokens, 0) - coalesce(cached_tokens, 0), 0)
                    * price_of(p_prices, 'model_input', model_at)
                    + least(coalesce(cached_tokens, 0), coalesce(input_tokens, 0))
                    * price_of(p_prices, 'model_cached', model_at)
                    + coalesce(output_tokens, 0) * price_of(p_prices, 'model_output', model_at)
        END AS model_usd,
        known_seconds(latency_s) * price_of(p_prices, 'environment_second', environment_at) AS environment_usd,
        model_at IS NULL OR input_tokens IS NULL OR output_tokens IS NULL AS lacks_model,
        environment_at IS NULL OR latency_s IS NULL AS lacks_environment
    FROM own
),

summed AS (
    SELECT
        *,
        CASE
            WHEN coalesce(model_usd, tools_usd, graders_usd, environment_usd) IS NOT NULL
                THEN
                    coalesce(model_usd, 0) + coalesce(tools_usd, 0) + coalesce(graders_usd, 0)
                    + coalesce(environment_usd, 0)
        END AS computed_usd
    FROM computed
)

SELECT
    *,
    CASE
        WHEN struct_extract(p_prices, 'prefers_reported') THEN coalesce(reported_usd, computed_usd)
        ELSE coalesce(computed_usd, reported_usd)
    END AS usd,
    reported_usd IS NOT NULL AND (struct_extract(p_prices, 'prefers_reported') OR computed_usd IS NULL) AS is_reported
FROM summed;

-- One row per sample and run (split, step, as `p_by` says): what all its attempts took together, NULL where that of any is
-- not known, and whether it was solved: by an attempt whose reward reaches the bound where one is given, else by `passed`
-- where any of the run is known, else by a reward of 1 where rewards are all 0 or 1 (`success`: the rule; NULL = not known).
CREATE MACRO sample_spending(
    p_prices, p_by, p_reward_at_least,
    p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset,
    p_agents
) AS TABLE
WITH own AS (
    SELECT
        *,
        CASE WHEN p_by IN ('split', 'step') THEN split END AS own_split,
        CASE WHEN p_by = 'step' THEN step END AS own_step
    FROM spending(
        p_prices, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
),

rules AS (
    SELECT
        run_id,
        CASE
            WHEN p_reward_at_least IS NOT NULL THEN 'reward'
            WHEN count(passed) > 0 THEN 'passed'
            WHEN bool_and(reward IN (0, 1)) THEN 'reward 0 or 1'
        END AS success
    FROM own
    GROUP BY run_id
),

per_sample AS (
    SELECT
        o.run_id,
        o.own_split AS split,
        o.own_step AS step,
        r.success,
        o.unit,
        count(*) AS attempts,
        count(*) FILTER (WHERE o.sample_id IS NULL) AS num_nameless,
        count(*) FILTER (WHERE o.is_reported) AS num_reported,
        bool_or(
            NOT o.is_reported AND (o.lacks_model OR o.lacks_tools OR o.lacks_graders OR o.lacks_environment)
        ) AS is_lacking,
        CASE WHEN count(o.usd) = count(*) THEN sum(o.usd) END AS usd,
        CASE
            WHEN count(o.input_tokens + o.output_tokens) = count(*) THEN sum(o.input_tokens + o.output_tokens)
        END AS tokens,
        CASE WHEN count(known_seconds(o.latency_s)) = count(*) THEN sum(o.latency_s) / 3600 END AS hours,
        bool_or(
            CASE r.success
                WHEN 'reward' THEN o.reward >= p_reward_at_least
                WHEN 'passed' THEN o.passed
                WHEN 'reward 0 or 1' THEN o.reward = 1
            END
        ) AS is_solved
    FROM own AS o
    INNER JOIN rules AS r ON o.run_id = r.run_id
    GROUP BY ALL
)

FROM per_sample;
