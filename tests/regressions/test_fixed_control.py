"""Optimal control, controllers, and the energy of held torques, where they once were wrong."""

import math

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers, optimal
from kinetree.contacts import ContactPoint
from kinetree.errors import InputError, ModelError

ARM = kt.robots.double_pendulum()
BASE = slice(0, 6)  # degrees of freedom of a free base


def hopper(compliance):
    """A body that moves up and down on a leg with a round foot."""
    built = kt.Builder("hopper").link("world")
    built.link("body", 2, I_com=np.eye(3) * 0.02).link("foot", 0.2, I_com=np.eye(3) * 0.001)
    built.joint("lift", "prismatic", "world", "body", axis=(0, 0, 1))
    built.joint("slide", "prismatic", "body", "foot", at=(0, 0, -0.5), axis=(0, 0, 1))
    foot = ContactPoint("foot", "foot", radius=0.05)
    return built.build().with_contacts([foot], compliance=compliance)


def jump(**options):
    costs = [
        optimal.Posture(target=[0.95, 0.0], final=8.0),
        optimal.Effort(weight=1e-6),
    ]
    robot, limits = hopper(1e-5), {"limits": None, **options}
    return optimal.Problem(robot, dt=0.02, steps=30, actuated=["slide"], costs=costs, **limits)


@pytest.mark.parametrize("height", [0.5498, 0.6])
def test_a_plan_whose_gradient_is_not_small_is_stalled(height):
    """The kinks of a stiff contact let no step succeed, far from the optimum."""
    stalled = jump().solve([height, 0.0], iterations=300)
    better = jump(limits=200.0).solve([height, 0.0], iterations=300)
    assert better.cost < 0.2 * stalled.cost
    assert not stalled.converged and stalled.reason.startswith("stalled")


def test_plans_that_needed_regularisation_still_converge():
    costs = [
        optimal.Posture(target=[np.pi, 0.0], final=500.0),
        optimal.Rates(weight=0.01, final=50.0),
        optimal.Effort(weight=0.01),
    ]
    starts = np.random.default_rng(0).uniform(-0.5, 0.5, (12, 2))
    problem = optimal.Problem(ARM, dt=0.02, steps=60, actuated=["elbow"], limits=10.0, costs=costs)
    assert problem.solve(starts, iterations=400).converged.all()


def forces(law, robot):
    """Joint forces of a law beside the neutral position, in motion."""
    q = robot.integrate(robot.neutral(), np.full(robot.n, 0.1))
    dq = np.full(robot.n, 0.2)
    return controllers.step_by_step(law, robot)(0.0, q, dq)[0]


@pytest.mark.parametrize(
    "law",
    [
        lambda q: controllers.PD(q, kp=100.0, kd=5.0),
        lambda q: controllers.PD(q, kp=100.0, kd=5.0, gravity=True),
        lambda q: controllers.PID(q, kp=100.0, kd=5.0, ki=10.0),
        lambda q: controllers.GravityCompensation(kd=5.0),
    ],
)
def test_controllers_put_no_force_on_a_free_base(law):
    robot = kt.robots.quadruped()
    tau = forces(law(robot.neutral()), robot)
    np.testing.assert_array_equal(tau[BASE], 0)
    assert np.abs(tau[6:]).min() > 0


def test_a_free_base_in_simulation_falls_freely():
    robot = kt.robots.quadruped()
    start = robot.integrate(robot.neutral(), np.r_[np.zeros(6), np.full(robot.n - 6, 0.1)])
    law = controllers.PD(robot.neutral(), kp=100.0, kd=5.0)
    run = robot.simulate(start, controller=law, duration=0.05, method="DOP853", limits="ignore")
    np.testing.assert_array_equal(run.tau[:, BASE], 0)
    fallen = robot.center_of_mass(run.q)[-1, 2] - robot.center_of_mass(run.q)[0, 2]
    assert fallen == pytest.approx(-9.81 * 0.05**2 / 2, rel=1e-3)


@pytest.mark.parametrize("gain", ["kp", "kd", "ki"])
def test_gains_for_a_free_base_are_refused_by_name(gain):
    robot = kt.robots.quadruped()
    gains = {"kp": 100.0, "kd": 5.0, "ki": 1.0}
    gains[gain] = np.r_[0.0, 0, 0, 0, 0, 3.0, np.ones(robot.n - 6)]
    with pytest.raises(InputError) as refused:
        robot.simulate(
            robot.neutral(), controller=controllers.PID(robot.neutral(), **gains), duration=0.1
        )
    assert gain in str(refused.value) and "base.vz" in str(refused.value)
    assert "base.vy" not in str(refused.value)


def test_gains_for_legs_alone_are_those_of_a_number():
    robot = kt.robots.quadruped()
    each = np.r_[np.zeros(6), np.full(robot.n - 6, 100.0)]
    laws = [controllers.PD(robot.neutral(), kp=kp, kd=5.0) for kp in (each, np.diag(each), 100.0)]
    found = [forces(law, robot) for law in laws]
    np.testing.assert_allclose(found[:2], [found[2]] * 2)


