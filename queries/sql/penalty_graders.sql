-- Question: which graders look like penalties?
-- Grain: run and grader; ordered by them.
SELECT run_id, grader
FROM penalty_graders($run_ids)
ORDER BY run_id, grader
