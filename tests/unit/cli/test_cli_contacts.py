"""Contacts on the command line: --contacts and --ground, and what is refused."""

import logging

import numpy as np
import pytest

import kinetree as kt
from cli_program import Program
from kinetree.cli.program import LogLines
from kinetree.contacts import ContactPoint, Plane

HOPPER = """<robot name="hopper">
  <link name="body"><inertial><mass value="5"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="foot"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <collision name="pad"><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="slide" type="prismatic"><parent link="body"/><child link="foot"/>
    <origin xyz="0 0 -0.5"/><axis xyz="0 0 1"/>
    <limit lower="-0.2" upper="0.2" effort="500" velocity="9"/></joint>
</robot>"""
HOLD = "--floating --tau slide=-49.05 --duration 0.02"
WORDS = {
    "file": "file", "of a link": "foot", "of a shape": "pad", "sphere": "foot:0.05",
}  # fmt: skip
FAULTS = {
    "simulate {} --contacts fot": "Did you mean 'foot'?",
    "simulate {} --contacts fot:0.1": "Did you mean 'foot'?",
    "simulate {} --contacts body": "--contacts body:RADIUS is a sphere",
    "simulate {} --contacts foot:-0.1": "radius of contact 'foot' is -0.1; expected 0 or more",
    "simulate {} --contacts foot:nan": "'foot' is nan; expected a finite number",
    "simulate {} --contacts file foot": "expected file alone",
    "simulate {} --contacts": "--contacts needs at least one value",
    "simulate {} --ground friction=1": "--ground needs contacts",
    "simulate {} --contacts foot --ground friction=-1": "friction of the contacts is -1; expected",
    "simulate {} --contacts foot --ground friction=nan": "'friction' is nan; expected a finite",
    "simulate {} --contacts foot --ground frition=1": "Did you mean 'friction'?",
    "simulate {} --contacts foot --ground 0.8": "expected NAME=NUMBER with a name of friction",
    "simulate {} --contacts foot --ground z=1 z=2": "names 'z' twice",
    "simulate {} --contacts foot --ground restitution=2": "restitution of the contacts is 2",
    "simulate {} --contacts foot --ground compliance=-1": "compliance of the contacts is -1",
    "simulate {} --contacts foot --q base.z=0.4": "Leave the height of the base out of --q",
    "simulate {} --contacts foot --dt 0.5": "--dt is 0.5 s, and 'hopper' has contacts",
    "simulate {} --contacts foot --method rk4": "Or leave out --contacts",
    "simulate panda --contacts file": "--contacts FRAME:RADIUS is a sphere",
    "simulate panda --contacts panda_link0:0.1": "with --floating",
}


@pytest.fixture(scope="module")
def hopper(tmp_path_factory, server):
    found = Program(tmp_path_factory.mktemp("contacts"), server)
    (found.folder / "hopper.urdf").write_text(HOPPER, encoding="utf-8")
    return found


@pytest.mark.parametrize("words", WORDS)
def test_every_way_to_name_a_foot_makes_the_motion_of_python(hopper, words):
    told = hopper.json(f"simulate hopper.urdf {HOLD} --contacts {WORDS[words]}")
    robot = kt.load_string(HOPPER, floating=True).with_contacts(["foot"])
    tau = np.array([0, 0, 0, 0, 0, 0, -49.05])
    motion = kt.simulate(robot, robot.start_position(), tau=tau, duration=0.02)
    np.testing.assert_array_equal(told["q"], motion.q)
    (forces,) = told["contact_forces"].values()
    np.testing.assert_array_equal(forces, next(iter(motion.meta["contact_forces"].values())))
    assert max(told["contact_residual"]) < 1e-8
    assert {*told} >= {"contact_points", "contact_gaps", "contact_modes"}


def test_numbers_of_the_ground_arrive(hopper):
    line = f"simulate hopper.urdf {HOLD} --contacts foot --ground"
    told = hopper.json(f"{line} friction=0.05 slope=0.1 z=0.3 compliance=1e-5")
    plane = Plane((-0.1, 0, 1), (0, 0, 0.3))
    robot = kt.load_string(HOPPER, floating=True)
    robot = robot.with_contacts(["foot"], plane, friction=0.05, compliance=1e-5)
    tau = np.array([0, 0, 0, 0, 0, 0, -49.05])
    np.testing.assert_array_equal(
        told["q"], kt.simulate(robot, robot.start_position(), tau=tau, duration=0.02).q
    )
    assert told["contact_modes"]["pad"][-1] == 2  # 0.1 is steeper than friction allows
    shown = hopper.json("info hopper.urdf --floating --contacts file --ground friction=0.3 z=1")
    assert shown["contacts"]["friction"] == 0.3
    assert shown["contacts"]["ground"]["point"] == [0, 0, 1]
    assert shown["contacts"]["points"][0]["friction"] is None


def test_a_base_whose_height_is_left_out_stands_on_the_ground(hopper):
    told = hopper.json(f"simulate hopper.urdf {HOLD} --contacts foot --q slide=-0.1")
    assert told["q"][0][6] == pytest.approx(0.65, abs=1e-12)
    found = hopper(f"simulate hopper.urdf {HOLD} --contacts foot")
    assert "limits exclude zero" not in found.stderr
    assert "sticks" in found.stdout and "contact" in found.stdout


def test_built_in_robots_stand_on_spheres(hopper):
    feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    words = ",".join(f"{x}:0.02" for x in feet)
    told = hopper.json(f"simulate quadruped --contacts {words} --duration 0.005")
    robot = kt.robots.quadruped().with_contacts([ContactPoint(x, x, radius=0.02) for x in feet])
    np.testing.assert_array_equal(
        told["q"], kt.simulate(robot, robot.start_position(), duration=0.005).q
    )


@pytest.mark.parametrize("line", FAULTS)
def test_what_is_wrong_is_said_in_words_of_the_command_line(hopper, line):
    words = line.format("hopper.urdf --floating")
    found = hopper(words, code=2).stderr
    assert FAULTS[line] in found
    assert "robot." not in found and "kt." not in found


def test_logged_lines_are_in_words_of_the_command_line(capsys):
    record = logging.makeLogRecord({
        "msg": "kinetree simulated contacts of %s less exactly. meta['contact_residual'] has it "
        "over time.", "args": ("hopper",),
    })  # fmt: skip
    LogLines().emit(record)
    assert capsys.readouterr().err == (
        "kinetree: simulated contacts of hopper less exactly. --json has contact_residual over "
        "time.\n"
    )


def test_pictures_and_pages_have_the_ground(hopper):
    hopper("render hopper.urdf --floating --contacts foot -o a.svg --size 64x48")
    hopper("render hopper.urdf --floating -o b.svg --size 64x48")
    texts = [(hopper.folder / name).read_text(encoding="utf-8") for name in ("a.svg", "b.svg")]
    assert texts[0] != texts[1]
    hopper("report hopper.urdf --floating --contacts foot -o a.html --samples 10")
