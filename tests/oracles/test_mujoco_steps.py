"""MuJoCo takes the same steps, without contacts: Euler, implicit damping and Runge-Kutta.

MuJoCo's Euler is semi-implicit; with its flag "eulerdamp", and with the integrator "implicitfast",
joint damping is implicit. Of free joints the accelerations of a step are compared, not its end:
MuJoCo adds their velocity in the axes of the world, kinetree moves them along their twist, and one
step of the two differs by dt squared.
"""

import numpy as np
import pytest
from crossed import crossed
from shared_models import ROOT, entries

import kinetree as kt
from kinetree import convert
from kinetree.algorithms.stiction import without_dry_friction
from kinetree.files.description import Friction
from kinetree.model import random_body, random_direction, random_pose
from robot_states import random_state, size

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

ONE, HUNDRED = 1e-10, 1e-6
DT = 1e-3
FLAG = mujoco.mjtDisableBit
FREE = FLAG.mjDSBL_CONSTRAINT | FLAG.mjDSBL_ACTUATION
# ours, theirs, and whether MuJoCo's Euler damps implicitly
WAYS = [
    ("semi_implicit_euler", mujoco.mjtIntegrator.mjINT_EULER, False),
    ("implicitfast", mujoco.mjtIntegrator.mjINT_EULER, True),
    ("implicitfast", mujoco.mjtIntegrator.mjINT_IMPLICITFAST, True),
    ("rk4", mujoco.mjtIntegrator.mjINT_RK4, False),
]
IDS = ["euler", "eulerdamp", "implicitfast", "rk4"]


def damped_tree(seed, types=("revolute", "prismatic", "spherical")):
    """A random tree with damping, armature and springs."""
    rng = np.random.default_rng(seed)
    builder = kt.Builder(f"tree {seed}", gravity=rng.normal(size=3) * 5).link("world")
    names = ["world"]
    for i in range(1 + seed % 8):
        type = str(rng.choice(types))
        spring = kt.Spring(float(rng.uniform(1, 50)), rest=float(rng.normal()))
        builder.link(f"link{i}", *random_body(rng))
        builder.joint(
            f"joint{i}",
            type,
            names[int(rng.integers(len(names)))],
            f"link{i}",
            at=random_pose(rng),
            axis=random_direction(rng),
            point=rng.normal(size=3) * 0.2,
            armature=float(rng.uniform(0, 0.1)),
            friction=Friction(viscous=float(rng.uniform(0, 5))),
            spring=None if type == "spherical" else spring,
        )
        names.append(f"link{i}")
    return builder.build()


class Pair:
    """A robot here and there, at the same random state under the same forces."""

    def __init__(self, robot, theirs, seed):
        self.robot, self.theirs, self.data = robot, theirs, mujoco.MjData(theirs)
        joints = [theirs.joint(j).name for j in range(theirs.njnt)]
        self.there = convert.to_mujoco(robot, joints)
        self.back = convert.from_mujoco(robot, joints)
        x = random_state(robot.model, seed)
        self.q, self.dq, self.tau = x.q, x.dq, x.ddq
        self.data.qpos[:] = self.there.q(x.q)
        self.data.qvel[:] = self.there.dq(x.q, x.dq)
        self.data.qfrc_applied[:] = self.there.tau(x.q, self.tau)

    def choose(self, integrator, damped):
        self.theirs.opt.integrator, self.theirs.opt.timestep = integrator, DT
        self.theirs.opt.density = self.theirs.opt.viscosity = 0  # no air or water here
        extra = 0 if damped else FLAG.mjDSBL_EULERDAMP
        self.theirs.opt.disableflags = FREE | extra

    def step(self, method):
        self.q, self.dq = self.robot.step(self.q, self.dq, self.tau, DT, method=method)
        mujoco.mj_step(self.theirs, self.data)

    def error(self):
        q = self.back.q(self.data.qpos)
        dq = self.back.dq(self.data.qpos, self.data.qvel)
        turn = self.robot.difference(q, self.q)
        return max(size(turn) / (1 + size(q)), size(dq - self.dq) / (1 + size(dq)))


def follows(robot, theirs, seed, method, integrator, damped, more=99):
    """The errors after one step and after some more."""
    pair = Pair(robot, theirs, seed)
    pair.choose(integrator, damped)
    pair.step(method)
    first = pair.error()
    for _ in range(more):
        pair.step(method)
    return first, pair.error()


