"""SDF before 1.7: the elements whose meaning depends on the version of the file."""

import numpy as np
import pytest

from kinetree.errors import KinetreeError
from kinetree.files.description.sdf import read_sdf_text
from kinetree.spatial import rpy

TEXT = """<sdf version="{version}"><model name="m"><pose>0 0 0 0.3 0 0</pose>
<link name="a"><pose frame="">0 0 1 0.2 0.5 0.7</pose></link>
<joint name="{joint}" type="revolute"><parent>world</parent><child>a</child>
<pose>0 0 0 0.4 0 0</pose><axis>{xyz}{flag}</axis></joint></model></sdf>"""
XYZ = "<xyz>0.6 0 0.8</xyz>"
IN_MODEL = "<use_parent_model_frame>true</use_parent_model_frame>"
IN_JOINT = "<use_parent_model_frame>0</use_parent_model_frame>"


def axis(version, flag="", xyz=XYZ, joint="j"):
    """The axis of the joint in the frame of its child."""
    text = TEXT.format(version=version, flag=flag, xyz=xyz, joint=joint)
    return np.array(read_sdf_text(text).joints[0].A[:3], float)


@pytest.mark.parametrize(
    ("version", "flag", "is_in_model"),
    [
        ("1.2", "", True),
        ("1.3", "", True),
        ("1.4", "", True),
        ("1.4", IN_JOINT, False),  # libsdformat lets the flag count there, too
        ("1.5", "", False),
        ("1.5", IN_MODEL, True),
        ("1.6", IN_MODEL, True),
        ("1.6", IN_JOINT, False),
        ("1.6", "", False),
    ],
)
def test_the_axis_is_in_the_model_or_in_the_joint(version, flag, is_in_model):
    R_mc, R_cj = rpy(0.2, 0.5, 0.7), rpy(0.4, 0, 0)
    R = R_mc.T if is_in_model else R_cj
    np.testing.assert_allclose(axis(version, flag), R @ [0.6, 0, 0.8], atol=1e-15)


def test_the_default_axis_is_in_the_model_up_to_1_4():
    np.testing.assert_array_equal(axis("1.4", xyz=""), axis("1.4", xyz="<xyz>0 0 1</xyz>"))


def test_a_joint_may_have_the_name_of_a_link():
    np.testing.assert_array_equal(axis("1.6", joint="a"), axis("1.6"))
    with pytest.raises(KinetreeError, match="are both called 'a'"):
        axis("1.7", joint="a")


def test_names_of_joints_that_no_link_has_mean_frames_in_every_version():
    """Some files use relative_to and <mimic> with an older version; libsdformat reads them."""
    text = """<sdf version="{}"><model name="m">
    <joint name="j" type="revolute"><parent>world</parent><child>a</child>
    <pose relative_to="__model__">0 0 1 0.4 0 0</pose><axis><xyz>0 0 1</xyz></axis></joint>
    <link name="a"><pose relative_to="j">1 0 0 0 0 0</pose></link></model></sdf>"""
    new, old = (read_sdf_text(text.format(version)).joints[0] for version in ("1.7", "1.6"))
    np.testing.assert_array_equal(old.M_pc, new.M_pc)
    np.testing.assert_array_equal(old.A, new.A)


def test_gravity_is_in_physics_up_to_1_5():
    world = """<sdf version="{}"><world name="w"><physics type="ode"><gravity>1 2 3</gravity>
    </physics><model name="m"><link name="a"/></model></world></sdf>"""
    assert read_sdf_text(world.format("1.5")).gravity == (1, 2, 3)
    assert read_sdf_text(world.format("1.6")).gravity == (0, 0, -9.8)
    assert read_sdf_text(world.format("1.5").replace("<gravity>1 2 3</gravity>", "")).gravity == (
        0, 0, -9.8,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT.replace('frame=""', 'frame="world"'), "frame='world'.*expected relative_to"),
        (TEXT.replace("{xyz}", '<xyz expressed_in="a">0 0 1</xyz>' + IN_MODEL), "expressed_in"),
        (TEXT.replace("{flag}", "<use_parent_model_frame>x</use_parent_model_frame>"), "'x'"),
    ],
)
def test_what_programs_read_in_different_ways_is_refused(text, words):
    with pytest.raises(KinetreeError, match=f"(?s)^robot.sdf:.*{words}"):
        read_sdf_text(text.format(version="1.6", flag="", xyz=XYZ, joint="j"))
