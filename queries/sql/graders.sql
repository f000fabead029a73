-- Question: which graders, people and readers say something of these runs?
-- Grain: run and grader; ordered by run, then parts last, rewards, labels, other scores and assertions, and by name.
-- origin: the grader that this one grades again for, or itself. num_scores: over all rollouts of the run, NULL of the
-- pseudo-graders `reward` and `reader: NAME`, whose numbers are no rows of `scores`.
SELECT
    run_id,
    grader,
    kind,
    origin,
    is_again,
    is_part,
    marks_wrong,
    threshold,
    versions,
    num_scores
FROM known_graders($rules, $run_ids)
ORDER BY run_id, is_part, list_position(['reward', 'label', 'metric', 'subscore', 'assertion'], kind), grader
