"""Linkages whose equations depend on each other in a way that changes with the position.

The oracle of the Bennett linkage is its closed form in one angle; that of the others is a system of
all equations at once, solved by NumPy's singular values.
"""

import mpmath
import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree import algorithms
from kinetree.constraints import Loop

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
    M = algorithms.mass_matrix(tree, q)
    h = algorithms.bias_forces(tree, q, dq)
    ddq = N * (N @ (tau - h - M @ nu) / (N @ M @ N)) + nu
    return q, dq, ddq, M @ ddq + h - tau


def degenerate_angle(robot):
    """Angle at which two rows that are independent elsewhere become parallel, by bisection."""
    rows = list(robot.model.constraints.basis)

    def volume(angle):
        q, N, _ = closed(angle)
        J = robot.constraint_jacobian(q)[rows]
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


def test_the_closed_form_is_on_the_constraints_and_the_rank_is_two(linkage):
    for angle in TURN:
        q, N, _ = closed(angle)
        assert np.abs(linkage.constraint_errors(q)).max() < 1e-14
        J = linkage.constraint_jacobian(q)
        assert np.abs(J @ N).max() < 1e-14
        assert np.linalg.svd(J, compute_uv=False)[1] > 0.1
    found = linkage.mobility
    assert found.degrees_of_freedom == 1 and len(found.redundant) == 3 and found.changing
    assert "changes with the position" in str(found)


def test_a_choice_of_rows_degenerates_on_a_turn_while_all_rows_do_not(linkage):
    J = linkage.constraint_jacobian(closed(degenerate_angle(linkage))[0])
    rows = list(linkage.model.constraints.basis)
    assert np.linalg.svd(J[rows], compute_uv=False)[1] < 1e-12
    assert np.linalg.svd(J, compute_uv=False)[1] > 0.1


@pytest.mark.parametrize("compiled", [True, False])
def test_a_full_turn_is_that_of_the_closed_form(linkage, compiled):
    rng = np.random.default_rng(0)
    for angle in angles(linkage):
        tau, rate = rng.normal(size=3) * 5, rng.normal()
        q, dq, ddq, carried = by_one_angle(angle, rate, tau)
        if compiled:
            found = linkage.constrained_forward_dynamics(q, dq, tau)
            assert (linkage.forward_dynamics(q, dq, tau) == found[0]).all()
        else:
            found = algorithms.constrained_forward_dynamics(linkage.model, q, dq, tau)
        scale = 1 + np.abs(ddq).max()
        assert np.abs(found[0] - ddq).max() < 1e-11 * scale
        assert np.abs(found[2]).max() < 1e-11 * scale
        J = linkage.constraint_jacobian(q)
        assert np.abs(J @ found[0] + linkage.constraint_bias(q, dq)).max() < 1e-11 * scale
        lam = np.linalg.lstsq(J.T, carried, rcond=1e-9)[0]
        assert np.abs(found[1] - lam).max() < 1e-11 * (1 + np.abs(lam).max())


def test_motors_make_the_motion_of_the_closed_form(linkage):
    spare = bennett(actuated={"j1": 1, "j2": 4, "j3": 9})
    rng = np.random.default_rng(1)
    for angle in angles(linkage):
        q, dq, ddq, _ = by_one_angle(angle, rng.normal(), [rng.normal(), 0, 0])
        h = algorithms.bias_forces(bennett_tree().model, q, dq)
        r = algorithms.mass_matrix(bennett_tree().model, q) @ ddq + h
        N = closed(angle)[1]
        tau, lam, force, motion = linkage.constrained_inverse_dynamics(q, dq, ddq)
        assert np.abs(tau - [N @ r, 0, 0]).max() < 1e-10
        assert np.abs(linkage.inverse_dynamics(q, dq, ddq) - tau).max() < 1e-11
        assert np.abs(force).max() < 1e-11 and np.abs(motion).max() < 1e-11
        J = linkage.constraint_jacobian(q)
        assert np.abs(np.linalg.lstsq(J.T, r - tau, rcond=1e-9)[0] - lam).max() < 1e-10
        # the sum of w tau^2 is least for tau = W^-1 N x with the same power
        eased = N / [1, 4, 9]
        best = eased * (N @ r) / (N @ eased)
        assert np.abs(spare.inverse_dynamics(q, dq, ddq) - best).max() < 1e-10


