"""The step law: one step against projected Gauss-Seidel, and the energy of what spins."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import ContactPoint

H = 1e-3


def gauss_seidel(A, b, project, sweeps=200_000, enough=1e-13):
    """Impulses r with w = A r + b that `project` maps onto themselves, row by row."""
    r, inverse = np.zeros(len(b)), 1 / np.diag(A)
    for _ in range(sweeps):
        change = 0.0
        for rows, bounds in project:
            old = r[rows].copy()
            weight = inverse[rows].min()
            r[rows] = bounds(r, old - weight * (A[rows] @ r + b[rows]))
            change = max(change, np.abs(r[rows] - old).max())
        if change < enough:
            return r
    return r


def clipped(low, high):
    return lambda r, x: np.clip(x, low, high)


def cone(mu, normal):
    def project(r, x):
        most, size = mu * max(r[normal], 0), np.linalg.norm(x)
        return x * min(1, most / size) if size > 0 else x

    return project


def state_of(robot, rng, speed):
    q = robot.start_position() + rng.normal(size=robot.nq) * 0.1
    return q, rng.normal(size=robot.n) * speed


@pytest.mark.parametrize("method", ["euler", "semi_implicit_euler", "implicitfast"])
def test_dry_friction_of_all_joints_is_that_of_gauss_seidel(method):
    arm, rng = kt.robots.panda(), np.random.default_rng(0)
    level = 1.0
    robot = arm.with_friction({x: kt.friction.Friction(coulomb=level) for x in arm.joint_names})
    for k in range(40):
        q, dq = state_of(arm, rng, 0.3 if k % 3 else 0.004)
        tau = arm.bias_forces(q, 0 * dq) + rng.normal(size=arm.n) * 2
        M = arm.mass_matrix(q)
        free = dq + H * arm.forward_dynamics(q, dq, tau)
        if method == "semi_implicit_euler":
            free = arm.step(q, dq, tau, H, method=method)[1]
        A = np.linalg.inv(M)
        rows = [(slice(d, d + 1), clipped(-level * H, level * H)) for d in range(arm.n)]
        r = gauss_seidel(A, free, rows)
        _, after = robot.step(q, dq, tau, H, method=method)
        np.testing.assert_allclose(after, free + A @ r, atol=1e-9)
        assert (np.abs(r) < level * H * (1 - 1e-6)).any() or np.abs(after).min() > 0


def test_friction_and_contacts_are_those_of_gauss_seidel():
    """A quadruped whose joints rub lands on its feet: the same rates, in one step."""
    plain, mu, level = kt.robots.quadruped(), 0.6, 0.4
    feet = [name for name in plain.model.tips]
    rubbing = plain.joint_names[1:]
    robot = plain.with_contacts([ContactPoint(x, x) for x in feet], friction=mu)
    dry = robot.with_friction({x: kt.friction.Friction(coulomb=level) for x in rubbing})
    rng = np.random.default_rng(1)
    for _ in range(6):
        q, dq = robot.start_position(), rng.normal(size=robot.n) * 0.2
        q[7:] += rng.normal(size=len(q) - 7) * 0.1
        q = robot.on_ground(q)
        dq[5] = -0.3
        tau = np.concatenate([np.zeros(6), rng.normal(size=robot.n - 6)])
        points, gaps, _ = robot.contact_points(q)
        J = contact_jacobian(plain, q, feet, points)
        J = np.concatenate([J, np.eye(robot.n)[6:]])
        free = plain.step(q, dq, tau, H)[1]
        turning = np.zeros(robot.n)
        free = straight(plain, q, dq, tau)
        A = J @ np.linalg.solve(plain.mass_matrix(q), J.T)
        b, h = J @ free, H
        for k, gap in enumerate(gaps):
            b[3 * k] += max(gap, 0) / h + turning[0]
        rows = [(slice(3 * k, 3 * k + 3), round_cone(mu)) for k in range(len(feet))]
        first = 3 * len(feet)
        rows += [(slice(k, k + 1), clipped(-level * h, level * h)) for k in range(first, len(b))]
        r = gauss_seidel(A, b, rows)
        after = free + np.linalg.solve(plain.mass_matrix(q), J.T @ r)
        motion = dry.simulate(q, dq, duration=H, dt=H, tau=tau, limits="ignore")
        assert motion.meta["contact_residual"].max() < 1e-8
        np.testing.assert_allclose(motion.dq[1][6:], after[6:], atol=2e-6)


def tumbling(rng, count, speed):
    body = kt.Builder("body", gravity=(0, 0, 0)).link("base")
    body = body.link("body", m=1.0, I_com=np.diag((0.01, 0.012, 0.006)))
    robot = body.joint("free", "free", "base", "body").build()
    q, dq = np.zeros((count, 7)), np.zeros((count, 6))
    q[:, 0] = 1
    w = rng.normal(size=(count, 3))
    dq[:, :3] = speed * w / np.linalg.norm(w, axis=1)[:, None]
    return robot, q, dq


@pytest.mark.parametrize("speed", [3.0, 30.0, 100.0])
@pytest.mark.parametrize("touching", [False, True])
def test_tumbling_bodies_keep_their_energy_and_momentum(speed, touching):
    robot, q, dq = tumbling(np.random.default_rng(0), 8, speed)
    dq[:, 3:] = 1.0
    if touching:
        q[:, 6] = 100
        robot = robot.with_contacts([ContactPoint("p", "body")])
    motion = robot.simulate(
        q, dq, duration=15.0, dt=H, method="semi_implicit_euler", every=100, limits="ignore"
    )
    energy = robot.kinetic_energy(motion.q, motion.dq)
    assert np.abs(energy / energy[0] - 1).max() < 2e-3
    x, z = motion.q[..., 4], motion.t[:, None]  # the centre of mass moves on a straight line
    np.testing.assert_allclose(x, x[0] + (x[1] - x[0]) * z / motion.t[1], atol=1e-9)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit", "rk4"])
def test_tops_keep_their_energy(method):
    top = kt.Builder("top", gravity=(0, 0, -9.81)).link("base")
    top = top.link("top", m=1.0, I_com=np.diag((0.01, 0.01, 0.004)), com=(0, 0, 0.1))
    robot, rng = top.joint("ball", "spherical", "base", "top").build(), np.random.default_rng(1)
    q, w = rng.normal(size=(8, 4)), rng.normal(size=(8, 3))
    q /= np.linalg.norm(q, axis=1)[:, None]
    dq = 30 * w / np.linalg.norm(w, axis=1)[:, None]
    motion = robot.simulate(q, dq, duration=15.0, dt=H, method=method, every=100)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    limit = 1e-3 if method == "rk4" else 2e-2
    assert np.abs(energy - energy[0]).max() < limit * np.abs(energy[0]).max()
    assert np.abs(energy[-30:].mean(0) - energy[:30].mean(0)).max() < 2e-3 * energy[0].max()


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit", "rk4"])
def test_double_pendulums_keep_their_energy(method):
    robot, rng = kt.robots.planar_2r(), np.random.default_rng(2)
    q = rng.uniform(-2, 2, size=(8, 2))
    motion = robot.simulate(q, duration=60.0, dt=H, method=method, every=50, limits="ignore")
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    size = np.ptp(robot.potential_energy(rng.uniform(-np.pi, np.pi, size=(500, 2))))
    limit = 1e-3 if method == "rk4" else 2e-2
    assert np.abs(energy - energy[0]).max() < limit * size
    assert np.abs(energy[-200:].mean(0) - energy[:200].mean(0)).max() < 2e-3 * size
