"""Explanations of robots with constraints: the share of the constraints, by name and equation."""

import numpy as np
import pytest

import kinetree as kt
from closed_loops import slider_crank, slider_crank_position, tied_robot
from kinetree import algorithms
from kinetree.algorithms import FORMULATIONS
from kinetree.constraints import Couple, Loop
from kinetree.errors import InputError

HOSTILE = r"a|b_c <script>alert(1)</script> & \x{y} $z% #1 `t` *u*"


def moving(robot, q, seed=0):
    """A motion that the constraints allow: random rates, and random forces of all joints."""
    rng = np.random.default_rng((18, seed))
    model, (rates, tau) = robot.model, rng.normal(size=(2, robot.n))
    dq = algorithms.project_rates(model, q, rates)  # without kernels, which take seconds
    return q, dq, algorithms.constrained_forward_dynamics(model, q, dq, tau * 5)[0]


def tied(seed):
    tree, given, q = tied_robot(seed)
    robot = tree.constrained(given, near=q)
    return robot, moving(robot, algorithms.project(robot.model, q), seed)


@pytest.mark.parametrize("seed", range(8))
def test_shares_add_up_to_the_motors_and_constraints_do_no_work(seed):
    """The kernels of the robot and of its tree are the oracle of the share."""
    robot, motion = tied(seed)
    torque = robot.explain(*motion).torque
    tau, tree = robot.inverse_dynamics(*motion), robot.unconstrained().inverse_dynamics(*motion)
    scale = 1 + np.abs(tree).max() + np.abs(torque["constraints"]).max()
    assert np.abs(torque.tau - tau).max() <= 1e-9 * scale
    assert np.abs(torque.total - tau).max() <= 1e-9 * scale
    assert np.abs(torque["constraints"] - (tau - tree)).max() <= 1e-9 * scale
    carried = torque.constraints
    assert set(carried.joints) == set(robot.model.constraints.given)
    dq = motion[1]
    for share in carried.joints.values():
        assert abs(share @ dq) <= 1e-9 * scale * (1 + np.abs(dq).max())


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_parts_of_every_joint_add_up_in_every_formulation(formulation):
    robot = slider_crank(actuated=["crank"])
    motion = moving(robot, slider_crank_position(0.6))
    explanation = robot.explain(*motion, formulation=formulation)
    for k, steps in enumerate(explanation.links):
        term = steps["tau"]
        assert np.abs(term.total - term.value).max() < 1e-12
        assert abs(term.value[0] - explanation.tau[k]) < 1e-10
        assert abs(term["constraints"][0] - explanation.torque["constraints"][k]) < 1e-12
    assert np.all(explanation.tau[1:] == 0)  # no motor


def test_the_force_of_a_loop_is_that_of_newtons_law_of_the_block():
    """The block of 2 kg slides along x; the loop alone pushes it. frame_a is in the block."""
    robot = slider_crank("point", actuated=["crank"])
    q, dq, ddq = moving(robot, slider_crank_position(0.6))
    forces = robot.explain(q, dq, ddq).torque.constraints.forces
    assert forces["loop.linear_x"] == pytest.approx(-2.0 * ddq[2], rel=1e-9)


def test_a_copy_of_a_constraint_shares_its_force_only():
    robot = slider_crank(actuated=["crank"])
    motion = moving(robot, slider_crank_position(0.6))
    twice = robot.constrained({"copy": Loop("pin", "tip", "axis")})
    one, two = robot.explain(*motion).torque, twice.explain(*motion).torque
    assert np.abs(one["constraints"] - two["constraints"]).max() < 1e-10
    halves = two.constraints
    assert np.abs(halves["loop"] - halves["copy"]).max() < 1e-10
    assert np.abs(2 * halves["copy"] - one["constraints"]).max() < 1e-10


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_every_form_has_the_constraint_its_equations_and_its_forces(form):
    robot = slider_crank(actuated=["crank"])
    explanation = robot.explain(*moving(robot, slider_crank_position(0.6)))
    text = getattr(explanation, form)()
    name = "loop.linear\\_x" if form == "latex" else "loop.linear_x"
    if form == "markdown":
        text = text.replace("\\", "")
    assert name in text and "lambda" in text and "constraints" in text
    assert f"{abs(explanation.torque.constraints.forces['loop.linear_x']):.2f}"[:-1] in text


def test_names_of_constraints_are_escaped_on_the_page():
    robot = kt.robots.planar_2r().constrained({HOSTILE: Couple("joint2", {"joint1": -2})})
    q = [0.1, -0.2]
    text = robot.explain(q, [1, -2], [0, 0]).html()
    assert "<script>" not in text and "&lt;script&gt;" in text


def test_symbols_are_explained_and_simplified():
    sympy = pytest.importorskip("sympy")
    robot = kt.robots.planar_2r().constrained({"gear": Couple("joint2", {"joint1": -2})})
    angle, rate = sympy.symbols("q1 dq1", real=True)
    state = [angle, -2 * angle], [rate, -2 * rate], [0, 0]
    explanation = robot.explain(*state).simplified()
    numbers = {angle: 0.3, rate: 0.7}
    plain = robot.explain(*[[float(sympy.sympify(x).subs(numbers)) for x in v] for v in state])
    found = [float(sympy.sympify(x).subs(numbers)) for x in explanation.torque["constraints"]]
    assert np.abs(found - plain.torque["constraints"]).max() < 1e-12
    force = float(sympy.sympify(explanation.torque.constraints.forces["gear"]).subs(numbers))
    assert force == pytest.approx(float(plain.torque.constraints.forces["gear"]), rel=1e-12)


def test_an_open_position_is_reported_in_words():
    robot = kt.robots.planar_2r().constrained({"gear": Couple("joint2", {"joint1": -2})})
    closed, opened = (robot.explain([0.1, x], [0, 0], [0, 0]).text() for x in (-0.2, 0.1))
    assert "does not satisfy" not in closed
    words = " ".join(opened.split())
    assert "The position does not satisfy the constraints: gear of constraint gear is open" in words
    assert "open by 0.3" in words


def test_motions_that_constraints_forbid_and_motions_of_the_base_are_refused():
    robot = slider_crank(actuated=["crank"])
    q = slider_crank_position(0.6)
    with pytest.raises(InputError, match="forbid this motion"):
        robot.explain(q, np.zeros(3), [1, 0, 0])
    with pytest.raises(InputError, match=r"V_base or dV_base was given .* constraints"):
        robot.explain(q, np.zeros(3), np.zeros(3), V_base=np.ones(6))
