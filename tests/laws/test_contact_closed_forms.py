"""Longer motions with contacts against closed forms: spinning discs, strides, rocking, a rod."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import kinetree as kt
from kinetree.contacts import ContactPoint, ContactRim

G = 9.81


def body(contacts, m, inertia, *, slope=0.0, **options):
    """A free body with contacts; its frame is at its centre of mass. slope: gravity leans to x."""
    gravity = (G * np.sin(slope), 0, -G * np.cos(slope))
    built = kt.Builder("body", gravity=gravity).link("base")
    robot = built.link("body", m=m, I_com=np.diag(inertia)).joint("free", "free", "base", "body")
    return robot.build().with_contacts(contacts, **options)


def points(places):
    return [ContactPoint(f"p{k}", "body", place) for k, place in enumerate(places)]


@pytest.mark.parametrize("count", [3, 4, 7])
def test_a_flat_disc_on_a_ring_of_points_stops_when_friction_says(count):
    """I dw/dt = -mu m g R for any number of points, which share the weight equally."""
    R, m, mu, w = 0.1, 0.5, 0.3, 6.0
    angles = 2 * np.pi * np.arange(count) / count
    ring = points([(R * np.cos(a), R * np.sin(a), -0.01) for a in angles])
    inertia = m * R * R / 2
    robot = body(ring, m, (inertia / 2, inertia / 2, inertia), friction=mu)
    stop = inertia * w / (mu * m * G * R)
    turned = w * stop / 2
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        motion = kt.simulate(robot, [1, 0, 0, 0, 0, 0, 0.01], [0, 0, w, 0, 0, 0],
                             duration=1.2 * stop, dt=dt)  # fmt: skip
        spin = motion.dq[:, 2]
        moving = motion.t[np.flatnonzero(np.abs(spin) > 1e-6 * w)[-1]]
        assert stop - dt <= moving <= stop + 1e-9
        assert np.abs(motion.dq[-1]).max() < 1e-6
        slowing = spin[1 : int(0.9 * stop / dt)]
        np.testing.assert_allclose(np.diff(slowing), -mu * m * G * R / inertia * dt, rtol=1e-5)
        angle = 2 * np.arctan2(motion.q[-1, 3], motion.q[-1, 0])
        errors.append(abs(angle - turned))
    assert errors[0] < w * 2e-3 and errors[2] < 0.3 * errors[0]


def test_a_disc_that_spins_on_its_edge_keeps_spinning():
    """Contacts have no drilling friction: about the normal nothing slows a point contact."""
    R, m, w = 0.1, 0.5, 40.0
    across = m * R * R / 4
    rim = ContactRim("rim", "body", (0, 0, 0), (0, 1, 0), R)
    disc = body([rim], m, (across, 2 * across, across), friction=0.8)
    motion = kt.simulate(disc, [1, 0, 0, 0, 0, 0, R], [0, 0, w, 0, 0, 0], duration=0.5, dt=1e-3)
    np.testing.assert_allclose(motion.dq[:, 2], w, rtol=1e-9)
    np.testing.assert_allclose(motion.meta["contact_forces"]["rim"][:, 2], m * G, rtol=1e-5)


def test_eulers_disc_rolls_around_at_the_rate_of_its_steady_motion():
    """The centre of a thin disc rests while it rolls: Omega^2 = 4 g / (R sin(angle)).

    Rolling of a rigid disc without torsional or rolling friction loses no energy, so that it does
    not come to rest; only the error of the step, of order dt, changes the angle.
    """
    R, m, angle = 0.1, 0.5, np.radians(30)
    across = m * R * R / 4
    rim = ContactRim("rim", "body", (0, 0, 0), (0, 0, 1), R)
    disc = body([rim], m, (across, across, 2 * across), friction=2.0)
    rate = np.sqrt(4 * G / (R * np.sin(angle)))
    turn = 2 * np.pi / rate
    q = [np.cos(angle / 2), 0, np.sin(angle / 2), 0, 0, 0, R * np.sin(angle)]
    errors = []
    for dt in (2e-4, 1e-4, 5e-5):
        motion = kt.simulate(
            disc, q, [-rate * np.sin(angle), 0, 0, 0, 0, 0], duration=turn, dt=dt, every=10
        )
        at = motion.meta["contact_points"]["rim"][:, :2] - motion.q[:, 4:6]
        swept = np.unwrap(np.arctan2(at[:, 1], at[:, 0]))
        found = abs(swept[-1] - swept[0]) / motion.t[-1]
        lean = np.arcsin(motion.q[:, 6] / R)
        errors.append(np.abs(lean - angle).max())
        assert found == pytest.approx(rate, rel=200 * dt)
        assert {*motion.meta["contact_modes"]["rim"].tolist()} == {1}
    assert errors[2] < 0.35 * errors[0] < 0.02


def test_a_rimless_wheel_walks_by_its_return_map_to_its_limit_cycle():
    """w'^2 = eta^2 (w^2 + 4 m g l sin(alpha) sin(slope) / (I + m l^2)), McGeer's and Coleman's.

    w is the rate just after a spoke has landed; eta what an impact leaves of it.
    """
    spokes, length, m, inertia, slope = 8, 0.5, 2.0, 0.05, 0.12
    alpha, about = np.pi / spokes, inertia + m * length**2
    angles = 2 * alpha * np.arange(spokes) + alpha
    ends = points([(length * np.sin(a), 0, -length * np.cos(a)) for a in angles])
    robot = body(ends, m, (0.2, inertia, 0.2), slope=slope, friction=3.0)
    eta = (inertia + m * length**2 * np.cos(2 * alpha)) / about
    gain = 4 * m * G * length * np.sin(alpha) * np.sin(slope) / about
    w = 2.4
    height, ahead = length * np.cos(alpha), length * np.sin(alpha)
    # turning about the spoke in front, which has just landed: its foot is at x = ahead
    dq = [0, w, 0, w * height, 0, w * ahead]
    motion = kt.simulate(robot, [1, 0, 0, 0, 0, 0, height], dq, duration=2.2, dt=2e-4)
    rates = motion.dq[:, 1]
    landed = np.flatnonzero(np.diff(rates) < -0.1) + 1
    found = [w, *(rates[k] for k in landed)]
    assert len(found) >= 5
    for before, after in pairwise(found):
        assert after == pytest.approx(eta * np.sqrt(before**2 + gain), rel=3e-3)
    steady = eta * np.sqrt(gain / (1 - eta**2))
    gaps = np.abs(np.array(found) - steady)
    assert (np.diff(gaps[:4]) < 0).all()  # every stride brings it nearer to the limit cycle


def test_a_rocking_block_falls_in_housners_time_and_rises_to_his_angle():
    """Turning about its edge, I_o w^2 / 2 + m g R cos(alpha - theta) is constant."""
    wide, high, m, start = 0.05, 0.2, 1.0, 0.12
    corners = points([(x, y, -high) for x in (-wide, wide) for y in (-0.05, 0.05)])
    inertia = m * (wide**2 + high**2) / 3
    robot = body(corners, m, (0.02, inertia, 0.02), friction=2.0)
    R, alpha = np.hypot(wide, high), np.arctan(wide / high)
    about = inertia + m * R * R

    def rate(theta):
        return np.sqrt(2 * m * G * R / about * (np.cos(alpha - start) - np.cos(alpha - theta)))

    # the rate is 0 at the start: theta = start - s^2 makes the integrand smooth
    fall = quad(lambda s: 2 * s / rate(start - s * s), 1e-9, np.sqrt(start))[0]
    share = (inertia + m * (high**2 - wide**2)) / about
    lifted = np.cos(alpha) + about * (share * rate(0)) ** 2 / (2 * m * G * R)
    rise = alpha - np.arccos(lifted)
    # rotated about the edge at +x, which stays at the origin of the slide
    c, s = np.cos(start), np.sin(start)
    q = [np.cos(start / 2), 0, np.sin(start / 2), 0,
         wide - (wide * c - high * s), 0, wide * s + high * c]  # fmt: skip
    errors = []
    for dt in (4e-4, 2e-4, 1e-4):
        motion = kt.simulate(robot, q, duration=0.6, dt=dt)
        theta = 2 * np.arctan2(motion.q[:, 2], motion.q[:, 0])
        landed = motion.t[np.flatnonzero(theta <= 1e-5)[0]]
        errors.append(abs(landed - fall))
        highest = -theta.min()
        assert highest == pytest.approx(rise, rel=0.05)
    assert errors[2] < 2e-3 and highest == pytest.approx(rise, rel=0.01)


def test_painleves_rod_stops_sliding_at_once_by_an_impact_without_collision():
    """Where friction leaves no force for sliding, its end stops within a step, as in stick.

    1 + m l^2 / (4 I) (cos^2 - mu sin cos) < 0: sliding is inconsistent. The impulse that stops the
    end is inside the cone, and the speeds after it are those of a rigid impact.
    """
    length, m, mu, angle, v = 1.0, 1.0, 2.5, np.radians(50), -1.0  # the end is pushed along
    inertia = m * length**2 / 12
    cos, sin = np.cos(angle), np.sin(angle)
    assert 1 + m * length**2 / (4 * inertia) * (cos**2 - mu * sin * cos) < 0
    r = -0.5 * length * np.array([cos, sin])  # from the centre to the lower end
    robot = body(points([(r[0], 0, r[1])]), m, (inertia,) * 3, friction=mu)
    dt = 1e-4
    motion = kt.simulate(robot, [1, 0, 0, 0, 0, 0, -r[1]], [0, 0, 0, v, 0, 0], duration=dt, dt=dt)
    # velocity of the end per impulse (x, z); turning about y moves r by (r_z, -r_x)
    lever = np.array([r[1], -r[0]])
    A = np.eye(2) / m + np.outer(lever, lever) / inertia
    impulse = np.linalg.solve(A, [-v, G * dt])
    assert impulse[1] > 0 and abs(impulse[0]) < mu * impulse[1]
    found = motion.dq[-1]
    expected = [lever @ impulse / inertia, v + impulse[0] / m, impulse[1] / m - G * dt]
    np.testing.assert_allclose(found[[1, 3, 5]], expected, atol=dt)  # the body has turned by w dt
    np.testing.assert_allclose(
        motion.meta["contact_forces"]["p0"][0, [0, 2]] * dt, impulse, rtol=1e-4
    )
