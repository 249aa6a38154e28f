"""Contacts that gave wrong numbers in silence: shapes and files that are refused, and impacts."""

import re
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import Box, Boxes, ContactPoint, ContactRim, HeightField, Plane, stairs
from kinetree.errors import InputError, ModelError

DT = 1e-3
PAGE = Path(__file__).resolve().parents[2] / "docs" / "contacts.md"
FIELD = HeightField([[0, 0.1], [0.1, 0]], 1.0)
STEP = Boxes([Box((1, 0, 0.01), (1, 1, 0.02))])
INERTIA = (0.01, 0.012, 0.006)
FLAT_ROD = [(-0.2, 0, 0), (0.2, 0, 0)]


def body(contacts, *, gravity=9.81, **options):
    """A free body of 1 kg whose frame is at its centre of mass."""
    built = kt.Builder("body", gravity=(0, 0, -gravity)).link("base")
    built = built.link("body", m=1.0, I_com=np.diag(INERTIA))
    points = [
        ContactPoint(f"p{k}", "body", x) if isinstance(x, tuple) else x
        for k, x in enumerate(contacts)
    ]
    return built.joint("free", "free", "base", "body").build().with_contacts(points, **options)


def random_poses(count, rng):
    q = np.zeros((count, 7))
    q[:, :4] = rng.normal(size=(count, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    return q


@pytest.mark.parametrize("ground", [STEP, stairs(3, 0.3, 0.05, 1.0), FIELD])
def test_rims_are_refused_where_they_would_roll_through_the_ground(ground):
    wheel = ContactRim("wheel", "body", (0, 0, 0), (0, 1, 0), 0.1)
    with pytest.raises(InputError, match="'wheel'"):
        body([wheel], ground=ground)
    assert body([wheel], ground=Plane()).model.contacts.names == ("wheel",)


def test_cylinders_are_refused_on_boxes():
    cylinder = """<robot name="r"><link name="wheel"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
      <collision name="tyre"><geometry><cylinder radius="0.1" length="0.05"/></geometry>
      </collision></link></robot>"""
    robot = kt.load_string(cylinder, floating=True)
    with pytest.raises(InputError, match=r"'tyre\.0'"):
        robot.with_contacts(["wheel"], STEP)
    assert len(robot.with_contacts(["wheel"]).model.contacts.points) == 8


def test_spheres_are_refused_on_height_fields():
    ball = ContactPoint("ball", "body", radius=0.05)
    with pytest.raises(InputError, match="'ball'"):
        body([ball], ground=FIELD)
    assert body([ball], ground=STEP).model.contacts.names == ("ball",)
    assert body([(0, 0, 0)], ground=FIELD).model.contacts.names == ("p0",)


def test_linear_systems_are_refused_with_contacts():
    robot = body([(0, 0, -0.1)], compliance=1e-5)
    q, rest = np.array([1, 0, 0, 0, 0, 0, 0.0999]), np.zeros(6)
    weights = np.eye(12), np.eye(6)
    calls = (
        lambda r: r.linearize(q, rest, rest),
        lambda r: r.linearize(q, rest, rest, dt=DT),
        lambda r: r.linearize(q.tolist(), rest.tolist(), rest.tolist()),
        lambda r: kt.dynamics.linearize(r.model, q, rest, rest),
        lambda r: kt.optimal.regulate(r, q, *weights, dq=rest, tau=rest),
    )
    for call in calls:
        with pytest.raises(ModelError, match="'p0'"):
            call(robot)
        call(robot.with_contacts(None))


def test_the_table_of_rebounds_of_soft_contacts_is_true():
    """A ball of 1 kg falls from 0.5 m; how high it rises depends on dt."""
    robot = body([ContactPoint("ball", "body", radius=0.05)], compliance=1e-5)
    rows = re.findall(r"^\| ([0-9.]+) \| (0\.[0-9]{3}) \|$", PAGE.read_text(), re.MULTILINE)
    assert [float(dt) for dt, _ in rows] == [4, 2, 1, 0.5, 0.1, 0.05]
    for dt, height in rows:
        steps = float(dt) * 1e-3
        motion = robot.simulate([1, 0, 0, 0, 0, 0, 0.55], duration=0.8, dt=steps)
        z = motion.q[:, 6] - 0.05
        assert z[np.flatnonzero(z <= 0)[0] :].max() == pytest.approx(float(height), abs=6e-4)


@pytest.mark.parametrize("e", [1.0, 0.6])
def test_impacts_without_friction_rebound_with_the_restitution(e):
    """139 impacts of a spinning body: (1 + e) times the impulse that stops the point."""
    count, place, rng = 139, np.array([0.03, 0.02, -0.1]), np.random.default_rng(0)
    robot = body([tuple(place)], gravity=0, friction=0, restitution=e)
    q = np.array([kt.contacts.on_ground(robot, x, 1e-4) for x in random_poses(count, rng)])
    R = robot.pose(q, "body")[:, :3, :3]
    dq, up, approach = rng.normal(size=(count, 6)) * 4, R[:, 2], rng.uniform(0.5, 3, count)
    speed = np.sum(up * (dq[:, 3:] + np.cross(dq[:, :3], place)), axis=1)
    dq[:, 3:] -= up * (speed + approach)[:, None]
    motion = robot.simulate(q, dq, duration=DT, dt=DT)
    impulse = motion.meta["contact_forces"]["p0"][0, :, 2] * DT
    arm = np.cross(place, up)
    response = 1 + np.sum(arm * arm / np.array(INERTIA), axis=1)  # velocity for a unit impulse
    np.testing.assert_allclose(impulse * response / approach - 1, e, rtol=0.02)


@pytest.mark.parametrize("restitutions", [(1.0, 1.0), (0.6, 0.6), (1.0, 0.2)])
def test_impacts_of_both_ends_without_friction_gain_no_energy_and_rebound(restitutions):
    rng, count = np.random.default_rng(1), 500
    pairs = zip(("left", "right"), FLAT_ROD, restitutions, strict=True)
    ends = [ContactPoint(name, "body", place, restitution=e) for name, place, e in pairs]
    robot = body(ends, gravity=0, friction=0)
    lean = rng.uniform(-1, 1, count) * 2e-3  # nearly flat: one end hits, or both
    q = np.zeros((count, 7))
    q[:, 0], q[:, 2] = np.cos(lean / 2), np.sin(lean / 2)
    q = np.array([kt.contacts.on_ground(robot, x, 1e-4) for x in q])
    dq = rng.normal(size=(count, 6)) * (0, 8, 0, 1, 1, 1)
    energy, free = (
        x.kinetic_energy(*x.step(q, dq, np.zeros(6), DT))
        for x in (robot, robot.with_contacts(None))
    )
    motion = robot.simulate(q, dq, duration=DT, dt=DT)
    hit = np.any([x[0, :, 2] > 0 for x in motion.meta["contact_forces"].values()], axis=0)
    assert (energy <= free * (1 + 1e-6)).all() and hit.sum() > 300
    if restitutions == (
        1,
        1,
    ):  # the second end may close its gap in the same step, which takes energy
        assert np.mean(energy[hit] > 0.99 * free[hit]) > 0.88


WORLD = """<mujoco><worldbody>{world}<body name="a" pos="0 0 1"><freejoint/>
  <geom name="ball" type="sphere" size="0.1" friction="0.05"/></body></worldbody>{more}</mujoco>"""
FLOOR = '<geom name="floor" type="plane" size="1 1 1" friction="0.1"/>'
MAT = '<geom name="mat" type="box" size="1 1 0.01" friction="0.9"/>'
SLOPE = '<geom name="slope" type="plane" size="1 1 1" euler="0 20 0"/>'
PAIR = '<contact><pair geom1="floor" geom2="ball" friction="{} 0.9 0 0 0"/></contact>'
EVEN = '<contact><pair geom1="floor" geom2="ball" friction="0.9 0.9 0 0 0"/></contact>'


@pytest.mark.filterwarnings("ignore:.*contact pairs are ignored")
@pytest.mark.parametrize(
    ("world", "more", "name"),
    [(FLOOR + MAT, "", "ball"), (FLOOR, PAIR.format(0.05), "ball"), (FLOOR + SLOPE, "", "slope")],
    ids=["mat", "pair", "second plane"],
)
def test_files_whose_ground_or_friction_contacts_would_change_are_refused(world, more, name):
    pytest.importorskip("mujoco")
    text = WORLD.format(world=world, more=more)
    with pytest.raises(ModelError, match=f"'{name}'"):
        kt.load_string(text, contacts="file")
    robot = kt.load_string(text)
    with pytest.raises(ModelError, match=f"'{name}'"):
        robot.with_contacts(["ball"])
    assert robot.with_contacts(["ball"], Plane(), friction=0.3).model.contacts.frictions == (0.3,)
    even = kt.load_string(WORLD.format(world=FLOOR, more=EVEN), contacts="file")
    assert even.model.contacts.frictions == (0.9,)


def momentum(motion):
    x, y, z, w = motion.q[..., 1], motion.q[..., 2], motion.q[..., 3], motion.q[..., 0]
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)
    return np.sum(up * motion.dq[..., 3:], axis=-1)  # of 1 kg, along z of {s}


@pytest.mark.parametrize("every", [1, 7, 10, 1000])
@pytest.mark.parametrize("law", ["none", "traced", "python"])
def test_recorded_contact_forces_integrate_to_the_change_of_momentum(every, law):
    corners = [(x, y, -0.1) for x in (-0.15, 0.15) for y in (-0.1, 0.1)]
    robot = body(corners, friction=0.5, restitution=0.5)
    start = np.array([0.9, 0.3, 0.2, 0.1, 0, 0, 0]) / np.linalg.norm([0.9, 0.3, 0.2, 0.1])
    q = np.tile(kt.contacts.on_ground(robot, start, 0.05), (2, 1))
    q[1, 6] += 0.03
    laws = {
        "none": None,
        "traced": lambda t, q, dq: 0 * dq,
        "python": lambda t, q, dq: np.zeros_like(dq) * float(np.sum(q)),
    }
    duration = 0.303 if law != "python" else 0.153
    motion = robot.simulate(
        q, duration=duration, dt=DT, every=every, controller=laws[law], limits="ignore"
    )
    assert (motion.meta["note"] is not None) == (law == "python")
    force = sum(motion.meta["contact_forces"].values())[..., 2]
    impulse = np.sum(force[:-1] * np.diff(motion.t)[:, None], axis=0)
    change = momentum(motion)[-1] - momentum(motion)[0]
    np.testing.assert_allclose(impulse, change + 9.81 * duration, rtol=1e-9)
    assert (impulse > 1).all()


def test_states_and_modes_are_those_of_the_steps_that_are_recorded():
    robot = body([(x, 0, -0.1) for x in (-0.1, 0, 0.1)], friction=0.5)
    q = kt.contacts.on_ground(robot, np.array([1.0, 0, 0, 0, 0, 0, 0]), 0.01)
    all_steps, some = (robot.simulate(q, duration=0.1, dt=DT, every=k) for k in (1, 10))
    np.testing.assert_array_equal(some.q, all_steps.q[::10])
    for name in robot.model.contacts.names:
        forces = all_steps.meta["contact_forces"][name]
        means = forces[:-1].reshape(10, 10, 3).mean(1)
        np.testing.assert_allclose(some.meta["contact_forces"][name][:-1], means, atol=1e-9)
        for key in ("contact_modes", "contact_gaps", "contact_points"):
            np.testing.assert_array_equal(some.meta[key][name], all_steps.meta[key][name][::10])


def test_a_run_that_a_limit_stops_has_the_mean_force_until_then():
    built = kt.Builder("rail").link("base").link("block", m=2.0, I_com=np.eye(3) * 0.01)
    built = built.link("wheel", m=1.0, I_com=np.eye(3) * 0.01)
    built = built.joint("lift", "prismatic", "base", "block", axis=(0, 0, 1))
    limits = kt.joints.Limits(-1, 0.5)
    built = built.joint("turn", "revolute", "block", "wheel", axis=(1, 0, 0), limits=limits)
    robot = built.build().with_contacts([ContactPoint("foot", "block")])
    with pytest.raises(kt.simulate.SimulationError, match="turn") as stopped:
        robot.simulate([0, 0], [0, 1.0], duration=5.0, dt=DT, every=1000, limits="error")
    force = stopped.value.trajectory.meta["contact_forces"]["foot"]
    np.testing.assert_allclose(force[-1], [0, 0, 3 * 9.81], rtol=1e-6)
