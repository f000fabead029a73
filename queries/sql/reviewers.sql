-- Question: do readers agree with one another?
-- Grain: rule (NULL = whether the answer is right) and sample with something that two or more readers judged; ordered by
-- them. Sums over such items: coincidences of verdicts (both_yes, mixed, both_no, see `queries.agreement.alpha_of`),
-- num_items, and the readers.
WITH items AS (
    SELECT
        j.rule, r.unit,
        count(*) AS m,
        count(*) FILTER (WHERE j.is_yes) AS yes,
        list(j.author) AS authors
    FROM findings_judged($rules, $run_ids) AS j
    INNER JOIN filtered_rollouts(
        $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset, $agents
    ) AS r ON j.run_id = r.run_id AND j.rollout_id = r.rollout_id
    GROUP BY j.rule, j.run_id, j.rollout_id, j.message_index, r.unit
    HAVING count(*) >= 2
)

SELECT
    rule,
    unit,
    sum(yes * (yes - 1) / (m - 1)) AS both_yes,
    sum(2 * yes * (m - yes) / (m - 1)) AS mixed,
    sum((m - yes) * (m - yes - 1) / (m - 1)) AS both_no,
    count(*) AS num_items,
    list_sort(list_distinct(flatten(list(authors)))) AS reviewers
FROM items
GROUP BY rule, unit
ORDER BY rule NULLS FIRST, unit
