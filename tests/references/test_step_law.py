"""The step law: one step against projected Gauss-Seidel, and the energy of what spins."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import ContactPoint

H = 1e-3
LAW = {"method": "time_stepping"}


def gauss_seidel(A, b, rows, sweeps=100_000, enough=1e-12):
    """Impulses r with w = A r + b, row by row: each row gives its impulses for the others'."""
    r, change = np.zeros(len(b)), 1.0
    for _ in range(sweeps):
        change = 0.0
        for at, law in rows:
            old = r[at].copy()
            r[at] = law(old, A[at] @ r + b[at], A[at, at])
            change = max(change, np.abs(r[at] - old).max())
        if change < enough:
            break
    assert change < 1e-9
    return r


def clipped(low, high):
    """Dry friction of a joint."""
    return lambda r, w, A: np.clip(r - w / A[0, 0], low, high)


def stop(low, high):
    """Stops of a joint: its rate stays between two bounds."""

    def law(r, w, A):
        x = w - A[0, 0] * r
        return (np.clip(x, low, high) - x) / A[0, 0]

    return law


def round_cone(mu):
    """A contact: the normal first, then friction against the slip."""

    def law(r, w, A):
        normal = max(r[0] - w[0] / A[0, 0], 0)
        x = r[1:] - (w[1:] + A[1:, 0] * (normal - r[0])) / np.linalg.eigvalsh(A[1:, 1:])[-1]
        return np.array([normal, *(x * min(1, mu * normal / max(np.linalg.norm(x), 1e-300)))])

    return law


def state_of(robot, rng, speed):
    q = kt.dynamics.start_position(robot) + rng.normal(size=robot.nq) * 0.1
    limits = [x.limits for x in robot.model.joints if x.dofs]
    q = np.clip(q, [x.lower + 0.01 for x in limits], [x.upper - 0.01 for x in limits])
    return q, rng.normal(size=robot.n) * speed


@pytest.mark.parametrize("method", ["euler", "time_stepping", "implicitfast"])
def test_dry_friction_of_all_joints_is_that_of_gauss_seidel(method):
    arm, rng = kt.robots.panda(), np.random.default_rng(0)
    level = 1.0
    robot = arm.with_friction({x: kt.friction.Friction(coulomb=level) for x in arm.joint_names})
    for k in range(40):
        q, dq = state_of(arm, rng, 0.3 if k % 3 else 0.004)
        tau = arm.bias_forces(q, 0 * dq) + rng.normal(size=arm.n) * 2
        M = arm.mass_matrix(q)
        free = dq + H * arm.forward_dynamics(q, dq, tau)
        if method == "time_stepping":
            free = arm.step(q, dq, tau, H, method=method)[1]
        A = np.linalg.inv(M)
        rows = [(slice(d, d + 1), clipped(-level * H, level * H)) for d in range(arm.n)]
        r = gauss_seidel(A, free, rows)
        _, after = robot.step(q, dq, tau, H, method=method)
        np.testing.assert_allclose(after, free + A @ r, atol=1e-9)
        assert (np.abs(r) < level * H * (1 - 1e-6)).any() or np.abs(after).min() > 0


def turning(dq):
    """(0, w x v) of the free base: rates of a step are in the axes of the base before it."""
    return np.concatenate([np.zeros(3), np.cross(dq[:3], dq[3:6]), np.zeros(len(dq) - 6)])


def after_step(robot, dq, motion):
    """Rates after a simulated step in the axes of the base before it."""
    return dq + H * (motion.ddq[0] + turning(dq))


def contact_rows(robot, feet, q, dq):
    """Normals and tangents of points on level ground, (3 c, n), and b of gaps that close."""
    parts = [robot.pose(q, x)[:3, :3] @ robot.body_jacobian(q, x)[3:] for x in feet]
    J = np.concatenate([x[[2, 0, 1]] for x in parts])
    gaps, h = robot.compile("contact_points")(q)[1], 1e-6
    ahead = robot.integrate(q, dq * h), robot.integrate(q, -dq * h)
    curve = sum(robot.compile("contact_points")(x)[1] for x in ahead) - 2 * gaps
    b = np.zeros(len(J))
    b[::3] = np.maximum(gaps, 0) / H + (curve / (h * h) - J[::3] @ turning(dq)) * H / 2
    return J, b


