"""Traced scalars behave as numbers in NumPy code and leave the expected graph behind."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import scalars
from kinetree.engine import Graph, Node, Port, trace
from kinetree.engine.compiler.graph import text
from kinetree.errors import GraphError

X = Port("x", (3,), ("n",))
T = Port("t", (), ())


def listing(function, *inputs):
    """What the function computes, line by line, without the inputs."""
    lines = text(trace(function, inputs or (X,))).splitlines()
    return [line for line in lines if not line.startswith("input")]


def rotation(t):
    c, s = scalars.cos(t), scalars.sin(t)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def test_outputs_have_the_shapes_of_the_arrays_and_the_names_given():
    graph = trace(
        lambda x, t: (np.outer(x, x), t * t),
        (X, T),
        [("square", ("n", "n")), ("energy", ())],
    )
    assert graph.outputs == (Port("square", (3, 3), ("n", "n")), Port("energy", (), ()))
    assert [len(result) for result in graph.results] == [9, 1]


def test_the_smallest_graph():
    assert trace(lambda t: t * 2, [T]) == Graph(
        nodes=(Node("input", value=(0, 0)), Node("const", value=2.0), Node("mul", (0, 1))),
        inputs=(T,),
        outputs=(Port("out0", ()),),
        results=((2,),),
    )


def test_numbers_of_every_kind_stand_on_both_sides():
    numbers = [2, 2.0, np.float64(2), np.float32(2), np.int64(2)]
    graph = trace(
        lambda t: np.array(
            [f(t, n) for n in numbers for f in (lambda t, n: t * n, lambda t, n: n * t)]
            + [n - t for n in numbers]
            + [n / t for n in numbers]
        ),
        [T],
    )
    assert graph.count() == {"input": 1, "const": 1, "mul": 1, "sub": 1, "div": 1}


def test_numpy_arrays_of_numbers_and_traced_scalars_mix():
    A = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    lines = listing(lambda x: A @ x + A[0] * x[2] - x[2] * np.array([0, 0, 1]))
    assert lines == [
        "%0 = -x[1]",
        "%1 = x[0] - x[2]",
        "output out0(3) = %0 %1 0.0",
    ]


def test_equal_values_are_one_node():
    graph = trace(lambda x: np.array([x[0] * x[1] + 1, 1 + x[1] * x[0], (0 - (-x[0])) * x[1]]), [X])
    assert graph.count()["mul"] == graph.count()["add"] == 1


def test_a_difference_and_its_reverse_are_one_subtraction():
    graph = trace(lambda x: np.array([(x[0] - x[1]) * x[2], x[2] * (x[1] - x[0]) + 1]), [X])
    assert graph.count() == {"input": 3, "const": 1, "sub": 2, "mul": 1}


def test_rotation_there_and_back_costs_what_it_must():
    graph = trace(lambda t, x: rotation(t) @ x, (T, X))
    assert graph.count() == {"input": 4, "sin": 1, "cos": 1, "mul": 4, "add": 1, "sub": 1}
    inverse = trace(lambda t, x: rotation(-t) @ x, (T, X))
    assert inverse.operations == 6
    assert trace(lambda t: rotation(t).T @ rotation(t), [T]).operations == 0


def test_rodrigues_about_an_axis_folds_to_the_plane_rotation():
    K = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]])

    def rodrigues(t):
        return np.eye(3) + (1 - scalars.cos(t)) * (K @ K) + scalars.sin(t) * K

    assert text(trace(rodrigues, [T])) == text(trace(rotation, [T]))


def test_powers_square_and_multiply():
    assert trace(lambda t: t**5, [T]).count()["mul"] == 3
    assert listing(lambda t: t**0, T) == ["output out0() = 1.0"]
    assert listing(lambda t: t ** (-1), T) == ["%0 = 1.0 / t[0]", "output out0() = %0"]
    assert listing(lambda t: t**0.5, T) == ["%0 = sqrt(t[0])", "output out0() = %0"]
    assert trace(lambda t: t**2.5, [T]).count() == {"input": 1, "sqrt": 1, "mul": 2}
    assert trace(lambda t: t**-0.3, [T]).count()["exp"] == 1
    with pytest.raises(GraphError, match=r"to the power inf.*exp\(y \* log\(x\)\)"):
        trace(lambda t: t ** float("inf"), [T])


def test_numpy_functions_reach_the_traced_ones():
    lines = listing(lambda t, x: np.sin(x)[0] + np.sqrt(x)[1] * np.cos(t), T, X)
    assert lines[-2:] == ["%4 = %0 + %3", "output out0() = %4"]


def test_large_constants_are_not_folded_into_infinity():
    assert trace(lambda t: 1e200 * (1e200 * t), [T]).count()["mul"] == 2
    assert trace(lambda t: t / 1e-310, [T]).count()["div"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t if t > 0 else -t,
        lambda t: 1 if t == 1 else 0,
        lambda t: t != 1,
        lambda t: 0 < t < 1,
        lambda t: max(t, 1),
        lambda t: t >= 1 and t,
        lambda t: bool(t),
        lambda t: np.sin(np.array(t, dtype=float)),
        lambda t: np.array([t]) > 0,
    ],
)
def test_branching_on_a_traced_scalar_is_refused(wrong):
    with pytest.raises(GraphError):
        trace(wrong, [T])


def test_traces_do_not_mix():
    leaked = []
    trace(lambda t: leaked.append(t) or t, [T])
    with pytest.raises(GraphError):
        trace(lambda t: t + leaked[0], [T])
    with pytest.raises(GraphError):
        trace(lambda t: leaked[0], [T])


def test_unknown_operands_get_their_turn():
    class Other:
        def __radd__(self, x):
            return "other"

    seen = []
    trace(lambda t: seen.append(t + Other()) or t, [T])
    assert seen == ["other"]


@pytest.mark.parametrize(
    "count",
    [
        lambda x: scalars.where(x > 1, 1, 0) + scalars.where(x > 2, 1, 0),
        lambda x: 1 * (x > 1) + 1.0 * (x > 2),
        lambda x: sum([x > 1, x > 2]),
        lambda x: np.sum(x[None] > np.array([1, 2])[:, None], axis=0),
        lambda x: np.cumsum(x[None] > np.array([1, 2])[:, None], axis=0)[1],
    ],
)
def test_comparisons_are_counted_where_python_and_numpy_agree(count):
    robot, x = kt.robots.double_pendulum(), np.array([1.5, 2.5])
    law = kt.simulate.law(lambda t, q, dq: 1.0 * count(q), robot)
    assert (robot.simulate(x, duration=0.01, dt=0.01, tau=law).tau[0] == count(x)).all()


@pytest.mark.parametrize(
    "combine", [np.add, np.subtract, lambda a, b: a + b, lambda a, b: a + True]
)
def test_a_sum_of_two_comparisons_is_refused_since_numpy_means_or(combine):
    with pytest.raises(GraphError):
        trace(lambda x: combine(x > 1, x > 2), [Port("x", ())])
