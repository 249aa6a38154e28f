"""Statistics of studies with NaN or infinite numbers: both are counted and reported."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeWarning
from kinetree.parallel import Choice, Normal, Results, rollouts
from kinetree.parallel.sinks import row_dtype

ROBOT = kt.robots.double_pendulum()
inf, nan = np.inf, np.nan


def study(*columns):
    """Results with columns a, b, ..."""
    names = tuple("abcdef"[: len(columns)])
    table = np.zeros(len(columns[0]), row_dtype(names))
    for name, column in zip(names, columns, strict=True):
        table[name] = column
    return Results(table.dtype.names, len(table), 1, {}, None, table)


def test_what_is_left_out_is_counted_and_named():
    found = study([1, 2, nan, 4], [1, inf, 3, 4])
    with pytest.warns(KinetreeWarning, match=r"1 of 4 samples have NaN somewhere in 'a'"):
        assert np.array_equal(found.quantiles("a", 0.5), 2)
    assert found.quantiles("b", 1) == inf  # counts, and needs no warning
    assert found.lost().tolist() == [2] and found.lost(["b"]).tolist() == []
    _, said, *lines = found.summary().splitlines()
    assert said == "1 of 4 samples have NaN: results.lost()"
    counts = {line.split()[0]: line.split()[-2:] for line in lines}
    assert counts == {"column": ["inf", "NaN"], "a": ["0", "1"], "b": ["1", "0"]}
    assert "lost" not in found.summary(["b"])


def test_one_name_will_do_for_several():
    found = rollouts(ROBOT, 3, q0=Normal(0, 0.5), duration=0.002)
    assert found.summary("peak_tau") == found.summary(["peak_tau"])
    assert found.lost("peak_tau").tolist() == []
    for p in ("a", None, [0.5, 2]):
        with pytest.raises(InputError, match="expected shares between 0 and 1"):
            found.quantiles("q", p)


def test_numbers_too_large_for_their_squares_are_described():
    assert "1e+200" in study([1e200, -1e200, 0.0]).summary()


def test_times_of_what_never_happened_are_no_loss():
    found = rollouts(ROBOT, 20, q0=Normal(0, 0.5), duration=0.002)
    assert np.isnan(found.quantiles("violated_at")).all()
    assert np.isnan(found["violated_at"]).all()
    assert "violated_at" in found.summary() and "lost a number" not in found.summary()
    assert found.lost().tolist() == []


@pytest.mark.parametrize("every", [None, 4])
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_rollouts_that_run_away_are_counted(every, method):
    every = 1 if method == "dop853" and every else every
    wild = {"q0": Normal(0, 0.5), "dq0": Choice([0.0, 1e160]), "duration": 0.02}
    found = rollouts(ROBOT, 20, method=method, every=every, **wild)
    drawn = rollouts(ROBOT, 20, **wild)["dq0"][:, 0]
    assert found.lost().tolist() == np.flatnonzero(drawn).tolist() != []
    with pytest.warns(KinetreeWarning, match=f"{len(found.lost())} of 20 samples"):
        assert np.isfinite(found.quantiles("q")).all()
    assert f"{len(found.lost())} of 20 samples have NaN" in found.summary()
