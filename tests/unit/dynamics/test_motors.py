"""Motors of coupled joints against dense matrices, MuJoCo, fifty digits and sums of sliders."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeError
from kinetree.friction import Friction, Sigmoid, Stribeck
from kinetree.joints import Motor
from random_robots import random_model
from spacing import by

INERTIAS = np.array([0.3, 0.7, 0.2])
SMOOTH = [
    Friction(0.2, sigmoid=Sigmoid(1.5, 4, 0.1)),
    Friction((0.3, 0.5)),
    Friction(function=lambda v: v * v * v),
]


def geared(seed: int, friction: list[Friction], n: int = 6) -> tuple[kt.Robot, kt.Robot]:
    """A random tree with three motors over joints of any branches, and the tree without them."""
    bare = kt.Robot(random_model(seed, n, mimic=True, springs=True))
    rng = np.random.default_rng(seed)
    movers = [x.name for x in bare.model.joints if x.follows is None]
    motors = {}
    for k, (J, rubbing) in enumerate(zip(INERTIAS, friction, strict=True)):
        names = rng.choice(movers, min(k + 1, len(movers)), replace=False)
        motors[f"m{k}"] = Motor({x: rng.uniform(-2, 2) for x in names}, J, rubbing)
    return bare.with_motors(motors), bare


XML = """
<mujoco><option gravity="0.3 -0.4 -9.81" timestep="1e-4"/><worldbody>
<body name="a"><joint name="j1" axis="0 1 0" damping="0.1" armature="0.01"/>
  <geom size="0.05" pos="0.2 0 0" mass="2"/>
  <body name="b" pos="0.4 0 0"><joint name="j2" axis="0 0 1"/>
    <geom size="0.05" pos="0.1 0.02 0" mass="1"/>
    <body name="c" pos="0.2 0 0"><joint name="j3" type="slide" axis="1 0 0"/>
      <geom type="capsule" size="0.03 0.1" pos="0.1 0.1 0" mass="0.5"/></body></body></body>
</worldbody><tendon>
<fixed name="t2" armature="0.05" damping="0.3"><joint joint="j2" coef="1"/></fixed>
<fixed name="t3" armature="0.08" damping="0.2" stiffness="3" springlength="0.1">
  <joint joint="j2" coef="1"/><joint joint="j3" coef="-2"/></fixed>
<fixed name="t4" armature="0.03" {friction}><joint joint="j3" coef="1"/>
  <joint joint="j1" coef="0.7"/></fixed></tendon></mujoco>
