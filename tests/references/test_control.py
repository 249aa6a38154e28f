"""Controllers against their equations and the closed forms of their closed loops."""

import numpy as np
import pytest
from reference_robots import cart, double_bias, double_mass_matrix, double_pendulum, pendulum
from scipy.linalg import expm

import kinetree as kt
from kinetree import controllers
from kinetree.controllers import MomentumObserver
from kinetree.errors import KinetreeError
from kinetree.scalars import clip, cos, sin
from spacing import by

ARM = kt.robots.ur5e()
RNG = np.random.default_rng(0)
Q, DQ, Q_D, DQ_D, DDQ_D = RNG.normal(size=(5, 6))
HOME = np.array([0, -0.3, 0, -2.0, 0, 1.8, 0.5])
EXACT = {"duration": 1.0, "dt": 2e-3, "method": "rk4", "limits": "ignore"}


def act(controller, z=None, robot=ARM):
    """Forces and rate of the state at t = 0.3, q and dq."""
    return controllers.step_by_step(controller, robot)(0.3, Q, DQ, z)


def reference(t):
    return Q_D, DQ_D, DDQ_D


# laws at one state


def test_joint_controllers_are_their_equations():
    kp, kd = RNG.uniform(1, 2, 6), 3.0
    g = ARM.gravity_forces(Q)
    heavier = ARM.with_payload(2.0)
    wanted = DDQ_D + 4 * (DQ_D - DQ) + 9 * (Q_D - Q)
    pd = kp * (Q_D - Q) + kd * (DQ_D - DQ)
    expected = {
        "gravity": (controllers.GravityCompensation(kd=2.0), g - 2 * DQ),
        "gravity of another": (
            controllers.GravityCompensation(model=heavier), heavier.gravity_forces(Q)
        ),
        "pd": (controllers.PD(reference, kp, kd), pd),
        "pd with gravity": (controllers.PD(reference, kp, kd, gravity=True), pd + g),
        "pd of a position": (controllers.PD(Q_D, kp, kd), kp * (Q_D - Q) - kd * DQ),
        "computed torque": (
            controllers.ComputedTorque(reference, kp=9.0, kd=4.0),
            ARM.inverse_dynamics(Q, DQ, wanted),
        ),
        "computed torque of another": (
            controllers.ComputedTorque(reference, kp=9.0, kd=4.0, model=heavier),
            heavier.inverse_dynamics(Q, DQ, wanted),
        ),
    }  # fmt: skip
    for name, (law, tau) in expected.items():
        np.testing.assert_allclose(act(law)[0], tau, atol=1e-10, err_msg=name)


def test_the_integral_of_pid_is_bounded():
    z = np.array([0.5, -0.5, 5, -5, 0.1, 0])
    law = controllers.PID(reference, kp=2.0, kd=1.0, ki=0.5, bound=0.2)
    tau = act(law, z)[0]
    integral = 0.5 * np.clip(z, -0.2, 0.2)
    np.testing.assert_allclose(tau, 2 * (Q_D - Q) + DQ_D - DQ + integral, atol=1e-12)
    free = controllers.PID(reference, kp=2.0, kd=1.0, ki=0.5)
    np.testing.assert_allclose(act(free, z)[0] - tau, 0.5 * z - integral, atol=1e-12)
    np.testing.assert_allclose(act(free, z)[1], Q_D - Q, atol=1e-12)


def test_an_integral_beyond_its_bound_is_drawn_back():
    """A cart that friction holds beside its goal: its error is integrated up to the bound alone."""
    robot = cart(friction=kt.friction.Friction(coulomb=50.0))
    law = controllers.PID([1.0], kp=5.0, kd=1.0, ki=10.0, bound=0.3)
    motion = robot.simulate([0.0], duration=2, dt=1e-3, method="rk4", controller=law)
    z = motion.meta["controller_state"][:, 0]
    assert (motion.q == 0).all() and z[250] == pytest.approx(0.25) and z.max() < 0.302
    np.testing.assert_allclose(motion.tau[-1], 5 + 10 * 0.3, atol=1e-6)


def tool_twist(q, dq):
    """Twist of the tool in the axes of {s} at its origin."""
    R, V = ARM.pose(q)[:3, :3], ARM.body_jacobian(q) @ dq
    return np.concatenate([R @ V[:3], R @ V[3:]])


