"""Dry friction of robots with constraints: it stops and holds joints through the loops."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from closed_loops import four_bar, four_bar_position, slider_crank, slider_crank_position
from kinetree import algorithms
from kinetree.errors import ModelError
from kinetree.scalars import sin

METHODS = ("dop853", "rk4", "euler", "semi_implicit_euler", "implicit", "implicitfast")
LEVEL = 3.0  # N m, of the crank; its weight needs 2.1 N m at 0.7 rad
CRANKED = slider_crank(actuated=["crank"])
ROUGH = CRANKED.with_friction({"crank": kt.Friction(coulomb=LEVEL)})
Q = slider_crank_position(0.7)
DQ = CRANKED.project_rates(Q, [6.0, 0.0, 0.0])
FIVE = kt.robots.five_bar()
LEVELS = {"left": 0.8, "right": 1.5}
ROUGH_FIVE = FIVE.with_friction({name: kt.Friction(coulomb=f) for name, f in LEVELS.items()})


def friction(robot, motion, names):
    """Dry friction in the recorded states: what is left of the equations of motion, (T, n)."""
    smooth = robot.with_friction({name: kt.Friction() for name in names})
    M, J = robot.mass_matrix(motion.q), robot.constraint_jacobian(motion.q)
    lam = np.concatenate(list(motion.meta["constraint_forces"].values()), -1)
    moved = np.einsum("tij,tj->ti", M, motion.ddq) - np.einsum("tji,tj->ti", J, lam)
    return motion.tau - smooth.bias_forces(motion.q, motion.dq) - moved


@pytest.mark.parametrize("method", METHODS)
def test_friction_above_the_weight_holds_the_mechanism(method):
    motion = ROUGH.simulate(Q, duration=0.5, dt=0.01, method=method)
    np.testing.assert_array_equal(motion.q, np.tile(Q, (len(motion.t), 1)))
    f = friction(ROUGH, motion, ["crank"])
    held = CRANKED.inverse_dynamics(Q, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(f, np.tile(-held, (len(f), 1)), atol=1e-11)
    below = CRANKED.with_friction({"crank": kt.Friction(coulomb=0.99 * held[0])})
    moved = below.simulate(Q, duration=0.2, dt=0.01, method=method)
    assert moved.q[-1, 0] < Q[0]


def stop_of_the_reduced_equation():
    """Time and angle at which the crank stops: one equation in its angle, by SciPy."""
    smooth, zero = CRANKED, np.zeros(3)

    def rate(_, x):
        q = slider_crank_position(x[0])
        N = smooth.reduced_dynamics(q, zero)[2][:, 0]
        M, h, _ = smooth.reduced_dynamics(q, N * x[1])
        return [x[1], (-LEVEL - h[0]) / M[0, 0]]

    def at_rest(_, x):
        return x[1]

    at_rest.terminal = True
    found = solve_ivp(rate, (0, 1), [0.7, 6.0], "DOP853", rtol=1e-11, atol=1e-11, events=at_rest)
    return found.t[-1], found.y[0, -1]


def test_a_crank_stops_where_the_reduced_equation_stops():
    t, angle = stop_of_the_reduced_equation()
    dq = CRANKED.reduced_dynamics(Q, np.zeros(3))[2][:, 0] * 6.0
    motion = ROUGH.simulate(Q, dq, duration=0.5, dt=0.01, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(motion.q[-1], slider_crank_position(angle), atol=1e-8)
    assert (motion.dq[motion.t > t, 0] == 0).all() and (motion.dq[motion.t < t, 0] > 0).all()
    for method, off in (("rk4", 1e-4), ("semi_implicit_euler", 1e-2), ("implicitfast", 1e-2)):
        fixed = ROUGH.simulate(Q, dq, duration=0.5, dt=0.001, method=method)
        assert abs(fixed.q[-1, 0] - angle) < off and fixed.dq[-1, 0] == 0
        assert fixed.meta["closure"].max() < 1e-12


def push(t, q, dq):
    return np.array([3 * sin(9 * t), 0 * t, 0 * t, 0 * t])


def test_forces_and_motions_agree_in_every_state():
    """The conditions that determine the motion: sliding friction, or no more than it where held."""
    q = np.array(FIVE.model.constraints.home)
    dq = FIVE.project_rates(q, np.full(4, 2.0))
    motion = ROUGH_FIVE.simulate(q, dq, duration=1.0, dt=0.005, tau=push, limits="ignore")
    f, held = friction(ROUGH_FIVE, motion, LEVELS), 0
    for d, name in enumerate(FIVE.dof_names):
        level, slides = LEVELS.get(name, 0.0), motion.dq[:, d] != 0
        rates = np.sign(motion.dq[slides, d])
        np.testing.assert_allclose(f[slides, d], level * rates, atol=1e-9)
        assert (np.abs(f[~slides, d]) <= level + 1e-9).all()
        held += (~slides).sum()
    assert held > 3 and motion.meta["closure"].max() < 1e-12
    fixed = ROUGH_FIVE.simulate(
        q, dq, duration=0.5, dt=2e-4, tau=push, limits="ignore", method="rk4", every=25
    )
    np.testing.assert_allclose(fixed.q, motion.q[:101], atol=2e-3)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "implicit"])
def test_a_held_joint_does_not_creep_while_others_move(method):
    """The way back to the constraints leaves joints alone that friction holds."""
    rough = FIVE.with_friction({"right": kt.Friction(coulomb=1e3)})
    q = np.array(FIVE.model.constraints.home)
    dq = np.linalg.lstsq(
        np.vstack([FIVE.constraint_jacobian(q), np.eye(4)[[0, 2]]]), [0, 0, 0, 0, 0, 2.0, 0],
        rcond=None,
    )[0]  # fmt: skip
    dq[2] = 0
    motion = rough.simulate(q, dq, duration=0.5, dt=0.002, method=method, limits="ignore")
    np.testing.assert_array_equal(motion.q[:, 2], np.full(len(motion.t), q[2]))
    assert np.ptp(motion.q[:, 0]) > 0.1 and motion.meta["closure"].max() < 1e-10


def test_the_motion_does_not_depend_on_which_joint_is_cut():
    rough = {"crank": kt.Friction(coulomb=2.0)}
    one, two = four_bar().with_friction(rough), four_bar("ground").with_friction(rough)
    q = four_bar_position(one, 0.5)
    p = two.project([q[0], q[1], q[2] - q[0] - q[1]], keep=["crank"])
    starts = [
        (robot, x, robot.reduced_dynamics(x, np.zeros(3))[2][:, 0] * 6)
        for robot, x in ((one, q), (two, p))
    ]
    a, b = (
        robot.simulate(x, v, duration=1.0, dt=0.02, rtol=1e-10, atol=1e-11)
        for robot, x, v in starts
    )
    np.testing.assert_allclose(a.q[:, :2], b.q[:, :2], atol=1e-7)
    assert (a.dq[-1, 0] == 0) and (b.dq[-1, 0] == 0)


@pytest.mark.parametrize("method", METHODS[1:])
def test_steps_are_those_of_simulate_and_of_the_textbook(method):
    motion = ROUGH.simulate(Q, DQ, duration=0.25, dt=2.0**-7, method=method)
    x, zero = (Q, DQ), np.zeros(3)
    for k, h in enumerate(np.diff(motion.t)):
        y = algorithms.step(ROUGH.model, *x, zero, h, method=method)
        x = ROUGH.step(*x, zero, h, method=method)
        np.testing.assert_allclose(y[0], x[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(y[1], x[1], rtol=0, atol=1e-11)
        assert np.array_equal(x[0], motion.q[k + 1])
        assert np.array_equal(x[1], motion.dq[k + 1])
    assert abs(motion.dq[-1, 0]) < 1e-6


def test_friction_of_a_dependent_joint_alone_is_allowed():
    """The rod can be the independent joint, though the crank was chosen."""
    rough = CRANKED.with_friction({"rod": kt.Friction(coulomb=50.0)})
    motion = rough.simulate(Q, duration=0.1, method="rk4")
    np.testing.assert_allclose(motion.q[-1], Q, atol=1e-12)


@pytest.mark.parametrize("joints", [("crank", "rod"), ("rod", "slide"), ("crank", "rod", "slide")])
def test_friction_whose_sharing_is_not_known_is_refused_with_the_way_out(joints):
    rough = CRANKED.with_friction({name: kt.Friction(coulomb=1.0) for name in joints})
    words = r"'rod'.* of 'slider_crank' have dry friction.*kt\.Sigmoid\(size, steepness\)"
    with pytest.raises(ModelError, match=words):
        rough.simulate(Q, duration=0.1)
    with pytest.raises(ModelError, match=words):
        rough.step(Q, DQ, np.zeros(3), 0.01)
    law = kt.Friction(sigmoid=kt.Sigmoid(1.0, 50.0))
    smooth = rough.with_friction(dict.fromkeys(joints, law))
    assert smooth.simulate(Q, duration=0.1, method="rk4").t[-1] == 0.1