def test_impulses_and_reduced_equations_are_those_of_the_closed_form(linkage):
    rng = np.random.default_rng(2)
    for angle in angles(linkage):
        q, N, bend = closed(angle)
        tree, before, rate = bennett_tree().model, rng.normal(size=3), rng.normal()
        M = algorithms.mass_matrix(tree, q)
        after, impulse, residual = linkage.constraint_impulse(q, before)
        assert np.abs(after - N * (N @ M @ before) / (N @ M @ N)).max() < 1e-12
        J = linkage.constraint_jacobian(q)
        least = np.linalg.lstsq(J.T, M @ (after - before), rcond=1e-9)[0]
        assert np.abs(impulse - least).max() < 1e-11 and np.abs(residual).max() < 1e-12
        M_r, h_r, own = linkage.reduced_dynamics(q, N * rate)
        h = algorithms.bias_forces(tree, q, N * rate)
        assert np.abs(own[:, 0] - N).max() < 1e-12
        assert abs(M_r[0, 0] - N @ M @ N) < 1e-11
        assert abs(h_r[0] - N @ (M @ bend * rate**2 + h)) < 1e-11


def test_a_copy_changes_nothing_but_the_sharing(linkage):
    twice = linkage.constrained({"again": Loop("tip", "foot", "axis")})
    assert twice.mobility.degrees_of_freedom == 1
    rng = np.random.default_rng(3)
    for angle in angles(linkage)[::3]:
        tau = rng.normal(size=3)
        q, dq, ddq, _ = by_one_angle(angle, 1.3, tau)
        lam = linkage.constrained_forward_dynamics(q, dq, tau)[1]
        found = twice.constrained_forward_dynamics(q, dq, tau)
        assert np.abs(found[0] - ddq).max() < 1e-11 * (1 + np.abs(ddq).max())
        assert np.abs(found[1] - np.tile(lam / 2, 2)).max() < 1e-11 * (1 + np.abs(lam).max())


def test_rates_that_the_loop_forbids_do_not_blow_up(linkage):
    """An error of the rates changes the accelerations in proportion."""
    q, dq, ddq, _ = by_one_angle(0.9, 1.0, np.zeros(3))
    for error in (1e-9, 1e-6, 1e-3):
        wrong = linkage.forward_dynamics(q, dq + error * np.array([1, -2, 0.5]), np.zeros(3))
        assert np.abs(wrong - ddq).max() < 200 * error


def test_float32_follows_the_closed_form(linkage):
    rng = np.random.default_rng(5)
    for angle in angles(linkage):
        tau = rng.normal(size=3)
        q, dq, ddq, carried = by_one_angle(angle, rng.normal(), tau)
        found, lam, _ = linkage.constrained_forward_dynamics(
            *(x.astype(np.float32) for x in (q, dq, tau))
        )
        assert found.dtype == np.float32
        assert np.abs(found - ddq).max() < 1e-4 * (1 + np.abs(ddq).max())
        least = np.linalg.lstsq(linkage.constraint_jacobian(q).T, carried, rcond=1e-9)[0]
        assert np.abs(lam - least).max() < 1e-4 * (1 + np.abs(least).max())


def test_float32_gives_no_numbers_instead_of_wrong_ones_near_a_dead_centre():
    """The cranks of a parallelogram are in line with its base at pi/2."""
    robot, tau = parallelogram(), np.array([0.3, -1.0, 0.5, 0.2])
    motion, numbers = np.array([1.0, -1, 1, 1]), []
    for away in 10 ** np.linspace(-5, -0.3, 30):
        q = motion * (np.pi / 2 - away)
        exact = robot.forward_dynamics(q, motion, tau)
        found = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, motion, tau)))
        numbers.append(not np.isnan(found).any())
        if numbers[-1]:
            assert np.abs(found - exact).max() < 1e-2 * np.abs(exact).max()
    assert not numbers[0] and numbers[-1]