def test_operational_space_control_gives_the_wanted_acceleration():
    V_d, dV_d = RNG.normal(size=(2, 6))
    T_d = ARM.pose(Q_D)
    posture = controllers.Posture(Q_D, 2.0, 1.0)
    law = controllers.OperationalSpace(lambda t: (T_d, V_d, dV_d), kp=9.0, kd=4.0, posture=posture)
    ddq, e = ARM.forward_dynamics(Q, DQ, act(law)[0]), 1e-6

    def twist(t):
        return tool_twist(Q + t * DQ + t * t / 2 * ddq, DQ + t * ddq)

    dV, T = (twist(e) - twist(-e)) / (2 * e), ARM.pose(Q)
    turn = T_d[:3, :3] @ T[:3, :3].T
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    error = np.concatenate([axis / 2, T_d[:3, 3] - T[:3, 3]])
    np.testing.assert_allclose(dV, dV_d + 4 * (V_d - twist(0)) + 9 * error, atol=1e-6)
    with pytest.raises(KinetreeError):
        act(controllers.OperationalSpace(T_d, 1.0, 1.0, frame="hand"))


def test_rows_choose_directions():
    T_d = ARM.pose(Q)
    T_d[2, 3] += 0.1
    law = controllers.OperationalSpace(T_d, kp=100.0, kd=0.0, rows=[3, 4, 5])
    tau = controllers.step_by_step(law, ARM)(0, Q, 0 * DQ)[0]
    ddq, e = ARM.forward_dynamics(Q, 0 * DQ, tau), 1e-6
    dV = (tool_twist(Q, e * ddq) - tool_twist(Q, -e * ddq)) / (2 * e)
    np.testing.assert_allclose(dV[3:], [0, 0, 10.0], atol=1e-7)


def test_an_impedance_is_a_spring_and_a_damper_beside_the_wanted_acceleration():
    K, D, e = np.arange(10.0, 16.0), np.arange(1.0, 7.0), 1e-6
    T_d, V_d = ARM.pose(Q_D), RNG.normal(size=6)

    def tau(K, D):
        return act(controllers.Impedance(lambda t: (T_d, V_d), K=K, D=D))[0]

    R, J_b = ARM.pose(Q)[:3, :3], ARM.body_jacobian(Q)
    J = np.concatenate([R @ J_b[:3], R @ J_b[3:]])
    damper = J.T @ (D * (V_d - J @ DQ))
    np.testing.assert_allclose(tau(K, D) - tau(K, 0 * D), damper, atol=1e-9)
    spring = tau(K, D) - tau(0 * K, D)
    moved = np.linalg.solve(J.T, spring)[3:] / K[3:]
    np.testing.assert_allclose(moved, T_d[:3, 3] - ARM.pose(Q)[:3, 3], atol=1e-9)
    ddq = ARM.forward_dynamics(Q, DQ, tau(0 * K, 0 * D))
    ends = [tool_twist(Q + s * DQ + s * s / 2 * ddq, DQ + s * ddq) for s in (e, -e)]
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * e), 0, atol=1e-6)


# closed loops in closed form


def test_a_cart_under_pid_is_a_linear_system():
    m, kp, kd, ki, goal = 2.0, 30.0, 4.0, 20.0, 0.5
    law = controllers.PID([goal], kp=kp, kd=kd, ki=ki)
    motion = cart(m).simulate([0], [0.3], duration=2, controller=law, **by("DOP853", 0.02))
    A = np.array([[0, 1, 0], [-kp / m, -kd / m, ki / m], [-1, 0, 0]])
    x = np.array([expm(A * t) @ [-goal, 0.3, 0] for t in motion.t])
    np.testing.assert_allclose(motion.q[:, 0], goal + x[:, 0], atol=1e-7)
    np.testing.assert_allclose(motion.meta["controller_state"][:, 0], x[:, 2], atol=1e-7)


def test_the_error_of_computed_torque_obeys_its_linear_equation():
    """e'' + kd e' + kp e = 0, also of a robot with friction that it knows."""
    robot = double_pendulum(*[{"friction": kt.friction.Friction(viscous=0.5)}] * 2)

    def follow(t):
        w = np.array([2.0, 3.0])
        return (np.array([sin(2 * t), 0.5 * cos(3 * t)]),
                np.array([2 * cos(2 * t), -1.5 * sin(3 * t)]),
                np.array([-4 * sin(2 * t), -0.5 * w[1] ** 2 * cos(3 * t)]))  # fmt: skip

    kp, kd = 25.0, 6.0
    law = controllers.ComputedTorque(follow, kp=kp, kd=kd)
    motion = robot.simulate(
        [0.3, 0.1], [0.0, 1.0], duration=1.5, controller=law, **by("LSODA", 0.05)
    )
    A = np.array([[0, 1], [-kp, -kd]])
    e0, de0 = np.array([0.3, 0.1 - 0.5]), np.array([-2.0, 1.0])
    for t, q in zip(motion.t, motion.q, strict=True):
        wanted = np.array([np.sin(2 * t), 0.5 * np.cos(3 * t)])
        e = (expm(A * t) @ np.stack([e0, de0]))[0]
        np.testing.assert_allclose(q - wanted, e, atol=1e-7)


