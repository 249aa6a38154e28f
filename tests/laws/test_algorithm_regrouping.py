"""Rules of regrouping: no joint feels what they move, and they know all that can be moved."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.regrouping import (
    regrouping_rules,
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
