"""Studies with names: arguments of samples, distributions, limits and gains by joint."""

import numpy as np
import pandas as pd
import pytest

import kinetree as kt
from kinetree import controllers, parallel
from kinetree.errors import InputError

RUN = {"duration": 0.01, "dt": 0.01, "seed": 3, "workers": 1}
A, B = np.array([0.1, 0.4]), np.array([0.3, 0.5])


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


def named(robot, x):
    """The values by joint, in the reverse order."""
    return {robot.joint_names[k]: float(x[k]) for k in (1, 0)}


def series(robot, x):
    return pd.Series(named(robot, x))


def table(found):
    return {name: np.asarray(found[name]) for name in found.columns}


def same(found, expected):
    first, second = table(found), table(expected)
    assert list(first) == list(second)
    for name, x in first.items():
        assert np.array_equal(x, second[name], equal_nan=True)


DRAWS = {
    "numbers": lambda x: x(A),
    "Normal": lambda x: parallel.Normal(x(A), x(B)),
    "Uniform": lambda x: parallel.Uniform(x(A), x(B)),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("make", [named, series])
def test_draws_are_taken_by_name(robot, draw, make):
    found, expected = (
        parallel.rollouts(robot, 4, q0=DRAWS[draw](x), dq0=x(B), tau=x(A), **RUN)
        for x in (lambda v: make(robot, v), lambda v: v)
    )
    same(found, expected)


@pytest.mark.parametrize("kind", [parallel.Choice, parallel.Grid])
def test_values_to_choose_from_are_rows(robot, kind):
    rows = np.array([A, B, A + 1])
    frame = pd.DataFrame(rows, columns=robot.joint_names).iloc[:, ::-1]
    found, expected = (
        parallel.sweep(robot, "gravity_forces", {"q": kind(x)}, 2, seed=1, workers=1)
        for x in (frame, rows)
    )
    same(found, expected)


def test_limits_noise_and_gains_are_taken_by_name(robot):
    found, expected = (
        parallel.envelope(robot, 3, effort=x, seed=2, workers=1)
        for x in (named(robot, A + 5), A + 5)
    )
    same(found, expected)
    found, expected = (
        parallel.rollouts(
            robot,
            2,
            q0=A,
            tau=parallel.Noise(x(B), 0.01),
            controller=controllers.PD(x(A), x(B), x(B)),
            **RUN,
        )
        for x in (lambda v: series(robot, v), lambda v: v)
    )
    same(found, expected)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"q0": {"x": 1.0}}, "q0: .*unknown 'x'"),
        ({"q0": parallel.Normal(A, {"x": 1.0})}, "std of q0: .*unknown 'x'"),
        ({"q0": A, "F_ext": {"tool": 1.0}}, "F_ext is a dict"),
        ({"q0": parallel.Choice([{"x": 1.0}])}, "list of objects of type dict"),
        ({"q0": A, "parameters": {"mass": {"x": 1.0}}}, "mass: .*links.*unknown 'x'"),
    ],
)
def test_names_that_do_not_fit_are_refused(robot, given, words):
    with pytest.raises(InputError, match=words):
        parallel.rollouts(robot, 2, **given, **RUN)
