"""Samples, trajectory, ingest health and export as whole pages: hostile text, odd rollouts, links that hold."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ingest.sources.base import Reject
from queries.connection import open_store
from tests.conftest import ROOT
from tests.dashboard.test_markup import EVIL, parsed
from tests.stores import call, rollout, write_store

ALLOWED = frozenset(
    (
        *("a", "article", "code", "dd", "details", "div", "dl", "dt", "header", "li", "nav", "ol", "pre", "section"),
        *("span", "strong", "summary", "style", "script"),
    )
)
"""The last two are our own sheet and scroll script, which hold no text of a trace."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path))
    many = [{"role": "assistant" if each % 2 else "user", "turn": each // 2, "text": f"m{each}"} for each in range(130)]
    evil = dict.fromkeys(("text", "reasoning_text", "agent", "finish_reason"), EVIL)
    common = {"step": 3, "split": "valid", "status": "completed"}
    write_store(
        tmp_path,
        [
            rollout(
                EVIL,
                native_id="evil",
                sample_id=EVIL,
                reward=0.5,
                model=EVIL,
                messages=[{"role": "user", **evil}, {"role": "assistant", "turn": 0, **evil}],
                tool_calls=[call(EVIL, EVIL, message_index=1, output_text=EVIL, status="error", error_kind=EVIL)],
                scores=[{"grader": EVIL, "value": 1.0, "kind": "reward", "explanation": EVIL}],
                sample={"prompt_text": EVIL, "reference": EVIL},
                **common,
            ),
            rollout("job", native_id="long", sample_id="a", reward=0.1, messages=many, **common),
            rollout(
                "job",
                native_id="big",
                sample_id="a",
                reward=0.2,
                messages=[{"role": "user", "text": "y" * 5_000_000}],
                **common,
            ),
            rollout("job", native_id="silent", sample_id="b", step=4, split="valid", status="infra_error"),
            rollout("job", native_id="calls", sample_id="b", reward=1.0, tool_calls=[call("ls"), call("ls")], **common),
            Reject("rows.jsonl", "17", f"not a rollout {EVIL}", EVIL),
        ],
    )
    return tmp_path


def opened(page: str, **parameters: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page(f"app_pages/{page}.py").run()
    assert not app.exception
    assert not any("unexpected" in each.value for each in app.subheader)
    return app


def trajectory(store: Path, native_id: str, **parameters: str) -> AppTest:
    reading = open_store(store)
    sql = "SELECT rollout_id FROM rollouts WHERE native_id = $native_id"
    rollout_id = reading.connection.sql(sql, params={"native_id": native_id}).fetchall()[0][0]
    return opened("trajectory", rollout=rollout_id, **parameters)


def made(app: AppTest) -> str:
    return "\n".join(each.proto.body for each in app.get("html"))


def texts(app: AppTest) -> str:
    shown = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.error, *app.warning]
    return "\n".join(str(each.value).replace("\\", "").replace("\u00a0", " ") for each in shown)


def test_a_hostile_trace_is_text_everywhere(store: Path) -> None:
    app = trajectory(store, "evil")
    source = made(app)
    found = parsed(source)
    assert set(found.tags) <= ALLOWED
    assert "".join(found.said).count("<script>alert(1)</script>") >= 6
    assert "<img" not in source
    assert "](http://evil" not in "".join(each.value for each in app.markdown)
    assert "http://evil" not in "".join(each.value for each in app.markdown)


def test_a_long_trajectory_comes_in_pages(store: Path) -> None:
    app = trajectory(store, "long")
    assert "Messages 0 to 59 of 130" in texts(app)
    source = made(app)
    assert source.count("<article") == 60
    assert source.count("<li>") == 130
    linked = trajectory(store, "long", message="125")
    assert "Messages 120 to 129 of 130" in texts(linked)
    assert 'class="message assistant current" id="message-125"' in made(linked)


@pytest.mark.parametrize("message", ["-1", "1e9", "²", "99999999", "<script>"])
def test_a_message_that_does_not_exist_is_no_error(store: Path, message: str) -> None:
    source = made(trajectory(store, "long", message=message))
    assert source.count("<article") == (10 if message == "99999999" else 60)
    assert ' current"' not in source


def test_five_megabytes_do_not_reach_the_page(store: Path) -> None:
    app = trajectory(store, "big")
    assert len(made(app)) < 60_000
    assert "Texts cut here, in full (1)" in [each.label for each in app.expander]


def test_odd_rollouts_say_what_they_lack(store: Path) -> None:
    assert "No messages and no tool calls of this rollout were kept" in texts(trajectory(store, "silent"))
    assert "No timeline: the source recorded no times." in texts(trajectory(store, "silent"))
    assert "Calls" in "".join(parsed(made(trajectory(store, "calls"))).said)


def test_next_and_previous_rollout(store: Path) -> None:
    app = trajectory(store, "long")
    first = app.query_params["rollout"]
    app.button(key="go_j").click().run()
    assert app.query_params["rollout"] != first
    assert "0.200" in texts(app)
    app.button(key="go_k").click().run()
    assert app.query_params["rollout"] == first


def test_no_rollout_or_an_unknown_one_is_a_sentence(store: Path) -> None:
    assert "No rollout is chosen" in texts(opened("trajectory"))
    assert "does not hold the rollout" in texts(opened("trajectory", rollout="' OR true --"))


def test_samples_say_their_verdict_and_open_one(store: Path) -> None:
    app = opened("samples", run="job", sample="a")
    assert "job, valid: 2 samples over 2 steps." in texts(app)
    assert "Sample a" in [each.value for each in app.subheader]
    assert "job: 2 attempts, mean reward 0.150." in texts(app)
    hostile = opened("samples", sample=EVIL)
    assert set(parsed(made(hostile)).tags) <= ALLOWED
    assert "http://evil" not in "".join(each.value for each in hostile.markdown)
    assert "this store does not hold it" in texts(opened("samples", sample="nothing"))


def test_the_list_of_samples_holds_the_run_and_split_chosen_above_it(store: Path) -> None:
    app = opened("samples", heatmap_run="job")
    assert "Samples of job, valid" in [each.value for each in app.subheader]
    assert sorted(app.dataframe[-2].value["sample_id"]) == ["a", "b"]
    assert "num_runs" not in app.dataframe[-2].value


def test_all_attempts_at_a_sample_are_a_plain_link(store: Path) -> None:
    app = trajectory(store, "long")
    assert any('href="samples?sample=a"' in each.proto.body for each in app.get("html"))


def test_ingest_health_names_bad_records_and_what_is_missing(store: Path) -> None:
    app = opened("ingest_health")
    said = texts(app)
    assert "1 record of" in said
    assert "What could not be read" in said
    assert "cost: brought by" in said


def test_export_offers_a_pinned_link_and_commands(store: Path) -> None:
    app = opened("export", run="job")
    commands = [each.value for each in app.code]
    assert any(each.startswith("observatory export --to DIR") and each.endswith("--run job") for each in commands)
    assert any("observatory query reward_curve" in each and "--run job" in each for each in commands)
    assert any("run=job" in each and "snapshot=0" in each for each in commands)
    assert "An export holds 1 run (of job) with 4 rollouts" in texts(app)
