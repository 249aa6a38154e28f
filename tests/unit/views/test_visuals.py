"""Visuals of files: shapes and colours as written, meshes only from one folder."""

import os
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeWarning
from kinetree.views import scene

URDF = """<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><visual><geometry><box size="0.1 0.2 0.3"/></geometry><material name="red"/></visual></link>
  <link name="arm">
    <visual><origin xyz="0 0 0.5" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.05" length="1"/></geometry></visual>
    <visual><geometry><mesh filename="{mesh}" scale="{scale}"/></geometry></visual>
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/></joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0 0 2"/></joint>
</robot>"""  # noqa: E501
MESH = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def package(tmp_path):
    """A folder pkg with urdf/r.urdf and meshes/m.obj, and a secret mesh beside it."""
    for name in ("pkg/urdf", "pkg/meshes", "outside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "pkg/meshes/m.obj").write_bytes(MESH)
    (tmp_path / "outside/secret.obj").write_bytes(MESH)
    return tmp_path


def link(target, name):
    try:
        os.symlink(target, name)
    except (OSError, NotImplementedError):
        pytest.skip("this system makes no symbolic links")


def robot_with(package, mesh, scale="1 1 1"):
    path = package / "pkg/urdf/r.urdf"
    path.write_text(URDF.format(mesh=mesh, scale=scale), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        return kt.load(path)


def visuals_of(package, mesh, folder="pkg", scale="1 1 1"):
    return scene(robot_with(package, mesh, scale), folder=package / folder).of("visual")


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("package://pkg/meshes/m.obj", "."),
        ("package://pkg/meshes/m.obj", "pkg"),
        ("model://pkg/meshes/m.obj", "pkg"),
        ("../meshes/m.obj", "pkg"),
        ("..\\meshes\\m.obj", "pkg"),
        ("file://../meshes/m.obj", "pkg"),
    ],
)
def test_meshes_inside_the_folder_are_found(path, folder, package):
    assert visuals_of(package, path, folder)[2].mesh is not None


def test_meshes_of_a_package_are_found_by_the_name_in_its_package_xml(package):
    (package / "pkg/package.xml").write_text("<package><name>the_arm</name></package>")
    (package / "outside/package.xml").write_text("<package><name>secret</name></package>")
    assert visuals_of(package, "package://the_arm/meshes/m.obj")[2].mesh is not None
    assert len(visuals_of(package, "package://secret/secret.obj", "pkg")) == 3


def test_a_xacro_robot_is_drawn_with_its_own_arguments_and_folders(package):
    (package / "sizes").mkdir()
    (package / "sizes/package.xml").write_text("<package><name>sizes</name></package>")
    (package / "sizes/size.xacro").write_text(
        '<robot xmlns:xacro="x"><xacro:property name="wide" value="${2 * $(arg wide)}"/></robot>'
    )
    text = URDF.format(mesh="m.obj", scale="1 1 1").replace("0.1 0.2 0.3", "${wide} 1 1")
    head = '<xacro:include filename="$(find sizes)/size.xacro"/>'
    path = package / "pkg/urdf/r.xacro"
    path.write_text(text.replace("<material", f"{head}<material", 1), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        robot = kt.load(path, arguments={"wide": 3}, folders=[package / "sizes"])
    for source in (None, path):
        assert scene(robot, source).of("visual")[0].size == (6.0, 1.0, 1.0)


@pytest.mark.parametrize(
    "path",
    [
        "../meshes/m.obj",  # out of the folder of the file, which is the default
        "package://pkg/../outside/secret.obj",
        "package://../outside/secret.obj",
        "package:///outside/secret.obj",
        "../../outside/secret.obj",
        "file://{root}/outside/secret.obj",
        "{root}/outside/secret.obj",
        "http://example.org/m.obj",
        "https://example.org/m.stl",
        "//example.org/share/m.obj",
        "linked.obj",
        "linked/secret.obj",
        "package://linked/secret.obj",
        "nowhere.obj",
        "",
        "x" * 5000,
        ".",
    ],
)
def test_nothing_is_read_outside_the_folder(path, package):
    urdf = package / "pkg/urdf"
    link(package / "outside/secret.obj", urdf / "linked.obj")
    link(package / "outside", urdf / "linked")
    robot = robot_with(package, path.format(root=package))
    found = scene(robot)
    assert len(found.of("visual")) == 3 and len(found.remarks) == 1
    assert found.shown == ("body", "joint", "visual", "frame")


def test_links_inside_the_folder_are_followed(package):
    link(package / "pkg/meshes/m.obj", package / "pkg/urdf/near.obj")
    assert visuals_of(package, "near.obj")[2].mesh is not None


def test_large_and_strange_files_are_left_out_with_a_remark(package, monkeypatch):
    from kinetree.files.description import meshes as mesh_paths

    monkeypatch.setattr(mesh_paths, "MAX_MESH", 20)
    robot = robot_with(package, "../meshes/m.obj")
    assert "larger than 20 bytes" in scene(robot, folder=package).remarks[0]
    (package / "pkg/meshes/m.glb").write_bytes(b"glTF")
    robot = robot_with(package, "../meshes/m.glb")
    assert "expected .stl, .obj, .dae" in scene(robot, folder=package).remarks[0]


def test_scale_stretches_and_mirrors(package):
    mesh = visuals_of(package, "../meshes/m.obj", scale="2 3 -4")[2].mesh
    np.testing.assert_allclose(mesh.vertices.max(axis=0), (2, 3, 0))
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() > 0  # still facing outward


def test_geoms_of_mjcf_are_drawn(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="arm" pos="0 0 1">'
        '<joint type="hinge" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 1" size="0.1" rgba="0 0 1 1"/>'
        '<geom type="box" size="0.1 0.2 0.3" pos="0 0 1"/>'
        '<geom type="sphere" size="0.3" group="3"/></body></worldbody></mujoco>'
    )
    found = scene(kt.load(path))
    capsule, box = found.of("visual")
    assert (capsule.kind, capsule.link, capsule.colour) == ("capsule", 0, (0, 0, 255))
    np.testing.assert_allclose(capsule.size, (0.1, 1.0))
    np.testing.assert_allclose(np.abs(capsule.T[:3, 3]), (0, 0, 0.5), atol=1e-15)
    np.testing.assert_allclose(box.size, (0.2, 0.4, 0.6))
