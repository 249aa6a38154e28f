"""The reference meaning: every operation, batches, float32, and other kinds of scalar."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from kinetree import scalars
from kinetree.engine import Graph, Node, Port, interpret, trace
from kinetree.errors import ShapeError

X = Port("x", (3,), ("n",))
T = Port("t", (), ())


def single(op, arity):
    """The graph of one operation on the first elements of x."""
    nodes = [Node("input", value=(0, k)) for k in range(arity)]
    nodes.append(Node(op, tuple(range(arity))))
    return Graph(tuple(nodes), (X,), (Port("y", ()),), ((arity,),))


@pytest.mark.parametrize(
    ("op", "arity", "result"),
    [
        ("add", 2, 2.75),
        ("sub", 2, -1.75),
        ("mul", 2, 1.125),
        ("div", 2, 0.5 / 2.25),
        ("neg", 1, -0.5),
        ("fma", 3, 1.125 - 4),
        ("fms", 3, 1.125 + 4),
        ("fnma", 3, -4 - 1.125),
        ("sin", 1, np.sin(0.5)),
        ("cos", 1, np.cos(0.5)),
        ("sqrt", 1, np.sqrt(0.5)),
        ("sign", 1, 1.0),
        ("select", 3, 2.25),
    ],
)
def test_each_operation(op, arity, result):
    x = np.array([0.5, 2.25, -4.0])
    (found,) = interpret(single(op, arity), x)
    assert found == result and found.dtype == np.float64
    (exact,) = interpret(single(op, arity), np.array([mpmath.mpf(v) for v in x]))
    assert abs(exact - result) < 1e-15
    (batch,) = interpret(single(op, arity), np.tile(x, (4, 2, 1)))
    assert batch.shape == (4, 2) and (batch == result).all()


def test_sign_of_zeros_and_nan():
    (found,) = interpret(single("sign", 1), [[0.0, 0, 0], [-0.0, 0, 0], [np.nan, 0, 0], [-2, 0, 0]])
    assert found[[0, 1, 3]].tolist() == [0, 0, -1] and np.isnan(found[2])
    assert not np.signbit(found[:2]).any()


def test_a_choice_goes_by_what_is_above_zero():
    x = [[a, 1.0, 2.0] for a in (5e-324, np.inf, 0.0, -0.0, -1.0, np.nan, -np.nan)]
    (found,) = interpret(single("select", 3), x)
    assert found.tolist() == [1, 1, 2, 2, 2, 2, 2]


def test_leading_axes_broadcast():
    graph = trace(lambda x, t: (x * t, x @ x), (X, T))
    x, t = np.arange(6.0).reshape(2, 1, 3), np.arange(4.0)
    scaled, square = interpret(graph, x, t)
    assert scaled.shape == (2, 4, 3) and square.shape == (2, 4)
    assert np.array_equal(scaled, x * t[:, None])
    assert np.array_equal(square, np.broadcast_to((x * x).sum(-1), (2, 4)))


def test_float32_is_computed_in_float32():
    graph = trace(lambda x: x[0] * 0.1 + x[1], [X])
    x = np.array([3, 1, 0], dtype=np.float32)
    (found,) = interpret(graph, x)
    assert found.dtype == np.float32
    assert found == x[0] * np.float32(0.1) + x[1]
    (mixed,) = interpret(graph, x.astype(int))
    assert mixed.dtype == np.float64


def test_fractions_stay_exact():
    graph = trace(lambda x: (x[0] * 0.1 + x[1]) / 3, [X])
    (found,) = interpret(graph, np.array([Fraction(1, 3), Fraction(1, 7), 0]))
    assert found.item() == (Fraction(1, 3) * Fraction(0.1) + Fraction(1, 7)) * Fraction(1 / 3)


def test_nan_and_division_by_zero_are_answers():
    graph = trace(lambda x: np.array([x[0] / x[1], scalars.sqrt(x[2])]), [X])
    (found,) = interpret(graph, [[1.0, 0.0, -1.0], [1.0, 2.0, 4.0]])
    assert found[0, 0] == np.inf and np.isnan(found[0, 1])
    assert found[1].tolist() == [0.5, 2.0]


def test_wrong_shapes_are_named():
    graph = trace(lambda x, t: x * t, (X, T))
    with pytest.raises(ShapeError):
        interpret(graph, np.zeros(4), 1.0)
    with pytest.raises(ShapeError):
        interpret(graph, np.zeros(3))


def test_a_graph_is_built_again_from_traced_scalars():
    """Single scalars without axes, of which NumPy would ask for its own functions."""
    ports = [Port("x", (2,)), Port("t", ())]

    def function(x, t):
        return np.array([scalars.sin(3 * x[0]) * x[1], scalars.atan2(x[1] - t, 2 + x[0] * t)])

    graph = trace(function, ports, [("y", ())])
    again = trace(lambda x, t: interpret(graph, x, t)[0], ports, [("y", ())])
    given = np.array([0.4, -1.3]), np.array(0.7)
    assert np.array_equal(interpret(graph, *given)[0], interpret(again, *given)[0])
