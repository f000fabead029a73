"""Tail contracts in words, drawn, and as a whole page."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import contract_charts, contract_words
from dashboard.charts_curves import Looks
from ingest.sources.base import Rollout, Row
from queries.contract_moves import contract_moves
from queries.contracts import contract_limits, contract_shares
from queries.filters import EVERYTHING
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL
from tests.stores import build_store, call, rollout


def of(sample: str, calls: int, run: str = "r", **values: Any) -> Rollout:
    made = [call("t", f'{{"q": {each}}}') for each in range(calls)]
    return rollout(run, sample_id=sample, split="valid", messages=[], tool_calls=made, **values)


def eighty(**values: Any) -> list[Rollout]:
    """Eighty samples with latencies of 1 to 80 s; two of them make 5 calls, the others 2."""
    return [of(f"s{each}", 5 if each > 78 else 2, latency_s=float(each), **values) for each in range(1, 81)]


def test_the_verdict_says_how_many_limits_are_kept(tmp_path: Path) -> None:
    store = build_store(tmp_path, eighty())
    frame = contract_shares(store, limits="tool_calls<=4; p95(latency_s)<=60; tool_errors<=3; p95(latency_s)<=75")
    (said,) = contract_words.verdict(frame, ["zava"] * 4)
    # Wilson of 2 in 80; P95 of 1 … 80 is 76.05, ranks 72 and 80.
    assert said == (
        "zava: 1 of 4 limits is kept; of 1 it cannot be said. 2.5 % [0.7 %, 8.7 %] of 80 rollouts are over 4 tool "
        "calls; P95 is 76.0 s [72, 80] (n = 80), above the limit of 60 s of latency; none of 80 rollouts is over 3 "
        "failed tool calls (95 % interval up to 4.6 %); whether P95 is at most 75 s of latency cannot be said: P95 is "
        "76.0 s [72, 80] (n = 80)."
    )


def test_one_limit_is_spoken_of_alone_and_an_unknown_one_is_said(tmp_path: Path) -> None:
    store = build_store(tmp_path, eighty())
    said = [contract_words.verdict(contract_shares(store, limits=each), ["r"])[0] for each in (
        "turns<=9", "cost_usd<=1", "share(tool_calls<=4)>=99.9%",
    )]  # fmt: skip
    assert said[0].startswith("r: its limit is kept. None of 80 rollouts is over 9 turns")
    assert said[1] == "r: whether its limit is kept cannot be said. No rollout says whether it is over 1 US$ of cost."
    assert said[2] == "r: its limit is broken. 2.5 % [0.7 %, 8.7 %] of 80 rollouts are over 4 tool calls, 0.1 % may be."


def test_many_runs_are_counted(tmp_path: Path) -> None:
    rows = [of("a", calls, run) for run, calls in {"a": 1, "b": 9, "c": 1, "d": 2}.items()]
    frame = contract_shares(build_store(tmp_path, rows), limits="tool_calls<=3; cost_usd<=1")
    (said,) = contract_words.verdict(frame, frame["run_id"].tolist())
    assert said == (
        "Of 4 runs, none keep every limit and 1 breaks at least one; for 3 it cannot be said. Furthest from it is b: "
        "100 % [21 %, 100 %] of 1 rollout are over 3 tool calls."
    )


def test_cautions_speak_of_stops_missing_values_failures_and_few(tmp_path: Path) -> None:
    rows = [of("a", 3, status="budget_exceeded", latency_s=9.0), of("b", 3, status="completed", latency_s=9.0)]
    rows += [of("c", 5, status="infra_error"), of("d", 1, status="truncated", latency_s=1.0)]
    frame = contract_shares(build_store(tmp_path, rows), limits="tool_calls<=3; p95(latency_s)<=5")
    assert contract_words.cautions(frame, ["r", "r"]) == [
        "25 % of r's rollouts were stopped at the limit of 3 tool calls: the tail is cut off there, and how far they "
        "would go is not known.",
        "1 of 4 rollouts do not tell latency of a rollout and are left out.",
        "1 of the 1 rollout over 3 tool calls ended in an infrastructure or grader failure.",
        "3 samples only: attempts at a sample are alike, and intervals from so few samples are somewhat too narrow.",
        "Too few rollouts for the interval of a percentile: 3, where it takes 72 for P95.",
    ]
    other = contract_words.cautions(frame[frame["limit"] != "tool_calls<=3"], ["r"])[0]
    assert other.startswith("67 % of r's rollouts were stopped by a budget or cut off")


def test_figures_and_table_name_verdicts_by_shape_and_word(tmp_path: Path) -> None:
    frame = contract_shares(build_store(tmp_path, eighty()), limits="tool_calls<=4; p95(latency_s)<=90")
    figures = contract_words.figures(frame, ["r", "r"])
    assert [(each.label, each.value, each.change) for each in figures] == [
        ("Over 4 tool calls", "2.5 %", "▼ broken"),
        ("P95 at most 90 s of latency", "76.0 s", "▲ kept"),
    ]
    board = contract_words.board(frame, ["r", "r"])
    assert board["limit"].tolist() == ["At most 4 tool calls", "P95 at most 90 s of latency"]
    assert board["percentile"].tolist() == ["–", "76.0 s [72, 80]"]
    assert "percentile" not in contract_words.board(frame[:1], ["r"])


def test_where_limits_come_from(tmp_path: Path) -> None:
    about = [
        Row("runs", {"name": run, "precedence": 1, "config": '{"max_tool_calls": 10}'}, run=run) for run in ("r", "q")
    ]
    store = build_store(tmp_path, [of("a", 1), of("a", 1, "q")], about)
    names = {"q": "first", "r": "second"}
    assert contract_words.origins(contract_limits(store), names) == (
        "At most 10 tool calls (max_tool_calls of first and 1 other run): from the configuration, because none is "
        "written here or in limits.toml."
    )
    assert (
        contract_words.origins(contract_limits(store, limits="turns<=3"), names) == "At most 3 turns: as written here."
    )
    (tmp_path / "limits.toml").write_text('limits = ["turns<=4"]')
    assert "from limits.toml in the store's folder" in contract_words.origins(contract_limits(store), names)


def test_movers_are_told_with_interval_or_why_not(tmp_path: Path) -> None:
    rows = [of(f"s{each}", 9 if each < 5 else 1, step=0) for each in range(8)]
    rows += [of(f"s{each}", 9 if each in (0, 7) else 1, step=1) for each in range(8)]
    store = build_store(tmp_path, rows)
    sides = {"baseline": "r@0", "candidate": "r@1"}
    moves = contract_moves(store, **sides, limits="tool_calls<=4; tool_calls<=20; cost_usd<=1")
    # Four left, one entered: differences −1 ×4, +1, 0 ×3; mean −.375, sd .744, t(7) = 2.3646.
    assert contract_words.moved(moves, "r@0", "r@1") == (
        "r@1 against r@0. Over 4 tool calls: of 8 paired samples 4 left the tail, 1 entered it, 1 stayed in it; no "
        "difference in the share over it could be shown (62 % to 25 % of attempts, −37.5 points [−99.7, +24.7]). Over "
        "20 tool calls: no attempt at any of 8 paired samples, in either arm. Over 1 US$ of cost: no sample says it in "
        "both arms."
    )


def test_a_panel_a_limit_with_what_is_allowed(tmp_path: Path) -> None:
    rows = eighty(step=0) + eighty(step=1) + [of("s1", 3, "flat", latency_s=1.0)]
    frame = contract_shares(build_store(tmp_path, rows), limits="tool_calls<=4; p95(latency_s)<=60", by="step")
    drawn = contract_charts.over_limits(frame, Looks({"r": "zava", "flat": "flat"}))
    assert {each.text for each in drawn.layout.annotations} == {
        "over 4 tool calls", "over 60 s of latency", "allowed: 5 %",
    }  # fmt: skip
    picked = [point for trace in drawn.data if trace.customdata is not None for point in trace.customdata]
    assert {(each["run_id"], each["limit"]) for each in picked} == {
        (run, limit) for run in ("r", "flat") for limit in ("tool_calls<=4", "p95(latency_s)<=60")
    }
    one = contract_charts.over_limits(frame[frame["limit"] == "tool_calls<=4"], Looks({"r": "zava"}))
    assert one.layout.yaxis.title.text == "share of rollouts over 4 tool calls"


def page(root: Path, monkeypatch: pytest.MonkeyPatch, **link: str) -> AppTest:
    monkeypatch.setenv("OBSERVATORY_STORE", str(root))
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    app.switch_page("app_pages/tail_contracts.py")
    for name, value in link.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert not any("unexpected" in each.value for each in app.subheader)
    return app


def texts(app: AppTest) -> str:
    said = " ".join(str(each.value) for each in [*app.markdown, *app.caption, *app.error])
    return said.replace("\\", "").replace("\u2060", "").replace("\u00a0", " ")


def test_the_page_judges_the_last_step_and_lists_who_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path, [of("a", 9, step=0), of("b", 2, step=0), of("a", 2, step=1), of("b", 5, step=1)])
    app = page(tmp_path, monkeypatch, limits="tool_calls<=4")
    assert "r · step 1: its limit is broken. 50 % [9.5 %, 91 %] of 2 rollouts are over 4 tool calls." in texts(app)
    assert "1 rollout of r at step 1 over 4 tool calls, the highest first." in texts(app)
    assert "of 2 paired samples 1 left the tail, 1 entered it, none stayed in it" in texts(app)
    pooled = page(tmp_path, monkeypatch, limits="tool_calls<=4", judged="run")
    assert "r: its limit is broken. 50 % [9.5 %, 91 %] of 4 rollouts are over 4 tool calls." in texts(pooled)


def test_the_page_says_what_is_wrong_with_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path, [of("a", 9)])
    app = page(tmp_path, monkeypatch, limits="calls<=4")
    assert "there is no limit on 'calls'" in texts(app)
    assert len(app.text_area) == 1
    assert "No limit is set" in texts(page(tmp_path, monkeypatch))
    (tmp_path / "limits.toml").write_text('limits = ["<img src=x>"]')
    assert "limits.toml, line 1" in texts(page(tmp_path, monkeypatch))


def test_the_page_on_odd_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_store(tmp_path / "one", [of("a", 9)])
    app = page(tmp_path / "one", monkeypatch, limits="tool_calls<=4; p95(latency_s)<=3; messages<=1")
    assert "There are no two arms" in texts(app)
    assert "no rollout says whether it is over 3 s of latency" in texts(app)
    evil = [of(EVIL, 9, EVIL, step=step, environment=EVIL, status="completed") for step in (0, 1)]
    build_store(tmp_path / "evil", [*evil, rollout(EVIL, sample_id="b", step=1, split="train", reward=float("nan"))])
    app = page(tmp_path / "evil", monkeypatch, limits="tool_calls<=4")
    assert "http://evil" not in "".join(each.value for each in app.markdown)
    assert "No rollout is left" in texts(page(tmp_path / "one", monkeypatch, limits="turns<=4", **{"from": "7"}))


def test_shares_of_nothing_are_an_empty_answer(tmp_path: Path) -> None:
    frame = contract_shares(build_store(tmp_path, [of("a", 1)]), EVERYTHING.only("x"), limits="tool_calls<=1")
    assert isinstance(frame, pd.DataFrame)
    assert contract_words.board(frame, []).empty


def test_a_percentile_of_few_rollouts_is_told_by_the_share(tmp_path: Path) -> None:
    store = build_store(tmp_path, [of(f"s{each}", 1, latency_s=float(each)) for each in range(50)])
    frame = contract_shares(store, limits="p95(latency_s)<=24; p95(latency_s)<=90")
    # Wilson of 25 and of 0 in 50.
    assert contract_words.verdict(frame, ["r", "r"]) == [
        "r: none of 2 limits are kept; of 1 it cannot be said. 50 % [37 %, 63 %] of 50 rollouts are over 24 s of "
        "latency, 5.0 % may be; none of 50 rollouts is over 90 s of latency (95 % interval up to 7.1 %), 5.0 % may be."
    ]
    assert contract_words.board(frame, ["r", "r"])["percentile"].tolist() == ["46.5 s (n too small)"] * 2
