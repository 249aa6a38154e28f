"""Dry friction stops a joint once, holds it, and lets it go when the force suffices."""

import dataclasses

import numpy as np
import pytest

import kinetree as kt
from kinetree.model import JointFriction
from kinetree.scalars import sin

FIXED = [
    {"method": "rk4", "dt": 1e-3},
    {"method": "semi_implicit_euler", "dt": 1e-3},
    {"method": "euler", "dt": 1e-3},
]
ALL = [*FIXED, {"rtol": 1e-10, "atol": 1e-12}]
NAMES = ["rk4", "semi_implicit", "euler", "dop853"]


def sledge(coulomb=3.0, mass=2.0, **friction):
    return (
        kt.Builder("sledge")
        .link("base")
        .link("sledge", m=mass, I_com=np.eye(3))
        .joint(
            "rail", "prismatic", "base", "sledge", axis=(1, 0, 0),
            friction=kt.Friction(coulomb=coulomb, **friction),
        )
        .build()
    )  # fmt: skip


def rubbing_arm(coulomb=(0.8, 0.5)):
    model = kt.robots.double_pendulum().model
    joints = [dataclasses.replace(x, friction=JointFriction(coulomb=coulomb)) for x in model.joints]
    return kt.Robot(model.replace(joints=tuple(joints)))


@pytest.mark.parametrize("options", ALL, ids=NAMES)
@pytest.mark.parametrize("sense", [1, -1])
def test_a_sledge_stops_where_its_energy_is_spent_and_stays(options, sense):
    """m v^2 / 2 = F s: from 1.5 m/s it takes 1 s and 0.75 m."""
    motion = sledge().simulate([0.0], [1.5 * sense], duration=2.0, **options)
    allowed = {"rk4": 1e-6, "dop853": 1e-12}.get(options.get("method", "dop853"), 1e-3)
    assert motion.q[-1, 0] == pytest.approx(0.75 * sense, abs=allowed)
    rest = motion.t > 1.02
    assert (motion.dq[rest] == 0).all() and (motion.ddq[rest] == 0).all()
    assert (motion.dq * sense >= 0).all()  # it never turns back


@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_it_holds_until_the_force_exceeds_friction(options):
    """5 sin t exceeds 3 at t = 0.6435 s."""
    motion = sledge().simulate([0.0], duration=1.0, tau=lambda t: np.array([5 * sin(t)]), **options)
    leaves = motion.t[np.argmax(motion.dq[:, 0] != 0)]
    assert leaves == pytest.approx(np.arcsin(0.6), abs=0.011)
    assert (motion.q[motion.t < np.arcsin(0.6)] == 0).all()
    assert motion.q[-1, 0] > 0


def test_unequal_friction_holds_one_way_and_not_the_other():
    robot = sledge(coulomb=(4.0, 1.0))
    for options in ALL:
        pushed = robot.simulate([0.0], duration=0.5, tau=[3.0], **options)
        pulled = robot.simulate([0.0], duration=0.5, tau=[-3.0], **options)
        assert (pushed.q == 0).all()
        assert pulled.q[-1, 0] == pytest.approx(-0.5 * 1.0 * 0.25, rel=5e-3)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [(ALL[0], 1e-4), (ALL[1], 0.02), (ALL[3], 1e-4)],
    ids=["rk4", "semi_implicit", "dop853"],
)
def test_friction_takes_out_the_work_that_it_does(options, allowed):
    """What a swinging arm loses is the integral of c |dq|."""
    robot = rubbing_arm((0.3, 0.3))
    motion = robot.simulate([1.0, 0.5], duration=3.0, limits="ignore", **options)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    work = np.trapezoid(0.3 * abs(motion.dq).sum(-1), motion.t)
    assert energy[0] - energy[-1] == pytest.approx(work, rel=allowed)


def test_fixed_steps_approach_the_events_of_the_adaptive_method():
    robot = rubbing_arm()
    exact = robot.simulate([1.0, 0.5], duration=6.0, rtol=1e-11, atol=1e-13, limits="ignore")
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        found = robot.simulate([1.0, 0.5], duration=6.0, dt=dt, method="rk4", limits="ignore")
        errors.append(abs(found.q[:: round(0.01 / dt)] - exact.q).max())
    # a stop is placed within a step, so that its order is the first
    assert errors[0] > 1.5 * errors[1] > 2.25 * errors[2] and errors[2] < 6e-4