def test_planar_loops_keep_the_choice_of_rows():
    for make in (kt.robots.four_bar, kt.robots.slider_crank, kt.robots.five_bar, kt.robots.delta):
        given = make().model.constraints
        assert given.kept == given.basis and not given.dependent


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
    assert robot.mobility.degrees_of_freedom == 1
    rng = np.random.default_rng(4)
    q = robot.project(start)
    for _ in range(12):
        J = robot.constraint_jacobian(q)
        assert np.linalg.matrix_rank(J, 1e-9) == robot.n - 1
        dq, tau = np.linalg.svd(J)[2][-1], rng.normal(size=robot.n)
        dq = dq * np.sign(dq[0])
        M = robot.mass_matrix(q)
        h = algorithms.bias_forces(
            robot.constrained(dict.fromkeys(robot.model.constraints.given)).model, q, dq
        )
        gamma = robot.constraint_bias(q, dq)
        m = len(J)
        K = np.block([[M, J.T], [J, np.zeros((m, m))]])
        right = np.concatenate([tau - h, -gamma])
        expected = np.linalg.lstsq(K, right, rcond=1e-11)[0]
        ddq, lam, residual = robot.constrained_forward_dynamics(q, dq, tau)
        scale = 1 + np.abs(expected).max()
        assert np.abs(ddq - expected[: robot.n]).max() < 1e-9 * scale
        assert np.abs(residual).max() < 1e-10 * scale
        assert np.abs(lam + expected[robot.n :]).max() < 1e-8 * scale
        q = robot.project(q + 0.03 * dq)


@pytest.fixture
def many_digits():
    with mpmath.workdps(50):
        yield


def precise(model):
    """The decimal numbers of the linkage with fifty digits, with which it still moves."""
    return model.astype(lambda x: mpmath.mpf(str(round(float(x), 12))))


def precise_closed(angle):
    return closed(angle, mpmath.mp)


@pytest.mark.parametrize("angle", [pytest.param(2.9, marks=pytest.mark.many), "degenerate"])
def test_derivatives_agree_with_differences_in_fifty_digits(linkage, angle, many_digits):
    """Along the motion that the loop allows, the only one that has a derivative, and by tau."""
    angle = degenerate_angle(linkage) if angle == "degenerate" else angle
    rate, tau = 0.8, np.array([0.5, -1.0, 2.0])
    model, step = precise(linkage.model), mpmath.mpf(10) ** -16

    def acceleration(shift, tau):
        q, N, _ = precise_closed(mpmath.mpf(angle) + shift)
        found = algorithms.constrained_forward_dynamics(model, q, N * mpmath.mpf(rate), tau)
        assert max(abs(x) for x in found.residual) < mpmath.mpf(10) ** -45
        return found.ddq

    force = np.array([mpmath.mpf(x) for x in tau], object)
    along = np.array((acceleration(step, force) - acceleration(-step, force)) / (2 * step), float)
    q, N, bend = closed(angle)
    for by_q, by_dq, by_tau in (
        linkage.forward_dynamics_derivatives(q, N * rate, tau),
        algorithms.constrained_forward_dynamics_derivatives(linkage.model, q, N * rate, tau),
    ):
        found = by_q @ N + by_dq @ (bend * rate)
        assert np.abs(found - along).max() < 1e-11 * (1 + np.abs(by_q).max())
        for d in range(3):
            unit = np.eye(3)[d] * step
            ends = acceleration(0, force + unit) - acceleration(0, force - unit)
            assert np.abs(np.array(ends / (2 * step), float) - by_tau[:, d]).max() < 1e-11


def test_fifty_digits_choose_rows_at_the_position(linkage, many_digits):
    model = precise(linkage.model)
    for angle in angles(linkage)[::6]:
        tau = np.array([1.0, 0.5, -2.0])
        q, N, _ = precise_closed(mpmath.mpf(angle))
        digits = algorithms.constrained_forward_dynamics(model, q, N, tau)
        floats = linkage.constrained_forward_dynamics(*closed(angle)[:2], tau)
        for exact, found in zip(digits, floats, strict=True):
            assert np.abs(np.array(exact, float) - found).max() < 1e-11 * (1 + np.abs(found).max())
        back = algorithms.constrained_inverse_dynamics(model, q, N, digits.ddq)
        assert max(abs(x) for x in back.force_residual) < mpmath.mpf(10) ** -40
        N_r = algorithms.reduced_dynamics(model, q, N).N[:, 0]
        assert max(abs(x) for x in N_r - N) < mpmath.mpf(10) ** -40


