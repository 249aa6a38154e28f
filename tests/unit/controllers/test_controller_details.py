"""Controllers on robots with friction, armature and rotors, over batches, with wrong arguments."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError, ShapeError
from kinetree.model import random_model

ROBOT = kt.robots.spatial_3r()
MODEL = ROBOT.model
RNG = np.random.default_rng(7)
Q, DQ, Q_D, DQ_D, DDQ_D = RNG.normal(size=(5, MODEL.n)) * 0.7


def reference(t):
    return Q_D, DQ_D, DDQ_D


def proportional(model, q, *parts, kp=1.0):
    """kp times the error of a reference with these parts, for a robot at rest."""
    law = controllers.PD(parts[0] if parts else Q_D, kp, 0.0)
    return law.act(model, 0.0, q, np.zeros(model.n), np.zeros(0), {"reference": parts})[0]


def test_estimates_move_at_rates_of_their_own():
    """gamma as a number, (10,) and (links, 10): each estimate's rate is multiplied."""
    links = len(MODEL.links)
    rates = np.random.default_rng(2).uniform(0.1, 2, (links, 10))
    plain = controllers.step_by_step(controllers.Adaptive(reference, 2.0, 3.0, 1.0), ROBOT)
    _, one = plain(0.0, Q, DQ)
    assert np.abs(one).max() > 0
    for gamma in (2.5, rates[0], rates):
        law = controllers.Adaptive(reference, 2.0, 3.0, gamma)
        _, dz = controllers.step_by_step(law, ROBOT)(0.0, Q, DQ)
        wanted = one.reshape(links, 10) * np.broadcast_to(gamma, (links, 10))
        assert np.allclose(dz.reshape(links, 10), wanted, rtol=1e-12, atol=1e-13)
    for wrong in (np.ones((links, 11)), np.ones(9), -1.0, -rates):
        with pytest.raises(InputError, match=r"gamma has shape .*>= 0"):
            ROBOT.simulate(Q, controller=controllers.Adaptive(Q_D, 1, 1, wrong), duration=0.1)
    controllers.step_by_step(controllers.Adaptive(reference, 2.0, 3.0, 0.0), ROBOT)


def test_the_integral_is_drawn_back_within_a_millisecond():
    z = np.array([0.5, -0.5, 0.1])
    bound = np.array([0.2, 0.3, 0.2])
    law = controllers.PID(reference, kp=2.0, kd=1.0, ki=0.5, bound=bound)
    tau, dz = controllers.step_by_step(law, ROBOT)(0.0, Q, DQ, z)
    held = np.clip(z, -bound, bound)
    assert np.allclose(dz, Q_D - Q + (held - z) / 1e-3, rtol=1e-12)
    assert np.allclose(tau, 2 * (Q_D - Q) + DQ_D - DQ + 0.5 * held, atol=1e-12)
    for wrong in (0, -1.0, [1, 0, 1]):
        law = controllers.PID(reference, 1.0, 1.0, 1.0, bound=wrong)
        with pytest.raises(InputError, match=r"bound of the integral is .*; expected above 0"):
            ROBOT.simulate(Q, controller=law, duration=0.1)


def test_gravity_of_another_robot_is_added():
    other = ROBOT.with_payload(2.0)
    for kind in (controllers.PD, controllers.PID):
        options = {"ki": 0.0} if kind is controllers.PID else {}
        made = {x: kind(reference, kp=1.0, kd=2.0, gravity=x, **options)
                for x in (False, True, other)}  # fmt: skip
        tau = {x: controllers.step_by_step(law, ROBOT)(0.0, Q, DQ)[0] for x, law in made.items()}
        assert np.allclose(tau[True] - tau[False], ROBOT.gravity_forces(Q), atol=1e-11)
        assert np.allclose(tau[other] - tau[False], other.gravity_forces(Q), atol=1e-11)
    free = controllers.step_by_step(controllers.GravityCompensation(), ROBOT)(0.0, Q, DQ)[0]
    assert np.allclose(free, ROBOT.gravity_forces(Q), atol=1e-11)


def test_laws_that_python_runs_take_every_state_of_a_batch():
    law = controllers.step_by_step(lambda t, q, dq: t - dq if q[0] > 0 else dq, ROBOT)
    assert law.note is not None
    many = RNG.normal(size=(5, 3, MODEL.n))
    tau, dz = law(0.5, many, DQ)
    assert tau.shape == (5, 3, MODEL.n) and dz.shape == (5, 3, 0)
    for at in np.ndindex(5, 3):
        assert np.array_equal(tau[at], 0.5 - DQ if many[at][0] > 0 else DQ)
    rows, _ = law(0.5, Q, many)
    assert rows.shape == (5, 3, MODEL.n)
    assert np.array_equal(rows[4, 2], 0.5 - many[4, 2] if Q[0] > 0 else many[4, 2])


