-- What readers said last of findings and answers: one row per author, rollout, rule (NULL = of the answer) and message.
-- is_yes: the finding is real, or the answer right; words that judge neither are left out. A later word of the same
-- author on the same thing takes the place of the earlier one.
CREATE MACRO findings_judged(p_rules, p_run_ids) AS TABLE
SELECT
    run_id,
    rollout_id,
    rule,
    message_index,
    author,
    arg_max(is_yes, (created_at, annotation_id)) AS is_yes
FROM (
    SELECT
        *,
        CASE
            WHEN rule IS NOT NULL AND label = 'real' THEN TRUE
            WHEN rule IS NOT NULL AND label = 'false_alarm' THEN FALSE
            WHEN rule IS NULL
                THEN
                    struct_extract(p_rules, 'is_right')[
                        list_position(struct_extract(p_rules, 'labels'), nullif(lower(label), ''))
                    ]
        END AS is_yes
    FROM annotations
    WHERE p_run_ids IS NULL OR list_contains(p_run_ids, run_id)
)
WHERE is_yes IS NOT NULL
GROUP BY run_id, rollout_id, rule, message_index, author;
