-- Question: is this a regular expression?
-- Grain: one row; fails where it is none.
SELECT regexp_matches('', $pattern) AS is_found
ORDER BY is_found
