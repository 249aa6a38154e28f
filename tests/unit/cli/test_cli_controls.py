"""Controls of actuators on the command line: typed, from a file, and refused in words."""

import json

import numpy as np
import pytest

from cli_program import Program

pytest.importorskip("mujoco", reason="MJCF needs mujoco")

ARM = """<mujoco model="arm"><worldbody><body name="b"><joint name="hinge" axis="0 1 0"/>
<geom size=".1" pos=".2 0 0"/><body name="c" pos=".4 0 0"><joint name="wrist" axis="0 1 0"/>
<geom size=".1"/></body></body></worldbody><actuator><motor name="push" joint="hinge" gear="3"/>
<intvelocity name="turn" joint="wrist" kp="9" actrange="-1 1"/></actuator></mujoco>"""
SERVOS = """<mujoco model="servos"><worldbody><body name="b"><joint name="hinge" axis="0 1 0"/>
<geom size=".1" pos=".2 0 0"/><body name="c" pos=".4 0 0"><joint name="slide" type="slide"/>
<geom size=".1"/></body></body></worldbody><actuator>
<position name="aim" joint="hinge" kp="30" kv="4" ctrlrange="-3 3" timeconst="0.05"/>
<velocity name="spin" joint="hinge" kv="2" gear="-1"/>
<intvelocity name="swing" joint="hinge" kp="5"/><motor name="push" joint="hinge" gear="3"/>
<position name="reach" joint="slide" kp="20"/>
<position name="belt" joint="hinge" kp="20" gear="0.05"/>
<general name="odd" joint="hinge" gainprm="3" biastype="affine" biasprm="0 -2 0"/></actuator>
</mujoco>"""
ANGLES = {"aim": 30.0, "spin": -40.0, "swing": 200.0}  # degrees, and degrees per second
FAULTS = {
    "--controls 1": "--controls has 1 number; the actuators of 'arm' need 2: 'push', 'turn'",
    "--controls psh=1": "Did you mean 'push'?",
    "--controls push=x": "'x' for 'push' is not a number",
    "--controls push=1 --control-file u.csv": "both give controls",
    "--control-file nope.csv": "there is no file nope.csv",
    "--control-file twice.csv": "column 'time' is there twice; expected t once",
    "--control-file odd.csv": "column 'psh' is not an actuator of 'arm'",
    "--control-file part.csv": "part.csv has no column for 'turn'",
    "--control-file word.csv": "word.csv, line 3: 'up' for 'push' is not a number",
    "--control-file short.csv": "short.csv, line 2: 2 entries; expected 3",
    "--control-file back.csv": "do not increase",
}


@pytest.fixture(scope="module")
def arm(tmp_path_factory, server):
    found = Program(tmp_path_factory.mktemp("controls"), server)
    texts = {
        "arm.xml": ARM,
        "u.csv": "t,u:turn,push\n0,0.5,1\n0.05,0,-2\n",
        "servos.xml": SERVOS,
        "time.csv": "u:turn,push,Time\n0.5,1,0\n0,-2,0.05\n",
        "goals.csv": "time [s],aim,spin,swing,push,reach,belt,odd\n0,30,-40,200,2,0.1,0,0\n",
        "twice.csv": "t,push,turn,time\n0,1,1,0\n",
        "odd.csv": "t,psh,turn\n0,1,1\n",
        "part.csv": "t,push\n0,1\n",
        "word.csv": "t,push,turn\n0,1,1\n1,up,1\n",
        "short.csv": "t,push,turn\n0,1\n",
        "back.csv": "t,push,turn\n1,1,1\n0,1,1\n",
    }
    for name, text in texts.items():
        (found.folder / name).write_text(text, encoding="utf-8")
    return found


def test_controls_are_numbers_by_name_or_in_order(arm):
    line = "simulate arm.xml --duration 0.05 --limits ignore --json --controls "
    one = json.loads(arm(line + "1.5 0.2").stdout)
    two = json.loads(arm(line + "turn=0.2 push=1.5").stdout)
    assert one == two
    assert one["tau"][0][0] == 4.5
    assert set(one["controls"]["push"]) == {1.5}
    assert one["activation"]["turn"][-1] == pytest.approx(0.2 * 0.05)


