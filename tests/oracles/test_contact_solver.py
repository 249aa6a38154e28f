"""Impulses of contacts against exact one-contact solutions, repeated to the last digit.

The oracle shares no code: each contact in turn is solved exactly, by its cases, with the slip
direction found by bisection, until nothing changes. It is slow, and converges for all scenes below.
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.algorithms.contacts.solver import SHARING, Problem, Seat, solve_contacts
from kinetree.contacts import ContactPoint

ANGLES = np.linspace(-np.pi, np.pi, 181)


def one_contact(A, v, mu):
    """Impulse of a single contact with A, (3, 3), and the velocity v without it, exactly."""
    if v[0] >= 0:
        return np.zeros(3)
    stick = -np.linalg.solve(A, v)
    if np.hypot(*stick[1:]) <= mu * stick[0]:
        return stick

    def slip(angle):
        d = np.array([1, mu * np.cos(angle), mu * np.sin(angle)])
        push = -v[0] / (A[0] @ d)
        r = push * d
        w = v + A @ r
        return r, w[1] * np.sin(angle) - w[2] * np.cos(angle), w[1:] @ d[1:]

    values = [slip(a)[1] for a in ANGLES]
    for a, b, x, y in zip(ANGLES, ANGLES[1:], values, values[1:], strict=False):
        if x * y <= 0:
            r, _, along = slip(brentq(lambda t: slip(t)[1], a, b, xtol=1e-15, rtol=1e-15))
            if r[0] > 0 and along <= 0:
                return r
    raise AssertionError("no slip direction")


def oracle(A, b, mu, limit=()):
    """All impulses, one contact and one joint after the other, until nothing changes."""
    m, r = len(mu), np.zeros(len(b))
    for _ in range(5000):
        before = r.copy()
        for i in range(m):
            k = slice(3 * i, 3 * i + 3)
            r[k] = one_contact(A[k, k], A[k] @ r + b[k] - A[k, k] @ r[k], mu[i])
        for i, most in enumerate(limit, 3 * m):
            r[i] = np.clip(r[i] - (A[i] @ r + b[i]) / A[i, i], -most, most)
        if np.abs(r - before).max() <= 1e-14 * np.abs(r).max(initial=1e-300):
            return r
    raise AssertionError("the oracle does not converge")


def scene(seed):
    """A random problem of one to five contacts and up to two joints with dry friction."""
    rng = np.random.default_rng(seed)
    m, joints = int(rng.integers(1, 6)), int(rng.integers(0, 3))
    n = 3 * m + joints + int(rng.integers(0, 4))
    J, L = rng.normal(size=(3 * m + joints, n)), rng.normal(size=(n, n))
    A = J @ np.linalg.inv(L @ L.T + n * np.eye(n)) @ J.T
    b = rng.normal(size=3 * m + joints) * rng.choice([0.01, 1.0])
    b[: 3 * m : 3] -= rng.choice([0.0, 0.5])
    return A, b, rng.uniform(0, 0.7, m), rng.uniform(0, 0.5, joints)


@pytest.mark.parametrize("seed", range(500))
def test_impulses_agree_with_exact_solutions_of_each_contact(seed):
    A, b, mu, most = scene(seed)
    found = solve_contacts(Problem(A, b, mu, [(-x, x) for x in most]))
    r = np.array(found.impulses, float)
    assert found.residual <= 1e-8
    pads = np.diag(
        [SHARING * A.diagonal()[: 3 * len(mu) : 3].mean()] * 3 * len(mu) + [0] * len(most)
    )
    expected = oracle(A + pads, b, mu, most)
    # a residual of 1e-8 of the velocities times the condition of A
    atol = 3e-8 * np.linalg.cond(A) * np.abs(expected).max(initial=1e-9)
    np.testing.assert_allclose(r, expected, atol=atol)


@pytest.mark.parametrize("seed", range(60))
def test_contacts_of_a_link_are_those_of_its_points(seed):
    """Carried by the twist of their link, or by rows of their own: the velocities are the same."""
    rng = np.random.default_rng(seed)
    counts, L = rng.integers(3, 7, 2), rng.normal(size=(14, 14))
    A = (L @ L.T + np.eye(14)) / 14  # two links with one joint each, which has dry friction
    seats, X = [], np.zeros((3 * counts.sum() + 2, 14))
    for k, link in enumerate(np.repeat([0, 1], counts)):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if seed % 2 else np.eye(3)
        seats.append(Seat(6 * int(link), rng.normal(size=3), turn))
        for i, V in enumerate(np.eye(14)):
            X[3 * k : 3 * k + 3, i] = seats[-1].velocities(V)
    X[-2:, 12:] = np.eye(2)
    b = X @ rng.normal(size=14)
    mu, limits = rng.uniform(0.1, 0.9, counts.sum()), [(-0.1, 0.1)] * 2
    carried = solve_contacts(Problem(A, b, mu, limits, seats))
    single = solve_contacts(Problem(X @ A @ X.T, b, mu, limits))
    assert carried.residual <= 1e-8 and single.residual <= 1e-8
    ends = [X @ A @ X.T @ np.array(x.impulses, float) for x in (carried, single)]
    np.testing.assert_allclose(*ends, atol=2e-5 * np.abs(b).max())  # 1e-8 over the pads
    np.testing.assert_allclose(
        np.array(carried.carried, float), X.T @ np.array(carried.impulses, float), atol=1e-12
    )


TIMES = (-1e-3, 0.0, 1e-3)  # s, of second differences


def straight_on(q, dq, t):
    """The position after the time t with constant rates of the joints and a straight base."""
    base = Rotation.from_quat(q[:4], scalar_first=True)
    turned = (base * Rotation.from_rotvec(dq[:3] * t)).as_quat(scalar_first=True)
    return np.array([*turned, *(q[4:7] + base.apply(dq[3:6]) * t), *(q[7:] + dq[6:] * t)])


def test_a_step_of_a_quadruped_agrees_with_equations_made_from_its_quantities():
    mu, dt = 0.6, 2e-3
    free = kt.robots.quadruped()
    feet = [f for f in free.model.frames if f.endswith("_foot")]
    robot = free.with_contacts([ContactPoint(f, f) for f in feet], friction=mu)
    rng = np.random.default_rng(5)
    bent = np.tile([0, 0.7, -1.4], 4)
    for _ in range(8):
        q = np.array([1, 0, 0, 0, 0, 0, 0, *(bent + 0.05 * rng.normal(size=12))])
        q = robot.on_ground(q, 1e-4)
        dq, tau = 0.5 * rng.normal(size=18), 5 * rng.normal(size=18)
        tau[:6] = 0
        rows, gaps = [], []
        for foot in feet:
            T, J = free.pose(q, foot), free.body_jacobian(q, foot)
            rows.append((T[:3, :3] @ J[3:])[[2, 0, 1]])
            gaps.append(T[2, 3])
        J, M = np.concatenate(rows), free.mass_matrix(q)
        straight = np.array([0, 0, 0, *np.cross(dq[:3], dq[3:6]), *np.zeros(12)])
        v = dq + dt * (free.forward_dynamics(q, dq, tau) + straight)
        b, before = J @ v, (J @ dq)[::3]
        closing = np.array(gaps) / dt
        fast = (b[::3] + closing < 0) & (-before > 3 * np.abs(b[::3] - before))
        b[::3] += np.where(fast, 0, closing)  # what hits the ground is stopped at once
        heights = [[free.pose(straight_on(q, dq, t), f)[2, 3] for f in feet] for t in TIMES]
        b[::3] += dt / 2 * (np.array([1, -2, 1]) @ heights) / TIMES[2] ** 2  # paths are curved
        r = oracle(J @ np.linalg.solve(M, J.T), b, [mu] * 4)
        after = v + np.linalg.solve(M, J.T @ r)
        end = robot.step(q, dq, tau, dt)[1]
        np.testing.assert_allclose(end[[0, 1, 2, *range(6, 18)]], after[[0, 1, 2, *range(6, 18)]],
                                   rtol=1e-6, atol=1e-6)  # fmt: skip
