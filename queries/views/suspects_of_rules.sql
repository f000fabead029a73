-- What every rule of the rulebook `integrity` says of every rollout it applies to: is_flagged, and of flagged ones `kind`
-- and `evidence` in words. One macro, so that the rollouts are read once for all rules.
-- p_names: a rule's name by its method, NULL where the method is switched off; p_numbers: by method and name; p_texts:
-- patterns by name; p_answer_patterns, p_call_patterns: lists of {rule, kind, pattern, only_rewarded}, with a pattern that
-- matches where any of them does.
CREATE MACRO suspects(
    p_names, p_numbers, p_texts, p_answer_patterns, p_answer_any, p_call_patterns, p_call_any,
    p_max, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
) AS TABLE
WITH judged AS (
    SELECT
        r.*,
        s.reference,
        s.sample_metadata,
        hash(as_words(r.final_answer)) AS answer_hash,
        r.step <= min(r.step) OVER own + 0.2 * (max(r.step) OVER own - min(r.step) OVER own)
        AND min(r.step) OVER own < max(r.step) OVER own AS is_first_fifth
    FROM judged_rollouts(
        p_max, p_run_ids, p_splits, p_step_from, p_step_to, p_statuses, p_tools, p_environments, p_subset, p_agents
    ) AS r
    LEFT JOIN kept_samples(p_run_ids) AS s
        ON r.run_id = s.run_id AND r.sample_id = s.sample_id AND r.environment IS NOT DISTINCT FROM s.environment
    WINDOW own AS (PARTITION BY r.run_id, r.split)
),

by_call AS (
    SELECT
        r.run_id, r.rollout_id, r.split, r.step, r.unit, r.reward,
        p.rule,
        h.rule IS NOT NULL AND (r.is_rewarded OR NOT p.only_rewarded) AS is_flagged,
        h.hit['kind'] AS kind,
        'call ' || h.hit['place'] || CASE WHEN h.num_hits > 1 THEN ' (and ' || (h.num_hits - 1) || ' more), ' ELSE ', ' END
        || h.hit['tool'] || CASE WHEN h.hit['is_failed'] THEN ', which failed: ' ELSE ': ' END || h.hit['said']
        || CASE
            WHEN length(r.reference) > 1 AND contains(h.hit['output'], r.reference)
                THEN ' (the reference stands in its output)'
            ELSE ''
        END AS evidence
    FROM judged AS r
    CROSS JOIN rules_of(p_call_patterns) AS p
    LEFT JOIN hits_in_calls(p_call_patterns, p_call_any, p_max, p_run_ids) AS h
        ON r.rollout_id = h.rollout_id AND p.rule = h.rule
    WHERE r.num_tool_calls IS NOT NULL AND (r.is_rewarded IS NOT NULL OR NOT p.only_rewarded)
),

-- Answers that match a pattern of a rule.
matched AS (
    SELECT
        r.rollout_id, p.rule,
        arg_min(p.kind, p.place) AS kind,
        arg_min(excerpt(r.final_answer, p.pattern), p.place) AS said
    FROM judged AS r
    INNER JOIN (
        SELECT each.rule, each.kind, each.pattern, each.only_rewarded, place
        FROM (SELECT unnest(p_answer_patterns) AS each, generate_subscripts(p_answer_patterns, 1) AS place)
    ) AS p ON (r.is_rewarded OR NOT p.only_rewarded) AND regexp_matches(r.final_answer, p.pattern)
    WHERE regexp_matches(r.final_answer, p_answer_any)
    GROUP BY r.rollout_id, p.rule
),

by_pattern AS (
    SELECT
        r.run_id, r.rollout_id, r.split, r.step, r.unit, r.reward,
        p.rule,
        m.rule IS NOT NULL AS is_flagged,
        m.kind,
        'the answer says: ' || m.said AS evidence
    FROM judged AS r
    CROSS JOIN rules_of(p_answer_patterns) AS p
    LEFT JOIN matched AS m ON r.rollout_id = m.rollout_id AND p.rule = m.rule
    WHERE r.final_answer IS NOT NULL AND (r.is_rewarded IS NOT NULL OR NOT p.only_rewarded)
),

-- A reference that is a list or an object has one right form; a prose has many.
proses AS (
    SELECT
        run_id, rollout_id, split, step, unit, reward, reference,
        CASE WHEN is_rewarded THEN as_words(left(final_answer, 20000)) END AS answer,
        CASE WHEN NOT regexp_matches(reference, '^\s*[\[{]') THEN as_words(reference) END AS prose,
        list_filter(
            regexp_extract_all(
                concat_ws(' ', metadata, sample_metadata),
                '"[^"]*(?:' || p_texts['fields'] || ')[^"]*"\s*:\s*"((?:[^"\\]|\\.)+)"', 1
            ),
            LAMBDA said: length(said) >= p_numbers['echo_min_characters']
        ) AS kept
    FROM judged
    WHERE p_names['echo'] IS NOT NULL AND final_answer IS NOT NULL AND is_rewarded IS NOT NULL
),