def test_friction_contacts_and_stops_are_those_of_gauss_seidel():
    """A quadruped whose joints rub and reach their stops lands on its feet: one step."""
    plain, mu, level = kt.robots.quadruped(), 0.6, 0.4
    feet = [str(x) for x in plain.model.tips]
    robot = plain.with_contacts([ContactPoint(x, x) for x in feet], friction=mu)
    dry = robot.with_friction(
        {x: kt.friction.Friction(coulomb=level) for x in plain.joint_names[1:]}
    )
    rng, acting = np.random.default_rng(1), 0
    limits = [plain.model.joints[i].limits for i in plain.model.links if plain.model.joints[i].dofs]
    for _ in range(6):
        q, dq = kt.dynamics.start_position(robot), rng.normal(size=robot.n) * 0.2
        q[7:] += rng.normal(size=len(q) - 7) * 0.05
        q[7:] = np.clip(q[7:], [x.lower for x in limits[1:]], [x.upper for x in limits[1:]])
        q[9] = limits[3].upper - 1e-4
        dq[8] = 0.5
        q = kt.contacts.on_ground(robot, q)
        dq[5] = -0.3
        tau = np.concatenate([np.zeros(6), rng.normal(size=robot.n - 6)])
        fly = plain.simulate(q, dq, duration=H, dt=H, tau=tau, **LAW, limits="ignore")
        free = after_step(plain, dq, fly)
        J, b = contact_rows(robot, feet, q, dq)
        J = np.concatenate([J, np.eye(robot.n)[6:], np.eye(robot.n)[6:]])
        M = plain.mass_matrix(q)
        A, first = J @ np.linalg.solve(M, J.T), 3 * len(feet)
        rows = [(slice(3 * k, 3 * k + 3), round_cone(mu)) for k in range(len(feet))]
        joints = range(robot.n - 6)
        rows += [(slice(first + k, first + k + 1), clipped(-level * H, level * H)) for k in joints]
        b = np.concatenate([b, np.zeros(2 * len(joints))]) + J @ free
        for k in joints:
            at, x = first + len(joints) + k, limits[k + 1]
            low, high = (x.lower - q[7 + k]) / H, (x.upper - q[7 + k]) / H
            rows.append((slice(at, at + 1), stop(low, high)))
        r = gauss_seidel(A, b, rows)
        motion = dry.simulate(q, dq, duration=H, dt=H, tau=tau, **LAW)
        found = after_step(plain, dq, motion)
        np.testing.assert_allclose(found, free + np.linalg.solve(M, J.T @ r), atol=2e-5)
        acting += int(np.abs(r[-len(joints) :]).max() > 1e-6)
        assert motion.meta["contact_residual"].max() < 1e-8
    assert acting


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
        q, dq, duration=15.0, dt=H, method="time_stepping", every=100, limits="ignore"
    )
    energy = robot.kinetic_energy(motion.q, motion.dq)
    assert np.abs(energy / energy[0] - 1).max() < 2e-3
    x, z = motion.q[..., 4], motion.t[:, None]  # the centre of mass moves on a straight line
    np.testing.assert_allclose(x, x[0] + (x[1] - x[0]) * z / motion.t[1], atol=1e-9)


@pytest.mark.parametrize("method", ["time_stepping", "rk4"])
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


@pytest.mark.filterwarnings("ignore:.*is off by about")  # the motion is chaotic
@pytest.mark.parametrize("method", ["time_stepping", "rk4"])
def test_double_pendulums_keep_their_energy(method):
    robot, rng = kt.robots.planar_2r(), np.random.default_rng(2)
    q = rng.uniform(-2, 2, size=(8, 2))
    motion = robot.simulate(q, duration=60.0, dt=H, method=method, every=50, limits="ignore")
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    size = np.ptp(robot.potential_energy(rng.uniform(-np.pi, np.pi, size=(500, 2))))
    limit = 1e-3 if method == "rk4" else 2e-2
    assert np.abs(energy - energy[0]).max() < limit * size
    assert np.abs(energy[-200:].mean(0) - energy[:200].mean(0)).max() < 2e-3 * size


def swinging(**limits):
    rod = kt.Builder("rod", gravity=(0, 0, -9.81)).link("base")
    rod = rod.link("rod", m=1.0, I_com=np.eye(3) * 0.01, com=(0, 0, -0.3))
    limits = kt.joints.Limits(**limits)
    return rod.joint("swing", "revolute", "base", "rod", axis=(0, 1, 0), limits=limits).build()


@pytest.mark.parametrize(
    "method", ["time_stepping", "semi_implicit_euler", "implicit", "implicitfast"]
)
def test_a_joint_stops_at_its_limit_and_rests_there(method):
    """A pendulum swings into its stop, is held there by what gravity and a motor push."""
    robot = swinging(lower=-0.5, upper=0.3)
    motion = robot.simulate([0.2], [2.0], duration=1.0, dt=H, tau=[4.0], method=method)
    assert motion.q.max() <= 0.3 + 1e-12
    np.testing.assert_allclose(motion.q[-1], 0.3, atol=1e-12)
    np.testing.assert_allclose(motion.dq[-1], 0, atol=1e-12)
    held = 0.3 * 9.81 * np.sin(0.3) - 4.0
    np.testing.assert_allclose(motion.meta["stop_forces"]["swing"][-5:], held, rtol=1e-9)
    assert motion.meta["residual"].max() < 1e-8
    q, dq = np.array([0.299]), np.array([3.0])
    for _ in range(5):
        q, dq = robot.step(q, dq, [4.0], H, method=method)
    np.testing.assert_allclose(q, 0.3, atol=1e-12)


