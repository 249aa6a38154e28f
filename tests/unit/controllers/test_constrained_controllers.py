"""Controllers of robots with constraints: forces of the motors alone, and exact error dynamics."""

import numpy as np
import pytest

from closed_loops import four_bar, slider_crank, slider_crank_position, tied_robot
from kinetree import algorithms, controllers
from kinetree.errors import InputError, ModelError

CRANKED = slider_crank(actuated=["crank"])
ALL_MOTORS = slider_crank()
Q, GOAL = slider_crank_position(0.7), slider_crank_position(1.9)
DQ = CRANKED.project_rates(Q, [2.0, 0.0, 0.0])
AT_REST, OPEN = np.zeros(3), np.array([0, 0, 0.01])


def forces(law, robot, q=Q, dq=DQ):
    compiled = controllers.step_by_step(law, robot)
    assert compiled.note is None
    return compiled(0.0, q, dq)[0]


def reduced(robot, q, dq, r):
    """N^T r: joint forces as the independent rates feel them."""
    return robot.reduced_dynamics(q, dq)[2].T @ r


def test_gravity_compensation_is_the_motor_force_at_rest():
    tau = forces(controllers.GravityCompensation(), CRANKED)
    np.testing.assert_allclose(tau, CRANKED.inverse_dynamics(Q, AT_REST, AT_REST), atol=1e-12)
    assert tau[0] > 1 and tau[1] == tau[2] == 0
    motion = CRANKED.simulate(Q, duration=1.0, controller=controllers.GravityCompensation())
    np.testing.assert_allclose(motion.q, np.tile(Q, (len(motion.t), 1)), atol=1e-9)


def test_gravity_compensation_balances_the_slope_of_the_potential():
    """By a difference of the potential along the closed positions, without any dynamics."""
    e = 1e-5
    around = [CRANKED.potential_energy(slider_crank_position(0.7 + x)) for x in (e, -e)]
    tau = forces(controllers.GravityCompensation(), CRANKED)
    assert tau[0] == pytest.approx((around[0] - around[1]) / (2 * e), rel=1e-8)


@pytest.mark.parametrize("robot", [CRANKED, ALL_MOTORS], ids=["crank", "all"])
def test_motors_have_the_effect_of_the_law_of_the_tree(robot):
    tree = robot.unconstrained()
    kp, kd = [5.0, 0.0, 0.0], [0.4, 0.0, 0.0]
    for law in (
        controllers.GravityCompensation(kd=kd),
        controllers.PD(GOAL, kp, kd, gravity=True),
        controllers.PID(GOAL, kp, kd, 0.0, gravity=True),
    ):
        tau, free = forces(law, robot), forces(law, tree)
        np.testing.assert_allclose(
            reduced(robot, Q, DQ, tau), reduced(robot, Q, DQ, free), rtol=1e-9
        )
        assert np.linalg.norm(tau) < np.linalg.norm(free) or robot is CRANKED


def test_the_error_of_computed_torque_is_a_damped_oscillator():
    law = controllers.ComputedTorque(GOAL, kp=16.0, kd=8.0)
    options = {"duration": 2.0, "dt": 0.1, "rtol": 1e-11, "atol": 1e-12}
    motion = CRANKED.simulate(Q, DQ, controller=law, **options)
    e, de, t = GOAL[0] - Q[0], -DQ[0], motion.t
    expected = (e + (de + 4 * e) * t) * np.exp(-4 * t)
    np.testing.assert_allclose(GOAL[0] - motion.q[:, 0], expected, atol=1e-9)
    np.testing.assert_array_equal(motion.tau[:, 1:], 0)
    assert motion.meta["compiled"]


def test_computed_torque_follows_a_motion_that_the_loop_allows():
    angle, rate, ddq = 0.7, 1.5, np.zeros(3)

    def reference(t):
        return slider_crank_positions(angle + rate * t), (rate, 0, 0), ddq

    q, dq = slider_crank_position(angle), CRANKED.reduced_dynamics(Q, AT_REST)[2][:, 0] * rate
    law = controllers.ComputedTorque(reference, kp=25.0, kd=10.0)
    motion = CRANKED.simulate(q, dq, duration=1.0, dt=0.05, controller=law, rtol=1e-10)
    np.testing.assert_allclose(motion.q[:, 0], angle + rate * motion.t, atol=1e-8)


def slider_crank_positions(angle):
    lift = -np.arcsin(0.3 * np.sin(angle) / 0.8)
    return np.stack([angle, lift - angle, 0.3 * np.cos(angle) + 0.8 * np.cos(lift)], -1)