echoes AS (
    SELECT
        *,
        length(prose) - length(replace(prose, ' ', '')) + 1 >= p_numbers['echo_min_words'] AS is_prose,
        list_filter(kept, LAMBDA said: contains(answer, as_words(said)))[1] AS echoed
    FROM proses
),

-- What a rewarded answer says, if anything.
said AS (
    SELECT
        run_id, rollout_id, split, step, unit, reward, is_rewarded, final_answer, reference,
        CASE WHEN is_rewarded THEN string_split(as_words(left(final_answer, 4000)), ' ') END AS words
    FROM judged
    WHERE
        p_names['degenerate'] IS NOT NULL
        AND is_rewarded IS NOT NULL
        AND (final_answer IS NOT NULL OR share_answered >= 0.5)
),

said_nothing AS (
    SELECT
        *,
        CASE
            WHEN NOT is_rewarded THEN NULL
            WHEN trim(coalesce(final_answer, '')) = '' THEN 'empty'
            WHEN
                regexp_matches(final_answer, p_texts['refusals'])
                AND NOT coalesce(as_words(final_answer) = as_words(reference), FALSE)
                THEN 'does not know'
            WHEN length(final_answer) >= 40 AND len(list_distinct(string_split(left(final_answer, 400), ''))) <= 3
                THEN 'few characters'
            WHEN
                len(words) >= p_numbers['degenerate_min_words']
                AND len(list_distinct(words)) <= p_numbers['degenerate_max_distinct'] * len(words)
                THEN 'repeats itself'
        END AS kind
    FROM said
),

answers AS (
    SELECT
        run_id, split, answer_hash,
        count(DISTINCT unit) AS num_samples,
        count(DISTINCT reference) FILTER (WHERE is_rewarded) AS num_references,
        count(*) AS num_given,
        count(*) FILTER (WHERE is_rewarded) AS num_rewarded,
        sum(count(*)) OVER own - count(*) AS num_others,
        sum(count(*) FILTER (WHERE is_rewarded)) OVER own - count(*) FILTER (WHERE is_rewarded) AS num_others_rewarded
    FROM judged
    WHERE p_names['identical'] IS NOT NULL AND is_rewarded IS NOT NULL AND length(trim(final_answer)) > 0
    GROUP BY run_id, split, answer_hash
    WINDOW own AS (PARTITION BY run_id, split)
),

second AS (
    SELECT rollout_id, avg(value) AS value
    FROM judgements(p_run_ids, p_texts['lower_is_better'], p_texts['not_a_judge'])
    WHERE p_names['length'] IS NOT NULL
    GROUP BY rollout_id
),

lengths AS (
    SELECT r.*, length(r.final_answer) AS characters, s.value AS second
    FROM judged AS r
    INNER JOIN second AS s ON r.rollout_id = s.rollout_id
    WHERE r.is_rewarded IS NOT NULL
),

before AS (
    SELECT
        run_id, split, environment,
        median(second) AS second,
        count(output_tokens) >= p_numbers['length_min_first'] AS is_tokens,
        CASE
            WHEN count(output_tokens) >= p_numbers['length_min_first'] THEN quantile_cont(output_tokens, 0.95)
            WHEN count(characters) >= p_numbers['length_min_first'] THEN quantile_cont(characters, 0.95)
        END AS p95
    FROM lengths
    WHERE is_first_fifth
    GROUP BY run_id, split, environment
),

against_before AS (
    SELECT
        r.run_id, r.rollout_id, r.split, r.step, r.unit, r.reward, r.is_rewarded,
        CASE WHEN b.is_tokens THEN 'tokens' ELSE 'characters' END AS length_unit,
        CASE WHEN b.is_tokens THEN r.output_tokens ELSE r.characters END AS length,
        b.p95,
        r.second <= b.second AS is_no_better
    FROM lengths AS r
    INNER JOIN before AS b
        ON
            r.run_id = b.run_id
            AND r.split IS NOT DISTINCT FROM b.split
            AND r.environment IS NOT DISTINCT FROM b.environment
),

grouped AS (
    SELECT
        run_id, rollout_id, split, step, unit, reward,
        min(reward) OVER own AS group_lowest,
        max(reward) OVER own AS group_highest,
        count(reward) OVER own AS group_size,
        max(reward) OVER own = highest AND highest > lowest AS is_at_top
    FROM judged
    WHERE
        (p_names['saturated'] IS NOT NULL OR p_names['flat'] IS NOT NULL)
        AND reward IS NOT NULL
        AND coalesce(sample_id, group_id) IS NOT NULL
    WINDOW own AS (PARTITION BY run_id, split, step, unit, group_id)
)

