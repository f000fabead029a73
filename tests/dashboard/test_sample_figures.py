import numpy as np
import pandas as pd

from dashboard import sample_words
from dashboard.charts import DIVERGING, MAX_MARKS, SEQUENTIAL
from dashboard.charts_curves import Looks
from dashboard.sample_charts import attempts_strip, heatmap


def cells(values: list[list[float | None]], **columns: object) -> pd.DataFrame:
    rows = [
        {"place": place, "bin": column, "sample_id": f"s{place}<b>", "environment": None, "value": value}
        | {"step_from": 10 * column, "step_to": 10 * column, "num_rollouts": 2, "num_known": 2}
        | {"num_samples_all": len(values), "num_steps_all": len(values[0])}
        for place, row in enumerate(values)
        for column, value in enumerate(row)
    ]
    return pd.DataFrame(rows).assign(**columns)


def test_cells_stand_where_they_belong_and_gaps_stay_gaps() -> None:
    drawn = heatmap(cells([[0.0, 1.0], [None, 0.5]]), "reward")
    grid, targets = drawn.data
    assert np.array_equal(np.asarray(grid.z), np.array([[0.0, 1.0], [np.nan, 0.5]]), equal_nan=True)
    assert len(targets.x) == 4
    assert targets.customdata[3] == {"sample_id": "s1<b>", "environment": None, "step_from": 10, "step_to": 10}
    assert targets.text[1] == "s0&lt;b&gt;<br>step 10<br>mean reward 1.00<br>2 rollouts"
    assert list(drawn.layout.yaxis.ticktext) == ["s0&lt;b&gt;", "s1&lt;b&gt;"]
    assert list(drawn.layout.xaxis.ticktext) == ["0", "10"]


def test_the_scale_diverges_only_around_a_zero_that_is_crossed() -> None:
    plain = heatmap(cells([[0.2, 3.0]]), "tool_calls").data[0]
    assert (plain.zmin, plain.zmax, plain.zmid, plain.colorscale[-1][1]) == (0, 3.0, None, SEQUENTIAL[-1])
    crossing = heatmap(cells([[-0.5, 0.2]]), "reward").data[0]
    assert (crossing.zmin, crossing.zmid, crossing.zmax, crossing.colorscale[0][1]) == (-0.5, 0, 0.5, DIVERGING[0])
    nothing = heatmap(cells([[None, None]]), "reward").data[0]
    assert (nothing.zmin, nothing.zmax) == (0, 1.0)


def test_many_cells_are_drawn_without_names_and_in_webgl() -> None:
    drawn = heatmap(cells([[0.5] * 100] * (MAX_MARKS // 100 + 1)), "reward")
    assert drawn.data[1].type == "scattergl"
    assert drawn.layout.yaxis.showticklabels is False
    assert len(drawn.layout.xaxis.ticktext) <= 16


ATTEMPTS = pd.DataFrame(
    {
        "run_id": ["base", "job", "job", "job"],
        "split": "valid",
        "step": pd.array([None, 0, 0, 5], dtype="Int64"),
        "attempt": [0, 0, 1, 0],
        "reward": [0.25, 0.5, 0.5, None],
        "num_tool_calls": pd.array([3, 2, 1, 4], dtype="Int64"),
        "status": ["completed", None, "infra_error", "completed"],
        "rollout_id": ["a", "b", "c", "d"],
    }
)


def test_a_marker_an_attempt_coloured_by_run() -> None:
    drawn = attempts_strip(
        ATTEMPTS, "reward", {"base": "Base <i>", "job": "Job"}, Looks({"base": "Base", "job": "Job"})
    )
    base, job = drawn.data
    assert (base.name, job.name) == ("Base &lt;i&gt;", "Job")
    assert base.marker.color != job.marker.color
    assert [each["rollout_id"] for each in job.customdata] == ["b", "c"]  # the unscored one has no place
    assert job.x[0] < job.x[1]  # equal rewards of one step stand beside each other
    assert abs(job.x[0] - job.x[1]) < 2.5
    assert base.x[0] < -1
    assert list(drawn.layout.xaxis.ticktext) == ["no step", "0", "5"]
    assert len(attempts_strip(ATTEMPTS, "tool calls", {}, Looks({"base": "Base", "job": "Job"})).data[1].x) == 3


def test_attempts_without_any_step() -> None:
    drawn = attempts_strip(
        ATTEMPTS.assign(step=pd.array([None] * 4, dtype="Int64")), "reward", {}, Looks({"base": "Base", "job": "Job"})
    )
    assert list(drawn.layout.xaxis.ticktext) == ["no step"]


def test_the_verdict_counts_samples_that_rose_and_fell() -> None:
    found = cells([[0.0, 1.0], [0.5, 0.25], [0.5, 0.5], [None, 0.5]])
    assert sample_words.verdict(found, "job, valid") == (
        "job, valid: 4 samples over 2 steps. Of 3 samples seen at two or more steps, 1 ended higher than they began, "
        "1 lower, 1 the same; mean change +0.250."
    )
    assert "no change can be told" in sample_words.verdict(cells([[0.5], [0.25]]), "job")


def test_what_the_heatmap_leaves_out_is_said() -> None:
    whole = cells([[0.0, 1.0]])
    assert sample_words.caution(whole) == ""
    assert sample_words.caution(whole.assign(num_samples_all=1_000, num_steps_all=300)) == (
        "Shown are 1 of 1\u202f000 samples: those with the most rollouts, ties by a hash of their id. "
        "300 steps stand in 2 columns: neighbouring steps are averaged."
    )


def test_one_sample_in_words() -> None:
    assert sample_words.sample_verdict(ATTEMPTS, {"job": "Job"}) == (
        "base: 1 attempt, mean reward 0.250; Job: 3 attempts, mean reward 0.500."
    )
    rising = ATTEMPTS.assign(reward=[0.25, 0.0, 0.5, 1.0])
    assert "(0.250 at step 0, 1.00 at step 5)" in sample_words.sample_verdict(rising, {})


def test_tags_are_a_list_or_nothing() -> None:
    assert sample_words.tags('["a", 1]') == "a, 1"
    assert [sample_words.tags(each) for each in (None, "no json", '{"a": 1}')] == ["", "", ""]
