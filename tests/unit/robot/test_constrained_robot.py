"""Doors of a constrained robot: what honours its constraints, and what refuses it by name."""

import numpy as np
import pytest

import kinetree as kt
from closed_loops import slider_crank, slider_crank_position
from kinetree import dynamics
from kinetree.controllers import Impedance, MomentumObserver
from kinetree.errors import ModelError
from kinetree.model import reshape

ROBOT = slider_crank(actuated=["crank"])
MODEL, TREE = ROBOT.model, ROBOT.constrained({"loop": None})
Q, REST = slider_crank_position(0.7), np.zeros(3)
STATE = Q, REST, REST
QUANTITIES = kt.testing.quantities()


def trajectory():
    t = np.linspace(0, 1, 5)
    q = np.array([slider_crank_position(0.1 * x) for x in t])
    zero = np.zeros_like(q)
    return kt.motion.Trajectory(t=t, q=q, dq=zero, ddq=zero, model=MODEL)


def line():
    return kt.motion.straight_line(ROBOT, Q, ROBOT.pose(Q), duration=1.0)


DOORS = {
    "reference_regressor": lambda: ROBOT.compile("reference_regressor")(*STATE, REST),
    "dynamics.reference_regressor": lambda: dynamics.reference_regressor(MODEL, *STATE, REST),
    "dynamics.inverse_dynamics": lambda: dynamics.inverse_dynamics(MODEL, *STATE),
    "dynamics.forward_dynamics": lambda: dynamics.forward_dynamics(MODEL, *STATE),
    "dynamics.inverse_dynamics_derivatives": lambda: dynamics.inverse_dynamics_derivatives(
        MODEL, *STATE
    ),
    "dynamics.forward_dynamics_derivatives": lambda: dynamics.forward_dynamics_derivatives(
        MODEL, *STATE
    ),
    "dynamics.linearize": lambda: dynamics.linearize(MODEL, *STATE),
    "newton_euler": lambda: kt.dynamics.newton_euler(ROBOT, *STATE),
    "closed_form": lambda: dynamics.closed_form(MODEL, *STATE),
    "forward_dynamics_by_articulated_bodies": lambda: (
        dynamics.forward_dynamics_by_articulated_bodies(MODEL, *STATE)
    ),
    "forward_dynamics_by_inverse_dynamics": lambda: dynamics.forward_dynamics_by_inverse_dynamics(
        MODEL, *STATE
    ),
    "contact_inverse_dynamics": lambda: kt.contacts.inverse_dynamics(ROBOT, *STATE),
    "dynamics.contact_inverse_dynamics": lambda: dynamics.contact_inverse_dynamics(MODEL, *STATE),
    "task_space": lambda: ROBOT.task_space(Q, rows=[3]),
    "kernel of task_space": lambda: ROBOT.compile("task_space", rows=[3]),
    "damped task_space": lambda: ROBOT.task_space(Q, rows=[3], damping=0.1),
    "mass_ellipsoid": lambda: kt.dynamics.mass_ellipsoid(ROBOT, Q),
    "force_ellipsoid": lambda: kt.dynamics.force_ellipsoid(ROBOT, Q),
    "straight_line": line,
    "quintic": lambda: kt.motion.quintic(Q, Q + 0.1, duration=1.0, robot=ROBOT),
    "time_optimal": lambda: kt.motion.time_optimal(ROBOT, trajectory()),
    "check": lambda: kt.motion.check_limits(ROBOT, trajectory()),
    "controller": lambda: kt.controllers.step_by_step(Impedance(ROBOT.pose(Q), 10.0, 1.0), ROBOT),
    "observer": lambda: MomentumObserver(ROBOT, 10.0),
    "symbolic": lambda: kt.symbolic(ROBOT).tau,
    "with_elastic_joint": lambda: ROBOT.with_elastic_joint("crank", stiffness=9.0, motor_inertia=1),
    "momentum_balance": lambda: ROBOT.compile("momentum_balance"),
    "export": lambda: kt.export(ROBOT, "reference_regressor", language="c"),
    "lock": lambda: ROBOT.lock({"crank": 0.1}),
    "subtree": lambda: ROBOT.subtree("arm"),
    "attach": lambda: kt.robots.planar_2r().attach(ROBOT),
    "lock of a model": lambda: reshape.lock(MODEL, {"crank": 0.1}),
    "check_robot": lambda: kt.testing.check_robot(ROBOT),
    "envelope": lambda: kt.studies.envelope(ROBOT, 10),
}


