"""Linkages whose equations depend on each other in a way that changes with the position.

The oracle of the Bennett linkage is its closed form in one angle; that of the others is a system of
all equations at once, solved by NumPy's singular values.
"""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.constraints import Loop
from spacing import by

SINES, COSINES = (0.6, 0.28), (0.8, 0.96)  # of the twists; lengths of the links are the sines
# tan(q1/2) tan(q2/2) = -RATIO: sines of half the sum and half the difference of the twists
RATIO = 2.5
BODY = np.diag([0.1, 0.2, 0.25])
TURN = np.linspace(0, 2 * np.pi, 17)


def link(k, sign=1):
    """Pose of a hinge in the frame of the one before: along x, and turned about x."""
    s, c = SINES[k] * sign, COSINES[k]
    T = np.eye(4)
    T[0, 3] = sign * SINES[k]
    T[1:3, 1:3] = [[c, -s], [s, c]]
    return T


def bennett_tree():
    builder = kt.Builder("bennett", gravity=(0.3, -2, -9.5)).link("base")
    builder.link("first", 1.5, (0.4, 0.1, 0), BODY).link("second", 0.7, (0.1, 0, 0.1), BODY)
    builder.link("third", 2.0, (0.3, -0.2, 0), BODY).joint("j1", "revolute", "base", "first")
    builder.joint("j2", "revolute", "first", "second", at=link(0))
    builder.joint("j3", "revolute", "second", "third", at=link(1))
    builder.frame("tip", "third", link(0)).frame("foot", "base", link(1, -1))
    return builder.build()


def bennett(**options):
    return bennett_tree().constrained({"loop": Loop("tip", "foot", "axis")}, **options)


@pytest.fixture(scope="module")
def linkage():
    return bennett(actuated=["j1"])


def closed(angle, m=np):
    """Position, and its first and second derivative by the first angle."""
    s, c = m.sin(angle / 2), m.cos(angle / 2)
    D = s * s + RATIO * RATIO * c * c
    turned = 2 * (m.arctan2(-RATIO * c, s) if m is np else m.atan2(-RATIO * c, s))
    slope = RATIO / D
    bend = -RATIO * (1 - RATIO * RATIO) * s * c / (D * D)
    kind = float if m is np else object
    zero = angle * 0
    rows = [angle, turned, -angle], [1 + zero, slope, -1 + zero], [zero, bend, zero]
    return tuple(np.array(row, kind) for row in rows)


def by_one_angle(angle, rate, tau):
    """ddq and J^T lambda from the equation of motion in the first angle."""
    q, N, bend = closed(angle)
    dq, nu = N * rate, bend * rate**2
    tree = bennett_tree().model
    M = dynamics.mass_matrix(tree, q)
    h = dynamics.bias_forces(tree, q, dq)
    ddq = N * (N @ (tau - h - M @ nu) / (N @ M @ N)) + nu
    return q, dq, ddq, M @ ddq + h - tau


def degenerate_angle(robot):
    """Angle at which two rows that are independent elsewhere become parallel, by bisection."""
    rows = list(robot.model.constraints.basis)

    def volume(angle):
        q, N, _ = closed(angle)
        J = kt.constraints.jacobian(robot, q)[rows]
        return float(np.cross(J[0], J[1]) @ N)

    fine = np.linspace(0.05, 2 * np.pi + 0.05, 300)
    signs = [np.sign(volume(x)) for x in fine]
    k = next(k for k in range(299) if signs[k] != signs[k + 1])
    low, high = fine[k], fine[k + 1]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sign(volume(middle)) == signs[k] else (low, middle)
    return low


def angles(robot):
    return [*TURN, degenerate_angle(robot)]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_full_turn_is_that_of_the_closed_form(linkage, compiled):
    rng = np.random.default_rng(0)
    for angle in angles(linkage):
        tau, rate = rng.normal(size=3) * 5, rng.normal()
        q, dq, ddq, carried = by_one_angle(angle, rate, tau)
        if compiled:
            found = kt.constraints.forward_dynamics(linkage, q, dq, tau)
            assert (linkage.forward_dynamics(q, dq, tau) == found[0]).all()
        else:
            found = dynamics.constrained_forward_dynamics(linkage.model, q, dq, tau)
        scale = 1 + np.abs(ddq).max()
        assert np.abs(found[0] - ddq).max() < 1e-11 * scale
        assert np.abs(found[2]).max() < 1e-11 * scale
        J = kt.constraints.jacobian(linkage, q)
        assert np.abs(J @ found[0] + kt.constraints.bias(linkage, q, dq)).max() < 1e-11 * scale
        lam = np.linalg.lstsq(J.T, carried, rcond=1e-9)[0]
        assert np.abs(found[1] - lam).max() < 1e-11 * (1 + np.abs(lam).max())


def test_float32_follows_the_closed_form(linkage):
    rng = np.random.default_rng(5)
    for angle in angles(linkage):
        tau = rng.normal(size=3)
        q, dq, ddq, carried = by_one_angle(angle, rng.normal(), tau)
        found, lam, _ = kt.constraints.forward_dynamics(
            linkage, *(x.astype(np.float32) for x in (q, dq, tau))
        )
        assert found.dtype == np.float32
        assert np.abs(found - ddq).max() < 1e-4 * (1 + np.abs(ddq).max())
        least = np.linalg.lstsq(kt.constraints.jacobian(linkage, q).T, carried, rcond=1e-9)[0]
        assert np.abs(lam - least).max() < 1e-4 * (1 + np.abs(least).max())


