"""URDF: where a doubt begins and ends, and drives of joints that cannot use them."""

import math

import numpy as np
import pytest

from kinetree.errors import ParseError
from kinetree.files.description.urdf import read_urdf_text

INERTIAL = """<inertial><mass value="{m}"/>
  <inertia ixx="{I}" iyy="{I}" izz="{I}" ixy="0" ixz="0" iyz="0"/></inertial>"""


def robot(kind="revolute", inside="", origin="0 0 0", rpy="0 0 0", m=1, I=0.1, after=""):
    """One joint of a type between two links, with more inside it and after it."""
    return read_urdf_text(
        f"""<robot name="r"><link name="base"/><link name="tip">{INERTIAL.format(m=m, I=I)}</link>
        <joint name="j" type="{kind}"><origin xyz="{origin}" rpy="{rpy}"/><parent link="base"/>
        <child link="tip"/>{inside}</joint>{after}</robot>""",
        name="r.urdf",
    )


def limit(lower=-1, upper=1, effort=5, velocity=2):
    return f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>'


def warned(description, *words):
    return any(all(word in note.text for word in words) for note in description.warnings)


@pytest.mark.parametrize(
    ("kind", "upper", "word", "expected"),
    [
        ("revolute", 4 * math.pi, "degrees", False),
        ("revolute", 4 * math.pi + 0.02, "degrees", True),
        ("revolute", 9999, "degrees", True),
        ("revolute", 10001, "degrees", False),  # an endless joint
        ("prismatic", 99.9, "millimetres", False),
        ("prismatic", 100.1, "millimetres", True),
        ("prismatic", 10001, "millimetres", False),
    ],
)
def test_a_range_is_doubted_between_its_bounds(kind, upper, word, expected):
    for lower, higher in ((-0.5, upper), (-upper, 0.5)):
        found = robot(kind, limit(lower, higher))
        assert warned(found, "beyond", word) is expected
        assert (found.joints[0].limits.lower, found.joints[0].limits.upper) == (lower, higher)


@pytest.mark.parametrize("huge", ["1e30", "1e308", "3.4028235e38"])
def test_numbers_that_mean_no_limit_are_none(huge):
    found = robot("revolute", limit(f"-{huge}", huge, huge, huge)).joints[0].limits
    assert found.lower == -math.inf
    assert found.upper == found.effort == found.velocity == math.inf
    found = robot("revolute", limit(-1, "9e29", "9e29", "9e29")).joints[0].limits
    assert (found.upper, found.effort, found.velocity) == (9e29,) * 3
    found = robot("revolute", limit("1e30", "1e31")).joints[0].limits  # a lower end, not none
    assert found.lower == 1e30 and found.upper == math.inf


def test_limits_of_a_continuous_joint_are_those_of_speed_and_force():
    found = robot("continuous", limit(-1, 1, 5, 2))
    limits = found.joints[0].limits
    assert (limits.lower, limits.upper) == (-math.inf, math.inf)
    assert (limits.effort, limits.velocity) == (5, 2)
    assert any("continuous, so its lower and upper" in note.text for note in found.notes)
    found = robot("continuous", limit(0, 0, 5, 2))
    assert not any("is continuous; its lower" in note.text for note in found.notes)


def test_reversed_limits_are_ignored_and_equal_ones_kept():
    assert robot("revolute", limit(1, -1)).joints[0].limits.lower == -math.inf
    assert robot("revolute", limit(0.5, 0.5)).joints[0].limits.upper == 0.5
    found = robot("revolute", limit(0.5, 0.5))
    assert not warned(found, "above upper limit") and not warned(found, "both 0")


@pytest.mark.parametrize(("moment", "expected"), [(2499.9, False), (2500.1, True)])
def test_an_inertia_is_doubted_beyond_a_radius_of_50_metres(moment, expected):
    found = robot(m=3, I=moment * 3 * 2 / 3, inside=limit())  # half the trace is 3/2 of each
    assert warned(found, "is it in kg m^2") is expected
    assert not warned(robot(m=0, I=1e9, inside=limit()), "is it in kg m^2")


