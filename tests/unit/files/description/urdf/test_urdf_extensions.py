"""Elements of a URDF for simulators are reported; what changes the motion is a warning."""

import pytest

import kinetree as kt
from kinetree.errors import KinetreeError, KinetreeWarning

URDF = """<robot name="r"><link name="base"/><link name="l"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="l"/></joint>{}</robot>"""
CHANGES = {
    '<gazebo reference="j"><springStiffness>100</springStiffness></gazebo>': "<springStiffness>",
    '<gazebo reference="l"><turnGravityOff>true</turnGravityOff></gazebo>': "<turnGravityOff>",
    '<gazebo reference="l"><gravity>0</gravity></gazebo>': "<gravity>",
    '<gazebo><joint name="loop"/></gazebo>': "<joint>",
    '<mujoco><option gravity="0 0 0"/></mujoco>': "gravity of <option>",
    '<mujoco><compiler balanceinertia="true"/></mujoco>': "balanceinertia of <compiler>",
}
IDLE = [
    '<gazebo reference="l"><turnGravityOff>false</turnGravityOff><mu1>0.2</mu1></gazebo>',
    '<gazebo reference="j"><springStiffness>0.0</springStiffness></gazebo>',
    '<mujoco><option gravity="0 0  -9.81"/><compiler meshdir="m"/></mujoco>',
]


@pytest.mark.parametrize("text", CHANGES)
def test_what_changes_the_motion_is_a_warning_that_strict_refuses(text):
    with pytest.warns(KinetreeWarning, match=f"{CHANGES[text]} changes the motion there and is no"):
        robot = kt.load_string(URDF.format(text))
    assert "is for simulators and is not read" in str(robot.report)
    with pytest.raises(KinetreeError, match=f"{CHANGES[text]} changes the motion there"):
        kt.load_string(URDF.format(text), strict=True)


@pytest.mark.parametrize("text", IDLE)
def test_other_contents_are_noted(text):
    robot = kt.load_string(URDF.format(text), strict=True)
    assert "is for simulators and is not read: <" in str(robot.report)
