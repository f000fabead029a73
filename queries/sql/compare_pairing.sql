-- Question: by what could the samples of two arms be paired, and what differs between the arms?
-- Grain: key that could pair (kind `key`) or descriptive field (kind `field`) known in either arm, and the prompts of
-- the samples paired now (kind `paired`); ordered by kind, about.
-- num_…: distinct values in that arm; num_shared: in both; example_…: the first that the other arm lacks.
-- kind `paired`: num_…: samples whose prompt is known in both arms; num_shared: those whose prompt is the same.
WITH wide AS (FROM arm_descriptions($baseline, $candidate, $environments)),

long AS (FROM wide UNPIVOT (found FOR described IN (COLUMNS(* EXCLUDE (arm))))),

by_value AS (
    SELECT
        described,
        found,
        bool_or(arm = 'baseline') AS in_baseline,
        bool_or(arm = 'candidate') AS in_candidate
    FROM long
    GROUP BY described, found
),

prompts AS (
    SELECT
        min(prompt_hash) FILTER (arm = 'baseline') AS baseline_prompt,
        min(prompt_hash) FILTER (arm = 'candidate') AS candidate_prompt
    FROM compared_rollouts($baseline, $candidate, $environments, $pair_by)
    GROUP BY pair_key
    HAVING baseline_prompt IS NOT NULL AND candidate_prompt IS NOT NULL
)

SELECT
    split_part(described, '_', 1) AS kind,
    substr(described, strpos(described, '_') + 1) AS about,
    count(*) FILTER (in_baseline) AS num_baseline,
    count(*) FILTER (in_candidate) AS num_candidate,
    count(*) FILTER (in_baseline AND in_candidate) AS num_shared,
    min(found) FILTER (in_baseline AND NOT in_candidate) AS example_baseline,
    min(found) FILTER (in_candidate AND NOT in_baseline) AS example_candidate
FROM by_value
GROUP BY described
UNION ALL
SELECT
    'paired' AS kind,
    'prompt_hash' AS about,
    count(*) AS num_baseline,
    count(*) AS num_candidate,
    count(*) FILTER (baseline_prompt = candidate_prompt) AS num_shared,
    NULL AS example_baseline,
    NULL AS example_candidate
FROM prompts
ORDER BY kind, about