def test_gravity_compensation_holds_a_robot_and_pd_sags_by_its_weight():
    robot, q = double_pendulum(), np.array([0.8, -0.4])
    held = robot.simulate(q, duration=1, controller=controllers.GravityCompensation())
    np.testing.assert_allclose(held.q[-1], q, atol=1e-9)
    law = controllers.PD(q, kp=200.0, kd=40.0)
    sagged = robot.simulate(q, duration=10, controller=law, **by("DOP853", 0.1))
    np.testing.assert_allclose(200 * (q - sagged.q[-1]), double_bias(sagged.q[-1], [0, 0]),
                               atol=1e-5)  # fmt: skip


def profile(t):
    s = clip(t, 0, 1)
    u = s * s * s * (10 - 15 * s + 6 * s * s)
    return u, 30 * s * s * (1 - s) * (1 - s), 60 * s * (1 - s) * (1 - 2 * s)


def test_task_space_control_moves_a_hand_along_a_line_with_its_posture():
    robot, way = kt.robots.panda(), np.array([0.1, 0.15, -0.1])
    T = robot.pose(HOME)

    def line(t):
        u, du, ddu = profile(t)
        p = T[:3, 3] + way * u
        pose = np.array([[*T[i, :3], p[i]] for i in range(3)] + [[0, 0, 0, 1]])
        zero = np.zeros(3, int)
        return pose, np.concatenate([zero, way * du]), np.concatenate([zero, way * ddu])

    posture = controllers.Posture(HOME + 0.3 * np.eye(7)[0], kp=25.0, kd=10.0)
    law = controllers.OperationalSpace(line, kp=400.0, kd=40.0, posture=posture)
    masses = robot.model.m * np.array([[1.0], [1.3]])
    motion = robot.simulate(HOME, controller=law, parameters={"mass": masses}, **EXACT)
    assert motion.meta["compiled"]
    found = robot.pose(motion.q)
    for k, t in enumerate(motion.t):
        wanted = T[:3, 3] + way * float(profile(float(t))[0])
        np.testing.assert_allclose(found[k, :, :3, 3], [wanted] * 2, atol=1e-6)
    np.testing.assert_allclose(found[-1, :, :3, :3], [T[:3, :3]] * 2, atol=1e-6)
    plain = controllers.OperationalSpace(line, kp=400.0, kd=40.0,
                                         posture=controllers.Posture(HOME, 25.0, 10.0))  # fmt: skip
    other = robot.simulate(HOME, controller=plain, **EXACT)
    assert abs(other.q[-1] - motion.q[-1, 0]).max() > 0.02  # the null space moves


def test_an_impedance_yields_by_the_force_over_its_stiffness():
    robot, force, spring = kt.robots.panda(), np.array([0.0, 0, -4.0]), 400.0
    posture = controllers.Posture(HOME, kp=25.0, kd=10.0)
    K, D = [30.0] * 3 + [spring] * 3, [2.0] * 3 + [80.0] * 3
    law = controllers.Impedance(robot.pose(HOME), K=K, D=D, posture=posture)
    start = robot.pose(HOME)
    push = np.concatenate([np.zeros(3), start[:3, :3].T @ force])
    motion = robot.simulate(
        HOME, controller=law, F_ext=robot.wrenches({robot.model.tool: push}), every=500,
        **EXACT | {"duration": 4.0},
    )  # fmt: skip
    moved = robot.pose(motion.q[-1])[:3, 3] - start[:3, 3]
    np.testing.assert_allclose(moved, force / spring, atol=5e-4)
    still = controllers.step_by_step(controllers.Impedance(start, K=100.0, D=10.0), robot)
    np.testing.assert_allclose(still(0, HOME, 0 * HOME)[0], robot.gravity_forces(HOME), atol=1e-9)


def test_step_by_step_is_the_controller_of_a_simulation():
    law = controllers.PID(np.array([0.5, 0.2]), kp=30.0, kd=5.0, ki=10.0)
    robot, dt = double_pendulum(), 1 / 512
    motion = robot.simulate([0.1, 0.1], duration=20 * dt, dt=dt, method="euler", controller=law)
    step = controllers.step_by_step(law, robot)
    q, dq, z = np.array([0.1, 0.1]), np.zeros(2), np.zeros(2)
    for k in range(20):
        tau, dz = step(k * dt, q, dq, z)
        np.testing.assert_allclose(motion.tau[k], tau, atol=1e-12)
        q, dq = robot.step(q, dq, tau, dt, method="euler")
        z = z + dt * dz
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-12)


