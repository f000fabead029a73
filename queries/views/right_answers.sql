-- A text as answers are compared: lower case, numbers without signs of thousands or currency, anything between words one
-- blank. A number is written as DuckDB writes it, so that 1,000.0 and 1000 are the same.
CREATE MACRO normalised_answer(p_text) AS
coalesce(
    try_cast(regexp_replace(trim(p_text, ' .$€£"' || chr(10)), '(\d),(\d{3})', '\1\2', 'g') AS double)::varchar,
    nullif(trim(regexp_replace(lower(p_text), '[^\p{L}\p{N}.%+-]+', ' ', 'g'), ' .'), '')
);

-- What a final answer boils down to: what follows its last "answer is" or "answer:", else all of it.
CREATE MACRO answer_said(p_text) AS
coalesce(nullif(regexp_extract(p_text, '(?is).*\banswer(?: is|:)\s*(.+)$', 1), ''), p_text);