@pytest.mark.parametrize("door", DOORS)
def test_functions_that_cannot_honour_constraints_refuse_the_robot(door):
    with pytest.raises(ModelError):
        DOORS[door]()


# every public attribute of a robot, by what it does with constraints: a new one must be added here,
# quantities excepted, whose declarations say it
HONOURS = (
    """constrained explain inverse_kinematics linearize simulate step compile derivative""".split()
)
OF_THE_TREE = """difference integrate neutral random wrenches""".split()
KEEPS = """with_actuators with_contacts with_drives with_friction with_gravity with_motors
with_payload
with_springs with_tool""".split()
NAMES = "coordinate_names dof_names joint_names n name nq parameters".split()
REFUSES = """attach lock subtree with_elastic_joint""".split()


def test_every_attribute_of_a_robot_is_known_to_honour_or_to_refuse_constraints():
    own = {x for x in dir(kt.Robot) if not x.startswith("_") and x not in QUANTITIES}
    kinds = HONOURS, OF_THE_TREE, KEEPS, NAMES, REFUSES
    assert sorted(own) == sorted(name for kind in kinds for name in kind)
    tested = {door.rpartition(".")[2] for door in DOORS}
    assert {*REFUSES, *(name for name, x in QUANTITIES.items() if x.refused)} <= tested


CHANGES = {
    "with_actuators": {"motor": kt.joints.Actuator.motor("crank", 2)},
    "with_contacts": [kt.contacts.ContactPoint("heel", "bar")],
    "with_drives": {"crank": kt.joints.Drive(peak=3)},
    "with_friction": {"rod": kt.friction.Friction(0.3)},
    "with_gravity": (0, 0, -1),
    "with_motors": {"motor": kt.joints.Motor({"crank": 1, "rod": 2}, 0.1)},
    "with_payload": 2.0,
    "with_springs": {"rod": kt.joints.Spring(3.0)},
    "with_tool": "hand",
}


@pytest.mark.parametrize("name", KEEPS)
def test_a_changed_robot_keeps_its_constraints(name):
    changed = getattr(ROBOT, name)(CHANGES[name])
    assert changed.model.constraints.given == MODEL.constraints.given
    ddq = changed.forward_dynamics(Q, kt.constraints.project_rates(ROBOT, Q, [1, 0, 0]), [1, 0, 0])
    tree = kt.constraints.unconstrained(changed).forward_dynamics(
        Q, kt.constraints.project_rates(ROBOT, Q, [1, 0, 0]), [1, 0, 0]
    )
    assert np.abs(ddq - tree).max() > 1e-3
    residual = kt.constraints.forward_dynamics(changed, Q, REST, [1, 0, 0])[2]
    assert np.abs(residual).max() < 1e-10


def test_derivatives_of_the_motor_forces_are_those_of_the_graph():
    found = ROBOT.derivative("inverse_dynamics", ["q", "dq", "ddq"])(Q, [1, 2, 3], [0.1, 0.2, 0.3])
    state, h = [Q, np.array([1.0, 2, 3]), np.array([0.1, 0.2, 0.3])], 1e-5
    for k, slope in enumerate(found):
        for d, unit in enumerate(np.eye(3)):
            ends = [
                ROBOT.inverse_dynamics(
                    *[x + s * h * unit if i == k else x for i, x in enumerate(state)]
                )
                for s in (1, -1)
            ]
            assert np.abs((ends[0] - ends[1]) / (2 * h) - slope[:, d]).max() < 1e-6
