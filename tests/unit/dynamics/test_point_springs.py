"""Springs, dampers and cables between points of links, against MuJoCo and fifty digits."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import KinetreeError

mujoco = pytest.importorskip("mujoco")

TREE = """
<mujoco><option gravity="0.3 -0.4 -9.81" integrator="Euler" timestep="1e-6"/>
<worldbody>
  <site name="wall" pos="0.4 0.1 1.1"/><site name="floor" pos="-0.2 0.3 0"/>
  <body name="upper" pos="0 0 1"><joint name="a" axis="0 1 0.2" type="{first}"/>
    <inertial pos="0.1 0 -0.2" mass="2" diaginertia="0.02 0.03 0.01"/>
    <site name="eye" pos="0.05 0.02 -0.1"/>
    <body name="lower" pos="0 0.02 -0.4"><joint name="b" axis="1 0.1 0"/>
      <joint name="c" type="slide" axis="0 0.3 1"/>
      <inertial pos="0 0.05 -0.2" mass="1.3" diaginertia="0.01 0.02 0.02"/>
      <site name="tip" pos="0.1 0 -0.35"/></body>
    <body name="side" pos="0.1 0.1 0"><joint name="d" axis="0 0 1" pos="0.02 0 0"/>
      <inertial pos="0.1 0 0" mass="0.6" diaginertia="0.004 0.004 0.004"/>
      <site name="hook" pos="0.2 0.05 0.02"/></body>
  </body></worldbody>
<tendon>
  <spatial name="short" stiffness="{k}" springlength="0.3" damping="7"><site site="wall"/>
    <site site="tip"/></spatial>
  <spatial name="long" stiffness="120" damping="3"><site site="floor"/><site site="eye"/>
    <site site="tip"/><site site="hook"/></spatial>
  <fixed name="brake" damping="2"><joint joint="a" coef="1"/><joint joint="b" coef="0.5"/></fixed>
  <fixed name="sum" stiffness="4" springlength="0.2" damping="1.5"><joint joint="b" coef="2"/>
    <joint joint="d" coef="-1"/></fixed>
</tendon></mujoco>
"""


def pair(first: str = "hinge", k: float = 400) -> tuple[kt.Robot, object]:
    """A tree with springs between points, and the same in MuJoCo."""
    text = TREE.format(first=first, k=k)
    if first == "ball":
        text = text.replace('axis="0 1 0.2" type="ball"', 'type="ball"')
        text = text.replace('<joint joint="a" coef="1"/>', "")
    return kt.load_string(text), mujoco.MjModel.from_xml_string(text)


def state(robot: kt.Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return robot.random(rng=seed), rng.normal(size=robot.n), rng.normal(size=robot.n)


@pytest.mark.parametrize("first", ["hinge", "ball"])
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_are_those_of_mujoco(first: str, seed: int) -> None:
    robot, compiled = pair(first)
    q, dq, tau = state(robot, seed)
    data = mujoco.MjData(compiled)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, dq, tau
    mujoco.mj_forward(compiled, data)
    assert np.allclose(robot.forward_dynamics(q, dq, tau), data.qacc, rtol=1e-9, atol=1e-9)


def test_files_keep_them() -> None:
    robot, _ = pair()
    same = kt.load_string(kt.convert.to_mjcf(robot, losses="error"))
    for seed in range(2):
        q, dq, ddq = state(robot, seed)
        tau = robot.inverse_dynamics(q, dq, ddq)
        assert np.allclose(same.inverse_dynamics(q, dq, ddq), tau, rtol=1e-12, atol=1e-11)
    with pytest.raises(KinetreeError, match=r"spring 'short'.*points world"):
        kt.convert.to_urdf(robot, losses="error")


def test_parts_of_a_robot_keep_them() -> None:
    robot, _ = pair()
    q, dq, _ = state(robot, 5)
    q[3] = dq[3] = 0.0
    held = robot.lock({"d": 0.0})
    rest = np.zeros(3)
    whole = robot.inverse_dynamics(q, dq, [*rest, 0])
    assert np.allclose(held.inverse_dynamics(q[:3], dq[:3], rest), whole[:3], atol=1e-10)
    arm = kt.robots.planar_2r().attach(robot, prefix="r_")
    assert {x.name for x in arm.model.springs} == {"r_short", "r_long", "r_sum", "r_brake"}
    with pytest.raises(KinetreeError, match="passes is 'world'"):
        robot.with_springs({"brake": None}).subtree("upper")


def test_a_balanced_arm_needs_no_force() -> None:
    """A spring of rest length 0 above the joint balances a bar in every position."""
    m, g, l, height = 2.0, 9.81, 0.6, 0.4
    builder = kt.Builder("arm", gravity=(0, 0, -g)).link("base")
    builder.link("bar", m=m, com=(l / 2, 0, 0), I_com=np.eye(3) * 0.01)
    builder.joint("hinge", "revolute", "base", "bar", axis=(0, 1, 0))
    robot = builder.build().with_springs(
        {
            "balance": kt.joints.Spring(
                m * g * (l / 2) / (height * l),
                points=[("base", (0, 0, height)), ("bar", (l, 0, 0))],
            )
        }
    )
    q = np.linspace(-1.4, 1.4, 9)[:, None]
    assert np.abs(robot.bias_forces(q, 0 * q)).max() < 1e-12


@pytest.mark.parametrize("rest", [0.0, 0.1])
def test_points_that_coincide_pull_nowhere(rest):
    spring = kt.joints.Spring(100, rest=rest, points=[("base", (0.3, 0, 0)), ("rod", (0.3, 0, 0))])
    robot = (
        kt.Builder("rod")
        .link("base")
        .link("rod", m=1.0, com=(0.2, 0, 0), I_com=0.05 * np.eye(3))
        .joint("p", "revolute", "base", "rod", axis=(0, -1, 0))
        .build()
    )
    sprung = robot.with_springs({"s": spring})
    for q in ([0.0], np.array([mpmath.mpf(0)])):
        assert dynamics.spring_forces(sprung.model, q)[0] == 0
    assert sprung.spring_forces([0.0]) == 0
    at = [0.0], [0.2], [0.1]
    np.testing.assert_array_equal(sprung.forward_dynamics(*at), robot.forward_dynamics(*at))
    assert np.isfinite(sprung.forward_dynamics_derivatives(*at)).all()
