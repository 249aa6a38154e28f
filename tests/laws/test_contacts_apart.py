"""Contacts of one body do not depend on other bodies of the model that it does not touch."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import ContactPoint
from kinetree.errors import InputError
from kinetree.spatial.so3 import quaternion_rotation

HALF = 0.05
CORNERS = [(x, y, -HALF) for x in (-HALF, HALF) for y in (-HALF, HALF)]
LEVEL = [1, 0, 0, 0, 0, 0]


def bodies(*masses, points=CORNERS, radius=0, **options):
    """Free bodies with the same points each."""
    builder, feet = kt.Builder("bodies").link("world"), []
    for k, m in enumerate(masses):
        builder.link(f"b{k}", m=m, I_com=m * 0.004 * np.eye(3))
        builder.joint(f"j{k}", "free", "world", f"b{k}")
        feet += [ContactPoint(f"p{k}{i}", f"b{k}", p, radius) for i, p in enumerate(points)]
    return builder.build().with_contacts(feet, **options)


@pytest.mark.parametrize("dust", [1e-7, 1e-3, 1e3])
def test_a_light_body_does_not_soften_the_contacts_of_a_heavy_one(dust):
    """A block that is pushed with less than its friction stays where it is."""
    robot = bodies(1.0, dust, friction=0.5)
    q = [*LEVEL, HALF, 1, 0, 0, 0, 5, 0, HALF]
    push = [0, 0, 0, 0.4 * 9.81, 0, 0, *[0] * 6]
    motion = robot.simulate(q, np.zeros(12), tau=push, duration=0.1, dt=1e-3, limits="ignore")
    assert np.abs(motion.q[-1] - motion.q[0]).max() < 1e-8
    force = sum(motion.meta["contact_forces"][f"p0{i}"][-1, 2] for i in range(4))
    assert force == pytest.approx(9.81, rel=1e-5)


@pytest.mark.parametrize("mu", [0.2, 0.5])
@pytest.mark.parametrize("v", [(1, 0.4), (1, 0), (0.3, -0.2), (3, 1)])
def test_a_sliding_block_has_the_forces_of_equal_pads(mu, v):
    """They are affine in the place, N/4 + a . (x, y), with the balance of moments."""
    robot = bodies(1.0, friction=mu)
    motion = robot.simulate(
        [*LEVEL, HALF], [0, 0, 0, *v, 0], duration=5e-3, dt=1e-3, limits="ignore"
    )
    u = np.array(v) / np.hypot(*v)
    expected = 9.81 / 4 + np.array(CORNERS)[:, :2] @ (mu * 9.81 * HALF * u / (4 * HALF**2))
    found = np.array([motion.meta["contact_forces"][f"p0{i}"][0, 2] for i in range(4)])
    assert np.abs(found - expected).max() < 0.01 * 9.81


@pytest.mark.parametrize("spin", [-8.0, 0.0, 4.0])
def test_the_rebound_of_a_ball_does_not_depend_on_a_rod_beside_it(spin):
    """The rod's own impact would gain energy with Newton's restitution, which is reduced."""
    tilt, feet = 0.6, [ContactPoint("c", "ball", radius=0.1)]
    builder = kt.Builder("both").link("world").link("ball", m=1, I_com=0.004 * np.eye(3))
    builder.joint("fa", "free", "world", "ball")
    options = {"friction": 1.0, "restitution": 0.9}
    q, dq = [*LEVEL, 0.1005], [0, 0, 0, 0, 0, -1.0]
    alone = builder.build().with_contacts(feet, **options)
    builder.link("rod", m=1, I_com=np.diag([0.08, 0.08, 0.001]))
    builder.joint("fb", "free", "world", "rod")
    both = builder.build().with_contacts([*feet, ContactPoint("e", "rod", (0, 0, -0.5))], **options)
    turn = [np.cos(tilt / 2), 0, np.sin(tilt / 2), 0]
    R = quaternion_rotation(np.array(turn))
    v = R.T @ np.array([2 * np.sign(spin), 0, -1.0])
    other = [*turn, 5, 0, 0.5 * np.cos(tilt) + 5e-4]
    how = {"duration": 3e-3, "dt": 1e-3, "limits": "ignore"}
    found = both.simulate([*q, *other], [*dq, 0, spin, 0, *v], **how)
    expected = alone.simulate(q, dq, **how)
    np.testing.assert_allclose(found.dq[:, :6], expected.dq, atol=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("thrust", [0.0, 9.81, 20.0, 100.0])
def test_a_force_that_brakes_does_not_take_the_rebound(e, thrust):
    """w = -e v of a ball, or the velocity without the impact where that would gain energy."""
    robot = bodies(1.0, points=[(0, 0, 0)], radius=0.1, friction=0.5, restitution=e)
    forces = [0, 0, 0, 0, 0, thrust]
    _, after = robot.step([*LEVEL, 0.1005], [0, 0, 0, 0, 0, -1.0], forces, 1e-3)
    free = 1.0 - (thrust - 9.81) * 1e-3
    assert after[5] == pytest.approx(min(e, free), abs=1e-5)  # the pads take 1e-6 of it


@pytest.mark.parametrize("axes", [["z"], ["x", "z"], ["x", "y", "z"]])
def test_robots_of_sliders_alone_have_contacts(axes):
    """Their Jacobians are constants."""
    builder, last = kt.Builder("gantry").link("base"), "base"
    for k, axis in enumerate(axes):
        builder.link(f"l{k}", m=1, I_com=0.01 * np.eye(3))
        builder.joint(f"j{k}", "prismatic", last, f"l{k}", axis=np.eye(3)["xyz".index(axis)])
        last = f"l{k}"
    robot = builder.build().with_contacts([ContactPoint("foot", last, radius=0.1)], friction=0.5)
    q, dq = np.full(robot.n, 0.1), np.zeros(robot.n)
    assert np.abs(robot.step(q, dq, np.zeros(robot.n), 1e-3)[1]).max() < 1e-7
    fallen = robot.step(q + 1, dq, np.zeros(robot.n), 1e-3)[1]
    np.testing.assert_allclose(fallen, [0.0] * (robot.n - 1) + [-9.81e-3], atol=1e-12)


def test_contacts_are_solved_in_float64():
    """Their numbers do not fit float32: an array of it has results in float64."""
    robot = bodies(1.0, friction=0.5)
    state = [np.array(x, np.float32) for x in ([*LEVEL, HALF], [0.3, 0.2, 0.1, 1, 0, 0], [0] * 6)]
    found = robot.step(*state, np.float32(1e-3))
    expected = robot.step(*(x.astype(float) for x in state), float(np.float32(1e-3)))
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == np.float64 and np.array_equal(x, y)
    graph = robot.compile("step_semi_implicit_euler").graph
    graph.check_type("float64", "step")
    with pytest.raises(InputError, match=r"step was given float32.*Give the arrays as float64"):
        graph.check_type("float32", "step")


def test_a_compliance_excludes_a_restitution():
    with pytest.raises(InputError, match="'p00' has a restitution, and the contacts a compliance"):
        bodies(1.0, restitution=0.5, compliance=1e-6)