def jacobian_of_tool(robot, q, dq):
    """J and its bias in the axes of {s}, by differences of the pose."""
    e = 1e-6

    def twist(q, dq):
        R, V = robot.pose(q)[:3, :3], robot.body_jacobian(q) @ dq
        return np.concatenate([R @ V[:3], R @ V[3:]])

    J = np.stack([twist(q, unit) for unit in np.eye(robot.n)], axis=1)
    bias = (twist(q + e * dq, dq) - twist(q - e * dq, dq)) / (2 * e)
    return J, bias


@pytest.mark.parametrize("rows", [(3, 4, 5), (5, 0)])
@pytest.mark.parametrize("posture", [False, True])
def test_impedance_yields_like_a_spring_and_a_damper(rows, posture):
    """J ddq + bias - dV_d = (J M^-1 J^T) (D eV + K e), on the chosen rows."""
    V_d, dV_d = RNG.normal(size=(2, 6))
    T_d = ROBOT.pose(Q + 0.2)
    K, D = np.arange(1.0, 1 + len(rows)) * 10, np.arange(1.0, 1 + len(rows))
    rest = controllers.Posture(reference, 2.0, 1.0) if posture else None
    law = controllers.Impedance(lambda t: (T_d, V_d, dV_d), K, D, rows=rows, posture=rest)
    tau, _ = controllers.step_by_step(law, ROBOT)(0.2, Q, DQ)
    ddq = ROBOT.forward_dynamics(Q, DQ, tau)
    J, bias = jacobian_of_tool(ROBOT, Q, DQ)
    T, own = ROBOT.pose(Q), list(rows)
    turn = T_d[:3, :3] @ T[:3, :3].T
    e = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
    e = np.concatenate([e, T_d[:3, 3] - T[:3, 3]])[own]
    eV = (V_d - J @ DQ)[own]
    A = J[own] @ np.linalg.solve(ROBOT.mass_matrix(Q), J[own].T)
    wanted = dV_d[own] + A @ (D * eV + K * e)
    assert np.linalg.cond(A) < 1e6
    assert np.allclose((J @ ddq + bias)[own], wanted, atol=1e-6 * max(1, np.abs(wanted).max()))


def test_the_posture_moves_what_the_task_leaves():
    """A planar point has one direction; the rest of M (ddq - ddq_0) is J^T times a force."""
    J, _ = jacobian_of_tool(ROBOT, Q, DQ)
    null = np.linalg.svd(J[[3, 4]])[2][2:]  # directions that do not move the point
    moving = DDQ_D + 3.0 * (DQ_D - DQ) + 4.0 * (Q_D - Q)
    posture = controllers.Posture(reference, kp=4.0, kd=3.0)
    for rest, ddq_0 in ((posture, moving), (None, 0)):
        law = controllers.OperationalSpace(
            ROBOT.pose(Q + 0.1), kp=9.0, kd=2.0, rows=[3, 4], posture=rest
        )
        tau, _ = controllers.step_by_step(law, ROBOT)(0.0, Q, DQ)
        ddq = ROBOT.forward_dynamics(Q, DQ, tau)
        assert np.abs(null @ ROBOT.mass_matrix(Q) @ (ddq - ddq_0)).max() < 1e-8


def test_damping_adds_its_square():
    """F = (J M^-1 J^T + damping^2)^-1 a, at rest and without errors of speed."""
    T_d = ROBOT.pose(Q)
    T_d[:3, 3] += [0.02, -0.01, 0.03]
    law = controllers.OperationalSpace(T_d, kp=50.0, kd=0.0, rows=[3, 4, 5], damping=0.3)
    tau, _ = controllers.step_by_step(law, ROBOT)(0.0, Q, 0 * DQ)
    J, _ = jacobian_of_tool(ROBOT, Q, 0 * DQ)
    A = J[3:] @ np.linalg.solve(ROBOT.mass_matrix(Q), J[3:].T) + 0.09 * np.eye(3)
    F = np.linalg.solve(A, 50 * np.array([0.02, -0.01, 0.03]))
    assert np.allclose(tau, ROBOT.gravity_forces(Q) + J[3:].T @ F, atol=1e-9)


