"""Contacts against closed forms and a projected Gauss-Seidel iteration in NumPy."""

from itertools import pairwise

import numpy as np
import pytest
from reference_robots import G, energy, free_body
from scipy.integrate import quad
from scipy.optimize import brentq, nnls
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.contacts import Box, Boxes, ContactPoint, ContactRim, HeightField, Plane
from kinetree.errors import InputError, KinetreeError
from kinetree.friction import Friction
from kinetree.joints import Spring

CORNERS = [(x, y, -0.1) for x in (-0.15, 0.15) for y in (-0.1, 0.1)]
LEVEL = [1, 0, 0, 0]


def points(places, radius=0.0):
    return [ContactPoint(f"p{k}", "body", place, radius) for k, place in enumerate(places)]


def ball(radius=0.1, m=2.0, **options):
    inertia = [0.4 * m * radius**2] * 3
    return free_body(points([(0, 0, 0)], radius), m=m, inertia=inertia, **options)


def at(height, x=0.0):
    return np.array([*LEVEL, x, 0, height])


def tilted(angle):
    return (G * np.sin(angle), 0, -G * np.cos(angle))


def run(robot, q, dq=None, duration=0.5, dt=1e-3):
    motion = robot.simulate(q, dq, duration=duration, dt=dt)
    assert motion.meta["contact_residual"].max() < 1e-6
    return motion


def total_force(motion):
    return sum(motion.meta["contact_forces"].values())


# one step


def one_contact(A, v, mu):
    """Impulse (normal, tangents) of a single contact that would move at v, exactly."""
    if v[0] >= 0:
        return np.zeros(3)
    stick = -np.linalg.solve(A, v)
    if np.hypot(*stick[1:]) <= mu * stick[0]:
        return stick

    def slip(angle):
        d = np.array([1, mu * np.cos(angle), mu * np.sin(angle)])
        r = -v[0] / (A[0] @ d) * d
        w = v + A @ r
        return r, w[1] * np.sin(angle) - w[2] * np.cos(angle), w[1:] @ d[1:]

    angles = np.linspace(-np.pi, np.pi, 181)
    sides = [slip(a)[1] for a in angles]
    for a, b, x, y in zip(angles, angles[1:], sides, sides[1:], strict=False):
        if x * y <= 0:
            r, _, along = slip(brentq(lambda t: slip(t)[1], a, b, xtol=1e-15))
            if r[0] > 0 and along <= 0:
                return r
    raise AssertionError("no slip direction")


