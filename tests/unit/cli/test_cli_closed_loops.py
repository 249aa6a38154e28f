"""Robots with closed loops on the command line: starts that close, results, and faults in words."""

import re

import numpy as np
import pytest

import kinetree as kt

LINE = "simulate four_bar --duration 0.05 "
FAULTS = {
    "--q 0.5 0.1 1.2": r"--q does not satisfy the constraints of 'four-bar': constraint 'loop'",
    "--q crank=1 --dq 6 1 1": r"--dq breaks the constraints of 'four-bar': constraint 'loop'",
    "--q crank=1 --dq crank=6 rocker=5": r"allow no rates with 'crank', 'rocker' kept",
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


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_a_start_that_is_left_out_is_that_of_the_robot(program, name):
    """At zero all bars of the four-bar are stretched, and no step leads towards closing."""
    robot = getattr(kt.robots, name)()
    q = np.array(program.json(f"simulate {name} --duration 0.05")["q"])
    assert np.array_equal(q[0], robot.neutral())
    assert np.abs(robot.constraint_errors(q)).max() < 1e-9


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


FOUR_BAR = kt.robots.four_bar()


@pytest.mark.parametrize("command", ["id", "fd", "terms"])
def test_states_of_one_line_are_closed_and_reported(program, command):
    """Entries that are left out were taken as zero, at which the loop is open."""
    line = f"{command} four_bar --q crank=0.5 --dq crank=1 --json"
    assert "--q leaves out 2 entries" in program(line).stderr
    answer = program.json(line.removesuffix(" --json"))
    q, dq = np.array(answer["q"]), np.array(answer["dq"])
    assert q[0] == 0.5 and dq[0] == 1
    assert np.abs(FOUR_BAR.constraint_errors(q)).max() < 1e-9
    assert np.abs(FOUR_BAR.constraint_jacobian(q) @ dq).max() < 1e-9
    if command == "id":
        tau = FOUR_BAR.inverse_dynamics(q, dq, answer["ddq"])
        np.testing.assert_allclose(answer["tau"], tau, atol=1e-12)
        moved = FOUR_BAR.constraint_jacobian(q) @ answer["ddq"] + FOUR_BAR.constraint_bias(q, dq)
        assert np.abs(moved).max() < 1e-9
    if command == "fd":
        ddq = FOUR_BAR.forward_dynamics(q, dq, [0, 0, 0])
        np.testing.assert_allclose(answer["ddq"], ddq, atol=1e-12)


OPEN = {
    "id four_bar --q 0.5 0 0": r"--q does not satisfy .*'loop' is open by 0.336 \(rad or m\)",
    "fd four_bar --q crank=0.5 --dq 1 1 1": r"--dq breaks .* 'loop' opens at 0.827",
    "terms four_bar --q 0.5 0 0": r"--q does not satisfy",
    "explain four_bar --q 0.5 0 0": r"--q does not satisfy",
}


@pytest.mark.parametrize("line", OPEN)
def test_a_state_that_the_loop_forbids_is_reported(program, line):
    text = " ".join(program(line).stderr.split())
    assert re.search(OPEN[line], text) and "results are those of open constraints" in text


@pytest.mark.parametrize("command", ["id", "explain"])
def test_no_command_computes_forces_of_a_motion_that_the_loop_forbids(program, command):
    text = " ".join(program(f"{command} four_bar --q crank=0.5 --ddq 1 1 1", code=2).stderr.split())
    assert "forbid this motion" in text and "--ddq NAME=VALUE" in text


def rows(tmp_path, q, dq, ddq):
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.hstack([q, dq, ddq]), delimiter=",", fmt="%.17g")
    return path


def test_rows_that_are_open_are_reported_by_the_worst_of_them(program, tmp_path):
    q = np.array([FOUR_BAR.project([x, 0.1, 1.2], keep=["crank"]) for x in (0.5, 0.6, 0.7)])
    dq = np.array([FOUR_BAR.project_rates(x, [1, 0, 0]) for x in q])
    ddq = FOUR_BAR.forward_dynamics(q, dq, np.zeros((3, 3)))
    assert program(f"id four_bar {rows(tmp_path, q, dq, ddq)}").stderr == ""
    q[1] += [0, 1e-3, 0]
    q[2] += [0, 1e-2, 0]
    found = program(f"id four_bar {rows(tmp_path, q, dq, ddq)}")
    assert "rows.csv: q does not satisfy the constraints of 'four-bar' in row 3" in found.stderr
    assert len(found.stdout.splitlines()) == 4 and found.stderr.count("kinetree:") == 1