@pytest.mark.parametrize(
    ("origin", "rpy", "word", "expected"),
    [
        ("0 0 99.9", "0 0 0", "millimetres", False),
        ("0 -100.1 0", "0 0 0", "millimetres", True),
        ("0 0 0", f"{2 * math.pi} 0 0", "degrees", False),
        ("0 0 0", f"0 0 -{2 * math.pi + 0.02}", "degrees", True),
    ],
)
def test_an_origin_is_doubted_beyond_its_bounds(origin, rpy, word, expected):
    assert warned(robot(origin=origin, rpy=rpy, inside=limit()), word) is expected


def test_friction_of_joints_that_cannot_use_it_is_left_out_with_a_word():
    rubbing = '<dynamics damping="0.5" friction="0.2"/>'
    found = robot("revolute", limit() + rubbing).joints[0].friction
    assert (found.viscous, found.coulomb) == (0.5, 0.2)
    for kind, word in (("floating", "free"), ("planar", "planar")):
        found = robot(kind, rubbing)
        assert warned(found, f"<dynamics> of a {word} joint is not used")
        assert found.joints[0].friction.viscous == found.joints[0].friction.coulomb == 0
        silent = robot(kind, '<dynamics damping="0" friction="0"/>')
        assert not warned(silent, "<dynamics>")
        for only in ('damping="1"', 'friction="1"'):
            assert warned(robot(kind, f"<dynamics {only}/>"), "is not used")
    for key in ("damping", "friction"):
        with pytest.raises(ParseError, match=f"{key} is -0.1; expected >= 0"):
            robot("revolute", f'{limit()}<dynamics {key}="-0.1"/>')


def drive(name, joint="j", inertia=0.01, ratio=50, more=""):
    return f"""<transmission name="{name}"><joint name="{joint}"/>{more}<actuator name="m">
    <rotor_inertia value="{inertia}"/><gear_ratio value="{ratio}"/></actuator></transmission>"""


def test_a_rotor_drives_one_joint_that_has_none_yet():
    rotor = robot(inside=limit(), after=drive("t")).joints[0].rotor
    assert (rotor.inertia, rotor.ratio) == (0.01, 50)
    assert robot(inside=limit(), after=drive("t", inertia=0)).joints[0].rotor.inertia == 0
    found = robot(inside=limit(), after=drive("t") + drive("u", inertia=0.02))
    assert found.joints[0].rotor.inertia == 0.01
    assert warned(found, "transmission 'u'", "joint 'j' has a rotor already")
    found = robot("floating", after=drive("t"))
    assert found.joints[0].rotor is None
    assert warned(found, "transmission 't'", "joint 'j' is free")
    found = robot(inside=limit(), after=drive("t", "k"))
    assert warned(found, "drives joint 'k', which does not exist")
    assert warned(found, "has 1 actuators and joints 'k'", "expected one of each")
    two = '<actuator name="n"/>'
    assert warned(robot(inside=limit(), after=drive("t", more=two)), "has 2 actuators")


def test_a_mesh_has_its_own_size_and_stands_in_the_link_s_frame_unless_the_file_says_more():
    found = read_urdf_text(
        """<robot name="r"><link name="a">
        <visual><geometry><mesh filename="plain.stl"/></geometry></visual>
        <collision><origin xyz="1 2 3"/><geometry><mesh filename="b.stl" scale="1 2 -3"/>
        </geometry></collision><visual><geometry><mesh filename=""/></geometry></visual>
        <visual><geometry><mesh filename="c.stl" scale="1 2"/></geometry></visual>
        <sensor><geometry><mesh filename="d.stl"/></geometry></sensor></link></robot>""",
        name="r.urdf",
    )
    plain, moved = found.meshes
    assert (plain.path, plain.scale, plain.kind) == ("plain.stl", (1, 1, 1), "visual")
    assert np.array_equal(plain.T, np.eye(4))
    assert (moved.path, moved.scale, moved.kind) == ("b.stl", (1, 2, -3), "collision")
    assert moved.T[:3, 3].tolist() == [1, 2, 3]
    assert any("a mesh is skipped" in note.text for note in found.notes)