def test_fractions_choose_rows_at_the_position(linkage):
    """tan(q1/2) = 1/2 and tan(q2/2) = -5: sines and cosines are fractions."""
    model = linkage.model.astype(lambda x: sympy.Rational(str(round(float(x), 12))))
    first = sympy.atan2(4, 3)
    q, tau = [first, sympy.atan2(-5, -12), -first], [sympy.Integer(k) for k in (1, 2, -1)]
    dq = [sympy.Integer(1), sympy.Rational(25, 52), sympy.Integer(-1)]
    found = algorithms.constrained_forward_dynamics(model, q, dq, tau)
    assert [sympy.simplify(x) for x in found.residual] == [0] * 5
    state = closed(2 * np.arctan(0.5))[:2]
    floats = linkage.constrained_forward_dynamics(*state, [1, 2, -1])
    for exact, near in zip(found[:2], floats[:2], strict=True):
        assert np.abs(np.array(exact, float) - near).max() < 1e-13


def test_a_simulated_turn_stays_on_the_closed_form(linkage):
    q, N, _ = closed(0.5)
    motion = linkage.simulate(q, N * 4, duration=2.5, dt=0.002, method="rk4")
    assert np.ptp(motion.q[:, 0]) > 2 * np.pi
    followed = np.array([closed(angle)[0] for angle in motion.q[:, 0]])
    turns = (motion.q - followed) / (2 * np.pi)
    assert np.abs(turns - turns.round()).max() < 1e-12
    assert motion.meta["closure"].max() < 1e-13


def whirl(t, q, dq):
    """A law with slopes that are not symmetric."""
    return np.array([-50 * dq[0] + 90 * dq[1], -30 * dq[0] - 200 * q[0], -5 * dq[2] + 40 * q[1]])


def test_implicit_steps_solve_the_dense_equations_with_all_rows(linkage):
    """Diagonal slopes of a step, and those of a law that are not symmetric."""
    rows, h = closed(0.8), 1e-3
    q, dq = np.array(rows[0]), 2 * np.array(rows[1])
    J, M = linkage.constraint_jacobian(q), linkage.mass_matrix(q)
    N = np.linalg.svd(J)[2][2:].T  # of the rank 2 of the closed linkage
    nu = np.linalg.pinv(J, rcond=1e-6) @ -linkage.constraint_bias(q, dq)

    def rates(tau, kp, kd):
        M_h = M + h * kd + h * h * kp
        b = tau - linkage.bias_forces(q, dq) - h * kp @ dq
        return dq + h * (nu + N @ np.linalg.solve(N.T @ M_h @ N, N.T @ (b - M_h @ nu)))

    tau, kp, kd = np.array([1.0, 0, 0]), np.array([1e4, 3, 500]), np.array([5.0, 1, 2])
    end = linkage.step(q, dq, tau, h, method="implicit", kp=kp, kd=kd)
    expected = linkage.project_rates(end[0], rates(tau, np.diag(kp), np.diag(kd)))
    np.testing.assert_allclose(end[1], expected, atol=1e-12)
    kp, kd = np.array([[0, 0, 0], [200, 0, 0], [0, -40, 0]]), np.diag([50.0, 0, 5])
    kd[0, 1], kd[1, 0] = -90, 30
    motion = linkage.simulate(q, dq, controller=whirl, duration=h, dt=h, method="implicit")
    expected = linkage.project_rates(motion.q[-1], rates(whirl(0, q, dq), kp, kd))
    np.testing.assert_allclose(motion.dq[-1], expected, atol=1e-12)


def test_dry_friction_stops_a_linkage_with_all_rows(linkage):
    rows = closed(0.8)
    rough = linkage.with_friction({"j1": kt.Friction(coulomb=30.0)})
    for method in ("dop853", "rk4"):
        motion = rough.simulate(
            rows[0], 2 * np.array(rows[1]), duration=0.4, dt=0.005, method=method
        )
        assert motion.dq[-1, 0] == 0 and motion.dq[0, 0] == 2
        assert motion.meta["closure"].max() < 1e-12