@pytest.mark.parametrize(("way", "joints"), [*crossed(WAYS, range(8))])  # and one joint more
def test_random_trees_take_the_same_steps(way, joints):
    (method, integrator, damped), seed = way, joints
    # RK4 of MuJoCo adds the rates of a ball joint without the corrections of Munthe-Kaas
    types = ("revolute", "prismatic") if method == "rk4" else ("revolute", "prismatic", "spherical")
    robot = damped_tree(seed, types)
    theirs = mujoco.MjModel.from_xml_string(robot.to_mjcf(losses="allow"))
    first, last = follows(robot, theirs, seed, method, integrator, damped)
    assert first < ONE and last < HUNDRED


RUNNER = """
<mujoco model="runner">
  <compiler angle="radian"/>
  <default><joint armature="0.1" damping="1"/></default>
  <worldbody>
    <body name="trunk" pos="0 0 0.7">
      <joint name="rootx" type="slide" axis="1 0 0" armature="0" damping="0"/>
      <joint name="rootz" type="slide" axis="0 0 1" armature="0" damping="0"/>
      <joint name="rooty" type="hinge" axis="0 1 0" armature="0" damping="0"/>
      <geom type="capsule" fromto="-0.5 0 0 0.5 0 0" size="0.046" mass="6"/>
      <body name="thigh" pos="-0.5 0 0">
        <joint name="hip" axis="0 1 0" stiffness="240" damping="6" springref="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.16 0 -0.25" size="0.046" mass="1.5"/>
        <body name="shin" pos="0.16 0 -0.25">
          <joint name="knee" axis="0 1 0" stiffness="{stiffness}" damping="{damping}" ref="0.1"/>
          <geom type="capsule" fromto="0 0 0 -0.28 0 -0.14" size="0.046" mass="1.6"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(
    ("way", "passive"), [*crossed(WAYS, [(180, 4.5), (5e4, 0.5), (20, 3e3), (0, 0)])]
)
def test_springs_and_damping_of_a_file_take_the_same_steps(way, passive):
    (method, integrator, damped), (stiffness, damping) = way, passive
    text = RUNNER.format(stiffness=stiffness, damping=damping)
    robot, theirs = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    # explicit damping of 3000 N m s runs away at 1 ms, here and there
    more = 0 if damping > 1e3 and not damped else 99
    first, last = follows(robot, theirs, 4, method, integrator, damped, more)
    assert first < ONE and last < HUNDRED


@pytest.mark.parametrize("seed", range(6))
def test_servos_with_velocity_gains_are_those_of_implicitfast(seed):
    """MuJoCo is implicit in the velocity of its actuators and explicit in position."""
    robot = damped_tree(seed, ("revolute", "prismatic"))
    rng = np.random.default_rng(seed)
    kp, kd = rng.uniform(10, 2000, robot.n), rng.uniform(10, 500, robot.n)
    servos = "".join(
        f'<position joint="{name}" kp="{float(kp[k])!r}" kv="{float(kd[k])!r}"/>'
        for k, name in enumerate(robot.joint_names)
    )
    text = robot.to_mjcf(losses="allow").replace(
        "</mujoco>", f"<actuator>{servos}</actuator></mujoco>"
    )
    pair = Pair(robot, mujoco.MjModel.from_xml_string(text), seed)
    pair.choose(mujoco.mjtIntegrator.mjINT_IMPLICITFAST, True)
    pair.theirs.opt.disableflags = FLAG.mjDSBL_CONSTRAINT
    pair.data.qfrc_applied[:] = 0
    goal = rng.normal(size=robot.n)
    pair.data.ctrl[:] = goal
    for k in range(100):
        tau = kp * (goal - pair.q) - kd * pair.dq
        pair.q, pair.dq = robot.step(pair.q, pair.dq, tau, DT, method="implicitfast", kd=kd)
        mujoco.mj_step(pair.theirs, pair.data)
        assert pair.error() < (ONE if k == 0 else HUNDRED)


FLYER = """
<mujoco model="flyer">
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <joint name="base" type="free" damping="{trunk}"/>
      <geom type="box" size="0.3 0.2 0.1" pos="0.05 0.02 0.1" mass="6"/>
      <body name="arm" pos="0.3 0 0">
        <joint name="ball" type="ball" damping="0.3"/>
        <geom type="capsule" fromto="0 0 0 0.16 0 -0.25" size="0.046" mass="1.5"/>
        <body name="hand" pos="0.16 0 -0.25">
          <joint name="wrist" axis="0 1 0" damping="0.2" armature="0.01"/>
          <geom type="capsule" fromto="0 0 0 -0.28 0 -0.14" size="0.046" mass="1.6"/>
        </body>
      </body>
    </body>
    <body name="other"><joint type="free" name="loose" damping="3" armature="0.2"/>
      <geom type="box" size="0.1 0.2 0.3" mass="2"/>
      <body name="tail"><joint name="tail"/><geom size="0.1" pos="0.2 0 0" mass="0.1"/></body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(("trunk", "start"), [*crossed([0, 2, 500], range(4))])
