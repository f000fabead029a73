import pandas as pd

from dashboard.timeline import absence, bars, timeline


def at(second: float | None) -> pd.Timestamp | None:
    return None if second is None else pd.Timestamp("2026-01-01T00:00:00Z") + pd.Timedelta(seconds=second)


def messages(*rows: tuple[str, float | None, float | None]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "message_index": range(len(rows)),
            "role": [each[0] for each in rows],
            "started_at": pd.Series([at(each[1]) for each in rows], dtype="datetime64[us, UTC]"),
            "ended_at": pd.Series([at(each[2]) for each in rows], dtype="datetime64[us, UTC]"),
        }
    )
    return frame.assign(latency_s=None)


def calls(*rows: tuple[float | None, float | None, bool]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "call_index": range(len(rows)),
            "tool": ["<b>cat</b>"] * len(rows),
            "started_at": pd.Series([at(each[0]) for each in rows], dtype="datetime64[us, UTC]"),
            "ended_at": pd.Series([at(each[1]) for each in rows], dtype="datetime64[us, UTC]"),
            "is_error": [each[2] for each in rows],
            "message_index": pd.array([0] * len(rows), dtype="Int64"),
        }
    )
    return frame.assign(latency_s=None)


def test_parallel_calls_lie_under_one_another() -> None:
    found = bars(
        messages(("user", 0, 0), ("assistant", 1, 2), ("assistant", 9, 10)),
        calls((2, 5, False), (2, 4, True), (4, 6, False), (None, 7, False), (8, 7, False)),
    )
    assert found[["who", "lane", "start_s", "length_s", "is_error"]].values.tolist() == [
        ["model", 0, 0.0, 1.0, False],
        ["tools", 0, 1.0, 3.0, False],
        ["tools", 1, 1.0, 2.0, True],
        ["tools", 1, 3.0, 2.0, False],  # the second lane is free again
        ["model", 0, 8.0, 1.0, False],
    ]
    assert found["label"].tolist()[1] == "#0 &lt;b&gt;cat&lt;/b&gt;"


def test_a_missing_end_comes_from_the_duration_and_seconds_count_from_the_beginning() -> None:
    asked = calls((10, None, False), (None, 14, False), (20, None, False)).assign(latency_s=[1.5, 2.0, None])
    found = bars(messages(), asked, at(8))
    assert found[["start_s", "length_s", "lane"]].values.tolist() == [[2.0, 1.5, 0], [4.0, 2.0, 0]]
    assert bars(messages(), asked, at(11))["start_s"].tolist() == [0.0, 2.0]  # a beginning that is later is none
    assert bars(messages(), asked, pd.NaT)["start_s"].tolist() == [0.0, 2.0]


def test_the_figure_has_a_trace_a_kind_that_hands_back_messages() -> None:
    drawn = timeline(bars(messages(("assistant", 0, 1)), calls((1, 2, False), (1, 2, True))))
    assert [each.name for each in drawn.data] == ["model", "tool call", "failed call"]
    assert [each["message_index"] for each in drawn.data[0].customdata] == [0]
    assert "<b>" not in str(drawn.data[1].text)
    assert list(drawn.layout.yaxis.ticktext) == ["model", "tools"]


def test_without_times_there_are_no_bars_and_a_reason() -> None:
    silent, asked = messages(("assistant", None, None)), calls((None, None, False))
    assert bars(silent, asked).empty
    assert absence(silent, asked) == "No timeline: the source recorded no times."
    assert "not when they began" in absence(silent, asked.assign(latency_s=1.5))
