"""Derivatives of simulated motions are those of the steps, and backward is forward.

The Jacobian of a step sums products of derivatives of the dynamics, which hold to 1e-12 of their
norm (test_derivative_laws.py), magnified by the condition of M beyond 100; so do a few steps.
"""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.state import StateSpace
from kinetree.algorithms.steps import METHODS
from kinetree.algorithms.stiction import without_dry_friction
from kinetree.simulate import signal
from precise_robots import derivative, numbers, precise, precise_state
from robot_states import any_robot, random_state, relative, size

ACCURACY = 1e-12
STEPS, DT = 2, 0.01


def smooth_robot(seed):
    """Joints of all types, mimic joints, rotors, viscous friction and functions; nothing dry."""
    return without_dry_friction(any_robot(seed, 4))


def exact_end(model, method, x, tau, h=DT):
    """(q, dq) after a few steps, the method's own, on numbers of any precision."""
    space, way = StateSpace(model), METHODS[method]
    for _ in range(STEPS):
        if way.implicit:
            q, dq, _ = space.split(x)
            x = np.concatenate(algorithms.steps.step(model, q, dq, tau, h, method=method))
            continue
        begun, k = x, []
        for stage in way.stages:
            q, dq, _ = space.split(begun)
            k.append(np.concatenate([dq, algorithms.forward_dynamics(model, q, dq, tau)]))
            begun = stage(space, h, x, k)
        x = begun
    return x


CASES = [(3, "semi_implicit_euler"), (3, "implicit"), (7, "implicitfast"), (7, "euler")]
CASES += [(7, "rk4")]


@pytest.mark.parametrize(("seed", "method"), CASES)
def test_they_are_differences_of_the_simulation_in_fifty_digits(seed, method, fifty_digits):
    model = smooth_robot(seed)
    state = random_state(model, seed)
    exact = precise(model)
    at = precise_state(exact, state)
    found = kt.Robot(model).sensitivities(
        state.q, state.dq, tau=state.ddq, duration=STEPS * DT, dt=DT, method=method,
        wrt=("q0", "dq0", "tau", "parameters"), limits="ignore",
    )  # fmt: skip
    N = algorithms.tangent_map(
        exact, exact_end(exact, method, np.r_[at.q, at.dq], at.ddq)[: model.nq]
    )
    back = N.T / (N * N).sum(0)[:, None]  # from coordinates to tangents: columns are orthogonal

    def end(h, u, v, w, dpi):
        changed = exact
        if np.any(dpi != 0):
            pi = algorithms.parameters(exact)
            changed = algorithms.with_parameters(exact, pi + h * dpi)
        x = np.r_[algorithms.integrate(exact, at.q, h * u), at.dq + h * v]
        x = exact_end(changed, method, x, at.ddq + h * w)
        return np.r_[back @ x[: model.nq], x[model.nq :]]

    rng = np.random.default_rng(seed)
    pi = np.asarray(algorithms.parameters(model), float)
    zeros = [numbers(np.zeros(model.n))] * 3 + [numbers(np.zeros(len(pi)))]
    accuracy = ACCURACY * max(
        1.0, 1e-2 * float(np.linalg.cond(algorithms.mass_matrix(model, state.q)))
    )
    for k, name in enumerate(("q0", "dq0", "tau", "parameters")):
        v = rng.normal(size=model.n if k < 3 else len(pi)) * (pi if k == 3 else 1)
        directions = [numbers(v) if j == k else zero for j, zero in enumerate(zeros)]
        wanted = derivative(lambda h, d=directions: end(h, *d))
        got = found.by(name)[-1] @ v
        assert size(got - wanted) <= accuracy * max(size(wanted), size(got)), name


def pendulum(m=1.3, length=0.7, inertia=0.05):
    arm = kt.Builder("pendulum").link("base")
    arm.link("bob", m=m, com=(0, 0, -length), I_com=np.eye(3) * inertia)
    return arm.joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0)).build()