def test_controls_of_a_file_are_kept_until_the_next_row(arm):
    line = "simulate arm.xml --duration 0.1 --limits ignore --json --control-file u.csv"
    found = json.loads(arm(line).stdout)
    assert found["controls"]["push"][:5] == [1] * 5 and found["controls"]["push"][6:] == [-2] * 5
    assert found["activation"]["turn"][-1] == pytest.approx(0.025)
    assert json.loads(arm(line.replace("u.csv", "time.csv")).stdout) == found
    piped = line.replace("u.csv", "-")
    text = (arm.folder / "u.csv").read_text(encoding="utf-8")
    assert json.loads(arm(piped, stdin=text).stdout) == found


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_is_one_paragraph_that_names_it(arm, words):
    found = arm(f"simulate arm.xml {words}", code=2)
    assert FAULTS[words] in found.stderr and found.stdout == ""
    assert found.stderr.startswith("kinetree: ") and found.stderr.count("\n") == 1


def test_goals_of_servos_are_in_degrees_with_degrees(arm):
    line = "simulate servos.xml --duration 0.1 --limits ignore --json "
    radians = " ".join(f"{name}={float(np.radians(x))!r}" for name, x in ANGLES.items())
    degrees = " ".join(f"{name}={x}" for name, x in ANGLES.items())
    plain = json.loads(arm(f"{line} --controls {radians} push=2 reach=0.1").stdout)
    typed = json.loads(arm(f"{line} --degrees --controls {degrees} push=2 reach=0.1").stdout)
    filed = json.loads(arm(f"{line} --degrees --control-file goals.csv").stdout)
    assert np.abs(typed["tau"]).max() > 1
    np.testing.assert_allclose(typed["tau"], plain["tau"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(filed["tau"], typed["tau"], rtol=1e-9, atol=1e-12)
    for name, x in ANGLES.items():
        np.testing.assert_allclose(typed["controls"][name], x)
    assert set(typed["controls"]["push"]) == {2} and set(typed["controls"]["reach"]) == {0.1}
    for name, x in plain["activation"].items():
        np.testing.assert_allclose(typed["activation"][name], np.degrees(x), rtol=1e-6, atol=1e-9)
    units = typed["units"]["controls"]
    assert [units[x] for x in (*ANGLES, "push", "reach")] == ["deg", "deg/s", "deg/s", "", "m"]
    assert typed["units"]["activation"] == {"aim": "deg", "swing": "deg"}
    assert plain["units"]["activation"] == {"aim": "rad", "swing": "rad"}


def test_degrees_refuse_a_goal_that_may_be_a_length(arm):
    line = "simulate servos.xml --duration 0.02 --limits ignore --json --controls "
    found = arm(f"{line} belt=1 --degrees", code=2).stderr
    assert "servo 'belt' is a goal for 0.05 hinge" in found and "Leave out --degrees" in found
    arm(f"{line} belt=1")
    arm(f"{line} belt=0 --degrees")


def test_degrees_report_a_control_that_they_do_not_change(arm):
    line = "simulate servos.xml --duration 0.02 --limits ignore --json --controls odd=5 push=1"
    found = arm(f"{line} --degrees")
    assert "--degrees does not change the control of 'odd'" in found.stderr
    assert set(json.loads(found.stdout)["controls"]["odd"]) == {5}
    assert "odd" not in arm(line).stderr


def test_info_lists_ranges_and_time_constants_of_actuators(arm):
    rows = [x.split() for x in arm("info servos.xml --degrees").stdout.splitlines()]
    wide = "aim position hinge -171.9 .. 171.9 deg - filterexact 0.05"
    assert wide.split() in rows
    found = json.loads(arm("info servos.xml --degrees --json").stdout)["actuators"][0]
    assert found["control_range"] == pytest.approx([-171.8873, 171.8873])
    assert found["units"] == {"control": "deg", "activation": "deg"}
    rows = [x.split() for x in arm("info arm.xml").stdout.splitlines()]
    assert "turn integrated velocity wrist - - integrator -1 .. 1 rad".split() in rows


def test_info_lists_the_actuators(arm):
    found = json.loads(arm("info arm.xml --json").stdout)["actuators"]
    assert [(x["name"], x["kind"], x["joints"]) for x in found] == [
        ("push", "motor", {"hinge": 3}),
        ("turn", "integrated velocity", {"wrist": 1}),
    ]
    assert found[1]["activation_range"] == [-1, 1] and found[1]["force_range"] == [None, None]
    rows = [x.split() for x in arm("info arm.xml").stdout.splitlines()]
    assert ["push", "motor", "3", "hinge", "-", "-", "-", "-"] in rows


def test_a_robot_without_actuators_takes_no_controls(arm):
    assert "has no actuators" in arm("simulate planar_2r --controls 1 2", code=2).stderr