def test_references_may_be_trajectories_which_stand_still_before_and_after():
    robot = double_pendulum()
    plan = kt.motion.quintic([0, 0], [1.0, -0.5], duration=0.5, dt=0.01, robot=robot)
    law = controllers.ComputedTorque(plan, kp=400.0, kd=40.0)
    motion = robot.simulate([0, 0], duration=1, controller=law, **by("DOP853", 0.01))
    np.testing.assert_allclose(motion.q[:51], plan.q, atol=1e-5)
    np.testing.assert_allclose(motion.q[50:], np.tile([1.0, -0.5], (51, 1)), atol=1e-5)


def test_a_joint_that_friction_holds_beside_its_goal_is_named():
    robot = pendulum(friction=kt.friction.Friction(0, 3.0))
    law = controllers.PD([0.4], kp=20.0, kd=2.0, gravity=True)
    motion = robot.simulate([0.3], duration=0.5, dt=1e-3, method="rk4", controller=law)
    (stuck,) = motion.meta["stuck"]
    assert "hinge" in str(stuck)
    plan = kt.motion.quintic([0.3], [0.8], duration=0.5, dt=0.01, robot=robot)
    law = controllers.ComputedTorque(plan)
    arrived = robot.simulate([0.3], duration=0.7, dt=1e-3, method="rk4", controller=law)
    assert arrived.meta["stuck"] == () and arrived.q[-1, 0] == pytest.approx(0.8, abs=1e-3)


# observer


def low_pass(t, x, gain):
    """r of dr/dt = K (x - r), with x linear between samples: closed form."""
    r, a = np.zeros(x.shape), np.exp(-gain * (t[1] - t[0]))
    for k in range(len(t) - 1):
        slope = (x[k + 1] - x[k]) / (t[1] - t[0])
        r[k + 1] = a * r[k] + (1 - a) * (x[k] - slope / gain) + slope * (t[1] - t[0])
    return r


def test_the_observer_shows_external_forces_behind_a_low_pass():
    """The error of its trapezoidal rule falls by four with half the step."""
    robot, gain = double_pendulum(*[{"friction": kt.friction.Friction(viscous=0.4)}] * 2), 20.0
    F = robot.wrenches({"lower": [0.3, -0.2, 0.5, 4.0, -3.0, 6.0]})
    tau, errors = np.array([2.0, 1.0]), []
    for dt in (2e-3, 1e-3):
        motion = robot.simulate([0.5, -0.3], [1.0, 0.5], duration=0.6, tau=tau, F_ext=F,
                                **by("DOP853", dt, rtol=1e-11, atol=1e-12))  # fmt: skip
        pushed = [
            double_mass_matrix(q) @ a + double_bias(q, v) + 0.4 * v - tau
            for q, v, a in zip(motion.q, motion.dq, motion.ddq, strict=True)
        ]
        forces = np.tile(tau, (len(motion), 1))
        r = MomentumObserver(robot, gain).run(motion.t, motion.q, motion.dq, forces)
        errors.append(np.abs(r - low_pass(motion.t, np.array(pushed), gain)).max())
    assert errors[0] < 0.02 and errors[1] < 0.3 * errors[0]


def test_steps_of_the_observer_are_its_run_and_an_offset_is_subtracted():
    robot, t = kt.robots.panda(friction=True), 1e-3 * np.arange(200)
    q = 0.3 * np.sin(3 * t[:, None] + np.arange(7))
    dq, tau = 0.9 * np.cos(3 * t[:, None] + np.arange(7)), RNG.normal(size=(200, 7))
    observer = MomentumObserver(robot, np.linspace(5, 80, 7))
    whole = observer.run(t, q, dq, tau)
    state = observer.start(q[0], dq[0], tau[0])
    for k in range(1, 200):
        state = observer.step(state, q[k], dq[k], tau[k], 1e-3)
        np.testing.assert_allclose(state.external, whole[k], atol=1e-9)
    batch = observer.run(t, np.array([q, q + 0.1]), dq, tau)
    np.testing.assert_array_equal(batch[0], whole)
    shifted = MomentumObserver(robot, np.linspace(5, 80, 7), offset=0.3).run(t, q, dq, tau)
    np.testing.assert_allclose(shifted, observer.run(t, q, dq, tau - 0.3), atol=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        controllers.ComputedTorque([0.0, 0.0], model=kt.robots.panda()),
        controllers.OperationalSpace(2 * np.eye(4), 1.0, 1.0),
    ],
)
def test_laws_of_another_robot_or_of_no_pose_are_refused(law):
    with pytest.raises(KinetreeError):
        kt.robots.double_pendulum().simulate([0.1, 0.2], controller=law, duration=0.01)