REFUSED = ("check four_bar {}", "size four_bar {}")


@pytest.mark.parametrize("line", REFUSED)
def test_commands_that_cannot_honour_the_loop_refuse_it_in_words(program, tmp_path, line):
    zero = np.zeros((40, 3))
    path = tmp_path / "motion.csv"
    heads = ",".join(["t", *(f"{x}:{j}" for x in ("q", "tau") for j in FOUR_BAR.joint_names)])
    table = np.hstack([np.arange(40)[:, None] * 0.01, zero, zero])
    np.savetxt(path, table, delimiter=",", header=heads, comments="")
    text = " ".join(program(line.format(path), code=2).stderr.split())
    assert "does not honour constraints, and 'four-bar' has some: 'loop'" in text
    assert "--constraints none" in text and "robot." not in text and "algorithms" not in text


def test_a_simulated_motion_is_plotted(program, tmp_path):
    path = tmp_path / "motion.png"
    program(LINE + f"--q crank=0.5 --plot {path}")
    assert path.read_bytes().startswith(b"\x89PNG")


def slider_crank_file(folder):
    """A slider-crank with its motor at the slider, which is at a dead centre at zero."""
    inertia = 'diaginertia="0.05 0.05 0.05"'
    path = folder / "engine.xml"
    path.write_text(f"""<mujoco model="engine"><option gravity="0 -9.81 0"/><worldbody>
      <body><joint name="crank" axis="0 0 1"/><inertial pos="0.1 0 0" mass="1" {inertia}/>
        <body name="bar" pos="0.2 0 0"><joint name="rod" axis="0 0 1"/>
          <inertial pos="0.3 0 0" mass="2" {inertia}/></body></body>
      <body name="block" pos="0.8 0 0"><joint name="slide" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="3" {inertia}/></body></worldbody>
      <equality><connect body1="bar" body2="block" anchor="0.6 0 0"/></equality>
      <actuator><motor joint="slide"/></actuator></mujoco>""")
    return path


def test_forces_at_a_dead_centre_are_refused_by_the_name_of_the_row(program, tmp_path):
    path = slider_crank_file(tmp_path)
    found = program(f"id {path} --q 0 0 0", code=2)
    assert re.search(r"position is singular, or nearly: constraint row '", found.stderr)
    assert "robot." not in found.stderr and found.stdout == ""
    assert program.json(f"id {path} --q crank=0.5")["tau"][2] < -10


def test_rows_at_dead_centres_are_counted(program, tmp_path):
    path, rows = slider_crank_file(tmp_path), tmp_path / "rows.csv"
    q = kt.load(path).project([0.5, -0.66, -0.03], keep=["crank"])
    lines = [",".join(repr(float(x)) for x in y) for y in (q, 0 * q, q, 0 * q)]
    rows.write_text("\n".join(["crank,rod,slide", *lines]) + "\n")
    found = program(f"id {path} {rows}")
    assert (
        "cannot make the motion of 2 rows, the first is row 2: the mechanism is at a dead centre"
        in (" ".join(found.stderr.split()))
    )
    slides = [line.split(",")[-1] for line in found.stdout.splitlines()[1:]]
    assert [x.lower() in ("nan", "") for x in slides] == [False, True, False, True]


def test_equations_of_a_robot_that_cannot_move_are_refused_in_words(program, tmp_path):
    path = tmp_path / "fixed.xml"
    path.write_text("""<mujoco><worldbody><body><joint name="j" axis="0 1 0"/>
      <inertial pos="0 0 -0.1" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody>
      <equality><joint joint1="j"/></equality></mujoco>""")
    found = program(f"equations {path}", code=2)
    assert "M_r in closed form needs a degree of freedom" in found.stderr
    assert "Only Phi, J_Phi and gamma can be derived" in found.stderr
    assert program(f"equations {path} --quantity Phi").stdout.startswith("Phi[1] = theta1")
