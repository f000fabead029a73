-- What scores say of the graders of runs, in the columns of run_facts.sql. Versions that changed come as a list, each
-- with the steps it was seen in; assertions belong to single samples and are only counted.
CREATE MACRO run_graders(p_run_ids) AS TABLE
WITH scored AS (
    SELECT run_id, rollout_id, grader, kind, weight, grader_version
    FROM scores
    WHERE list_contains(p_run_ids, run_id)
),

graders AS (
    SELECT run_id, grader, list_sort(list_distinct(list(kind))) AS kinds, list_sort(list_distinct(list(weight))) AS weights
    FROM scored
    WHERE kind <> 'assertion'
    GROUP BY run_id, grader
),

versions AS (
    SELECT s.run_id, s.grader, s.grader_version, min(r.step) AS first_step, max(r.step) AS last_step
    FROM scored AS s
    INNER JOIN rollouts AS r ON s.run_id = r.run_id AND s.rollout_id = r.rollout_id
    WHERE s.grader_version IS NOT NULL AND s.kind <> 'assertion' AND list_contains(p_run_ids, r.run_id)
    GROUP BY s.run_id, s.grader, s.grader_version
)

SELECT
    run_id,
    'grader' AS section,
    grader || '.kind' AS name,
    CASE WHEN len(kinds) = 1 THEN to_json(kinds[1]) ELSE to_json(kinds) END AS value
FROM graders
UNION ALL
SELECT
    run_id,
    'grader' AS section,
    grader || '.weight' AS name,
    CASE WHEN len(weights) = 1 THEN to_json(weights[1]) ELSE to_json(weights) END AS value
FROM graders
WHERE len(weights) > 0
UNION ALL
SELECT
    run_id,
    'grader' AS section,
    grader || '.version' AS name,
    CASE
        WHEN count(*) = 1 THEN to_json(min(grader_version))
        ELSE to_json(list(
            grader_version || coalesce(' (steps ' || first_step || '–' || last_step || ')', '')
            ORDER BY first_step, grader_version
        ))
    END AS value
FROM versions
GROUP BY run_id, grader
UNION ALL
SELECT run_id, 'results' AS section, 'assertions' AS name, to_json(count(DISTINCT grader)) AS value
FROM scored
WHERE kind = 'assertion'
GROUP BY run_id;