@pytest.mark.parametrize(("method", "integrator", "damped"), WAYS[:3], ids=IDS[:3])
def test_steps_of_damped_free_joints_have_the_same_accelerations(
    method, integrator, damped, trunk, start
):
    """MuJoCo's implicit damping of a free joint acts on its velocity in the axes of the world.

    Each free body carries another: newer versions of MuJoCo turn a lone one in a way of its own.
    """
    text = FLYER.format(trunk=trunk)
    robot, theirs = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    pair = Pair(robot, theirs, start)
    pair.choose(integrator, damped)
    q, dq, before = pair.q, pair.dq, pair.data.qvel.copy()
    pair.step(method)
    theirs_a = pair.back.ddq(pair.there.q(q), pair.there.dq(q, dq), (pair.data.qvel - before) / DT)
    np.testing.assert_allclose((pair.dq - dq) / DT, theirs_a, rtol=1e-9, atol=1e-10)


def shared():
    """Files of the reference set without free joints that both read, and what kinetree made."""
    for entry in entries():
        if entry.path.suffix == ".xml" and entry.expected.startswith("load"):
            yield entry


def compiled(entry, robot):
    """The file as MuJoCo reads it; as we write it where meshes or names of joints are missing."""
    try:
        found = mujoco.MjModel.from_xml_path(str(entry.path))
    except ValueError:
        found = None
    if found is None or not all(found.joint(j).name for j in range(found.njnt)):
        return mujoco.MjModel.from_xml_string(robot.to_mjcf(losses="allow"))
    return found


@pytest.mark.skipif(not ROOT.exists(), reason="the shared models are not here")
@pytest.mark.parametrize("entry", list(shared()), ids=lambda entry: entry.name)
@pytest.mark.filterwarnings("ignore")
def test_files_take_the_same_steps(entry):
    robot = kt.load(entry.path, constraints="none")
    theirs = compiled(entry, robot)
    if "free" in robot.model.joint_types or theirs.nv != robot.n or theirs.ntendon:
        pytest.skip("a free joint, joints that follow others, or tendons")
    robot = kt.Robot(without_dry_friction(robot.model))
    for method, integrator, damped in WAYS[:3]:
        # with explicit damping a small hand runs away within some steps, here and there
        more = 99 if damped else 0
        first, last = follows(robot, theirs, 1, method, integrator, damped, more)
        assert first < ONE and last < HUNDRED, (method, first, last)


GRIPPER = """<mujoco><compiler angle="radian"/>
<option timestep="{h}" integrator="implicitfast"><flag contact="disable"/></option>
<worldbody><body name="hand"><joint name="wrist" axis="0 1 0" damping="0.5"/>
<inertial pos="0.1 0 0" mass="0.7" diaginertia="0.002 0.003 0.003"/>
<body name="l" pos="0.1 0 0">
<joint name="left" type="slide" axis="0 0 1" damping="10" armature="0.1"/>
<inertial pos="0 0 0.01" mass="0.05" diaginertia="1e-5 1e-5 1e-5"/></body>
<body name="r" pos="0.1 0 0">
<joint name="right" type="slide" axis="0 0 -1" damping="10" armature="0.1"/>
<inertial pos="0 0 -0.01" mass="0.03" diaginertia="1e-5 1e-5 1e-5"/></body>
</body></worldbody>
<equality><joint joint1="left" joint2="right" solimp="0.9999 0.9999 0.001"
solref="-1e4 -200"/></equality>
<actuator><position name="grip" joint="left" kp="500" kv="40"/></actuator></mujoco>"""


def test_fingers_tied_by_an_equality_move_alike_with_implicit_damping():
    """MuJoCo's equality is a stiff spring and ours exact: steps tend to each other with dt."""

    def off(h):
        text = GRIPPER.format(h=h)
        theirs = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(theirs)
        data.ctrl[:] = 0.03
        for _ in range(round(0.2 / h)):
            mujoco.mj_step(theirs, data)
        ours = kt.load_string(text).simulate(
            [0.0] * 3, duration=0.2, dt=h, controls=[0.03], method="implicitfast", limits="ignore"
        )
        assert abs(ours.q[-1, 1] - ours.q[-1, 2]) < 1e-12 and ours.q[-1, 1] > 0.02
        return np.abs(ours.q[-1] - data.qpos).max()

    long, short = off(2e-3), off(1e-3)
    assert short < 2e-5 and 1.8 < long / short < 2.2
