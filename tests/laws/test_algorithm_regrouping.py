"""Rules of regrouping: no joint feels what they move, and they know all that can be moved."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.regrouping import (
    _across,
    _parallel,
    inertia,
    line,
    point,
    regrouping_rules,
    shift,
    spread,
    turning_axis,
)
from kinetree.spatial import box
from robot_states import random_state

Z, X = (0, 0, 1), (1, 0, 0)
OBLIQUE = (0.6, 0, 0.8)
# joints from the base on: type and axis
CHAINS = {
    "hinge about gravity": [("revolute", Z)],
    "hinge across gravity": [("revolute", X)],
    "oblique hinge": [("revolute", OBLIQUE)],
    "parallel hinges": [("revolute", X), ("revolute", X), ("revolute", X)],
    "crossed hinges": [("revolute", Z), ("revolute", X)],
    "slider": [("prismatic", OBLIQUE)],
    "two sliders": [("prismatic", X), ("prismatic", Z)],
    "slider along the axis of a hinge": [("revolute", X), ("prismatic", X)],
    "slider across the axis of a hinge": [("revolute", X), ("prismatic", Z)],
    "hinge on a slider": [("prismatic", X), ("revolute", Z)],
    "ball": [("spherical", None), ("revolute", X)],
    "hinge, then a ball": [("revolute", X), ("spherical", None)],
    "ball, then a slider": [("spherical", None), ("prismatic", X)],
    "free body with a hinge": [("free", None), ("revolute", OBLIQUE)],
    "plane": [("planar", None)],
    "plane with a hinge": [("planar", None), ("revolute", Z)],
    "hinge with a plane": [("revolute", X), ("planar", None)],
    "ball with a plane": [("spherical", None), ("planar", None)],
    "screw": [("helical", X), ("revolute", Z)],
    "hinge with a screw": [("revolute", OBLIQUE), ("helical", OBLIQUE)],
}
# one dependency of a screw on the base is found by numbers alone
INCOMPLETE = {"screw": 1}


def chain(joints):
    builder = kt.Builder("chain").link("base")
    rng = np.random.default_rng(len(joints))
    for k, (kind, axis) in enumerate(joints):
        builder.link(f"l{k}", 1.0, (0.1, 0.2, 0.3), box(1, 0.1, 0.2, 0.3))
        more = {} if axis is None else {"axis": axis}
        more |= {"pitch": 0.2} if kind == "helical" else {}
        parent = f"l{k - 1}" if k else "base"
        builder.joint(f"j{k}", kind, parent, f"l{k}", at=rng.normal(size=3), **more)
    return builder.build_model()


def felt(model, states=12):
    """The columns of links of the regressor at random states, on top of each other."""
    rows = []
    for seed in range(states):
        x = random_state(model, seed)
        rows.append(algorithms.regressor(model, *x.motion)[:, : 10 * len(model.links)])
    return np.concatenate(rows).astype(float)


@pytest.mark.parametrize("name", CHAINS)
def test_no_joint_feels_what_the_rules_move(name):
    model = chain(CHAINS[name])
    N, Y = regrouping_rules(model).astype(float), felt(model)
    assert np.all(np.abs(Y @ N.T) <= 1e-12 * np.linalg.norm(Y) * np.linalg.norm(N, axis=1))
    rank = np.linalg.matrix_rank(N) if len(N) else 0
    everything = rank + np.linalg.matrix_rank(Y, tol=1e-9 * np.linalg.norm(Y))
    assert everything + INCOMPLETE.get(name, 0) == 10 * len(model.links)


def test_a_link_turns_about_one_direction_none_or_several():
    def axis(*joints):
        model = chain(joints)
        found = turning_axis(model, len(joints) - 1)
        return None if found is None else [float(v) for v in found]

    assert axis(("prismatic", X)) == [0, 0, 0]
    assert axis(("revolute", X)) == [1, 0, 0] == axis(("revolute", X), ("prismatic", Z))
    assert axis(("revolute", Z), ("revolute", Z)) == [0, 0, 1]
    assert axis(("revolute", Z), ("revolute", X)) is None
    assert axis(("planar", None)) == [0, 0, 1]
    assert axis(("planar", None), ("revolute", Z)) == [0, 0, 1]
    assert axis(("spherical", None)) is None is axis(("free", None), ("prismatic", X))


def test_rows_are_derivatives_of_a_point_mass():
    """Ten numbers of a unit mass at x: m, m x, m (|x|^2 1 - x x^T); xx, yy, zz, xy, xz, yz."""
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(2, 3))

    def ten(y, m=1.0):
        I = m * (y @ y * np.eye(3) - np.outer(y, y))
        return np.array([m, *(m * y), I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])

    def ordered(row):
        """The tool's own order of the six, found from unit inertias."""
        return np.array([*row[:4], *(row @ inertia(a, b) for a, b in SIX)])

    h = 1e-3
    first = (ten(x + h * u) - ten(x - h * u)) / (2 * h)
    second = (ten(x + h * u) - 2 * ten(x) + ten(x - h * u)) / (2 * h * h)
    assert np.allclose(ordered(point(x)), ten(x), 0, 1e-14)
    assert np.allclose(ordered(shift(x, u)), first, 0, 1e-9)
    assert np.allclose(ordered(line(u)), second, 0, 1e-8)
    assert np.allclose(ordered(spread(np.outer(u, u))), ten(u) - [1, *u, *([0] * 6)], 0, 1e-14)


SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def test_directions_of_symbols_are_compared_and_crossed_exactly():
    sympy = pytest.importorskip("sympy")
    a, zero = sympy.Symbol("a", positive=True), sympy.Integer(0)
    for k in range(3):
        w = np.array([a if j == k else zero for j in range(3)])
        u, v = _across(w)
        assert u @ w == v @ w == u @ v == 0
        assert any(u) and any(v)  # not zero themselves
        assert _parallel(w, np.array([2 * x for x in w]))
        assert not _parallel(w, np.roll(w, 1))
