import pytest

from ingest.errors import QuestionError
from ingest.sources.base import Row
from queries.slices import THIRDS, compare_slices
from tests.queries.test_compare import ARMS, attempts
from tests.stores import build_store


def sample_row(name, **values):
    return Row("samples", {"sample_id": name, **values}, run="r")


@pytest.fixture
def store(tmp_path):
    """Twelve samples: those of bank lose .2 or .3, the others gain; d0 has no tag at all."""
    rollouts, rows = [], []
    for n in range(12):
        is_bank = n % 3 == 0
        after = 0.5 - 0.2 - 0.1 * (n % 2) if is_bank else 0.6 + 0.01 * n
        rollouts += [*attempts(f"s{n}", 0, [0.5], [4]), *attempts(f"s{n}", 1, [after], [3 + n % 2])]
        tags = '["bank", "long"]' if is_bank else '["shop"]'
        rows.append(sample_row(f"s{n}", tags=tags, cluster_key=f"doc{n % 2}", metadata=f'{{"team": "t{n % 4}"}}'))
    return build_store(tmp_path, rollouts, rows)


def test_slices_by_tag_hold_the_samples_that_have_it(store):
    frame = compare_slices(store, **ARMS, by="tag", min_samples=3).set_index("slice")
    # bank: s0 −.2, s3 −.3, s6 −.2, s9 −.3.
    assert frame.loc["bank", "num_paired"] == 4
    assert frame.loc["bank", "delta_mean"] == pytest.approx(-0.25)
    assert (frame.loc["bank", "num_up"], frame.loc["bank", "num_down"]) == (0, 4)
    # sd of (−.2, −.3, −.2, −.3) = .057735, SE .0288675, t(3) = 3.182446.
    assert frame.loc["bank", "ci_low"] == pytest.approx(-0.25 - 3.182446 * 0.0288675, abs=1e-6)
    # Signs: all four alike reach the mean in 2 of 16 patterns.
    assert frame.loc["bank", "p_value"] == pytest.approx(2 / 16)
    # shop: s1 .11, s2 .12, s4 .14, s5 .15, s7 .17, s8 .18, s10 .2, s11 .21.
    assert frame.loc["shop", "delta_mean"] == pytest.approx(0.16)
    assert frame.loc["bank", "cost_delta_mean"] == pytest.approx(-0.5)
    assert frame.loc["bank", "delta_mean"] == frame.loc["long", "delta_mean"]


def test_the_worst_slice_is_named_and_never_the_whole(store):
    frame = compare_slices(store, **ARMS, min_samples=3)
    # Their means of both arms are the lowest, too.
    assert set(frame.loc[frame["is_worst"], "slice"]) == {"bank", "long", "hardest third"}
    assert frame["by"].unique().tolist() == ["tag", "difficulty", "cluster"]
    whole = compare_slices(store, **ARMS, by="metadata.nothing")
    assert whole.empty


def test_slices_of_too_few_samples_are_left_out(store):
    assert compare_slices(store, **ARMS, by="tag").set_index("slice").index.tolist() == ["shop"]


def test_slices_by_a_key_of_the_metadata(store):
    frame = compare_slices(store, **ARMS, by="metadata.team", min_samples=1)
    assert sorted(frame["slice"]) == ["t0", "t1", "t2", "t3"]
    assert frame["num_paired"].tolist() == [3, 3, 3, 3]


def test_difficulty_is_a_third_by_both_arms_so_that_chance_is_no_gain(tmp_path):
    # The same six rewards in both arms, dealt out in another order: by the baseline alone the lowest would gain most.
    before, after = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.4, 0.0, 0.2, 1.0, 0.6, 0.8]
    rollouts = [
        each for n in range(6) for step in (0, 1) for each in attempts(f"s{n}", step, [(before, after)[step][n]])
    ]
    frame = compare_slices(build_store(tmp_path, rollouts), **ARMS, by="difficulty", min_samples=1)
    # Means of both: .2, .1, .3, .8, .7, .9.
    found = frame.set_index("slice")
    assert found["num_paired"].to_dict() == dict.fromkeys(THIRDS, 2)
    assert found.loc["hardest third", "delta_mean"] == pytest.approx((0.4 - 0.2) / 2)
    assert found.loc["easiest third", "delta_mean"] == pytest.approx((0.4 - 0.2) / 2)


def test_a_difficulty_of_its_own_comes_first(tmp_path):
    rollouts = [each for n in range(4) for step in (0, 1) for each in attempts(f"s{n}", step, [0.1 * n + 0.3 * step])]
    rows = [sample_row(f"s{n}", metadata='{"difficulty": "%s"}' % ("hard" if n < 2 else "easy")) for n in range(4)]
    frame = compare_slices(build_store(tmp_path, rollouts, rows), **ARMS, by="difficulty", min_samples=1)
    assert sorted(frame["slice"]) == ["easy", "hard"]
    # Both gain .3 exactly: no spread, no interval, and why.
    assert frame["ci_low"].isna().all()
    assert frame["ci_reason"].str.startswith("all values are equal").all()


def test_hostile_and_broken_labels_are_only_data(tmp_path):
    labels = ['["<b>x</b>"]', '{"not": "a list"}', "not json", None]
    rollouts = [each for n in range(4) for step in (0, 1) for each in attempts(f"s{n}", step, [0.1 * n * step])]
    rows = [sample_row(f"s{n}", tags=tags) for n, tags in enumerate(labels)]
    frame = compare_slices(build_store(tmp_path, rollouts, rows), **ARMS, by="tag", min_samples=1)
    assert frame["slice"].tolist() == ["<b>x</b>"]
    assert frame["num_paired"].tolist() == [1]


def test_unknown_kinds_and_measures_are_refused(store):
    for wrong in ({"by": "colour"}, {"measure": "beauty"}, {"cost": "beauty"}):
        with pytest.raises(QuestionError):
            compare_slices(store, **ARMS, **wrong)
