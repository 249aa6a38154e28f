"""Dry friction at rest: which joints stick and which slip, against trying every combination."""

import itertools

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.algorithms.stiction import accelerations


def sliders(m, coulomb):
    """Bodies on one rail, each sliding on the one before."""
    builder, last = kt.Builder("sliders").link("base"), "base"
    for i, (mass, pair) in enumerate(zip(m, coulomb, strict=True)):
        builder.link(f"body {i}", m=mass, I_com=np.eye(3))
        friction = kt.Friction(coulomb=tuple(pair))
        builder.joint(
            f"rail {i}", "prismatic", last, f"body {i}", axis=(1, 0, 0), friction=friction
        )
        last = f"body {i}"
    return builder.build()


def mass_matrix(m):
    n = len(m)
    return np.array([[sum(m[max(i, j) :]) for j in range(n)] for i in range(n)])


def enumerated(M, f, coulomb):
    """ddq from rest, from the one combination of modes whose forces and motions agree."""
    n = len(f)
    for mode in map(np.array, itertools.product((0, 1, -1), repeat=n)):
        free = mode != 0
        dry = np.where(mode > 0, coulomb[:, 0], np.where(mode < 0, -coulomb[:, 1], 0.0))
        ddq = np.zeros(n)
        if free.any():
            ddq[free] = np.linalg.solve(M[np.ix_(free, free)], (f - dry)[free])
        rest = f - M @ ddq
        held = (rest <= coulomb[:, 0]) & (rest >= -coulomb[:, 1])
        if np.where(free, mode * ddq > 0, held).all():
            return ddq
    raise AssertionError("no combination agrees")


def cases(count, n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng.uniform(0.2, 3, n), rng.uniform(0, 4, (n, 2)), rng.normal(size=n) * 6


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_fixed_steps_release_the_right_joints_from_rest(n):
    for m, coulomb, f in cases(40, n, n):
        still = np.zeros(n)
        tree = lean_tree(lean_model(sliders(m, coulomb).model), still)
        found = np.array(accelerations(tree, still, f, 1000.0), float)
        assert found == pytest.approx(enumerated(mass_matrix(m), f, coulomb), abs=1e-9)


def test_two_joints_released_at_once_move_with_their_modes():
    """A push that frees both bodies in the same instant; friction resists both."""
    robot = sliders([1.0, 1.0], [(1.0, 1.0), (1.0, 1.0)])
    motion = robot.simulate(
        [0.0, 0.0], duration=1.0, tau=kt.simulate.signal([0, 0.5], [[0, 0], [9.0, 6.0]])
    )
    before, after = motion.t < 0.5, motion.t > 0.51
    assert (motion.dq[before] == 0).all()
    expected = enumerated(mass_matrix([1.0, 1.0]), np.array([9.0, 6.0]), np.ones((2, 2)))
    assert motion.ddq[after] == pytest.approx(np.tile(expected, (after.sum(), 1)), abs=1e-9)