def test_parts_of_references():
    for parts in ((), (Q,) * 4):
        with pytest.raises(ShapeError, match=rf"reference has {len(parts)} parts; expected q"):
            proportional(MODEL, Q, *parts)
    for parts, what in (((Q_D[:2],), "q"), ((Q_D, Q_D[:1]), "dq"), ((Q_D, Q_D, Q_D[:1]), "ddq")):
        with pytest.raises(ShapeError, match=rf"^{what} of the reference has shape"):
            proportional(MODEL, Q, *parts)
    for wrong in (np.nan, [1.0, np.inf], 3.0):
        with pytest.raises(InputError, match=r"reference is .*; expected finite positions"):
            _ = controllers.PD(wrong, 1.0, 1.0).signals


def test_parts_of_references_of_frames():
    T, V = np.eye(4), np.arange(6)
    for parts in ((Q,), (T, V, V, V), (np.eye(3), V)):
        with pytest.raises(ShapeError, match=r"parts of shape .*; expected T_d \(4, 4\), and"):
            controllers.Impedance(T, 1, 1).act(MODEL, 0.0, Q, DQ, Q[:0], {"reference": parts})
    for wrong in (np.full((4, 4), np.nan), np.eye(3)):
        with pytest.raises(ShapeError, match=r"reference of a frame has shape"):
            ROBOT.simulate(Q, controller=controllers.Impedance(wrong, 1, 1), duration=0.1)
    for rows in ([], [0, 0], [6], [-1]):
        law = controllers.OperationalSpace(np.eye(4), 1.0, 1.0, rows=rows)
        with pytest.raises(InputError, match=r"rows are .*each once"):
            ROBOT.simulate(Q, controller=law, duration=0.1)


def test_gains_are_numbers_diagonals_or_matrices():
    full = np.array([[2.0, 1, 0], [-1, 2, 0], [0, 0, 1]])
    none = np.zeros((3, 3))
    for kp, matrix in (
        (2, 2 * np.eye(3)),
        ([1, 2, 3], np.diag([1, 2, 3])),
        (full, full),
        (0, none),
    ):
        assert np.allclose(proportional(MODEL, Q, Q_D, kp=kp), matrix @ (Q_D - Q), atol=1e-14)
    for wrong in ([1, 2], np.eye(2), np.eye(3)[:2]):
        with pytest.raises(ShapeError, match="kp has shape"):
            proportional(MODEL, Q, Q_D, kp=wrong)
    for wrong in (-1, [1, -1e-9, 1], np.diag([1.0, 1, 1]) + 3 * np.eye(3)[::-1]):
        with pytest.raises(InputError, match="kp is not positive semi-definite"):
            proportional(MODEL, Q, Q_D, kp=wrong)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: controllers.ComputedTorque(Q_D, kp=-5), "kp is not positive semi-definite"),
        (lambda: controllers.PID(Q_D, 1, 1, ki=[1, -1, 1]), "ki is not positive semi-definite"),
        (lambda: controllers.GravityCompensation(kd=-1), "kd is not positive semi-definite"),
        (lambda: controllers.Impedance(np.eye(4), K=-np.eye(6), D=1), "K is not positive semi"),
        (lambda: controllers.PD(Q_D, "stiff", 1), "kp is 'stiff'; expected a number, a diagonal"),
        (lambda: controllers.PD(Q_D, np.nan, 1), "kp is nan; expected finite numbers"),
    ],
)
def test_gains_are_checked_when_a_controller_is_made(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    "law",
    [
        controllers.PD(np.zeros(4), 1, 1),
        controllers.ComputedTorque(Q_D, kp=[1, 2]),
        controllers.PD(Q_D, dict.fromkeys(MODEL.joint_names, -1), 1),
        lambda t, q, dq: np.zeros(7),
    ],
)
def test_the_error_of_a_wrong_argument_comes_alone(law, caplog):
    """Without a warning before it that the law is not compiled, which would not be the reason."""
    with pytest.raises(kt.KinetreeError):
        kt.Robot(MODEL).simulate(Q, controller=law, duration=0.01)
    assert not caplog.records


def test_a_law_that_cannot_be_compiled_is_reported_once(caplog):
    def law(t, q, dq):
        return -dq if q[0] > 0 else 0 * dq

    kt.Robot(MODEL).simulate(Q, controller=law, duration=0.01)
    assert [x.getMessage().count("slowly: forces come from Python") for x in caplog.records] == [1]


