-- What the rulebook `integrity` judges, and what its rules find in tool calls and scores (suspects_of_rules.sql puts them
-- together).

-- Up to where the remainder of a rollout's hash lies if it is looked at: all, or `p_max` of the runs' rollouts.
CREATE MACRO part_looked_at(p_max, p_run_ids) AS TABLE
SELECT 1000003 * coalesce(p_max / nullif(sum(num_rollouts), 0), 1) AS bound
FROM run_summaries
WHERE p_run_ids IS NULL OR list_contains(p_run_ids, run_id);

-- Rollouts left by the filters, without failures that are not the policy's own; where their runs have more than `p_max`, an
-- even part of them, chosen by their ids. share_calling, share_answered and is_rewarded (NULL = not scored): as the rulebook
-- says, of the rollouts looked at, by run and environment.
CREATE MACRO judged_rollouts(
    p_max, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
WITH part AS (
    FROM part_looked_at(p_max, p_run_ids)
),

looked_at AS (
    SELECT
        run_id, rollout_id, sample_id, environment, group_id, split, step, unit, reward, final_answer, metadata,
        num_tool_calls, output_tokens
    FROM filtered_rollouts(
        p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    )
    WHERE
        NOT is_failure(status)
        AND hash(rollout_id) % 1000003 < (SELECT part.bound FROM part)
),

typical AS (
    SELECT
        run_id,
        environment,
        min(reward) AS lowest,
        max(reward) AS highest,
        median(reward) AS usual,
        CASE WHEN min(reward) >= 0 AND max(reward) <= 1 THEN 0.5 ELSE (min(reward) + max(reward)) / 2 END AS middle,
        avg((num_tool_calls > 0)::int) AS share_calling,
        avg((length(final_answer) > 0)::int) AS share_answered
    FROM looked_at
    GROUP BY run_id, environment
)

SELECT
    r.*,
    t.lowest,
    t.highest,
    t.share_calling,
    t.share_answered,
    r.reward >= t.middle OR (r.reward >= t.usual AND r.reward > t.lowest) AS is_rewarded
FROM looked_at AS r
INNER JOIN typical AS t ON r.run_id = t.run_id AND r.environment IS NOT DISTINCT FROM t.environment;

-- A text as its words in lower case, one blank between them: letters and digits only.
CREATE MACRO as_words(p_text) AS trim(regexp_replace(lower(p_text), '[^\p{L}\p{N}]+', ' ', 'g'));

-- JSON with the line ends and tabs of its texts as such, so that words in it begin and end where they do.
CREATE MACRO with_line_ends(p_json) AS replace(replace(p_json, '\n', chr(10)), '\t', chr(9));

-- The piece of a text around what a pattern matches in it.
CREATE MACRO excerpt(p_text, p_pattern) AS
substr(
    p_text,
    greatest(1, strpos(p_text, nullif(regexp_extract(p_text, p_pattern), '')) - 40)::bigint,
    least(length(regexp_extract(p_text, p_pattern)), 160) + 80
);

-- The sample's reference and what else is kept of it, one row per run, sample and environment.
CREATE MACRO kept_samples(p_run_ids) AS TABLE
SELECT
    run_id,
    sample_id,
    environment,
    any_value(reference) AS reference,
    any_value(metadata) AS sample_metadata
FROM samples
WHERE p_run_ids IS NULL OR list_contains(p_run_ids, run_id)
GROUP BY run_id, sample_id, environment;

-- Per rollout and rule, the first tool call whose arguments match one of the rule's patterns, as a struct `hit`, and how
-- many do. p_patterns: a list of {rule, kind, pattern, only_rewarded}, of which p_any is any.
CREATE MACRO hits_in_calls(p_patterns, p_any, p_max, p_run_ids) AS TABLE
WITH part AS (
    FROM part_looked_at(p_max, p_run_ids)
),

hits AS (
    SELECT
        rollout_id,
        call_index, tool, with_line_ends(arguments_raw) AS asked, output_text,
        -- As `filtered_calls` tells a failed call.
        coalesce(is_error_flagged, FALSE) OR coalesce(is_error_inferred, FALSE)
        OR status = 'error' OR NOT coalesce(is_executed, TRUE) AS is_failed
    FROM tool_calls
    WHERE
        (p_run_ids IS NULL OR list_contains(p_run_ids, run_id))
        AND requestor <> 'user'
        AND status <> 'orphan'
        -- Of calls of rollouts that are not looked at, the arguments are not searched.
        AND CASE
            WHEN hash(rollout_id) % 1000003 < (SELECT part.bound FROM part)
                THEN regexp_matches(with_line_ends(arguments_raw), p_any)
            ELSE FALSE
        END
)

SELECT
    h.rollout_id,
    p.rule,
    count(DISTINCT h.call_index) AS num_hits,
    arg_min(
        struct_pack(
            kind := p.kind, place := h.call_index + 1, tool := h.tool, said := excerpt(h.asked, p.pattern),
            is_failed := h.is_failed, output := h.output_text
        ),
        (h.call_index, p.place)
    ) AS hit
FROM hits AS h
INNER JOIN (
    SELECT each.rule, each.kind, each.pattern, place
    FROM (SELECT unnest(p_patterns) AS each, generate_subscripts(p_patterns, 1) AS place)
) AS p ON regexp_matches(h.asked, p.pattern)
GROUP BY h.rollout_id, p.rule;

-- The rules a list of patterns belongs to.
CREATE MACRO rules_of(p_patterns) AS TABLE
SELECT each.rule, bool_or(each.only_rewarded) AS only_rewarded
FROM (SELECT unnest(p_patterns) AS each)
WHERE each.rule <> ''
GROUP BY each.rule;