@pytest.mark.parametrize("seed", [0, 2])
def test_computed_torque_gives_the_wanted_acceleration_of_independent_joints(seed):
    """On random mechanisms with quaternions, mimic joints and springs."""
    tree, given, q = tied_robot(seed)
    robot = tree.constrained(given, near=q)
    q, rng = algorithms.project(robot.model, q), np.random.default_rng(seed)
    dq = algorithms.project_rates(robot.model, q, rng.normal(size=robot.n))
    dq_d, ddq_d, kd = *rng.normal(size=(2, robot.n)), rng.uniform(1, 2, robot.n)
    law = controllers.ComputedTorque(lambda t: (q, dq_d, ddq_d), kp=9.0, kd=kd)
    ddq = robot.forward_dynamics(q, dq, forces(law, robot, q, dq))
    y = list(robot.model.constraints.independent)
    wanted = ddq_d + kd * (dq_d - dq)
    np.testing.assert_allclose(ddq[y], wanted[y], rtol=1e-6, atol=1e-7)


def test_a_law_with_other_masses_is_that_of_the_other_robot():
    other = CRANKED.with_payload(1.0)
    tau = forces(controllers.GravityCompensation(model=other), CRANKED)
    np.testing.assert_allclose(tau, other.inverse_dynamics(Q, AT_REST, AT_REST), atol=1e-12)


def test_the_law_does_not_depend_on_which_joint_is_cut():
    one, two = four_bar(actuated=["crank"]), four_bar("ground", actuated=["crank"])
    q = one.project([0.5, 0.2, 1.9], keep=["crank"])
    p = two.project([q[0], q[1], q[2] - q[0] - q[1]], keep=["crank"])
    found = [
        forces(controllers.GravityCompensation(), robot, x, AT_REST)[0]
        for robot, x in ((one, q), (two, p))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


PASSIVE = CRANKED.constrained({}, actuated=[])
REFUSED = {
    "frame": (
        controllers.OperationalSpace(np.eye(4), 1.0, 1.0),
        CRANKED,
        ModelError,
        r"controller OperationalSpace does not honour constraints, and 'slider_crank'.*'loop'",
    ),
    "adaptive": (
        controllers.Adaptive(Q, 1.0, 1.0, 1.0),
        CRANKED,
        ModelError,
        r"controller Adaptive does not honour constraints",
    ),
    "tree of the law": (
        controllers.ComputedTorque(Q, 1.0, 1.0, model=CRANKED.unconstrained()),
        CRANKED,
        ModelError,
        r"no constraints, expected loop \(motors: crank\)",
    ),
    "constraints of the law": (
        controllers.GravityCompensation(model=CRANKED),
        CRANKED.unconstrained(),
        ModelError,
        r"loop \(motors: crank\), expected no constraints",
    ),
    "other motors": (
        controllers.PD(Q, 1.0, 1.0, gravity=ALL_MOTORS),
        CRANKED,
        ModelError,
        r"\(motors: crank, rod, slide\), expected loop \(motors: crank\)",
    ),
    "open reference": (
        controllers.ComputedTorque(Q + OPEN, 1.0, 1.0),
        CRANKED,
        InputError,
        r"'loop' is open by 0\.01 .*robot\.project",
    ),
    "open function": (
        controllers.ComputedTorque(lambda t: (Q * 0, Q * 0), 1.0, 1.0),
        CRANKED,
        InputError,
        r"reference of ComputedTorque does not satisfy the constraints",
    ),
    "no motors": (
        controllers.PD(Q, 1.0, 1.0, gravity=True),
        PASSIVE,
        ModelError,
        r"motors of 'slider_crank' \(none\) cannot make every motion.*controller PD",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_laws_that_would_be_wrong_are_refused_by_name(case):
    law, robot, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        controllers.step_by_step(law, robot)(0.0, Q, DQ)
    with pytest.raises(error, match=words):
        robot.simulate(Q, duration=0.1, controller=law)


@pytest.mark.parametrize("kp", [1.0, [1.0, 0, 0]])
def test_pd_without_gravity_acts_at_the_motors(kp):
    tau = forces(controllers.PD(GOAL, kp, 0.0), CRANKED, Q, AT_REST)
    np.testing.assert_allclose(tau, [GOAL[0] - Q[0], 0, 0], atol=1e-12)


def test_gains_for_a_joint_without_a_motor_are_refused():
    law = controllers.PD(GOAL, [1.0, 0, 0], 0.0)
    with pytest.raises(InputError, match="kp has gains for crank"):
        controllers.step_by_step(law, PASSIVE)(0.0, Q, AT_REST)
