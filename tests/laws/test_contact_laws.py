"""Motions with contacts whose ends are known: slopes, rolling, bouncing, rocking, standing."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import ContactPoint, Plane

G = 9.81
DT = 1e-3
CORNERS = [(x, y, -0.1) for x in (-0.15, 0.15) for y in (-0.1, 0.1)]


def body(points, *, m=2.0, inertia=(0.02, 0.03, 0.04), gravity=(0, 0, -G), radius=0.0, **contacts):
    """A free body whose points may touch; its frame is at its centre of mass."""
    built = kt.Builder("body", gravity=gravity).link("base")
    built = built.link("body", m=m, I_com=np.diag(inertia))
    robot = built.joint("free", "free", "base", "body").build()
    feet = [ContactPoint(f"p{k}", "body", p, radius) for k, p in enumerate(points)]
    return robot.with_contacts(feet, contacts.pop("ground", Plane()), **contacts)


def at(height, x=0.0):
    return np.array([1, 0, 0, 0, x, 0, height])


def tilted(angle):
    return (G * np.sin(angle), 0, -G * np.cos(angle))


def run(robot, q, dq=None, duration=0.5, dt=DT, residual=1e-8):
    motion = kt.simulate(robot, q, dq, duration=duration, dt=dt)
    assert motion.meta["contact_residual"].max() <= residual
    return motion


@pytest.mark.parametrize("ground", ["tilted gravity", "tilted plane"])
def test_a_block_sticks_below_the_angle_of_friction_and_slides_above_it(ground):
    mu = 0.5
    for part, sticks in ((0.5, True), (0.98, True), (1.02, False)):
        angle = part * np.arctan(mu)
        if ground == "tilted gravity":
            robot, q = body(CORNERS, gravity=tilted(angle), friction=mu), at(0.1)
        else:
            n = np.array([np.sin(angle), 0, np.cos(angle)])
            robot = body(CORNERS, ground=Plane(n), friction=mu)
            q = np.array([np.cos(angle / 2), 0, np.sin(angle / 2), 0, *(0.1 * n)])
        motion = run(robot, q, residual=2e-8)
        v = np.linalg.norm(motion.dq[-1, 3:])
        expected = 0 if sticks else G * (np.sin(angle) - mu * np.cos(angle)) * motion.t[-1]
        assert v == pytest.approx(expected, abs=1e-8)
        assert np.abs(motion.dq[-1, :3]).max() < 1e-8
        modes = {int(x[1]) for x in motion.meta["contact_modes"].values()}
        assert part == 0.98 or modes == {1 if sticks else 2}  # at 0.98, some share of four feet


def test_the_sliding_distance_is_that_of_the_friction_and_converges_with_order_one():
    mu, v = 0.4, 1.0
    robot, expected = body(CORNERS, friction=mu), v * v / (2 * mu * G)
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        motion = run(robot, at(0.1), [0, 0, 0, v, 0, 0], dt=dt)
        assert np.abs(motion.dq[-1]).max() < 1e-9
        errors.append(abs(motion.q[-1, 4] - expected))
    assert errors[0] < v * 2e-3
    assert errors[2] < 0.3 * errors[0]
    total = sum(f[10] for f in motion.meta["contact_forces"].values())
    np.testing.assert_allclose(total, [-mu * 2 * G, 0, 2 * G], atol=1e-6)


def test_a_sliding_sphere_ends_rolling_with_five_sevenths_of_its_speed():
    r, m = 0.1, 2.0
    robot = body([(0, 0, 0)], m=m, inertia=[0.4 * m * r * r] * 3, radius=r, friction=0.3)
    motion = run(robot, at(r), [0, 0, 0, 1.0, 0, 0], duration=0.4)
    w, v = motion.dq[-1, :3], np.linalg.norm(motion.dq[-1, 3:])
    assert v == pytest.approx(5 / 7, rel=1e-6)
    assert np.linalg.norm(w) * r == pytest.approx(v, rel=1e-6)
    assert abs(motion.meta["contact_gaps"]["p0"]).max() < 1e-10


def test_a_sphere_rolls_down_a_slope_with_five_sevenths_of_the_acceleration():
    r, m, angle = 0.1, 2.0, 0.2
    robot = body([(0, 0, 0)], m=m, inertia=[0.4 * m * r * r] * 3, gravity=tilted(angle),
                 radius=r, friction=0.5)  # fmt: skip
    motion = run(robot, at(r), duration=0.3)
    v = np.linalg.norm(motion.dq[-1, 3:])
    assert v == pytest.approx(5 / 7 * G * np.sin(angle) * 0.3, rel=1e-9)
    assert {*motion.meta["contact_modes"]["p0"].tolist()} == {1}


def test_a_bouncing_ball_comes_to_rest_when_the_sum_of_its_flights_says():
    e, height, r = 0.6, 0.3, 0.05
    robot = body([(0, 0, 0)], radius=r, restitution=e)
    rest = np.sqrt(2 * height / G) * (1 + e) / (1 - e)
    late = []
    for dt in (1e-3, 2.5e-4):
        motion = run(robot, at(r + height), duration=1.4, dt=dt)
        moving = np.abs(motion.dq[:, 5]) > 3 * G * dt
        late.append(abs(motion.t[np.flatnonzero(moving)[-1]] - rest))
        energy = G * motion.q[:, 6] + motion.dq[:, 5] ** 2 / 2
        assert np.diff(energy).max() < 0.5 * (G * dt) ** 2 * 1.01
    assert late[0] < 0.05
    assert late[1] < late[0] / 2


def test_a_rimless_wheel_keeps_the_share_of_its_spin_that_the_return_map_says():
    spokes, length, m, inertia = 8, 0.5, 2.0, 0.1
    alpha = np.pi / spokes
    angles = 2 * alpha * np.arange(spokes) + alpha
    ends = [(length * np.sin(a), 0, -length * np.cos(a)) for a in angles]
    robot = body(ends, m=m, inertia=(0.2, inertia, 0.2), gravity=tilted(0.2), friction=2.0)
    # turning about the spoke behind, just before the spoke in front lands
    q = at(length * np.cos(alpha))
    w = 2.0
    dq = [0, w, 0, w * length * np.cos(alpha), 0, -w * length * np.sin(alpha)]
    motion = run(robot, q, dq, duration=2 * DT, dt=1e-4)
    share = (inertia + m * length**2 * np.cos(2 * alpha)) / (inertia + m * length**2)
    assert motion.dq[1, 1] / w == pytest.approx(share, rel=1e-3)


def test_a_rocking_block_loses_the_spin_that_housner_says():
    wide, high, m = 0.05, 0.2, 1.0
    corners = [(x, y, -high) for x in (-wide, wide) for y in (-0.05, 0.05)]
    inertia = m * (wide**2 + high**2) / 3
    robot = body(corners, m=m, inertia=(0.02, inertia, 0.02), friction=2.0)
    w = 0.5  # about the edge at +x, in the moment in which the edge at -x lands
    dq = [0, -w, 0, -w * high, 0, -w * wide]
    motion = run(robot, at(high), dq, duration=1e-3, dt=1e-5)
    R2 = wide**2 + high**2
    share = (inertia + m * (high**2 - wide**2)) / (inertia + m * R2)
    assert motion.dq[1, 1] / -w == pytest.approx(share, rel=2e-3)


def test_three_legs_share_the_weight_as_statics_says():
    feet = [(0.3, 0, -0.2), (-0.1, 0.2, -0.2), (-0.2, -0.1, -0.2)]
    robot = body(feet, friction=0.8)
    motion = run(robot, at(0.2), duration=0.05)
    forces = [x[-1] for x in motion.meta["contact_forces"].values()]
    lever = np.array([[1, 1, 1], *np.array(feet).T[:2]])
    np.testing.assert_allclose(
        [f[2] for f in forces], np.linalg.solve(lever, [2 * G, 0, 0]), rtol=1e-7
    )
    assert np.abs(motion.dq).max() < 1e-6


def test_four_legs_share_the_weight_as_equal_pads_do():
    feet = np.array([(0.3, 0.2, -0.2), (0.3, -0.2, -0.2), (-0.1, 0.2, -0.2), (-0.1, -0.2, -0.2)])
    robot = body(feet.tolist(), friction=0.8)
    motion = run(robot, at(0.2), duration=0.05)
    normal = [x[-1, 2] for x in motion.meta["contact_forces"].values()]
    lever = np.array([np.ones(4), *feet.T[:2]])
    np.testing.assert_allclose(normal, np.linalg.pinv(lever) @ [2 * G, 0, 0], rtol=1e-5)


def test_no_energy_comes_from_the_ground_while_a_body_tumbles():
    corners = [(x, y, z) for x in (-0.15, 0.15) for y in (-0.1, 0.1) for z in (-0.08, 0.08)]
    robot = body(corners, friction=0.6)
    rng = np.random.default_rng(3)
    q = np.tile(at(0.5), (6, 1))
    q[:, :4] = rng.normal(size=(6, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1)[:, None]
    motion = kt.simulate(robot, q, rng.normal(size=(6, 6)), duration=2.5, dt=DT)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    flight = 0.5 * 2.0 * G * G * DT * DT  # of one step in free fall, by the method itself
    turning = 2e-4 * energy[0].max()
    assert np.diff(energy, axis=0).max() < flight + turning
    assert np.abs(motion.dq[-1]).max() < 1e-6  # all at rest
    gaps = np.array(list(motion.meta["contact_gaps"].values()))
    assert gaps.min() > -2e-4
    residual = motion.meta["contact_residual"]
    assert (residual > 1e-8).mean() < 0.01  # faces that land with four corners at once
    assert residual.max() < 0.01


def test_four_feet_share_a_load_beside_the_centre_as_equal_pads():
    feet = [(x - 0.03, y - 0.05, -0.1) for x in (-0.1, 0.1) for y in (-0.15, 0.15)]
    for inertia in (0.001, 0.1):
        box = body(feet, inertia=(inertia,) * 3, friction=0.5)
        forces = run(box, at(0.1), duration=0.05).meta["contact_forces"].values()
        shares = [float(f[-1, 2]) for f in forces]
        assert shares == pytest.approx([1.7985, 5.0685, 4.7415, 8.0115], abs=2e-3)


FLAT = [(x, y, -0.05) for x in (0.1, -0.1) for y in (0.15, -0.15)]


def test_an_impact_does_not_depend_on_where_in_a_step_it_happens():
    slope = Plane((np.sin(0.436), 0, np.cos(0.436)))
    box = body(FLAT, inertia=(0.01,) * 3, ground=slope, friction=0.3)
    spins = []
    for above in (0.0, 3e-5, 6e-5):
        motion = kt.simulate(box, at(0.2 + above), duration=0.16, dt=1e-4)
        spins.append(motion.dq[-1, 1])
    assert np.ptp(spins) < 0.01 * abs(np.mean(spins))


def test_contacts_in_the_air_are_open():
    box = body(FLAT, inertia=(0.01,) * 3, friction=0.3)
    lean = np.array([np.cos(0.2), 0, np.sin(0.2), 0, 0, 0, 0.12])
    meta = kt.simulate(box, lean, duration=0.1, dt=1e-3).meta
    for name, modes in meta["contact_modes"].items():
        assert not modes[meta["contact_gaps"][name] > 0.02].any()
    assert any(modes.any() for modes in meta["contact_modes"].values())


def test_a_point_below_the_ground_is_pushed_out_at_a_bounded_speed():
    robot = body(CORNERS, friction=0.5)
    motion = run(robot, at(0.1 - 0.008), duration=0.5)
    assert motion.dq[:, 5].max() <= 0.1 + 1e-9
    gaps = motion.meta["contact_gaps"]["p0"]
    assert gaps[0] == pytest.approx(-0.008)
    assert gaps[-1] > -1e-6


@pytest.mark.parametrize("v", [1.0, -1.0], ids=["pulled", "pushed into paradox"])
def test_painleves_rod_gains_no_energy_and_stays_above_the_ground(v):
    length, m, mu, angle = 1.0, 1.0, 2.5, np.radians(50)
    inertia = m * length**2 / 12
    ends = [(-0.5 * np.cos(angle), 0, -0.5 * np.sin(angle)),
            (0.5 * np.cos(angle), 0, 0.5 * np.sin(angle))]  # fmt: skip
    robot = body(ends, m=m, inertia=(inertia, inertia, inertia), friction=mu)
    q = at(0.5 * np.sin(angle))
    motion = run(robot, q, [0, 0, 0, v, 0, 0], duration=1.5)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    assert np.diff(energy).max() < 1e-8
    assert min(x.min() for x in motion.meta["contact_gaps"].values()) > -1e-4


@pytest.mark.parametrize("seed", range(12))
def test_an_impact_with_friction_and_restitution_gains_no_energy(seed):
    """Newton's law alone would multiply the energy of some of these impacts by five."""
    rng = np.random.default_rng(seed)
    free = kt.load_string(
        """<robot name="body"><link name="b"><inertial><mass value="1"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.006"/></inertial></link>
        </robot>""",
        floating=True,
    )
    free = kt.Robot(free.model.replace(gravity=np.zeros(6)))
    count = int(rng.integers(2, 6))
    points = [ContactPoint(f"p{k}", "b", tuple(rng.normal(size=3) * 0.3)) for k in range(count)]
    friction, restitution = float(rng.uniform(0.2, 1.5)), float(rng.uniform(0.5, 1))
    robot = free.with_contacts(points, friction=friction, restitution=restitution)
    q = np.zeros((200, 7))
    q[:, :4] = rng.normal(size=(200, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    q = np.array([robot.on_ground(x, 1e-4) for x in q])
    dq = rng.normal(size=(200, 6)) * (5, 5, 5, 1, 1, 1)
    # a step without contacts changes the energy of a spinning body by its own error
    energies = [x.kinetic_energy(*x.step(q, dq, np.zeros(6), 1e-3)) for x in (robot, free)]
    assert (energies[0] <= energies[1] * (1 + 1e-9)).all()
    assert (energies[0] < energies[1] * 0.99).sum() > 30  # many do hit the ground
