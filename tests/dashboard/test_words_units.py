import pytest

from dashboard.words import seconds, size


@pytest.mark.parametrize(
    ("num_bytes", "said"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (340_000, "340 kB"),
        (999_600, "1.0 MB"),
        (5e9, "5.0 GB"),
    ],
)
def test_bytes_in_the_unit_that_fits(num_bytes: float | None, said: str) -> None:
    assert size(num_bytes) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.0003, "0.30 ms"),
        (0.62, "0.62 s"),
        (43, "43 s"),
        (192, "3 min 12 s"),
        (7_500, "2 h 5 min"),
    ],
)
def test_durations_as_one_says_them(value: float | None, said: str) -> None:
    assert seconds(value) == said
