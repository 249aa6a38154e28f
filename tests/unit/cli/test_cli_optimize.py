"""optimize: plans of the program, judged by robot.step and by the other commands."""

import csv

import numpy as np
import pytest

import kinetree as kt


def read(path):
    """Columns of a file of the program by quantity: t, q, dq, ddq and tau."""
    with path.open(encoding="utf-8") as file:
        heads = next(csv.reader(file))
        table = np.array([[float(x) for x in row] for row in csv.reader(file)])
    return {
        letter: table[:, [k for k, head in enumerate(heads) if head.split(":")[0] == letter]]
        for letter in ("t", "q", "dq", "ddq", "tau")
    }


def test_a_plan_reaches_its_goal_and_other_commands_read_it(program):
    found = program("optimize planar_2r --from 0.1 0 --to 1 0.5 -o plan.csv")
    text = " ".join(found.stdout.split())
    assert "converged; the end misses the goal by" in text and found.stderr == ""
    plan = read(program.folder / "plan.csv")
    robot, (q, dq) = kt.robots.planar_2r(), (plan["q"][0], plan["dq"][0])
    np.testing.assert_array_equal(q, [0.1, 0])
    for tau in plan["tau"][:-1]:
        q, dq = robot.step(q, dq, tau, dt=0.01)
    np.testing.assert_allclose(q, [1, 0.5], atol=1e-6)
    np.testing.assert_allclose(dq, 0, atol=1e-5)
    assert program.json("check planar_2r plan.csv --effort 1500")["ok"]
    line = "simulate planar_2r --q 0.1 0 --controller computed-torque --reference plan.csv"
    run = program.json(line)
    np.testing.assert_allclose(run["q"][-1], [1, 0.5], atol=1e-2)
    assert "need accelerations" not in program(line).stderr


def test_json_has_the_plan_and_the_limits_are_kept(program):
    found = program.json(
        "optimize panda --from panda_joint4=-90 --to panda_joint1=60 panda_joint4=-90 --dt 0.02 "
        "--duration 0.9 --degrees"
    )
    assert found["converged"] and found["reason"] == "converged" and found["violations"] == []
    assert found["units"]["q"][0] == "deg" and found["q"][-1][0] == pytest.approx(60, abs=1e-3)
    assert found["cost"] == pytest.approx(sum(found["costs"].values()))
    assert found["misses"]["goal"] < 1e-5 and len(found["tau"]) == len(found["t"]) == 46
    peak = np.abs(found["dq"]).max(0)[0]  # 1.047 rad in 0.9 s needs more than half of the limit
    assert 0.6 < np.radians(peak) / 2.175 <= 1


def test_a_robot_with_one_motor_swings_up(program):
    found = program(
        "optimize double_pendulum --to 3.14159265 0 --actuated elbow --effort 10 --duration 3 "
        "--dt 0.02 -o swing.csv --plot swing.svg"
    )
    assert "converged" in found.stdout
    plan = read(program.folder / "swing.csv")
    assert not plan["tau"][:, 0].any() and 9.9 < np.abs(plan["tau"][:, 1]).max() <= 10
    np.testing.assert_allclose(plan["q"][-1], [np.pi, 0], atol=1e-3)
    assert "iteration" in (program.folder / "swing.svg").read_text(encoding="utf-8")


def test_the_goal_of_a_frame(program):
    found = program.json(
        "optimize ur5e --from 0 -1 1 0 0.5 0 --to-pose 0.4 0.3 0.5 0.7071 0.7071 0 0 --dt 0.04"
    )
    pose = np.asarray(kt.robots.ur5e().pose(found["q"][-1]))
    wanted = [[1, 0, 0, 0.4], [0, 0, -1, 0.3], [0, 1, 0, 0.5], [0, 0, 0, 1]]
    np.testing.assert_allclose(pose, wanted, atol=1e-4)
    assert set(found["misses"]) == {"position", "rotation"}


def test_what_is_missed_has_code_1_and_a_line(program):
    found = program("optimize planar_2r --to 3 0 --duration 0.5 --dt 0.05 --effort 150", code=1)
    assert "the goal is not reached" in found.stderr
    found = program("optimize planar_2r --to 1 0 --dt 0.1 --iterations 1", code=1)
    assert "the plan has not converged: iterations" in found.stderr
    found = program("optimize planar_2r --to 1 0 --duration 0.4 --velocity 2 --dt 0.02", code=1)
    assert "limits are not kept: speed of 'joint1'" in found.stderr
    found = program("optimize planar_2r --to 1 0.5 --duration 0.9 --dt 0.3", code=1)
    assert "steps of 0.3 s are too long" in found.stderr and "0.4 rad" in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "there is no goal"),
        ("--to 1 0 --to-pose 1 0 0", "--to and --to-pose both give the goal"),
        ("--to 1", "--to has 1 number; 'planar 2R' needs 2"),
        ("--to 1 0 --frame tool", "--frame is that of --to-pose"),
        ("--to-pose 1 2", "--to-pose has 2 numbers; expected X Y Z"),
        ("--to-pose 1 2 zero", "'zero' for 'Z' is not a number"),
        ("--to-pose 1 2 3 0 0 0 0", "has length 0; expected 1"),
        ("--to-pose 1 2 3 --frame hook", "has no frame 'hook'"),
        (
            "--to 1 0 --actuated joint7",
            "actuated has 'joint7'; expected different degrees of freedom",
        ),
        ("--to 1 0 --duration 0", "--duration is 0 s and --dt 0.01 s"),
        ("--to 1 0 --duration 1 --dt 0.3", "expected such as --duration 0.9, or --dt 0.333333"),
        ("--to 1 0 --dt nan", "--dt nan s"),
        ("--to 1 0 --effort -1", "expected limits above 0"),
        ("--to 1 0 -o no/plan.csv", "there is no folder no"),
    ],
)
def test_wrong_words_are_one_sentence(program, words, message):
    found = program(f"optimize planar_2r {words}", code=2)
    assert message in found.stderr and found.stderr.count("\n") == 1 and found.stdout == ""


def test_robots_that_cannot_be_planned_for_say_the_way_out(program):
    assert "--friction none" in program("optimize puma_560 --to joint1=1", code=2).stderr
    assert "'panda_joint1'" in program("optimize panda --to panda_joint1=9", code=2).stderr


def test_actuators_that_a_plan_does_not_use_are_named(program):
    (program.folder / "motor.xml").write_text(
        '<mujoco model="motor"><worldbody><body><joint name="j" axis="0 1 0"/><geom size="0.1" '
        'mass="1" pos="0.2 0 0"/></body></worldbody><actuator><motor joint="j"/></actuator>'
        "</mujoco>",
        encoding="utf-8",
    )
    found = program("optimize motor.xml --to 1 --dt 0.02")
    assert "the actuators of 'motor' are not used" in found.stderr
