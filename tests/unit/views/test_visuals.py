"""Visuals of files: shapes and colours as written, meshes only from one folder."""

import os
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model import WORLD
from kinetree.views import scene
from kinetree.views.shapes import BODY

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
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        return kt.load(path)


def visuals_of(package, mesh, folder="pkg", scale="1 1 1"):
    return scene(robot_with(package, mesh, scale), folder=package / folder).of("visual")


def test_primitives_stand_where_the_file_says(package):
    robot = robot_with(package, "package://pkg/meshes/m.obj")
    found = scene(robot, folder=package)
    box, cylinder, mesh, ball = found.of("visual")
    assert (box.kind, box.link, box.size, box.colour) == (
        "box",
        WORLD,
        (0.1, 0.2, 0.3),
        (255, 0, 0),
    )
    assert (cylinder.kind, cylinder.link, cylinder.size) == ("cylinder", 0, (0.05, 1.0))
    np.testing.assert_allclose(cylinder.T[:3, 2], (1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(cylinder.T[:3, 3], (0, 0, 0.5))
    assert mesh.kind == "mesh" and mesh.mesh.vertices.shape == (4, 3)
    assert (ball.kind, ball.link) == ("sphere", 0)  # its link was merged into the arm
    np.testing.assert_allclose(ball.T[:3, 3], (0, 0, 2))
    assert found.remarks == () and found.shown == ("visual", "frame")


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


@pytest.mark.parametrize("marker", ["package.xml", ".git"])
@pytest.mark.parametrize("path", ["../meshes/m.obj", "package://pkg/meshes/m.obj"])
def test_meshes_in_the_package_or_repository_of_the_file_need_no_folder(marker, path, package):
    top = package / "pkg" / marker
    if marker == ".git":
        top.mkdir()
    else:
        top.write_text("<package><name>pkg</name></package>")
    assert scene(robot_with(package, path)).of("visual")[2].mesh is not None
    assert len(scene(robot_with(package, "../../outside/secret.obj")).of("visual")) == 3


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
        warnings.simplefilter("ignore", kt.KinetreeWarning)
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


def test_a_file_that_is_gone_leaves_the_bodies_and_a_remark(package):
    robot = robot_with(package, "../meshes/m.obj")
    robot.report.source.unlink()
    found = scene(robot)
    assert found.of("visual") == () and "cannot be read any more" in found.remarks[0]
    with pytest.raises(InputError, match="there is no file"):
        scene(robot, robot.report.source)
    with pytest.raises(InputError, match="expected an existing folder"):
        scene(robot, folder=package / "nowhere")


def test_a_cut_robot_draws_what_is_left(package):
    robot = robot_with(package, "../meshes/m.obj")
    source = robot.report.source
    locked = robot.lock({"hinge": 0.5})
    found = scene(locked, source, package)
    assert {shape.link for shape in found.of("visual")} == {WORLD}


SHAPES = """<visual name="v"><pose>0 0 1 0 0 0</pose><geometry>{}</geometry>
<material><diffuse>0 0 1 1</diffuse></material></visual>"""
SDF = """<sdf version="1.9"><model name="arm"><link name="a"><inertial><mass>1</mass><inertia>
<ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>{}</link>
<joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz></axis>
</joint></model></sdf>"""


def test_visuals_of_sdf_are_drawn(package):
    mesh = "<mesh><uri>model://pkg/meshes/m.obj</uri><scale>2 2 2</scale></mesh>"
    shapes = ("<box><size>1 2 3</size></box>", "<sphere><radius>0.5</radius></sphere>", mesh)
    shapes += ("<box><size>1 2</size></box>", "<plane/>")  # left out
    path = package / "pkg/arm.sdf"
    path.write_text(SDF.format("".join(SHAPES.format(shape) for shape in shapes)))
    box, sphere, drawn = scene(kt.load(path), folder=package).of("visual")
    assert (box.kind, box.size, box.colour, box.link) == ("box", (1, 2, 3), (0, 0, 255), 0)
    assert sphere.size == (0.5,) and sphere.T[2, 3] == 1
    assert drawn.mesh.vertices.max() == pytest.approx(2)


def test_a_robot_from_a_text_is_drawn_with_the_meshes_of_its_folders(package):
    mesh = "<mesh><uri>model://pkg/meshes/m.obj</uri></mesh>"
    text = SDF.format(SHAPES.format("<sphere><radius>0.5</radius></sphere>") + SHAPES.format(mesh))
    assert [x.kind for x in scene(kt.load_string(text, folders=[package])).of("visual")] == [
        "sphere",
        "mesh",
    ]
    alone = scene(kt.load_string(text))
    assert [x.kind for x in alone.of("visual")] == ["sphere"]
    assert "the robot is from a text" in alone.remarks[0]
    assert scene(kt.load_string(text), folder=package).of("visual")[1].kind == "mesh"


def test_a_mesh_of_several_colours_is_drawn_with_each(package):
    """The colours are those of the library of materials; triangles without one have the link's."""
    faces = MESH.split(b"\nf ")
    head, own = faces[0] + b"\nmtllib m.mtl", [b"f " + face.strip() for face in faces[1:]]
    lines = [head, b"usemtl red", own[0], b"usemtl blue", *own[1:3], b"usemtl none", own[3]]
    (package / "pkg/meshes/m.obj").write_bytes(b"\n".join(lines))
    (package / "pkg/meshes/m.mtl").write_bytes(b"newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n")
    found = visuals_of(package, "../meshes/m.obj")
    meshes = {x.colour: len(x.mesh.triangles) for x in found if x.kind == "mesh"}
    plain = visuals_of(package, "../meshes/m.obj", "pkg/urdf")
    assert meshes == {(255, 0, 0): 1, (0, 0, 255): 2, BODY: 1}
    assert not [x for x in plain if x.kind == "mesh"]  # outside the folder


def test_a_library_of_materials_outside_the_folder_is_not_read(package):
    (package / "outside/m.mtl").write_bytes(b"newmtl red\nKd 1 0 0\n")
    text = MESH.replace(b"\nf 1 3 2", b"\nmtllib ../../outside/m.mtl\nusemtl red\nf 1 3 2")
    (package / "pkg/meshes/m.obj").write_bytes(text)
    found = [x.colour for x in visuals_of(package, "../meshes/m.obj") if x.kind == "mesh"]
    assert found == [BODY]
    wide = [x.colour for x in visuals_of(package, "../meshes/m.obj", ".") if x.kind == "mesh"]
    assert wide == [(255, 0, 0)]


def test_meshes_of_mjcf_have_the_colours_of_their_geoms(package):
    pytest.importorskip("mujoco")
    path = package / "pkg/meshes/r.xml"
    path.write_text(
        "<mujoco><asset><mesh name='m' file='m.obj'/><material name='p' rgba='0 1 0 1'/></asset>"
        "<worldbody><body name='b'><joint type='hinge'/><geom type='mesh' mesh='m' material='p'/>"
        "<geom type='mesh' mesh='m' rgba='1 0 0 1'/></body></worldbody></mujoco>"
    )
    found = scene(kt.load(path)).of("visual")
    assert [x.colour for x in found] == [(0, 255, 0), (255, 0, 0)]