def test_the_arm_comes_to_rest_and_does_not_chatter():
    robot = rubbing_arm((2.0, 2.0))
    for options in ALL:
        motion = robot.simulate([1.0, 0.5], duration=12.0, limits="ignore", **options)
        moving = (motion.dq != 0).any(-1)
        assert not moving[motion.t > 11].any() and (motion.ddq[motion.t > 11] == 0).all()
        changes = np.count_nonzero(np.diff(np.sign(motion.dq), axis=0), axis=0)
        assert changes[0] <= 12 and changes[1] <= 9  # 10 and 6 of the adaptive method
        held = robot.gravity_forces(motion.q[-1])
        assert (abs(held) <= 2.0 + 1e-9).all()  # friction can hold it there


def test_held_joints_feel_the_others():
    """The elbow is held while the shoulder swings slowly, and slips when it swings fast."""
    model = kt.robots.double_pendulum().model
    elbow = dataclasses.replace(model.joints[1], friction=JointFriction(coulomb=(30.0, 30.0)))
    robot = kt.Robot(model.replace(joints=(model.joints[0], elbow)))
    locked = robot.lock({model.joints[1].name: 0.0})
    for options in ({"method": "rk4", "dt": 1e-3}, {"rtol": 1e-11, "atol": 1e-13}):
        motion = robot.simulate([1.0, 0.0], duration=2.0, limits="ignore", **options)
        alone = locked.simulate([1.0], duration=2.0, limits="ignore", **options)
        assert (motion.q[:, 1] == 0).all()
        assert abs(motion.q[:, 0] - alone.q[:, 0]).max() < 1e-9


def test_a_batch_varies_friction():
    robot = sledge(viscous=0.0)
    friction = np.zeros((3, 1, 4))
    friction[:, 0, 2:] = np.array([1.0, 3.0, 6.0])[:, None]
    for options in ({"method": "rk4", "dt": 1e-3}, {}):
        motion = robot.simulate(
            [0.0], [1.5], duration=3.0, parameters={"friction": friction}, **options
        )
        expected = 2.0 * 1.5**2 / 2 / np.array([1.0, 3.0, 6.0])
        assert motion.q[-1, 1:, 0] == pytest.approx(expected[1:], abs=1e-5)
        assert motion.q[-1, 0, 0] == pytest.approx(2.25, abs=1e-5)


@pytest.mark.parametrize("make", ["signal", "where"])
def test_a_force_that_jumps_at_a_result_finds_its_mode_there(make):
    """At t = 0.5, a time of a result, 9 N begin to pull on 3 N of friction and 2 kg."""
    from kinetree.scalars import where

    forces = {
        "signal": kt.simulate.signal([0.0, 0.5], [[1.0], [9.0]]),
        "where": lambda t: np.array([where(t >= 0.5, 9.0, 1.0)]),
    }
    motion = sledge().simulate([0.0], duration=1.0, tau=forces[make])
    friction = motion.tau[:, 0] - 2.0 * motion.ddq[:, 0]
    assert (abs(friction) <= 3.0 + 1e-8).all()
    at = int(np.argmin(abs(motion.t - 0.5)))
    assert motion.tau[at, 0] == 9.0 and motion.ddq[at, 0] == pytest.approx(3.0)
    assert motion.dq[-1, 0] == pytest.approx(1.5, rel=1e-9)


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_a_law_that_jumps_with_the_sign_of_the_rate_is_asked_at_rest(options, python):
    """It slows the sledge with 2 N, which 3 N hold at rest: m v^2 / 2 = 2 s."""

    def law(t, q, dq):
        return -2.0 + 3.0 * np.sign(dq)

    run = {"duration": 1.2, "controller": kt.python(law) if python else law, **options}
    motion = sledge().simulate([0.0], [1.0], **run)
    assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-3) and motion.dq[-1, 0] == 0
    weak = sledge(coulomb=1.5).simulate([0.0], [0.1], **run)  # 1.5 N do not hold it
    assert weak.dq[-1, 0] < 0


def test_computed_torque_from_an_offset_ends_alike_with_all_methods():
    arm = kt.robots.planar_2r().with_gravity((0, 0, 0))
    rough = arm.with_friction({name: kt.Friction(0, 1.0) for name in arm.joint_names})
    plan = kt.motion.quintic(np.zeros(2), np.array([1.0, -0.5]), duration=1.0, dt=0.01, robot=rough)
    law = kt.controllers.ComputedTorque(plan, 25.0, 10.0)
    ends = [
        rough.simulate([-0.2, -0.2], controller=law, duration=2.0, limits="ignore", **options).q[-1]
        for options in ALL
    ]
    assert np.abs(np.array(ends) - ends[-1]).max() < 2e-3
