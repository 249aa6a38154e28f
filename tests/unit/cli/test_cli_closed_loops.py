"""Robots with closed loops on the command line: starts that close, results, and faults in words."""

import numpy as np
import pytest

import kinetree as kt

LINE = "simulate four_bar --duration 0.05 "
FAULTS = {
    "--q 0.5 0.1 1.2": r"--q does not satisfy the constraints of 'four-bar': constraint 'loop'",
    "--q crank=1 --dq 6 1 1": r"--dq breaks the constraints of 'four-bar': constraint 'loop'",
    "--q crank=1 --dq crank=6 rocker=5": r"--dq breaks the constraints",
    "--q coupler=0 rocker=0": r"cannot be closed from this position with coupler, rocker kept",
}


def test_joints_that_are_left_out_follow_from_the_loop(program):
    found = program(LINE + "--q crank=0.5 --dq crank=3 --json")
    assert "--q leaves out 2 entries" in found.stderr and "coupler = 0.134526 rad" in found.stderr
    assert "--dq leaves out 2 entries" in found.stderr
    answer = program.json(LINE + "--q crank=0.5 --dq crank=3")
    robot = kt.robots.four_bar()
    q, dq = np.array(answer["q"]), np.array(answer["dq"])
    assert q[0, 0] == 0.5 and dq[0, 0] == 3
    assert np.abs(robot.constraint_errors(q)).max() < 1e-9
    assert np.abs(np.einsum("tij,tj->ti", robot.constraint_jacobian(q), dq)).max() < 1e-9
    own = robot.simulate(q[0], dq[0], duration=0.05)
    np.testing.assert_allclose(q, own.q, atol=1e-12)
    forces = np.array(answer["constraint_forces"]["loop"])
    np.testing.assert_allclose(forces, own.meta["constraint_forces"]["loop"], atol=1e-9)
    assert max(answer["closure"]) < 1e-9


def test_degrees_change_the_units_of_the_report_alone(program):
    plain = program.json(LINE + f"--q crank={np.radians(30)}")
    turned = program(LINE + "--q crank=30 --degrees --json")
    assert "coupler = 5.74966 deg" in turned.stderr
    other = program.json(LINE + "--q crank=30 --degrees")
    np.testing.assert_allclose(np.radians(other["q"]), plain["q"], atol=1e-9)


def test_a_start_that_is_left_out_is_closed_where_zero_is_singular(program):
    """At zero all bars of the four-bar are stretched, and no step leads towards closing."""
    answer = program.json(LINE)
    q = np.array(answer["q"])
    assert np.abs(kt.robots.four_bar().constraint_errors(q)).max() < 1e-9


def test_a_start_that_is_closed_is_not_reported(program):
    assert program("simulate slider_crank --duration 0.05 --json").stderr == ""


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_names_the_constraint_and_the_options(program, words):
    found = program(LINE + words, code=2)
    last = found.stderr.splitlines()[-1]
    assert last.startswith("kinetree: ") and FAULTS[words] in last
    assert "Traceback" not in found.stderr and "robot." not in found.stderr


def test_an_explanation_closes_the_state_and_has_the_forces_of_the_loop(program):
    line = "explain four_bar --q crank=0.5 --dq crank=1 --ddq crank=2"
    assert "--ddq leaves out 2 entries" in program(line + " --json").stderr
    answer = program.json(line)
    torque = answer["torque"]
    tau = np.array(torque["tau"])
    assert np.abs(np.sum(list(torque["shares"].values()), axis=0) - tau).max() < 1e-9
    state = [np.array(answer[name]) for name in ("q", "dq", "ddq")]
    assert [x[0] for x in state] == [0.5, 1, 2]
    np.testing.assert_allclose(tau, kt.robots.four_bar().inverse_dynamics(*state), atol=1e-9)
    assert list(torque["constraints"]["joints"]) == ["loop"]
    assert len(torque["constraints"]["forces"]) == 5


def test_an_acceleration_that_the_loop_forbids_is_refused_in_words(program):
    found = program("explain four_bar --q crank=0.5 --ddq 1 1 1", code=2)
    text = " ".join(found.stderr.split())
    assert "forbid this motion" in text
    assert "--ddq NAME=VALUE" in text and "reduced_dynamics" not in text


def test_info_shows_loops_degrees_of_freedom_and_motors(program):
    found = program("info four_bar").stdout
    assert "1 degree of freedom (3 of the tree)" in found and "motors: crank" in found
    assert "redundant: loop.angular_x, loop.angular_y, loop.linear_z" in found
    assert "axis z of tip = pin" in found
    answer = program.json("info four_bar")
    assert answer["mobility"]["degrees_of_freedom"] == 1
    assert answer["constraints"][0]["redundant"] == 3
    plain = program.json("info four_bar --constraints none")
    assert plain["mobility"] is None and plain["constraints"] == []


def test_a_goal_names_the_independent_joint_and_the_others_follow(program):
    words = LINE + "--q crank=0.5 --method rk4 --controller computed-torque --to "
    found = program(words + "crank=1")
    assert "--to leaves out 2 entries, which the constraints" in found.stderr
    found = program(words + "1 1 1", code=2)
    assert "Name fewer joints, as in --to NAME=VALUE" in found.stderr
    assert "robot." not in found.stderr
