-- Question: how far do two graders agree?
-- Grain: run, split, pair and unit (sample) with rollouts that both judged; ordered by them. Sums over its rollouts:
-- of verdicts (both_right, only_first, only_second, neither) and of scores (num, sum_…), for every statistic of the pair.
SELECT
    run_id,
    split,
    first_grader,
    second_grader,
    unit,
    count(*) FILTER (WHERE first_right AND second_right) AS both_right,
    count(*) FILTER (WHERE first_right AND NOT second_right) AS only_first,
    count(*) FILTER (WHERE NOT first_right AND second_right) AS only_second,
    count(*) FILTER (WHERE NOT first_right AND NOT second_right) AS neither,
    count(*) AS num,
    sum(first_value) AS sum_first,
    sum(second_value) AS sum_second,
    sum(first_value * first_value) AS sum_first_squared,
    sum(second_value * second_value) AS sum_second_squared,
    sum(first_value * second_value) AS sum_product,
    count(*) FILTER (WHERE abs(first_value - second_value) > 1e-9) AS num_changed,
    count(*) FILTER (WHERE first_value IN (0, 1) AND second_value IN (0, 1)) AS num_binary,
    var_samp(first_value) * (count(*) - 1) AS sum_within
FROM rated_pairs(
    $rules, $pairs, $graders, $own, $run_ids, $splits, $step_from, $step_to, $statuses, $tools, $environments, $subset,
    $agents
)
GROUP BY run_id, split, first_grader, second_grader, unit
ORDER BY run_id, split NULLS LAST, first_grader, second_grader, unit