def test_every_method_is_among_the_cases():
    assert {method for _, method in CASES} == {*METHODS}


def test_a_small_swing_is_a_sine():
    """Of RK4 with w h = 0.004 the error in a turn of w t = 8 is 8 (w h)^4 / 120, 2e-11."""
    robot = pendulum()
    w = np.sqrt(1.3 * 9.81 * 0.7 / (0.05 + 1.3 * 0.7**2))
    found = robot.sensitivities([0.0], [0.0], duration=2.0, dt=1e-3, wrt=("q0", "dq0", "tau"))
    t, M = found.motion.t, 0.05 + 1.3 * 0.7**2
    sine, cosine = np.sin(w * t), np.cos(w * t)
    assert np.abs(found.by("q0")[:, :, 0] - np.c_[cosine, -w * sine]).max() < 1e-9
    assert np.abs(found.by("dq0")[:, :, 0] - np.c_[sine / w, cosine]).max() < 1e-10
    held = np.c_[(1 - cosine) / w**2, sine / w] / M
    assert np.abs(found.by("tau")[:, :, 0] - held).max() < 1e-10


def test_a_wide_swing_returns_by_the_slope_of_its_period():
    """q(T) = q0 and dq(T) = 0 for every q0: d dq/d q0 = -ddq dT/d q0, an elliptic integral."""
    robot, angle = pendulum(), 2.0
    w = np.sqrt(1.3 * 9.81 * 0.7 / (0.05 + 1.3 * 0.7**2))
    with mpmath.workdps(30):
        period = lambda a: 4 * mpmath.ellipk(mpmath.sin(a / 2) ** 2) / w  # noqa: E731
        T, slope = float(period(mpmath.mpf(angle))), float(mpmath.diff(period, mpmath.mpf(angle)))
    found = robot.sensitivities([angle], duration=T, dt=T / 4000, wrt="q0")
    ddq = robot.forward_dynamics([angle], [0.0], [0.0])[0]
    assert np.abs(found.by("q0")[-1, :, 0] - [1, -ddq * slope]).max() < 1e-9


def spring(t, q, dq):
    """The force of 3 (1 - cos(q1 - q2)) between two pendulums."""
    from kinetree.scalars import sin

    pull = 3 * sin(q[0] - q[1])
    return np.array([-pull, pull])


def test_semi_implicit_steps_are_symplectic_where_the_mass_matrix_is_constant():
    """X^T W X = W, W = [0, M; -M, 0], after any number of steps: 500 of them round to 1e-12."""
    two = kt.Builder("two").link("base")
    for k in (1, 2):
        two.link(f"bob{k}", k, (0, 0, -0.5), np.eye(3) * 0.01 * k)
        two.joint(f"hinge{k}", "revolute", "base", f"bob{k}", at=(k, 0, 0), axis=(0, 1, 0))
    robot = two.build()
    found = robot.sensitivities(
        [1.0, -0.5], [0.3, 2.0], duration=5.0, dt=0.01, method="semi_implicit_euler", tau=spring
    )
    X = np.concatenate([found.by("q0"), found.by("dq0")], -1)
    M = robot.mass_matrix([0.0, 0.0])
    W = np.block([[np.zeros((2, 2)), M], [-M, np.zeros((2, 2))]])
    kept = X.swapaxes(-1, -2) @ W @ X
    assert np.abs(X[-1] - np.eye(4)).max() > 1  # the motion does change
    assert np.abs(kept - W).max() < 1e-12 * np.abs(X).max() ** 2


