"""Controls of actuators on the command line: typed, from a file, and refused in words."""

import json

import pytest
from cli_program import Program

pytest.importorskip("mujoco", reason="MJCF needs mujoco")

ARM = """<mujoco model="arm"><worldbody><body name="b"><joint name="hinge" axis="0 1 0"/>
<geom size=".1" pos=".2 0 0"/><body name="c" pos=".4 0 0"><joint name="wrist" axis="0 1 0"/>
<geom size=".1"/></body></body></worldbody><actuator><motor name="push" joint="hinge" gear="3"/>
<intvelocity name="turn" joint="wrist" kp="9" actrange="-1 1"/></actuator></mujoco>"""
FAULTS = {
    "--controls 1": "--controls has 1 number; the actuators of 'arm' need 2: 'push', 'turn'",
    "--controls psh=1": "Did you mean 'push'?",
    "--controls push=x": "'x' for 'push' is not a number",
    "--controls push=1 --control-file u.csv": "both give controls",
    "--control-file nope.csv": "there is no file nope.csv",
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
    piped = line.replace("u.csv", "-")
    text = (arm.folder / "u.csv").read_text(encoding="utf-8")
    assert json.loads(arm(piped, stdin=text).stdout) == found


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_is_one_paragraph_that_names_it(arm, words):
    found = arm(f"simulate arm.xml {words}", code=2)
    assert FAULTS[words] in found.stderr and found.stdout == ""
    assert found.stderr.startswith("kinetree: ") and found.stderr.count("\n") == 1


def test_info_lists_the_actuators(arm):
    found = json.loads(arm("info arm.xml --json").stdout)["actuators"]
    assert [(x["name"], x["kind"], x["joints"]) for x in found] == [
        ("push", "motor", {"hinge": 3}),
        ("turn", "integrated velocity", {"wrist": 1}),
    ]
    assert found[1]["activation_range"] == [-1, 1] and found[1]["force_range"] == [None, None]
    rows = [x.split() for x in arm("info arm.xml").stdout.splitlines()]
    assert ["push", "motor", "3", "hinge", "-", "-"] in rows


def test_a_robot_without_actuators_takes_no_controls(arm):
    assert "has no actuators" in arm("simulate planar_2r --controls 1 2", code=2).stderr
