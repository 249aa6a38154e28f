"""Controllers by their equations, at one state."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms, controllers
from kinetree.errors import InputError, ShapeError
from kinetree.model import ALL_TYPES, random_model

DRIVEN = [x for x in ALL_TYPES if x != "free"]
ROBOT = kt.robots.ur5e()
MODEL = ROBOT.model
RNG = np.random.default_rng(0)
Q, DQ, Q_D, DQ_D, DDQ_D = RNG.normal(size=(5, MODEL.n))


def reference(t):
    return Q_D, DQ_D, DDQ_D


def act(controller, z=None, model=MODEL):
    law = controllers.step_by_step(controller, model)
    assert law.note is None
    return law(0.3, Q, DQ, z)


def test_gravity_compensation():
    tau, dz = act(controllers.GravityCompensation(kd=2.0))
    assert np.allclose(tau, ROBOT.gravity_forces(Q) - 2 * DQ, atol=1e-11) and dz.shape == (0,)
    other = ROBOT.with_payload(1.0)
    tau, _ = act(controllers.GravityCompensation(model=other))
    assert np.allclose(tau, other.gravity_forces(Q), atol=1e-11)


def test_pd_with_and_without_gravity():
    kp, kd = RNG.uniform(1, 2, MODEL.n), np.eye(MODEL.n) * 3
    plain = kp * (Q_D - Q) + 3 * (DQ_D - DQ)
    assert np.allclose(act(controllers.PD(reference, kp, kd))[0], plain, atol=1e-12)
    tau, _ = act(controllers.PD(reference, kp, kd, gravity=True))
    assert np.allclose(tau, plain + ROBOT.gravity_forces(Q), atol=1e-11)
    resting, _ = act(controllers.PD(Q_D, kp, kd))
    assert np.allclose(resting, kp * (Q_D - Q) - 3 * DQ, atol=1e-12)


def test_pid_carries_the_integral():
    z = RNG.normal(size=MODEL.n)
    law = controllers.PID(reference, kp=2.0, kd=1.0, ki=0.5)
    tau, dz = act(law, z)
    assert np.allclose(tau, 2 * (Q_D - Q) + DQ_D - DQ + 0.5 * z, atol=1e-12)
    assert np.allclose(dz, Q_D - Q, atol=1e-12)
    bound, _ = act(controllers.PID(reference, kp=0, kd=0, ki=1.0, bound=0.2), z * 10)
    assert np.allclose(bound, np.clip(z * 10, -0.2, 0.2), atol=1e-12)


def test_computed_torque_is_inverse_dynamics():
    wanted = DDQ_D + 4 * (DQ_D - DQ) + 9 * (Q_D - Q)
    tau, _ = act(controllers.ComputedTorque(reference, kp=9.0, kd=4.0))
    assert np.allclose(tau, ROBOT.inverse_dynamics(Q, DQ, wanted), atol=1e-10)
    wrong = ROBOT.with_payload(2.0)
    tau, _ = act(controllers.ComputedTorque(reference, kp=9.0, kd=4.0, model=wrong))
    assert np.allclose(tau, wrong.inverse_dynamics(Q, DQ, wanted), atol=1e-10)


def test_operational_space_gives_the_wanted_acceleration():
    V_d, dV_d = RNG.normal(size=(2, 6))
    T_d = ROBOT.pose(Q_D)
    law = controllers.OperationalSpace(
        lambda t: (T_d, V_d, dV_d), kp=9.0, kd=4.0, posture=controllers.Posture(Q_D, 2.0, 1.0)
    )
    tau, _ = act(law)
    ddq = ROBOT.forward_dynamics(Q, DQ, tau)
    T, V, dV = motion_of_tool(Q, DQ, ddq)
    turn = T_d[:3, :3] @ T[:3, :3].T
    e = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
    error = np.concatenate([e, T_d[:3, 3] - T[:3, 3]])
    assert np.allclose(dV, dV_d + 4 * (V_d - V) + 9 * error, atol=1e-8)


def motion_of_tool(q, dq, ddq):
    """Pose, twist and its rate in the axes of {s}, by differences along the motion."""
    e = 1e-6

    def twist(t):
        position, rate = q + t * dq + t * t / 2 * ddq, dq + t * ddq
        R, V = ROBOT.pose(position)[:3, :3], ROBOT.body_jacobian(position) @ rate
        return np.concatenate([R @ V[:3], R @ V[3:]])

    J, dJ = ROBOT.body_jacobian(q), ROBOT.body_jacobian_rate(q, dq)
    R, V = ROBOT.pose(q)[:3, :3], J @ dq
    a = J @ ddq + dJ @ dq
    dV = np.concatenate([R @ a[:3], R @ (a[3:] + np.cross(V[:3], V[3:]))])
    assert np.allclose(dV, (twist(e) - twist(-e)) / (2 * e), atol=1e-7)
    return ROBOT.pose(q), twist(0.0), dV


def test_rows_choose_directions_and_damping_bounds_forces():
    T_d = ROBOT.pose(Q)
    T_d[2, 3] += 0.1
    law = controllers.OperationalSpace(T_d, kp=100.0, kd=0.0, rows=[3, 4, 5])
    ddq = ROBOT.forward_dynamics(Q, 0 * DQ, controllers.step_by_step(law, ROBOT)(0, Q, 0 * DQ)[0])
    _, _, dV = motion_of_tool(Q, 0 * DQ, ddq)
    assert np.allclose(dV[3:], [0, 0, 10.0], atol=1e-8)
    straight = np.zeros(MODEL.n)  # the arm stretched out: no way along it
    reach = controllers.OperationalSpace(ROBOT.pose(straight), kp=1.0, kd=1.0, damping=0.1)
    tau, _ = controllers.step_by_step(reach, ROBOT)(0, straight, DQ)
    assert np.isfinite(tau).all() and abs(tau).max() < 1e4


def test_impedance_at_its_goal_only_carries_the_robot():
    law = controllers.Impedance(ROBOT.pose(Q), K=100.0, D=10.0)
    tau, _ = controllers.step_by_step(law, ROBOT)(0, Q, 0 * DQ)
    assert np.allclose(tau, ROBOT.gravity_forces(Q), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_adaptive_control_by_its_equations(seed):
    """tau = M ddq_r + C dq_r + g + friction - kd s, and theta . dz = -gamma s . Y theta.

    Robots have every type of joint with motors, rotors, armature, friction and springs.
    """
    rng, model = np.random.default_rng(seed), random_model(seed, 4, types=DRIVEN)
    robot = kt.Robot(model)
    q = robot.random(rng=rng)
    dq, dq_r, ddq_d = rng.normal(size=(3, model.n))
    s, ddq_r = dq - dq_r, ddq_d + 2 * (dq_r - dq)
    law = controllers.Adaptive(lambda t: (q, dq_r, ddq_d), lam=2.0, kd=3.0, gamma=0.5, guess=robot)
    step = controllers.step_by_step(law, robot)
    tau, dz = step(0.0, q, dq)
    expected = algorithms.mass_matrix(model, q) @ ddq_r - 3 * s
    expected = expected + algorithms.coriolis_matrix(model, q, dq) @ dq_r
    expected = expected + algorithms.gravity_forces(model, q)
    expected = expected + algorithms.friction_forces(model, dq) + algorithms.spring_forces(model, q)
    size = max(1, np.abs(expected).max())
    assert np.allclose(tau, expected, atol=1e-10 * size)
    theta = rng.normal(size=dz.shape)
    linear = step(0.0, q, dq, theta)[0] - step(0.0, q, dq, 0 * theta)[0]  # Y theta
    assert theta @ dz == pytest.approx(-0.5 * s @ linear, rel=1e-9, abs=1e-9)
    empty = controllers.step_by_step(controllers.Adaptive(reference, 2.0, 3.0, 0.5), ROBOT)
    assert empty.start.shape == (60,) and not empty.start.any()


def test_a_law_with_a_reference_and_one_that_python_runs():
    law = controllers.Law(lambda t, q, dq, q_d: q_d - q + t, reference=lambda t: Q_D * t)
    assert np.allclose(act(law)[0], 0.3 * Q_D - Q + 0.3)
    branching = controllers.step_by_step(lambda t, q, dq: -dq if q[0] > 0 else dq, ROBOT)
    assert "has no truth value" in branching.note
    assert np.array_equal(branching(0.0, abs(Q), DQ)[0], -DQ)


def test_a_trajectory_is_a_reference():
    times = np.linspace(0, 1, 21)
    motion = kt.simulate.Trajectory(
        t=times, q=np.outer(times**3, Q_D), dq=np.outer(3 * times**2, Q_D),
        ddq=np.outer(6 * times, Q_D), model=MODEL,
    )  # fmt: skip
    law = controllers.step_by_step(controllers.PD(motion, kp=1.0, kd=1.0), ROBOT)
    tau, _ = law(0.512, Q, DQ)
    assert np.allclose(tau, 0.512**3 * Q_D - Q + 3 * 0.512**2 * Q_D - DQ, atol=1e-12)
    late, _ = law(2.0, Q, DQ)
    assert np.allclose(late, Q_D - Q - DQ, atol=1e-12)  # it stands still at its end


def test_step_by_step_broadcasts_over_states():
    law = controllers.step_by_step(controllers.ComputedTorque(reference, 9.0, 4.0), ROBOT)
    many = RNG.normal(size=(5, 3, MODEL.n))
    tau, _ = law(0.1, many, DQ)
    assert tau.shape == (5, 3, MODEL.n)
    assert np.allclose(tau[4, 1], law(0.1, many[4, 1], DQ)[0], atol=1e-12)


def test_a_loop_of_ones_own_is_the_simulation():
    """Semi-implicit steps by hand, with the integral carried along."""
    robot, dt = kt.robots.planar_2r(), 1e-3
    pid = controllers.PID([0.4, 0.2], kp=30.0, kd=5.0, ki=10.0)
    law = controllers.step_by_step(pid, robot)
    q, dq, z = np.array([0.1, 0.3]), np.zeros(2), law.start
    motion = robot.simulate(
        q, controller=pid, duration=0.1, dt=dt, method="semi_implicit_euler", limits="ignore"
    )
    for k in range(100):
        assert np.allclose(motion.q[k], q, atol=1e-11)
        assert np.allclose(motion.meta["controller_state"][k], z, atol=1e-12)
        tau, dz = law(k * dt, q, dq, z)
        dq = dq + dt * robot.forward_dynamics(q, dq, tau)
        q, z = q + dt * dq, z + dt * dz


@pytest.mark.parametrize("joint", ["spherical", "planar"])
def test_computed_torque_leads_turning_joints_home(joint):
    model = random_model(2, 2, types=(joint,), chain=True, drives=False)
    robot, rng = kt.Robot(model), np.random.default_rng(3)
    q0, goal = robot.random(rng=rng), robot.random(rng=rng)
    law = controllers.ComputedTorque(goal, kp=25.0, kd=10.0)
    motion = robot.simulate(q0, controller=law, duration=6.0)
    assert abs(robot.difference(motion.q[-1], goal)).max() < 1e-5


def test_gains_and_references_that_make_no_sense():
    with pytest.raises(InputError, match="kp is not positive semi-definite"):
        ROBOT.simulate(Q, controller=controllers.PD(Q_D, -1.0, 1.0), duration=1.0)
    with pytest.raises(ShapeError, match=r"kd has shape \(2,\)"):
        ROBOT.simulate(Q, controller=controllers.PD(Q_D, 1.0, [1.0, 1.0]), duration=1.0)
    with pytest.raises(ShapeError, match=r"q of the reference has shape \(3,\)"):
        ROBOT.simulate(Q, controller=controllers.PD(np.zeros(3), 1.0, 1.0), duration=1.0)
    with pytest.raises(InputError, match="expected a position q"):
        ROBOT.simulate(Q, controller=controllers.PD("home", 1.0, 1.0), duration=1.0)
    with pytest.raises(InputError, match="bound of the integral"):
        law = controllers.PID(Q_D, 1.0, 1.0, 1.0, bound=-1)
        ROBOT.simulate(Q, controller=law, duration=1.0)
    with pytest.raises(InputError, match="rows are"):
        law = controllers.OperationalSpace(ROBOT.pose(Q), 1.0, 1.0, rows=[7])
        ROBOT.simulate(Q, controller=law, duration=1.0)
    with pytest.raises(ShapeError, match=r"expected a pose \(4, 4\)"):
        ROBOT.simulate(Q, controller=controllers.Impedance(Q, 1.0, 1.0), duration=1.0)
    with pytest.raises(InputError, match="gamma has shape"):
        law = controllers.Adaptive(Q_D, 1.0, 1.0, gamma=[1.0, 2.0])
        ROBOT.simulate(Q, controller=law, duration=1.0)