def test_the_flow_is_symplectic_to_the_order_of_the_method():
    """In (q, p = M dq) of any conservative robot; half the step leaves a sixteenth of the error."""
    robot = kt.robots.spatial_3r()
    q0, dq0, n = np.array([0.3, -0.8, 1.2]), np.array([1.0, 0.5, -1.5]), 3
    slope = robot.derivative("mass_matrix", "q")

    def canonical(q, dq):  # d(q, p)/d(q, dq)
        by_q = np.einsum("ijk,j->ik", slope(q), dq)
        return np.block([[np.eye(n), np.zeros((n, n))], [by_q, robot.mass_matrix(q)]])

    W = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    errors = []
    for dt in (0.02, 0.01):
        found = robot.sensitivities(q0, dq0, duration=0.4, dt=dt, limits="ignore")
        X = np.concatenate([found.by("q0"), found.by("dq0")], -1)[-1]
        first, last = canonical(q0, dq0), canonical(found.motion.q[-1], found.motion.dq[-1])
        errors.append(size((last @ X).T @ W @ (last @ X) - first.T @ W @ first))
    assert 12 < errors[0] / errors[1] < 40


def test_motions_in_two_parts_follow_the_chain_rule():
    robot = kt.robots.quadruped()  # on a free base
    rng = np.random.default_rng(1)
    q0, dq0 = robot.random(rng=2), rng.normal(size=robot.n)
    options = {"dt": 0.01, "limits": "ignore", "wrt": ("q0", "dq0", "tau")}
    whole = robot.sensitivities(q0, dq0, duration=0.2, **options)
    half = robot.sensitivities(q0, dq0, duration=0.1, **options)
    q, dq = half.motion.q[-1], half.motion.dq[-1]
    rest = robot.sensitivities(
        q / np.r_[[np.linalg.norm(q[:4])] * 4, [1] * 15], dq, duration=0.1, **options
    )
    X = np.concatenate([rest.by("q0")[-1], rest.by("dq0")[-1]], -1)
    for name in ("q0", "dq0"):
        assert relative(whole.by(name)[-1], X @ half.by(name)[-1]) < ACCURACY
    forces = X @ half.by("tau")[-1] + rest.by("tau")[-1]
    assert relative(whole.by("tau")[-1], forces) < ACCURACY


def test_a_step_from_rest_is_the_linearised_system():
    """At an equilibrium RK4 is exp(A h) up to (A h)^4 / 24, exactly; the rest is (A h)^5 / 120."""
    robot = kt.robots.double_pendulum()
    q, rest, h = np.array([np.pi, 0.3]), np.zeros(2), 0.001
    tau = robot.gravity_forces(q)
    step = robot.sensitivities(q, rest, tau=tau, duration=h, dt=h, wrt=("q0", "tau"))
    Ah = robot.linearize(q, rest, tau).A * h
    power, series = np.eye(4), np.eye(4)
    for k in range(1, 5):
        power = power @ Ah / k
        series = series + power
    assert relative(step.A[0], series) < 1e-14
    exact = robot.linearize(q, rest, tau, dt=h)
    left = np.linalg.norm(Ah, 2) ** 5 / 120 * 2
    assert np.linalg.norm(step.A[0] - exact.A, 2) < left < 1e-8
    assert np.linalg.norm(step.B["tau"][0] - exact.B, 2) < left


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize("kind", ["hold", "linear"])
def test_backward_is_forward(kind, method):
    """Both sum the same products in different orders: a few hundred roundings."""
    robot, rng = kt.robots.ur5e(), np.random.default_rng(3)
    forces = signal([0, 0.013, 0.04, 0.06], rng.normal(size=(4, 2, 6)) * 3, kind)
    found = robot.sensitivities(
        rng.normal(size=(2, 6)), rng.normal(size=6), tau=forces, duration=0.05, dt=0.004,
        method=method, limits="ignore", wrt=("q0", "dq0", "tau", "F_ext", "gravity", "com"),
    )  # fmt: skip
    slopes = rng.normal(size=(len(found.motion), 2, 12))
    for name, got in found.gradient(slopes).items():
        by = found.by(name)
        wanted = np.einsum("tbi,tbi...->b...", slopes, by)
        assert got.shape == wanted.shape == (2, *by.shape[3:])
        assert relative(got, wanted) < ACCURACY, name