def test_rounding_does_not_decide_on_singular_gains():
    """Eigenvalues of v v.T are 0 plus or minus rounding, which differs between processors."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        v = rng.normal(size=3)
        proportional(MODEL, Q, Q_D, kp=np.outer(v, v))


@pytest.mark.parametrize("kind", ["spherical", "planar"])
def test_errors_of_large_turns_have_closed_forms(kind):
    """Twice the vector part of the shorter turn, 2 sin(angle / 2), in the axes of the body."""
    model = random_model(0, 1, types=(kind,))
    robot, rng = kt.Robot(model), np.random.default_rng(4)
    for _ in range(5):
        q, q_d = robot.random(rng=rng), robot.random(rng=rng)
        e = proportional(model, q, q_d)
        if kind == "planar":
            c, s = np.cos(q[0]), np.sin(q[0])
            wanted = [q_d[0] - q[0], *(np.array([[c, s], [-s, c]]) @ (q_d[1:] - q[1:]))]
            assert np.allclose(e, wanted, atol=1e-14)
            continue
        (w, *v), (u, *x) = q[:4], q_d[:4]
        real = w * u + np.dot(v, x)
        wanted = 2 * np.sign(real) * (w * np.array(x) - u * np.array(v) - np.cross(v, x))
        assert np.allclose(e[:3], wanted, atol=1e-14)
        assert np.linalg.norm(e[:3]) == pytest.approx(2 * np.sqrt(1 - min(real**2, 1)), abs=1e-12)


def test_a_robot_follows_the_pieces_of_a_plan():
    """PD at the sides of a jump: ddq of computed torque is that of the phase that begins."""
    plan = kt.motion.trapezoid(Q, Q_D, acceleration=2.0, velocity=1.0, robot=ROBOT, dt=0.3)
    law = controllers.step_by_step(controllers.ComputedTorque(plan, kp=0.0, kd=0.0), ROBOT)
    jump = plan.pieces.jumps[0]
    for t in (0.0, 0.3 * jump, jump, jump + 1e-3):
        q, dq, ddq = (x[0] for x in plan.pieces(np.array([t])))
        tau, _ = law(t, q, dq)
        assert np.allclose(tau, ROBOT.inverse_dynamics(q, dq, ddq), atol=1e-9)
    q = Q_D
    tau, _ = law(plan.t[-1] + 1, q, 0 * q)
    assert np.allclose(tau, ROBOT.gravity_forces(q), atol=1e-10)


def test_robots_that_cannot_be_compiled_are_refused():
    still = kt.Builder("rock").link("base", 1.0).build_model()
    with pytest.raises(kt.errors.ModelError, match="'rock' has no joint that moves"):
        controllers.step_by_step(controllers.GravityCompensation(), still)


def test_controllers_keep_the_arrays_that_they_were_given():
    robot = kt.robots.planar_2r()
    goal, gains, T = np.array([0.1, 0.2]), np.array([5.0, 4.0]), np.array(robot.pose([0.3, 0.2]))
    posture = controllers.Posture(goal, gains, gains)
    given = [
        controllers.PD(goal, gains, gains),
        controllers.PID(goal, gains, gains, gains, bound=gains),
        controllers.ComputedTorque(goal, gains, gains),
        controllers.GravityCompensation(gains),
        controllers.Adaptive(goal, gains, gains, 0.1),
        controllers.OperationalSpace(T, gains, gains, rows=(3, 4), posture=posture),
        controllers.Law(lambda t, q, dq, q_d: gains_of_law * (q_d - q), goal),
        controllers.Stateful(lambda t, q, dq, z, q_d: (q_d - q - z, q), goal, goal),
        controllers.Sampled(lambda t, q, dq, q_d: q_d - q, 0.01, None, goal),
    ]

    def ends():
        run = {"duration": 0.05, "dt": 0.005, "method": "rk4", "limits": "ignore"}
        return [robot.simulate([0.3, 0.2], controller=x, **run).q[-1] for x in given]

    gains_of_law = 3.0
    before = ends()
    for array in (goal, gains, T):
        array += 0.5
    assert np.array_equal(ends(), before)


def test_a_sampled_controller_is_refused_step_by_step():
    with pytest.raises(InputError, match="call the function itself"):
        controllers.step_by_step(
            controllers.Sampled(lambda t, q, dq: q, 0.01), kt.robots.planar_2r()
        )
