"""Robots of the package robot_descriptions, tested with a package of the same shape: no network."""

import sys

import pytest

import kinetree as kt

URDF = """<robot name="toy"><link name="a"/><link name="b"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>
</robot>"""
XACRO = """<robot name="toy_$(arg side)" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="side" default="none"/><xacro:arg name="size" default="1"/>
<xacro:include filename="$(find toy_parts)/parts.xacro"/><xacro:arm/></robot>"""
PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="arm">
<link name="a"/><link name="b"/><joint name="j$(arg size)" type="continuous"><parent link="a"/>
<child link="b"/></joint></xacro:macro></robot>"""
MODULE = """print("Cloning https://example.org/toy.git...")
REPOSITORY_PATH = {folder!r}
PACKAGE_PATH = {folder!r} + "/toy_description"
"""
FAILING = """
class GitCommandError(Exception):
    pass
raise GitCommandError("Cmd('git') failed: exit code(128)\\n  stderr: 'fatal: unable to access'")
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package robot_descriptions with a few modules, in place of an installed one."""
    folder = tmp_path / "site" / "robot_descriptions"
    repository = tmp_path / "repository"
    (repository / "toy_description").mkdir(parents=True)
    (repository / "toy_parts").mkdir()
    (repository / "toy_description/toy.urdf").write_text(URDF)
    (repository / "toy_description/toy.xacro").write_text(XACRO)
    (repository / "toy_parts/parts.xacro").write_text(PARTS)
    folder.mkdir(parents=True)
    start = MODULE.format(folder=str(repository))
    modules = {
        "toy_description": f'{start}URDF_PATH = PACKAGE_PATH + "/toy.urdf"\n',
        "toy_mj_description": f'{start}URDF_PATH = "no.urdf"\nMJCF_PATH = "toy.xml"\n',
        "toy_xacro_description": f'{start}XACRO_PATH = PACKAGE_PATH + "/toy.xacro"\n'
        f'XACRO_ARGS = {{"side": "left", "size": "3"}}\n'
        f'XACRO_PACKAGE_PATHS = {{"toy_parts": REPOSITORY_PATH + "/toy_parts"}}\n',
        "offline_description": FAILING,
        "groups_description": f'{start}SRDF_PATH = "toy.srdf"\n',
        "_private_description": "raise RuntimeError",
        "__init__": "",
        "_cache": "raise RuntimeError",
    }
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    loaded = [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield repository
    for name in [x for x in sys.modules if x.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def test_a_module_gives_its_urdf(package):
    robot = kt.load("toy_description")
    assert robot.name == "toy" and robot.joint_names == ("j",)
    assert robot.report.source == package / "toy_description/toy.urdf"


@pytest.mark.filterwarnings("ignore:.*moves no mass")
def test_a_module_gives_its_xacro_with_its_arguments_and_packages(package):
    assert kt.load("toy_xacro_description").name == "toy_left"
    robot = kt.load("toy_xacro_description", arguments={"side": "right"})
    assert robot.name == "toy_right" and robot.joint_names == ("j3",)


def test_a_download_that_fails_is_named_with_the_ways_out(package):
    with pytest.raises(kt.errors.KinetreeError) as caught:
        kt.load("offline_description")
    for words in (
        "GitCommandError",
        "fatal: unable to access",
        "ROBOT_DESCRIPTIONS_CACHE",
        "by its path",
    ):
        assert words in str(caught.value)


def test_names_of_modules_are_suggested_and_private_ones_are_not_run(package):
    with pytest.raises(kt.errors.KinetreeError):
        kt.load("toy_descripton")
    with pytest.raises(kt.errors.KinetreeError):
        kt.load("_private_description")
    with pytest.raises(kt.errors.KinetreeError):
        kt.load("_cache")
