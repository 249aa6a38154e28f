"""Closed loops of SDF: one joint of each becomes a constraint; the motion is that of any choice."""

import itertools

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, ParseError
from kinetree.files.description.sdf import read_sdf_text

MASS = (
    "<inertial><pose>{} 0 0 0 0 0</pose><mass>{}</mass><inertia><ixx>0.01</ixx><iyy>0.02</iyy>"
    "<izz>0.02</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>"
)
# a four-bar with crank 0.3, coupler 0.5 and rocker 0.4 m, drawn closed: a triangle on 0.3 of 0.8 m
LINKS = {"crank": (0, 0, 0.15, 1), "coupler": (0.3, 0, 0.2, 2), "rocker": (0.8, 0, 0, 3)}
JOINTS = {
    "j1": ("base", "crank", "0 0 0"),
    "j2": ("crank", "coupler", "0 0 0"),
    "j3": ("base", "rocker", "0 0 0"),
    "j4": ("rocker", "coupler", "0.3 0.4 0"),
}


def hinge(name, type="revolute", inside=""):
    parent, child, at = JOINTS[name]
    axis = "" if type in ("fixed", "ball") else f"<axis><xyz>0 0 1</xyz>{inside}</axis>"
    return (
        f'<joint name="{name}" type="{type}"><parent>{parent}</parent><child>{child}</child>'
        f"<pose>{at} 0 0 0</pose>{axis}</joint>"
    )


def four_bar(joints):
    """The rocker goes from (0.8, 0) to (0.6, 0.4), where the coupler from (0.3, 0) ends."""
    links = "".join(
        f'<link name="{name}"><pose>{x} {y} 0 0 0 0</pose>{MASS.format(com, m)}</link>'
        for name, (x, y, com, m) in LINKS.items()
    )
    return (
        f'<sdf version="1.11"><world name="w"><gravity>0 -9.81 0</gravity><model name="bars">'
        f'<link name="base">{MASS.format(0, 1)}</link>{links}{"".join(joints)}'
        '<joint name="floor" type="fixed"><parent>world</parent><child>base</child></joint>'
        "</model></world></sdf>"
    )


def test_a_hinge_that_closes_a_loop_is_an_axis():
    robot = kt.load_string(four_bar([hinge(x) for x in JOINTS]))
    assert set(robot.joint_names) == {"j1", "j2", "j3"}
    assert robot.mobility.degrees_of_freedom == 1
    assert np.abs(robot.constraint_errors(np.zeros(3))).max() < 1e-15
    assert any("joint 'j4' closes a loop" in note.text for note in robot.report.notes)
    tree = kt.load_string(four_bar([hinge(x) for x in JOINTS]), constraints="none")
    assert tree.model.constraints is None and tree.n == 3


def test_the_motion_does_not_depend_on_the_joint_that_closes_the_loop():
    found = []
    for order in list(itertools.permutations(JOINTS))[::4]:
        robot = kt.load_string(four_bar([hinge(x) for x in order]))
        if "j1" not in robot.joint_names:
            continue
        k = robot.joint_names.index("j1")
        J = robot.constraint_jacobian(np.zeros(3))
        rest = [i for i in range(3) if i != k]
        dq = np.zeros(3)
        dq[k] = 2
        dq[rest] = np.linalg.lstsq(J[:, rest], -2 * J[:, k], rcond=None)[0]
        ddq = robot.forward_dynamics(np.zeros(3), dq, np.zeros(3))
        found.append((dq[k], ddq[k]))
    assert len(found) >= 4
    np.testing.assert_allclose(found, [found[0]] * len(found), rtol=1e-9)


@pytest.mark.parametrize("type, kind", [("ball", "point"), ("fixed", "pose"), ("revolute", "axis")])
def test_the_kind_of_the_joint_is_the_kind_of_the_loop(type, kind):
    joints = [hinge(x, "revolute" if x != "j4" else type) for x in JOINTS]
    found = read_sdf_text(four_bar(joints))
    assert found.constrained is not None
    assert found.constrained.constraints["j4"].kind == kind
    if type == "fixed":  # a triangle of 0.3 and 0.5 m on a base of 0.8 m, stretched to its limit
        with pytest.raises(ModelError, match="'j4' of 'bars' can be closed only in singular"):
            kt.load_string(four_bar(joints))
        return
    robot = kt.load_string(four_bar(joints))
    assert np.abs(robot.constraint_errors(np.zeros(3))).max() < 1e-15
    assert robot.mobility.degrees_of_freedom == 1


def test_a_sliding_joint_stays_in_the_tree_and_another_closes_the_loop():
    joints = [hinge("j1"), hinge("j2"), hinge("j4"), hinge("j3", "prismatic")]
    with pytest.warns(kt.KinetreeWarning):  # that it stands still
        robot = kt.load_string(four_bar(joints))
    assert set(robot.joint_names) == {"j1", "j2", "j3"}
    assert list(robot.model.constraints.given) == ["j4"]


def test_joints_without_extras_close_loops_first_and_lost_extras_are_named():
    damped = "<dynamics><damping>1</damping></dynamics>"
    joints = [hinge(x, inside=damped if x == "j4" else "") for x in JOINTS]
    found = read_sdf_text(four_bar(joints))
    assert list(found.constrained.constraints) == ["j3"] and found.warnings == ()
    every = read_sdf_text(four_bar([hinge(x, inside=damped) for x in JOINTS]))
    (warning,) = every.warnings
    assert "'j4' closes a loop, so these are left out: friction" in warning.text


def test_loops_that_no_hinge_ball_or_fixed_joint_can_close_are_refused():
    with pytest.raises(ParseError, match="form a loop"):
        read_sdf_text(four_bar([hinge(x, "prismatic") for x in JOINTS]))