"""


def test_fixed_tendons_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = XML.format(friction="")
    robot, compiled = kt.load_string(text), mujoco.MjModel.from_xml_string(text)
    same = kt.load_string(kt.convert.to_mjcf(robot, losses="error"))
    data = mujoco.MjData(compiled)
    for seed in range(3):
        q, dq, tau = np.random.default_rng(seed).normal(size=(3, 3))
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, dq, tau
        mujoco.mj_forward(compiled, data)
        for found in (robot, same):
            assert np.allclose(found.forward_dynamics(q, dq, tau), data.qacc, rtol=1e-9, atol=1e-9)
    dry = kt.load_string(XML.format(friction='frictionloss="0.6"'))
    assert dry.model.motors[-1].friction.coulomb == (0.6, 0.6)
    with pytest.raises(KinetreeError, match=r"motor 't2': joints 1 j2, inertia 0.05"):
        kt.convert.to_urdf(robot, losses="error")


def sliders(coupled: bool, friction: list[Friction]) -> kt.Robot:
    """Two masses on one rail, the second carried by the first or by the base.

    Carried by the first, its place is q1 + q2, which a motor turns with. Both are the same machine.
    """
    builder = kt.Builder("rail", gravity=(0.7, 0, 0)).link("base")
    builder.link("one", m=1.3, I_com=np.eye(3)).link("two", m=0.8, I_com=np.eye(3))
    pairs = {"one": "base", "two": "one" if coupled else "base"}
    for (name, parent), rubbing in zip(pairs.items(), friction, strict=True):
        own = Friction() if coupled else rubbing
        armature = 0 if coupled else 0.4
        builder.joint(
            name, "prismatic", parent, name, axis=(1, 0, 0), friction=own, armature=armature
        )
    if not coupled:
        return builder.build()
    rows = {"m1": {"one": 1}, "m2": {"one": 1, "two": 1}}
    motors = {k: Motor(row, 0.4, x) for (k, row), x in zip(rows.items(), friction, strict=True)}
    return builder.build().with_motors(motors)


@pytest.mark.parametrize(
    "method", ["rk4", "semi_implicit_euler", "implicit", "implicitfast", "euler"]
)
def test_dry_friction_holds_the_motor_and_not_the_joints(method: str) -> None:
    friction = [Friction(0.3, 0.6), Friction(0.1, 1.2, stribeck=Stribeck(1.5, 0.1))]
    chain, apart = sliders(True, friction), sliders(False, friction)
    to_motors = np.array([[1.0, 0], [1, 1]])
    forces = np.random.default_rng(4).uniform(-3, 2, (40, 2))  # at the motors
    options = {"duration": 1.0, "dt": 2e-3, "method": method}
    run = chain.simulate([0, 0], [0.3, 0.1], tau=forces @ to_motors, **options)
    expected = apart.simulate([0, 0], [0.3, 0.4], tau=forces, **options)
    rates = np.asarray(expected.dq)
    assert np.allclose(np.asarray(run.dq) @ to_motors.T, rates, atol=1e-9)
    assert np.allclose(np.asarray(run.q) @ to_motors.T, expected.q, atol=1e-9)
    held = np.abs(rates[-1]) < 1e-12
    assert {tuple(row) for row in held.tolist()} == {(a, b) for a in (0, 1) for b in (0, 1)}
    assert np.allclose(kt.motion.motor_forces(chain, forces @ to_motors), forces)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_energy_falls_by_what_the_motors_rub(method: str) -> None:
    robot, _ = geared(2, SMOOTH, 4)
    robot = robot.with_friction({x.name: Friction() for x in robot.model.joints})
    options = {"duration": 0.3, "limits": "ignore", **by(method, 1e-3)}
    run = robot.simulate(robot.random(rng=1), np.ones(robot.n), **options)
    energy = np.asarray(robot.kinetic_energy(run.q, run.dq) + robot.potential_energy(run.q))
    power = np.sum(run.dq * robot.friction_forces(run.dq), axis=-1)
    lost = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * 1e-3)])
    assert lost[-1] > 0
    assert np.allclose(energy + lost, energy[0], atol=1e-3 * lost[-1])


def test_parts_of_a_robot_keep_them() -> None:
    robot, _ = geared(5, SMOOTH)
    first = robot.model.motors[2]
    held = robot.model.coordinate_names[first.coords[0]]
    locked = robot.lock({held: 0.2})
    assert len(locked.model.motors[-1].dofs) == len(first.dofs) - 1
    both = kt.robots.planar_2r().attach(robot, prefix="r_")
    assert [x.name for x in both.model.motors] == ["r_m0", "r_m1", "r_m2"]
    assert not robot.with_motors(dict.fromkeys(("m0", "m1", "m2"))).model.motors


def test_where_a_motor_cannot_be_held() -> None:
    dry = Motor({"joint1": 1, "joint2": 2}, 0.1, Friction(0, 1))
    robot = kt.robots.planar_2r().with_motors({"m": dry})
    with pytest.raises(InputError):
        robot.simulate([0, 0], duration=0.1, method="LSODA")
    with pytest.raises(InputError):
        kt.simulate.sensitivities(robot, [0, 0], duration=0.1, dt=0.01)
    rubbing = robot.with_friction(Friction(0, 1))
    with pytest.raises(InputError):
        rubbing.simulate([0, 0], duration=0.1, dt=0.01, method="rk4")