def gauss_seidel(A, b, mu, sweeps=3000):
    """Impulses of all contacts, one after the other, until nothing changes."""
    r = np.zeros(len(b))
    for _ in range(sweeps):
        before = r.copy()
        for i in range(len(b) // 3):
            k = slice(3 * i, 3 * i + 3)
            r[k] = one_contact(A[k, k], A[k] @ r + b[k] - A[k, k] @ r[k], mu)
        if np.abs(r - before).max() <= 1e-13 * np.abs(r).max(initial=1e-300):
            break
    return r


@pytest.mark.parametrize("seed", range(6))
def test_a_step_on_three_feet_is_that_of_gauss_seidel(seed):
    """A body on three points that slide, stick or leave the ground."""
    rng = np.random.default_rng(seed)
    places = np.array([(0.3, 0, -0.2), (-0.1, 0.2, -0.2), (-0.2, -0.1, -0.2)])
    mu, m, dt, inertia = 0.4, 2.0, 1e-3, np.array([0.05, 0.06, 0.08])
    robot = free_body(points(places.tolist()), m=m, inertia=inertia, friction=mu)
    w, v = 0.5 * rng.normal(size=3), np.array([*(0.6 * rng.normal(size=2)), -0.3])
    rows = [np.hstack([-np.array([np.cross(axis, p) for axis in np.eye(3)]), np.eye(3)])
            for p in places]  # fmt: skip
    J = np.concatenate([x[[2, 0, 1]] for x in rows])
    light = np.diag(1 / np.array([*inertia, m, m, m]))
    turning = -np.cross(w, inertia * w) / inertia
    free = np.array([*(w + dt * turning), *(v + dt * np.array([0, 0, -G]))])
    b = J @ free
    r = gauss_seidel(J @ light @ J.T, b, mu)
    after = free + light @ J.T @ r
    q, dq = robot.step(at(0.2), [*w, *v], np.zeros(6), dt)
    turn = Rotation.from_quat(q[:4], scalar_first=True)
    found = np.array([*dq[:3], *turn.apply(dq[3:])])
    # the points move on arcs, w^2 r dt / 2, and the body turns by w dt
    np.testing.assert_allclose(found, after, atol=2e-3 * (1 + w @ w))
    assert (r[::3] > 0).any()


def test_impulses_change_the_momentum_and_stay_in_their_cones():
    mu = 0.5
    robot = free_body(points(CORNERS), friction=mu)
    motion = run(robot, at(0.15), [0.3, -0.2, 0.5, 1.0, 0.4, 0], duration=0.4)
    forces = np.array(list(motion.meta["contact_forces"].values()))
    normal, across = forces[..., 2], np.hypot(forces[..., 0], forces[..., 1])
    assert (normal >= 0).all() and (across <= mu * normal + 1e-6).all()
    turns = Rotation.from_quat(motion.q[:, :4], scalar_first=True)
    momentum = 2.0 * turns.apply(np.array(motion.dq[:, 3:]))
    change = np.diff(momentum, axis=0) / np.diff(motion.t)[:, None]
    np.testing.assert_allclose(change, total_force(motion)[:-1] - [0, 0, 2 * G], atol=2e-4 * G)
    gaps = np.array(list(motion.meta["contact_gaps"].values()))
    assert gaps.min() > -1e-3 and (forces[gaps > 0.02] == 0).all()
    modes = np.array(list(motion.meta["contact_modes"].values()))
    assert (modes[gaps > 0.02] == 0).all() and set(np.unique(modes)) == {0, 1, 2}


def test_the_velocity_after_an_impact_opposes_none():
    """No contact approaches after a step in which it pushes."""
    robot = free_body(points(CORNERS), friction=0.3)
    q, dq = at(0.1), np.array([0.4, 0.2, 0, 0.5, 0, -1.0])
    q, dq = robot.step(q, dq, np.zeros(6), 1e-4)
    turn = Rotation.from_quat(q[:4], scalar_first=True)
    speeds = [turn.apply(dq[3:] + np.cross(dq[:3], p))[2] for p in CORNERS]
    assert min(speeds) > -1e-3 and np.abs(speeds).min() < 1e-3


# sliding and rolling


@pytest.mark.parametrize("ground", ["gravity", "plane"])
@pytest.mark.parametrize(("share", "mode"), [(0.5, 1), (0.95, 1), (1.05, 2)])
def test_a_block_sticks_below_the_angle_of_friction_and_slides_above_it(ground, share, mode):
    mu = 0.5
    angle = share * np.arctan(mu)
    if ground == "gravity":
        robot, q = free_body(points(CORNERS), gravity=tilted(angle), friction=mu), at(0.1)
    else:
        n = np.array([np.sin(angle), 0, np.cos(angle)])
        robot = free_body(points(CORNERS), ground=Plane(n), friction=mu)
        q = np.array([np.cos(angle / 2), 0, np.sin(angle / 2), 0, *(0.1 * n)])
    motion = run(robot, q)
    a = G * (np.sin(angle) - mu * np.cos(angle)) if mode == 2 else 0
    assert np.linalg.norm(motion.dq[-1, 3:]) == pytest.approx(a * 0.5, abs=1e-7)
    assert np.abs(motion.dq[-1, :3]).max() < 1e-7
    if share != 0.95:
        assert {int(x[1]) for x in motion.meta["contact_modes"].values()} == {mode}


def test_a_sliding_block_stops_after_its_distance_with_order_one():
    mu, v = 0.4, 1.0
    robot, expected = free_body(points(CORNERS), friction=mu), v * v / (2 * mu * G)
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        motion = run(robot, at(0.1), [0, 0, 0, v, 0, 0], dt=dt)
        assert np.abs(motion.dq[-1]).max() < 1e-8
        errors.append(abs(motion.q[-1, 4] - expected))
    assert errors[0] < v * 2e-3 and errors[2] < 0.35 * errors[0]
    np.testing.assert_allclose(total_force(motion)[10], [-mu * 2 * G, 0, 2 * G], atol=1e-5)
    # the forces of four feet are those of equal pads, with the balance of moments
    normal = np.array([x[5, 2] for x in motion.meta["contact_forces"].values()])
    pads = 2 * G / 4 + np.array(CORNERS)[:, 0] * mu * 2 * G * 0.1 / (4 * 0.15**2)
    np.testing.assert_allclose(normal, pads, rtol=0.01)


def test_a_sliding_ball_ends_rolling_with_five_sevenths_of_its_speed():
    motion = run(ball(friction=0.3), at(0.1), [0, 0, 0, 1.0, 0, 0])
    v = motion.q[-1, 4] - motion.q[-2, 4]
    assert v / 1e-3 == pytest.approx(5 / 7, rel=1e-6)
    assert np.linalg.norm(motion.dq[-1, :3]) * 0.1 == pytest.approx(5 / 7, rel=1e-6)
    # it slides for 2 v / 7 mu g
    rolls = motion.t[np.argmax(motion.meta["contact_modes"]["p0"] == 1)]
    assert rolls == pytest.approx(2 / (7 * 0.3 * G), abs=2e-3)


@pytest.mark.parametrize("ground", ["gravity", "plane"])
def test_a_ball_rolls_down_a_slope_with_five_sevenths_of_the_acceleration(ground):
    angle = 0.2
    n = np.array([np.sin(angle), 0, np.cos(angle)])
    if ground == "gravity":
        robot, q = ball(gravity=tilted(angle), friction=0.5), at(0.1)
    else:
        robot = ball(ground=Plane(n), friction=0.5)
        q = np.array([*LEVEL, *(0.1 * n)])
    motion = run(robot, q, duration=0.3)
    speed = np.linalg.norm(motion.dq[-1, 3:])
    assert speed == pytest.approx(5 / 7 * G * np.sin(angle) * 0.3, rel=1e-6)
    assert set(motion.meta["contact_modes"]["p0"].tolist()) == {1}


@pytest.mark.parametrize("count", [3, 5])
def test_a_spinning_ring_of_points_stops_when_friction_says(count):
    """I dw/dt = -mu m g R for any number of points."""
    R, m, mu, w = 0.1, 0.5, 0.3, 6.0
    angles = 2 * np.pi * np.arange(count) / count
    ring = points([(R * np.cos(a), R * np.sin(a), -0.01) for a in angles])
    inertia = m * R * R / 2
    robot = free_body(ring, m=m, inertia=(inertia / 2, inertia / 2, inertia), friction=mu)
    stop = inertia * w / (mu * m * G * R)
    motion = run(robot, at(0.01), [0, 0, w, 0, 0, 0], duration=1.3 * stop)
    slowing = np.diff(motion.dq[1 : int(0.9 * stop / 1e-3), 2])
    np.testing.assert_allclose(slowing, -mu * m * G * R / inertia * 1e-3, rtol=1e-4)
    assert np.abs(motion.dq[-1]).max() < 1e-6
    turned = 2 * np.arctan2(motion.q[-1, 3], motion.q[-1, 0])
    assert turned == pytest.approx(w * stop / 2, abs=w * 1e-3)


def test_a_disc_on_its_edge_keeps_its_spin_and_rolls_straight():
    R, m = 0.1, 0.5
    across = m * R * R / 4
    rim = ContactRim("rim", "body", (0, 0, 0), (0, 1, 0), R)
    disc = free_body([rim], m=m, inertia=(across, 2 * across, across), friction=0.8)
    spun = run(disc, at(R), [0, 0, 40.0, 0, 0, 0])
    np.testing.assert_allclose(spun.dq[:, 2], 40.0, rtol=1e-8)
    np.testing.assert_allclose(spun.meta["contact_forces"]["rim"][:, 2], m * G, rtol=1e-5)
    rolled = run(disc, at(R), [0, 5.0, 0, 0.5, 0, 0])
    assert rolled.q[-1, 4] == pytest.approx(0.25, rel=1e-4)
    assert rolled.dq[-1, 1] == pytest.approx(5.0, rel=1e-6)


def test_a_tilted_disc_rolls_around_at_the_rate_of_its_steady_motion():
    """The centre of Euler's disc rests while it rolls: W^2 = 4 g / (R sin(angle))."""
    R, m, angle = 0.1, 0.5, np.radians(30)
    across = m * R * R / 4
    rim = ContactRim("rim", "body", (0, 0, 0), (0, 0, 1), R)
    disc = free_body([rim], m=m, inertia=(across, across, 2 * across), friction=2.0)
    rate = np.sqrt(4 * G / (R * np.sin(angle)))
    q = [np.cos(angle / 2), 0, np.sin(angle / 2), 0, 0, 0, R * np.sin(angle)]
    dq = [-rate * np.sin(angle), 0, 0, 0, 0, 0]
    errors = []
    for dt in (2e-4, 1e-4):
        motion = disc.simulate(q, dq, duration=2 * np.pi / rate, dt=dt)
        place = motion.meta["contact_points"]["rim"][:, :2] - motion.q[:, 4:6]
        swept = np.ptp(np.unwrap(np.arctan2(place[:, 1], place[:, 0])))
        assert swept / motion.t[-1] == pytest.approx(rate, rel=300 * dt)
        errors.append(np.abs(np.arcsin(motion.q[:, 6] / R) - angle).max())
    assert errors[1] < 0.6 * errors[0] < 0.06


# impacts


def test_a_bouncing_ball_rests_when_the_sum_of_its_flights_says():
    e, height, r = 0.6, 0.3, 0.05
    robot = ball(r, restitution=e)
    rest = np.sqrt(2 * height / G) * (1 + e) / (1 - e)
    late = []
    for dt in (1e-3, 2.5e-4):
        motion = run(robot, at(r + height), duration=1.4, dt=dt)
        moving = np.abs(motion.dq[:, 5]) > 3 * G * dt
        late.append(abs(motion.t[np.flatnonzero(moving)[-1]] - rest))
    assert late[0] < 0.05 and late[1] < late[0] / 2
    speeds = motion.dq[:, 5]
    hits = np.flatnonzero((speeds[:-1] < 0) & (speeds[1:] > 0.3))
    assert len(hits) >= 3
    for k in hits[:3]:
        assert speeds[k + 1] == pytest.approx(-e * speeds[k], abs=5e-3)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_restitution_is_that_of_newton(e):
    _, after = ball(restitution=e).step(at(0.1005), [0, 0, 0, 0, 0, -1.0], np.zeros(6), 1e-3)
    assert after[5] == pytest.approx(e, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_an_impact_with_friction_and_restitution_gains_no_energy(seed):
    rng = np.random.default_rng(seed)
    places = points((rng.normal(size=(int(rng.integers(2, 6)), 3)) * 0.3).tolist())
    kind = {"m": 1.0, "inertia": (0.01, 0.012, 0.006), "gravity": (0, 0, 0)}
    mu, e = float(rng.uniform(0.2, 1.5)), float(rng.uniform(0.5, 1))
    robot, free = free_body(places, friction=mu, restitution=e, **kind), free_body(**kind)
    q = np.zeros((100, 7))
    q[:, :4] = rng.normal(size=(100, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    q = np.array([kt.contacts.on_ground(robot, x, 1e-4) for x in q])
    dq = rng.normal(size=(100, 6)) * (5, 5, 5, 1, 1, 1)
    with_contacts, without = (
        x.kinetic_energy(*x.step(q, dq, np.zeros(6), 1e-3)) for x in (robot, free)
    )
    assert (with_contacts <= without * (1 + 1e-9)).all()
    assert (with_contacts < 0.99 * without).sum() > 15


def test_a_rimless_wheel_walks_by_its_return_map():
    """w'^2 = eta^2 (w^2 + 4 m g l sin(alpha) sin(slope) / (I + m l^2))."""
    spokes, length, m, inertia, slope = 8, 0.5, 2.0, 0.05, 0.12
    alpha, about = np.pi / spokes, inertia + m * length**2
    angles = 2 * alpha * np.arange(spokes) + alpha
    ends = points([(length * np.sin(a), 0, -length * np.cos(a)) for a in angles])
    robot = free_body(ends, m=m, inertia=(0.2, inertia, 0.2), gravity=tilted(slope), friction=3.0)
    eta = (inertia + m * length**2 * np.cos(2 * alpha)) / about
    gain = 4 * m * G * length * np.sin(alpha) * np.sin(slope) / about
    w, height, ahead = 2.4, length * np.cos(alpha), length * np.sin(alpha)
    dq = [0, w, 0, w * height, 0, w * ahead]
    rates = robot.simulate(at(height), dq, duration=1.5, dt=2e-4).dq[:, 1]
    found = [w, *rates[np.flatnonzero(np.diff(rates) < -0.1) + 1]]
    assert len(found) >= 4
    for before, after in pairwise(found):
        assert after == pytest.approx(eta * np.sqrt(before**2 + gain), rel=3e-3)


def test_a_rocking_block_falls_in_housners_time_and_rises_to_his_angle():
    """Turning about its edge, I_o w^2 / 2 + m g R cos(alpha - theta) is constant."""
    wide, high, m, start = 0.05, 0.2, 1.0, 0.12
    corners = points([(x, y, -high) for x in (-wide, wide) for y in (-0.05, 0.05)])
    inertia = m * (wide**2 + high**2) / 3
    robot = free_body(corners, m=m, inertia=(0.02, inertia, 0.02), friction=2.0)
    R, alpha = np.hypot(wide, high), np.arctan(wide / high)
    about = inertia + m * R * R

    def rate(theta):
        return np.sqrt(2 * m * G * R / about * (np.cos(alpha - start) - np.cos(alpha - theta)))

    fall = quad(lambda s: 2 * s / rate(start - s * s), 1e-9, np.sqrt(start))[0]
    share = (inertia + m * (high**2 - wide**2)) / about
    lifted = np.cos(alpha) + about * (share * rate(0)) ** 2 / (2 * m * G * R)
    rise = alpha - np.arccos(lifted)
    c, s = np.cos(start), np.sin(start)
    q = [np.cos(start / 2), 0, np.sin(start / 2), 0,
         wide - (wide * c - high * s), 0, wide * s + high * c]  # fmt: skip
    motion = robot.simulate(q, duration=0.6, dt=1e-4)
    theta = 2 * np.arctan2(motion.q[:, 2], motion.q[:, 0])
    assert motion.t[np.flatnonzero(theta <= 1e-5)[0]] == pytest.approx(fall, abs=2e-3)
    assert -theta.min() == pytest.approx(rise, rel=0.02)


def test_painleves_rod_stops_sliding_at_once():
    """Where friction leaves no force for sliding, an impulse inside the cone stops the end."""
    length, m, mu, angle, v, dt = 1.0, 1.0, 2.5, np.radians(50), -1.0, 1e-5
    inertia = m * length**2 / 12
    end = np.array([-0.5 * np.cos(angle), 0, -0.5 * np.sin(angle)]) * length
    robot = free_body(points([end.tolist()]), m=m, inertia=(inertia,) * 3, friction=mu)
    lever = np.array([end[2], -end[0]])  # what the forces (x, z) turn about y
    A = np.eye(2) / m + np.outer(lever, lever) / inertia
    assert A[1, 1] + A[1, 0] * mu * np.sign(-v) < 0  # no force of sliding
    motion = robot.simulate(at(-end[2]), [0, 0, 0, v, 0, 0], duration=dt, dt=dt)
    impulse = np.linalg.solve(A, [-v, G * dt])
    assert impulse[1] > 0 and abs(impulse[0]) < mu * impulse[1]
    after = [lever @ impulse / inertia, v + impulse[0] / m, impulse[1] / m - G * dt]
    np.testing.assert_allclose(motion.dq[-1, [1, 3, 5]], after, atol=2 * dt)
    force = motion.meta["contact_forces"]["p0"][0, [0, 2]]
    np.testing.assert_allclose(force * dt, impulse, rtol=1e-4)


# standing


def test_three_legs_share_the_weight_as_statics_and_four_as_equal_pads():
    three = np.array([(0.3, 0, -0.2), (-0.1, 0.2, -0.2), (-0.2, -0.1, -0.2)])
    four = np.array([(0.3, 0.2, -0.2), (0.3, -0.2, -0.2), (-0.1, 0.2, -0.2), (-0.1, -0.2, -0.2)])
    for feet in (three, four):
        robot = free_body(points(feet.tolist()), friction=0.8)
        motion = run(robot, at(0.2), duration=0.05)
        normal = [x[-1, 2] for x in motion.meta["contact_forces"].values()]
        lever = np.array([np.ones(len(feet)), *feet.T[:2]])
        np.testing.assert_allclose(normal, np.linalg.pinv(lever) @ [2 * G, 0, 0], rtol=1e-5)
        assert np.abs(motion.dq).max() < 1e-6


def test_a_box_stands_on_a_step_and_on_the_plane():
    ground = Boxes([Box((1, 0, 0.15), (1, 1, 0.3))])
    robot = free_body(points(CORNERS), ground=ground, friction=0.5)
    for x, height in ((0.0, 0.0), (1.0, 0.3)):
        q = at(height + 0.13, x)
        np.testing.assert_allclose(robot.compile("contact_points")(q)[1], 0.03, atol=1e-12)
        motion = run(robot, q, duration=0.4)
        assert motion.q[-1, 6] == pytest.approx(height + 0.1, abs=1e-3)
        np.testing.assert_allclose(total_force(motion)[-1], [0, 0, 2 * G], atol=1e-4)
    stairs = kt.contacts.stairs(3, depth=0.5, height=0.1, width=2.0)
    climbed = free_body(points([(0, 0, 0)], 0.05), ground=stairs, friction=0.5)
    rest = [run(climbed, at(0.5, x), duration=0.6).q[-1, 6] for x in (-0.5, 0.25, 0.75, 1.25)]
    np.testing.assert_allclose(rest, [0.05, 0.15, 0.25, 0.35], atol=1e-3)


def test_contact_points_of_a_height_field_are_those_of_the_bilinear_surface():
    rng = np.random.default_rng(0)
    heights, spacing = rng.uniform(0, 0.1, (6, 5)), 0.2
    robot = free_body(points([(0, 0, 0)]), ground=HeightField(heights, spacing))
    for x, y in rng.uniform(0.05, 0.75, (8, 2)):
        i, j = int(x / spacing), int(y / spacing)
        u, v = x / spacing - i, y / spacing - j
        cell = heights[i : i + 2, j : j + 2]
        z = np.array([1 - u, u]) @ cell @ [1 - v, v]
        slope = [-([-1, 1] @ cell @ [1 - v, v]) / spacing, -([1 - u, u] @ cell @ [-1, 1]) / spacing]
        n = np.array([*slope, 1]) / np.linalg.norm([*slope, 1])
        q = np.array([*LEVEL, x, y, z + 0.03])
        place, gap, normal = robot.compile("contact_points")(q)
        np.testing.assert_allclose(normal[0], n, atol=1e-9)
        assert gap[0] == pytest.approx(0.03 * n[2], rel=1e-9)
        np.testing.assert_allclose(place[0], q[4:], atol=1e-9)


def test_a_point_below_the_ground_is_pushed_out_slowly_and_a_deep_start_is_refused():
    robot = free_body(points(CORNERS), friction=0.5)
    motion = run(robot, at(0.092), duration=0.5)
    assert motion.dq[:, 5].max() <= 0.1 + 1e-9
    assert motion.meta["contact_gaps"]["p0"][-1] > -1e-5
    with pytest.raises(KinetreeError):
        robot.simulate(at(0.05), duration=0.1)
    assert kt.contacts.on_ground(robot, at(0.05))[6] == pytest.approx(0.1, abs=1e-12)
    assert kt.contacts.on_ground(robot, at(2.0), gap=0.02)[6] == pytest.approx(0.12, abs=1e-12)


def test_a_body_beside_another_has_the_contacts_of_its_own():
    built = kt.Builder("bodies").link("world")
    feet = []
    for k, m in enumerate((1.0, 1e-6)):
        built.link(f"b{k}", m=m, I_com=m * 0.004 * np.eye(3))
        built.joint(f"j{k}", "free", "world", f"b{k}")
        feet += [ContactPoint(f"p{k}{i}", f"b{k}", p) for i, p in enumerate(CORNERS)]
    robot = built.build().with_contacts(feet, friction=0.5)
    push = [0, 0, 0, 0.4 * G, 0, 0, *[0] * 6]
    q = [*LEVEL, 0, 0, 0.1, *LEVEL, 5, 0, 0.1]
    motion = robot.simulate(q, np.zeros(12), tau=push, duration=0.1, dt=1e-3, limits="ignore")
    assert np.abs(motion.q[-1] - motion.q[0]).max() < 1e-7
    normal = sum(motion.meta["contact_forces"][f"p0{i}"][-1, 2] for i in range(4))
    assert normal == pytest.approx(G, rel=1e-5)


def hopper():
    """A body above a foot on a spring."""
    built = kt.Builder("hopper").link("base").link("body", m=5.0, I_com=0.1 * np.eye(3))
    built.link("foot", m=0.5, I_com=0.01 * np.eye(3))
    built.joint("free", "prismatic", "base", "body", axis=(0, 0, 1))
    built.joint("leg", "prismatic", "body", "foot", at=(0, 0, -0.5), axis=(0, 0, 1),
                spring=Spring(4000, damping=100))  # fmt: skip
    return built.build()


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit", "implicitfast"])
def test_a_leg_on_a_spring_comes_to_rest_with_its_weight(method):
    robot = hopper().with_contacts([ContactPoint("foot", "foot", radius=0.05)], friction=0.8)
    motion = robot.simulate([0.57, 0], duration=1.5, dt=1e-3, method=method)
    np.testing.assert_allclose(motion.meta["contact_forces"]["foot"][-1], [0, 0, 5.5 * G],
                               atol=1e-2)  # fmt: skip
    # the spring carries the body
    assert motion.q[-1, 1] == pytest.approx(5 * G / 4000, abs=1e-5)


def test_a_coupled_body_rests_on_the_foot_of_the_other():
    """Two bodies on slides that a coupling ties: one foot carries and stops both."""
    built = kt.Builder("pair").link("base").link("low", m=2.0).link("high", m=3.0)
    for name in ("low", "high"):
        built.joint(f"j_{name}", "prismatic", "base", name, axis=(0, 0, 1))
    tie = {"tie": kt.constraints.Couple("j_high", {"j_low": (1.0,)}, 0.5)}
    robot = built.build().constrained(tie).with_contacts([ContactPoint("foot", "low")])
    motion = robot.simulate([0.1, 0.6], duration=0.4, dt=1e-3)
    landed = np.sqrt(0.2 / G)
    falling = motion.t < landed - 2e-3
    np.testing.assert_allclose(motion.dq[falling, 1], -G * motion.t[falling], atol=1e-9)
    rest = motion.t[:-1] > landed + 0.03
    np.testing.assert_allclose(motion.dq[:-1][rest], 0, atol=1e-6)
    force = motion.meta["contact_forces"]["foot"][:-1][rest]
    np.testing.assert_allclose(force, np.tile([0, 0, 5 * G], (len(force), 1)), atol=1e-3)


def test_dry_friction_of_joints_is_solved_with_contacts():
    """A foot that is pressed on the ground while its joint rubs: the motor works against both."""
    robot = hopper().with_springs({"leg": None}).with_friction({"leg": Friction(0, 60.0)})
    robot = robot.with_contacts([ContactPoint("foot", "foot", radius=0.05)])
    held = robot.simulate([0.55, 0], duration=0.1, dt=1e-3)
    assert np.abs(held.dq).max() < 1e-6
    weak = robot.with_friction({"leg": Friction(0, 30.0)})
    falling = weak.simulate([0.55, 0], duration=0.1, dt=1e-3)
    assert falling.dq[-1, 0] == pytest.approx(-(G - 30 / 5) * 0.1, rel=1e-4)


# batches, parameters, derivatives


def test_a_batch_is_its_rollouts_bit_for_bit():
    rng = np.random.default_rng(3)
    robot = free_body(points(CORNERS), friction=0.6)
    q = np.tile(at(0.25), (6, 1))
    q[:, :4] = rng.normal(size=(6, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1)[:, None]
    dq = rng.normal(size=(6, 6))
    options = {"duration": 0.25, "dt": 1e-3}
    with kt.kernels.threads(1):
        one = robot.simulate(q, dq, **options)
    with kt.kernels.threads(2):
        two = robot.simulate(q, dq, **options)
    np.testing.assert_array_equal(one.q, two.q)
    for k in (0, 5):
        alone = robot.simulate(q[k], dq[k], **options)
        np.testing.assert_array_equal(alone.q, one.q[:, k])
        forces = one.meta["contact_forces"]["p0"][:, k]
        np.testing.assert_array_equal(alone.meta["contact_forces"]["p0"], forces)


def test_friction_restitution_and_ground_differ_in_a_batch():
    mu = np.array([[0.1], [0.4], [0.9]])
    robot = free_body(points(CORNERS), friction=0.5)
    data = {"contact_friction": np.tile(mu, (1, 4))}
    slid = robot.simulate(at(0.1), [0, 0, 0, 1.0, 0, 0], duration=0.1, dt=1e-3, parameters=data)
    np.testing.assert_allclose(slid.dq[-1, :, 3], 1 - mu[:, 0] * G * 0.1, atol=1e-6)
    planes = [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, -0.5]]
    fallen = ball().simulate(at(0.101), duration=0.2, dt=1e-3, parameters={"ground": planes})
    assert fallen.q[-1, 0, 6] == pytest.approx(0.1, abs=1e-4)
    assert fallen.q[-1, 1, 6] == pytest.approx(0.101 - G * 0.02, abs=2e-3)
    thrown = ball(restitution=0.0).simulate(
        at(0.1001), [0, 0, 0, 0, 0, -1.0], duration=2e-3, dt=1e-3,
        parameters={"restitution": [[0.0], [0.8]]},
    )  # fmt: skip
    np.testing.assert_allclose(thrown.dq[1, :, 5], [0, 0.8], atol=1e-2)


def test_compliant_contacts_sink_by_their_compliance_and_have_derivatives():
    c, m = 1e-4, 2.0
    robot = ball(0.1, m, compliance=c, friction=0.5)
    rest = robot.simulate(at(0.1), duration=1, dt=1e-3)
    assert rest.q[-1, 6] == pytest.approx(0.1 - c * m * G, abs=2e-5)
    start, push, h = at(0.1 - c * m * G), np.array([0, 0, 0, 0.7, 0, 0]), 1e-6
    options = {"duration": 0.03, "dt": 1e-3}
    found = kt.simulate.sensitivities(
        robot, start, push, wrt=("dq0", "mass", "contact_friction"), **options
    )
    model = robot.model
    for name, value, k in (("dq0", push, 3), ("mass", model.m, 0), ("contact_friction", [0.5], 0)):
        ends = []
        for sign in (1, -1):
            moved = np.array(value, float)
            moved[k] += sign * h
            given = {} if name == "dq0" else {"parameters": {name: moved}}
            motion = robot.simulate(start, moved if name == "dq0" else push, **given, **options)
            ends.append(motion)
        expected = np.hstack([robot.difference(ends[1].q[-1], ends[0].q[-1]),
                              ends[0].dq[-1] - ends[1].dq[-1]]) / (2 * h)  # fmt: skip
        np.testing.assert_allclose(found.by(name)[-1, :, k], expected, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    "options",
    [{"friction": -0.1}, {"restitution": 1.5}, {"compliance": -1.0},
     {"compliance": 1e-6, "restitution": 0.5}],
)  # fmt: skip
def test_impossible_contacts_are_refused(options):
    with pytest.raises(InputError):
        free_body(points(CORNERS), **options)


def test_unknown_links_and_rigid_derivatives_are_refused_by_name():
    with pytest.raises(KinetreeError) as refused:
        free_body([ContactPoint("foot", "ankle")])
    assert "ankle" in str(refused.value)
    with pytest.raises(KinetreeError):
        kt.simulate.sensitivities(ball(), at(0.1), duration=0.01, dt=1e-3)


# forces of a motion


def standing():
    """A quadruped on four feet, with bent legs, and some motions around its stance."""
    legs = ("front_left", "front_right", "rear_left", "rear_right")
    feet = [ContactPoint(leg, f"{leg}_foot", radius=0.02) for leg in legs]
    robot = kt.robots.quadruped().with_contacts(feet, friction=0.6)
    rng = np.random.default_rng(3)
    q = np.tile(robot.neutral(), (12, 1))
    q[:, 7:] += np.tile([0, 0.7, -1.4], 4) + 0.1 * rng.normal(size=(12, 12))
    return robot, legs, q, 0.3 * rng.normal(size=(12, 18)), 0.5 * rng.normal(size=(12, 18))


def test_ground_forces_balance_a_motion_within_the_cones():
    robot, legs, q, dq, ddq = standing()
    found = kt.contacts.inverse_dynamics(robot, q, dq, ddq)
    bare = kt.robots.quadruped()
    r = bare.inverse_dynamics(q, dq, ddq)
    assert found.feasible.all()
    np.testing.assert_allclose(found.tau[:, :6], 0, atol=1e-12)
    for k in range(12):
        f = found.forces[k]
        assert (np.hypot(f[:, 0], f[:, 1]) <= 0.6 * f[:, 2] + 1e-9).all()
        joint = np.zeros(18)
        for leg, force in zip(legs, f, strict=True):
            J = bare.space_jacobian(q[k], f"{leg}_foot")
            place = bare.pose(q[k], f"{leg}_foot")[:3, 3] - [0, 0, 0.02]
            joint += J.T @ np.concatenate([np.cross(place, force), force])
        np.testing.assert_allclose(r[k] - joint, found.tau[k], atol=1e-8)


def test_forces_are_the_least_ones():
    robot, legs, q, dq, ddq = standing()
    least = robot.with_contacts(robot.model.contacts.points, friction=20.0)
    found = kt.contacts.inverse_dynamics(least, q[0], dq[0], ddq[0])
    bare, G_ = kt.robots.quadruped(), []
    for leg in legs:
        J = bare.space_jacobian(q[0], f"{leg}_foot")[:, :6]
        place = bare.pose(q[0], f"{leg}_foot")[:3, 3] - [0, 0, 0.02]
        G_.append((J[3:] + np.cross(J[:3].T, place).T).T)
    expected = np.linalg.pinv(np.hstack(G_)) @ bare.inverse_dynamics(q[0], dq[0], ddq[0])[:6]
    inside = found.forces[:, 2] > 1e-3
    assert inside.all()
    np.testing.assert_allclose(found.forces.ravel(), expected, atol=1e-3)


def test_a_motion_that_no_force_makes_has_the_least_residual():
    robot, legs, q, dq, ddq = standing()
    found = kt.contacts.inverse_dynamics(robot, q, dq, 12 * ddq)
    assert not found.feasible.all()
    bare = kt.robots.quadruped()
    angles = np.linspace(0, 2 * np.pi, 256, endpoint=False)
    cone = np.array([0.6 * np.cos(angles), 0.6 * np.sin(angles), np.ones_like(angles)])
    for k in np.flatnonzero(~found.feasible)[:4]:
        W = np.linalg.inv(np.linalg.cholesky(bare.mass_matrix(q[k])[:6, :6]))
        s = W @ bare.inverse_dynamics(q[k], dq[k], 12 * ddq[k])[:6]
        columns = []
        for leg in legs:
            J = bare.space_jacobian(q[k], f"{leg}_foot")[:, :6]
            place = bare.pose(q[k], f"{leg}_foot")[:3, 3] - [0, 0, 0.02]
            columns.append(W @ (J[3:] + np.cross(J[:3].T, place).T).T @ cone)
        least = nnls(np.hstack(columns), s)[1] / np.linalg.norm(s)
        assert found.shortfall[k] == pytest.approx(least, rel=1e-3, abs=1e-5)


def test_contacts_in_the_air_carry_nothing():
    robot, legs, q, dq, ddq = standing()
    found = kt.contacts.inverse_dynamics(robot, q[0], dq[0], ddq[0], contacts=legs[:3])
    assert (found.forces[3] == 0).all() and (found.forces[:3, 2] > 0).any()


# environments


def test_an_environment_is_decided_by_its_seed_and_begins_fallen_robots_anew():
    pytest.importorskip("gymnasium")
    env = pytest.importorskip("ground.environments").make("monoped", 4)
    runs = []
    for _ in range(2):
        first, _ = env.reset(seed=5)
        rng, rows = np.random.default_rng(0), [first]
        for _ in range(30):
            seen, reward, ended, late, _ = env.step(rng.uniform(-1, 1, env.action_space.shape))
            rows += [seen, reward, ended, late]
        runs.append(rows)
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(env.reset(seed=6)[0], runs[0][0])
    assert any(np.any(x) for x in runs[0][3::4])


def test_energy_falls_while_a_body_tumbles_to_rest():
    corners = points([(x, y, z) for x in (-0.15, 0.15) for y in (-0.1, 0.1) for z in (-0.08, 0.08)])
    robot = free_body(corners, friction=0.6)
    rng = np.random.default_rng(3)
    q = np.tile(at(0.5), (3, 1))
    q[:, :4] = rng.normal(size=(3, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1)[:, None]
    motion = robot.simulate(q, rng.normal(size=(3, 6)), duration=2.5, dt=1e-3)
    total = energy(robot, motion)
    assert np.diff(total, axis=0).max() < 1e-3 * total[0].max()
    assert np.abs(motion.dq[-1]).max() < 1e-6
    assert np.array(list(motion.meta["contact_gaps"].values())).min() > -5e-4