def sarrus():
    """Two legs of two bars; hinges along x on one side and along y on the other."""
    builder = kt.Builder("sarrus").link("base")
    for name in ("a1", "a2", "top", "b2", "b1"):
        builder.link(name, 1.0, (0.05, 0.02, 0.1), BODY / 10)
    x, y = (1, 0, 0), (0, 1, 0)
    builder.joint("hip", "revolute", "base", "a1", axis=x, at=(0, 0.5, 0))
    builder.joint("knee", "revolute", "a1", "a2", axis=x, at=(0, 0, 0.6))
    builder.joint("ankle", "revolute", "a2", "top", axis=x, at=(0, 0, 0.6))
    builder.joint("wrist", "revolute", "top", "b2", axis=y, at=(0.5, -0.5, 0))
    builder.joint("elbow", "revolute", "b2", "b1", axis=y, at=(0, 0, -0.6))
    builder.frame("tip", "b1", (0, 0, -0.6)).frame("foot", "base", (0.5, 0, 0))
    given = {"loop": Loop("foot", "tip", "axis", "y")}
    return builder.build().constrained(given, near=[0.6, -1.2, 0.6, 0.6, -1.2])


def parallelogram():
    """Three parallel cranks with ball joints under one plate on a slide: one crank is too many."""
    builder = kt.Builder("parallelogram").link("base")
    given = {}
    builder.link("c0", 1.0, (0, 0, 0.2), BODY).joint("j0", "revolute", "base", "c0", axis=(1, 0, 0))
    builder.link("plate", 2.0, (0.1, 0.1, 0), BODY)
    builder.joint("level", "revolute", "c0", "plate", axis=(1, 0, 0), at=(0, 0, 0.5))
    for k, place in enumerate([(0.3, 0.4, 0), (-0.2, 0.7, 0)], 1):
        builder.link(f"c{k}", 1.0, (0, 0.1, 0.2), BODY)
        builder.joint(f"j{k}", "revolute", "base", f"c{k}", axis=(1, 0, 0), at=place)
        builder.frame(f"top{k}", f"c{k}", (0, 0, 0.5)).frame(f"seat{k}", "plate", place)
        given[f"ball{k}"] = Loop(f"seat{k}", f"top{k}", "point")
    return builder.build().constrained(given, near=[0.4, -0.4, 0.4, 0.4])


@pytest.mark.parametrize(("make", "start"), [
    (sarrus, [0.6, -1.2, 0.6, 0.6, -1.2]), (parallelogram, [0.4, -0.4, 0.4, 0.4]),
])  # fmt: skip
def test_other_overconstrained_linkages_satisfy_all_equations(make, start):
    robot = make()
    assert kt.constraints.mobility(robot).degrees_of_freedom == 1
    rng = np.random.default_rng(4)
    q = kt.constraints.project(robot, start)
    for _ in range(12):
        J = kt.constraints.jacobian(robot, q)
        assert np.linalg.matrix_rank(J, 1e-9) == robot.n - 1
        dq, tau = np.linalg.svd(J)[2][-1], rng.normal(size=robot.n)
        dq = dq * np.sign(dq[0])
        M = robot.mass_matrix(q)
        h = dynamics.bias_forces(
            robot.constrained(dict.fromkeys(robot.model.constraints.given)).model, q, dq
        )
        gamma = kt.constraints.bias(robot, q, dq)
        m = len(J)
        K = np.block([[M, J.T], [J, np.zeros((m, m))]])
        right = np.concatenate([tau - h, -gamma])
        expected = np.linalg.lstsq(K, right, rcond=1e-11)[0]
        ddq, lam, residual = kt.constraints.forward_dynamics(robot, q, dq, tau)
        scale = 1 + np.abs(expected).max()
        assert np.abs(ddq - expected[: robot.n]).max() < 1e-9 * scale
        assert np.abs(residual).max() < 1e-10 * scale
        assert np.abs(lam + expected[robot.n :]).max() < 1e-8 * scale
        q = kt.constraints.project(robot, q + 0.03 * dq)


def test_a_simulated_turn_stays_on_the_closed_form(linkage):
    q, N, _ = closed(0.5)
    motion = linkage.simulate(q, N * 4, duration=2.5, dt=0.002, method="rk4")
    assert np.ptp(motion.q[:, 0]) > 2 * np.pi
    followed = np.array([closed(angle)[0] for angle in motion.q[:, 0]])
    turns = (motion.q - followed) / (2 * np.pi)
    assert np.abs(turns - turns.round()).max() < 1e-12
    assert motion.meta["closure"].max() < 1e-13


def test_dry_friction_stops_a_linkage_with_all_rows(linkage):
    rows = closed(0.8)
    rough = linkage.with_friction({"j1": kt.friction.Friction(coulomb=30.0)})
    for method in ("DOP853", "rk4"):
        steps = by(method, 0.005)
        motion = rough.simulate(rows[0], 2 * np.array(rows[1]), duration=0.4, **steps)
        assert motion.dq[-1, 0] == 0 and motion.dq[0, 0] == 2
        assert motion.meta["closure"].max() < 1e-12