FROM by_call
UNION ALL BY NAME
FROM by_pattern
UNION ALL BY NAME
SELECT
    run_id, rollout_id, split, step, unit, reward,
    p_names['echo'] AS rule,
    coalesce(
        echoed IS NOT NULL
        OR (is_prose AND contains(answer, prose) AND length(prose) >= p_numbers['echo_min_share'] * length(answer)),
        FALSE
    ) AS is_flagged,
    CASE WHEN echoed IS NOT NULL THEN 'the grader''s own text' ELSE 'nothing but the reference' END AS kind,
    CASE
        WHEN echoed IS NOT NULL THEN 'kept for the grader, and in the answer: ' || left(echoed, 200)
        ELSE 'the answer is the reference, word for word: ' || left(reference, 200)
    END AS evidence
FROM echoes
WHERE is_prose OR len(kept) > 0
UNION ALL BY NAME
SELECT
    run_id, rollout_id, split, step, unit, reward,
    p_names['degenerate'] AS rule,
    kind IS NOT NULL AS is_flagged,
    kind,
    CASE kind
        WHEN 'empty' THEN 'there is no final answer'
        WHEN 'repeats itself'
            THEN len(words) || ' words, ' || len(list_distinct(words)) || ' different: ' || left(final_answer, 160)
        ELSE 'the answer: ' || left(final_answer, 160)
    END AS evidence
FROM said_nothing
UNION ALL BY NAME
SELECT
    r.run_id, r.rollout_id, r.split, r.step, r.unit, r.reward,
    p_names['identical'] AS rule,
    r.is_rewarded
    AND a.num_samples >= p_numbers['identical_min_samples']
    AND (
        a.num_references >= p_numbers['identical_min_references']
        OR (a.num_references = 0 AND length(r.final_answer) >= 40)
    )
    AND a.num_rewarded >= p_numbers['identical_min_rewarded'] * a.num_given
    AND a.num_rewarded / a.num_given
    >= coalesce(a.num_others_rewarded / nullif(a.num_others, 0), 0) + p_numbers['identical_min_lead'] AS is_flagged,
    'one answer' AS kind,
    'given to ' || a.num_samples || ' samples with ' || a.num_references || ' different references, rewarded in '
    || a.num_rewarded || ' of ' || a.num_given || ': ' || left(r.final_answer, 160) AS evidence
FROM judged AS r
INNER JOIN answers AS a
    ON r.run_id = a.run_id AND r.split IS NOT DISTINCT FROM a.split AND r.answer_hash = a.answer_hash
WHERE r.is_rewarded IS NOT NULL
UNION ALL BY NAME
SELECT
    run_id, rollout_id, split, step, unit, reward,
    p_names['no_tool_use'] AS rule,
    is_rewarded AND num_tool_calls = 0 AS is_flagged,
    'no tool call' AS kind,
    round(100 * share_calling)::int || ' % of the run''s rollouts call tools, this one none' AS evidence
FROM judged
WHERE
    p_names['no_tool_use'] IS NOT NULL
    AND is_rewarded IS NOT NULL
    AND num_tool_calls IS NOT NULL
    AND share_calling >= p_numbers['no_tool_use_min_share']
UNION ALL BY NAME
SELECT
    run_id, rollout_id, split, step, unit, reward,
    p_names['saturated'] AS rule,
    group_lowest = group_highest AND is_at_top AS is_flagged,
    'all at the highest reward' AS kind,
    'all ' || group_size || ' attempts of its group have the reward ' || round(reward, 3) AS evidence
FROM grouped
WHERE group_size >= 2 AND p_names['saturated'] IS NOT NULL
UNION ALL BY NAME
SELECT
    run_id, rollout_id, split, step, unit, reward,
    p_names['flat'] AS rule,
    group_lowest = group_highest AND NOT is_at_top AS is_flagged,
    'all alike' AS kind,
    'all ' || group_size || ' attempts of its group have the reward ' || round(reward, 3) AS evidence
FROM grouped
WHERE group_size >= 2 AND p_names['flat'] IS NOT NULL
UNION ALL BY NAME
SELECT
    r.run_id, r.rollout_id, r.split, r.step, r.unit, r.reward,
    p_names['format_only'] AS rule,
    r.is_rewarded
    AND p.form >= p_numbers['format_only_min_form']
    AND p.correct <= p_numbers['format_only_max_correct'] AS is_flagged,
    'form without correctness' AS kind,
    p.form_grader || ' ' || round(p.form, 3) || ', ' || p.correct_grader || ' ' || round(p.correct, 3) AS evidence
FROM judged AS r
INNER JOIN form_and_correctness(p_texts['form'], p_texts['correct'], p_run_ids) AS p ON r.rollout_id = p.rollout_id
WHERE p_names['format_only'] IS NOT NULL AND r.is_rewarded IS NOT NULL
UNION ALL BY NAME
SELECT
    run_id, rollout_id, split, step, unit, reward,
    p_names['length'] AS rule,
    is_rewarded AND length > p95 AND is_no_better AS is_flagged,
    'long' AS kind,
    length || ' ' || length_unit || '; 95 % of the first fifth of steps have at most ' || round(p95)::bigint
    || ', and the graders beside the reward see no more than was usual there' AS evidence
FROM against_before
WHERE length IS NOT NULL AND p95 IS NOT NULL;
