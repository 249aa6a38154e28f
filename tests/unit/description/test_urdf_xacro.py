import importlib.util
import sys

import pytest

from kinetree.description.urdf import read_urdf, read_urdf_text
from kinetree.description.xacro import expand_xacro
from kinetree.errors import KinetreeError, ParseError

ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find parts)/part.xacro"/>
  <xacro:arg name="height" default="0.5"/>
  <link name="base"/>
  <xacro:part name="a" height="$(arg height)"/>
</robot>"""
PART = """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="part" params="name height">
    <link name="${name}"/>
    <joint name="j_${name}" type="fixed"><origin xyz="0 0 ${2 * height}"/>
      <parent link="base"/><child link="${name}"/></joint>
  </xacro:macro>
</robot>"""
needs_xacro = pytest.mark.skipif(
    importlib.util.find_spec("xacrodoc") is None,
    reason="xacrodoc, the extra kinetree[xacro], is not installed",
)


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "packages" / "parts").mkdir(parents=True)
    (tmp_path / "packages" / "parts" / "part.xacro").write_text(PART, encoding="utf-8")
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM, encoding="utf-8")
    return path


def test_without_the_package_the_error_names_the_extra(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(KinetreeError, match=r"kinetree\[xacro\]") as caught:
        read_urdf(arm)
    assert isinstance(caught.value, ImportError)


@needs_xacro
def test_a_xacro_file_is_expanded_with_its_packages(arm):
    robot = read_urdf(arm, package_paths=[arm.parent / "packages"])
    assert robot.joints[0].M_pc[2, 3] == 1.0
    assert robot.joints[0].where.startswith("arm.urdf.xacro (expanded):")


@needs_xacro
def test_the_ending_may_be_in_capitals(arm):
    loud = arm.rename(arm.with_name("ARM.XACRO"))
    assert read_urdf(loud, package_paths=[arm.parent / "packages"]).joints[0].M_pc[2, 3] == 1.0


@needs_xacro
def test_arguments_reach_the_file(arm):
    text = expand_xacro(arm, [arm.parent / "packages"], {"height": "2"})
    assert read_urdf_text(text).joints[0].M_pc[2, 3] == 4.0


@needs_xacro
@pytest.mark.parametrize("old", ["<link", "${2 * height}", "$(find parts)"])
def test_what_xacro_refuses_becomes_our_error(arm, old):
    part = arm.parent / "packages" / "parts" / "part.xacro"
    for path in (arm, part):
        text = path.read_text(encoding="utf-8").replace(old, "${1 / 0}", 1)
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ParseError, match="xacro cannot expand"):
        read_urdf(arm, package_paths=[arm.parent / "packages"])