def test_a_joint_beyond_its_stop_is_led_back_gently():
    robot = swinging(lower=-1.0, upper=0.1)
    robot = robot.with_gravity((0, 0, 0))
    motion = robot.simulate([0.3], duration=3.0, dt=H, controller=lambda t, q, dq: 0 * q, **LAW)
    assert -0.1 - 1e-12 < motion.dq.min() < -0.09 and (np.diff(motion.q[:, 0]) <= 0).all()
    assert motion.q[-1] <= 0.1


def test_what_limits_do_is_a_choice():
    robot, rest = swinging(lower=-0.5, upper=0.3, velocity=1.0), {"duration": 0.5, "dt": H}
    with pytest.raises(kt.simulate.SimulationError, match="swing"):
        robot.simulate([0.2], [2.0], limits="error", **LAW, **rest)
    with pytest.raises(kt.simulate.SimulationError, match="swing"):
        robot.simulate([0.2], [2.0], method="rk4", **rest)
    ignored = robot.simulate([0.2], [2.0], limits="ignore", **LAW, **rest)
    assert ignored.q.max() > 0.4 and "stop_forces" not in ignored.meta
    stopped = robot.simulate([0.2], [2.0], **LAW, **rest)
    assert [x.quantity for x in stopped.meta["violations"]] == ["velocity"]


@pytest.mark.parametrize(("name", "dry"), [("quadruped", 0), ("quadruped", 0.3), ("humanoid", 0)])
def test_limp_robots_fall_without_gaining_energy_and_stay_within_their_stops(name, dry):
    plain = getattr(kt.robots, name)()
    rubbing = {x: kt.friction.Friction(coulomb=dry) for x in plain.joint_names[1:] if dry}
    plain = plain.with_friction(rubbing)
    robot = plain.with_contacts([ContactPoint(x, x) for x in plain.model.tips])
    rng, count = np.random.default_rng(0), 8
    limits = [x.limits for x in robot.model.joints if x.dofs][1:]
    low, high = (np.array([getattr(x, side) for x in limits]) for side in ("lower", "upper"))
    q = np.tile(kt.dynamics.start_position(robot), (count, 1))
    q[:, 7:] = np.clip(q[:, 7:] + rng.normal(size=(count, len(low))) * 0.3, low, high)
    turned = rng.normal(size=(count, 4)) + np.array([2, 0, 0, 0])
    q[:, :4] = turned / np.linalg.norm(turned, axis=1)[:, None]
    q[:, 6] += 1.0
    motion = robot.simulate(q, duration=1.5, dt=2e-3, **LAW)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    risen = energy - np.minimum.accumulate(energy, axis=0)
    assert (risen.max(0) < 0.01 * np.ptp(energy, axis=0)).all()
    assert min(x.min() for x in motion.meta["contact_gaps"].values()) > -5e-4
    joints = motion.q[..., 7:]
    assert max((low - joints).max(), (joints - high).max()) < 1e-3
    assert np.mean(motion.meta["contact_residual"] > 1e-8) <= 1e-3
    assert motion.meta["stop_forces"] and np.abs(motion.dq).max() > 1


@pytest.mark.parametrize("method", ["rk4", "time_stepping", "implicit", "DOP853"])
def test_motors_that_saturate_give_the_effort_of_their_joint(method):
    """A mass on a rail under a law -5 q that gives 2 N at most."""
    rail = kt.Builder("rail").link("base").link("block", 1.0)
    limits = kt.joints.Limits(effort=2.0)
    robot = rail.joint("rail", "prismatic", "base", "block", axis=(1, 0, 0), limits=limits).build()

    def law(t, q, dq):
        return -5.0 * q

    given = {"controller": law, "duration": 1.0, "method": method, "effort_limits": "saturate"}
    motion = robot.simulate([1.0], **given)
    early = motion.t <= np.sqrt(0.6)  # until q = 0.4 m, where 5 N/m give 2 N
    expected = 1 - motion.t[early] ** 2
    np.testing.assert_allclose(motion.q[early, 0], expected, atol=2e-3)
    np.testing.assert_allclose(motion.tau[:, 0], np.clip(-5 * motion.q[:, 0], -2, 2), atol=1e-9)
    constant = robot.simulate(
        [0.0], duration=0.5, tau=[9.0], method=method, effort_limits="saturate"
    )
    np.testing.assert_allclose(constant.dq[-1], 1.0, atol=1e-9)
    np.testing.assert_allclose(constant.tau, 2.0)
    with pytest.raises(kt.errors.InputError, match="effort_limits"):
        robot.simulate([0.0], duration=0.1, effort_limits="clip")
