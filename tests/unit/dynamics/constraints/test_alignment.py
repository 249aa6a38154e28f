"""Loops whose angles are rounded: they move with a warning, or stand still with one."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeWarning

BODY = '<inertial pos=".1 .1 .1" mass="1" diaginertia="1 1 1"/>'


def mjcf(angle, anchor=".8 .5 0"):
    """A four-bar whose rocker is turned by about half of pi, and turns about its y axis."""
    return f"""<mujoco><compiler angle="radian"/><option gravity="0 -9.81 0"/><worldbody>
<body name="crank"><joint name="a" axis="0 0 1"/>{BODY}
<body name="coupler" pos=".3 .4 0"><joint name="b" axis="0 0 1"/>{BODY}</body></body>
<body name="rocker" pos="1 0 0" euler="{angle} 0 0"><joint name="c" axis="0 1 0"/>{BODY}</body>
</worldbody><equality><connect name="pin" body1="coupler" body2="rocker" anchor="{anchor}"/>
</equality></mujoco>"""


def sdf(angle):
    """The same loop, closed by a ball, whose rocker turns about its y axis."""
    inertia = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
    inertial = f"<inertial><pose>.1 .1 .1 0 0 0</pose><mass>1</mass>{inertia}</inertial>"
    poses = {"crank": "0 0 0 0 0 0", "coupler": ".3 .4 0 0 0 0", "rocker": f"1 0 0 {angle} 0 0"}
    links = "".join(
        f'<link name="{name}"><pose>{at}</pose>{inertial}</link>' for name, at in poses.items()
    )
    ends = {
        "a": ("world", "crank", "z"),
        "b": ("crank", "coupler", "z"),
        "c": ("world", "rocker", "y"),
    }
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
        f"<axis><xyz>{'0 0 1' if axis == 'z' else '0 1 0'}</xyz></axis></joint>"
        for name, (parent, child, axis) in ends.items()
    )
    pin = '<joint name="pin" type="ball"><pose relative_to="coupler">.8 .5 0 0 0 0</pose>'
    pin += "<parent>coupler</parent><child>rocker</child></joint>"
    world = "<gravity>0 -9.81 0</gravity>"
    model = f'<model name="bars">{links}{joints}{pin}</model>'
    return f'<sdf version="1.9"><world name="w">{world}{model}</world></sdf>'


def loaded(angle, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        return kt.load_string(mjcf(angle, **options))


def falling(robot):
    return robot.forward_dynamics(robot.neutral(), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("anchor", [".8 .5 0", "1 .5 0"])  # upright, the weak row vanishes at zero
@pytest.mark.parametrize("angle", ["1.5707963", "1.5708"])
def test_a_loop_with_rounded_angles_moves_as_the_exact_one(angle, anchor):
    exact, robot = loaded(repr(np.pi / 2), anchor=anchor), loaded(angle, anchor=anchor)
    assert not exact.model.warnings and exact.model.constraints.gap == 0
    assert kt.constraints.mobility(robot).degrees_of_freedom == 1
    assert np.abs(falling(robot) - falling(exact)).max() < 1e-7
    still, options = np.zeros(3), {"duration": 1.0, "dt": 1e-3, "method": "rk4"}
    ends = [x.simulate(x.neutral(), still, **options).q[-1] for x in (robot, exact)]
    assert np.abs(ends[0]).max() > 0.5 and np.abs(ends[0] - ends[1]).max() < 1e-5


def test_an_sdf_loop_with_rounded_angles_moves():
    exact = kt.load_string(sdf(repr(np.pi / 2)))
    with pytest.warns(KinetreeWarning, match="'pin' of 'bars' stay open by"):
        robot = kt.load_string(sdf("1.5708"))
    assert (
        kt.constraints.mobility(robot).degrees_of_freedom
        == kt.constraints.mobility(exact).degrees_of_freedom
        == 1
    )
    q = exact.neutral()
    rows = [x.forward_dynamics(q, 0 * q, 0 * q) for x in (robot, exact)]
    assert np.abs(rows[1]).max() > 0.1 and np.abs(rows[0] - rows[1]).max() < 1e-5


def test_a_robot_that_is_constrained_again_warns_once():
    robot = loaded("1.5708")
    again = robot.constrained({}).constrained({})
    assert len(robot.model.warnings) == len(again.model.warnings) == 1
    assert not kt.constraints.unconstrained(robot).model.warnings


@pytest.mark.parametrize("tilt", [1e-15, 1e-12, 1e-10])
def test_exact_angles_keep_their_choices(tilt):
    exact, robot = loaded(repr(np.pi / 2)), loaded(repr(np.pi / 2 + tilt))
    assert not robot.model.warnings and robot.model.constraints.gap == 0
    assert robot.model.constraints.basis == exact.model.constraints.basis


@pytest.mark.parametrize("tilt", [3e-5, 1e-3, 1e-2])
def test_a_wider_tilt_stands_still_with_a_warning(tilt):
    with pytest.warns(KinetreeWarning, match="no degree of freedom"):
        robot = kt.load_string(mjcf(repr(np.pi / 2 + tilt)))
    assert kt.constraints.mobility(robot).degrees_of_freedom == 0


def test_mujoco_moves_the_rounded_loop_in_the_same_way():
    mujoco = pytest.importorskip("mujoco")
    stiff = '<equality><connect solimp="0.9999 0.9999 0.001 0.5 2" '
    model = mujoco.MjModel.from_xml_string(mjcf("1.5708").replace("<equality><connect ", stiff))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert np.abs(falling(loaded("1.5708")) - data.qacc).max() < 0.01