@pytest.mark.parametrize(
    "law",
    [
        lambda q: controllers.ComputedTorque(q),
        lambda q: controllers.OperationalSpace(np.eye(4), 1.0, 1.0, frame="base"),
        lambda q: controllers.Impedance(np.eye(4), 1.0, 1.0, frame="base"),
    ],
)
def test_laws_that_need_a_motor_in_every_joint_refuse_a_free_base(law):
    robot = kt.robots.quadruped()
    with pytest.raises(ModelError, match=r"base\.vz"):
        robot.simulate(robot.neutral(), controller=law(robot.neutral()), duration=0.1)


def test_deflections_of_elastic_joints_have_no_motor():
    robot = kt.robots.planar_2r().with_elastic_joint("joint1", 1e3, motor_inertia=0.1)
    names = robot.model.dof_names
    tau = forces(controllers.PD(robot.neutral(), kp=100.0, kd=5.0, gravity=True), robot)
    assert [name for name, x in zip(names, tau, strict=True) if x == 0] == ["joint1_elastic"]


SHAKEN = np.random.default_rng(0).normal(0, 5, (21, 2))
HELD = {
    "controller": {
        "controller": controllers.Sampled(
            lambda t, q, dq: 20 * (np.array([1.0, 0.5]) - q) - 3 * dq, 0.1
        )
    },
    "signal": {"tau": kt.simulate.signal(np.linspace(0, 2, 21), SHAKEN, kind="hold")},
    "constant": {"tau": [5.0, 1.0]},
}


@pytest.mark.parametrize("acting", HELD)
@pytest.mark.parametrize("dt", [0.1, 0.05])
def test_the_work_of_held_torques_is_the_energy_gained(acting, dt):
    """Without friction the defect is the error of integration, also on a finer grid."""
    run = ARM.simulate(
        [0.0, 0.0], duration=2.0, method="DOP853", record=dt, rtol=1e-10, **HELD[acting]
    )
    for motion in (run, run.resample(0.025)):
        balance = motion.energy()
        assert np.abs(balance.defect[:: len(motion) // (len(run) - 1)]).max() < 1e-6


def test_the_work_of_held_torques_in_a_batch_and_of_quaternions():
    robot = kt.robots.quadruped()
    tau = np.random.default_rng(1).normal(0, 1, (6, 3, robot.n))
    tau[..., BASE] = 0
    run = robot.simulate(
        np.tile(robot.neutral(), (3, 1)), tau=kt.simulate.signal(np.arange(6) / 50, tau),
        duration=0.1, method="DOP853", record=0.02, limits="ignore",
    )  # fmt: skip
    balance = run.energy()
    assert balance.work.shape == (6, 3)
    assert np.abs(balance.defect).max() < 1e-6 * np.abs(balance.work).max()


def test_the_energy_panel_shows_a_defect_that_is_not_small():
    """An external wrench does work that no joint does."""
    robot = kt.robots.planar_2r()
    pushed = robot.simulate(
        [0.3, 0.2], F_ext=robot.wrenches({"tool": [0, 0, 0, 0, 20, 0]}), duration=0.5, dt=0.01
    )
    free = robot.simulate([0.3, 0.2], duration=0.5, dt=0.01)
    for run, shown in ((pushed, True), (free, False)):
        legend = run.plot(panels=["energy"]).axes[0].get_legend()
        assert ("defect" in [x.get_text() for x in legend.get_texts()]) == shown


def test_a_plan_has_the_energy_that_its_torques_gave():
    costs = [optimal.Posture(target=[1.0, 0.5], final=100.0), optimal.Effort(weight=1e-3)]
    problem = optimal.Problem(ARM, dt=0.02, steps=25, costs=costs, limits=[20.0, 5.0], method="rk4")
    balance = problem.solve([0.0, 0.0]).trajectory.energy()
    assert np.abs(balance.defect).max() < 1e-4 * np.abs(balance.work).max()


def drone():
    built = kt.Builder("drone").link("world").link("body", 1, I_com=np.eye(3) * 0.01)
    return built.joint("base", "free", "world", "body").build()


@pytest.mark.parametrize("limits", ["robot", None, 3.0])
def test_a_plan_for_a_robot_without_motors_is_refused(limits):
    with pytest.raises(ModelError, match=r"'drone'.*base\.vz"):
        optimal.Problem(drone(), dt=0.01, steps=10, costs=[optimal.Rates()], limits=limits)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_a_torque_that_has_no_value_names_itself_and_the_time(method):
    with pytest.raises(InputError, match=r"tau = '<lambda>'.* t = 0 s"):
        kt.robots.planar_2r().simulate(
            [0, 0], tau=lambda t: [math.sqrt(t - 0.5), 0], duration=1.0, method=method
        )
