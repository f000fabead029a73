"""The rulebook of failures: the default holds, and a faulty file is told by its line."""

from pathlib import Path

import pytest

from ingest.errors import QuestionError
from queries.failure_rules import WHOSE, checked
from queries.rulebook import rulebook

HEAD = '[causes.wrong]\ntitle = "wrong"\nwhose = "policy"\nmeaning = "wrong"\n'


def test_the_default_ends_with_a_rule_that_fits_all_and_uses_every_cause(tmp_path: Path) -> None:
    found = checked(rulebook(tmp_path, "failures"))
    last = found.rules[-1]
    assert not any(value for name, value in last.items() if name not in ("rule", "cause", "whose"))
    assert {each["cause"] for each in found.rules} == set(found.causes)
    assert {each.whose for each in found.causes.values()} <= set(WHOSE)
    assert (found.origin, found.floor, found.lowest, found.highest) == ("default", 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (HEAD, 1, "there must be rules"),
        (HEAD + '[[rules]]\ncause = "right"', 6, "names a cause that is not described"),
        (HEAD + "[[rules]]\ncause = \"wrong\"\nerror = '(ab'", 7, "is no pattern of RE2"),
        (HEAD + "[[rules]]\ncause = \"wrong\"\nerror = '(?=ab)'", 7, "is no pattern of RE2"),
        (HEAD + '[[rules]]\ncause = "wrong"\nstatus = ["died"]', 7, "status is one of"),
        (HEAD + '[[rules]]\ncause = "wrong"\nstatus = "truncated"', 7, "is a list of texts"),
        (HEAD + '[[rules]]\ncause = "wrong"\nscored = "no"', 7, "is true or false"),
        (HEAD + '[[rules]]\ncause = "wrong"\nreason = "x"', 7, "'reason' is not known here"),
        (HEAD.replace("policy", "nobody"), 3, "whose is one of"),
        (HEAD + '[zero]\nreward = "none"', 6, "is a number"),
        (HEAD + "[zero]\nlowest = 2", 6, "cannot lie above"),
        (HEAD + "[zero.environments]\nchess = true", 6, "is a number"),
        ('[causes.wrong]\ntitle = "wrong"\nwhose = "policy"', 1, "needs title, whose and meaning"),
        ("colour = 1", 1, "'colour' is not known here"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, content: str, line: int, said: str) -> None:
    (tmp_path / "failures.toml").write_text(content)
    with pytest.raises(QuestionError, match=rf"failures\.toml, line {line}: .*{said}"):
        checked(rulebook(tmp_path, "failures"))
