"""Meshes are opened only where an inertia needs them, and named when they are missing."""

import struct

import pytest
from mjcf_files_given import model

from kinetree.errors import ParseError
from kinetree.files.description.mjcf import read_mjcf

pytest.importorskip("mujoco", reason="MJCF needs mujoco")

ASSET = '<asset><mesh name="shape" file="shape.stl"/></asset>'
GEOM = '<geom type="mesh" mesh="shape"/>'
FROM_MESH = '<body name="b1"><joint/>' + GEOM + "{}</body>"
CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def tetrahedron() -> bytes:
    """A binary STL file, volume 1/6 m^3."""
    faces = b"".join(
        struct.pack("<3f", 0, 0, 0)
        + b"".join(struct.pack("<3f", *CORNERS[i]) for i in face)
        + b"\0\0"
        for face in FACES
    )
    return b"\0" * 80 + struct.pack("<I", len(FACES)) + faces


def read(folder, text, **options):
    (folder / "toy.xml").write_text(text)
    return read_mjcf(folder / "toy.xml", **options)


def test_a_missing_mesh_does_not_matter_to_a_body_with_its_own_inertia(tmp_path):
    robot = read(tmp_path, model(GEOM, top=ASSET))
    assert robot.links[1].bodies[0].m == 1 and robot.warnings == ()


def test_a_mesh_named_by_its_file_alone_is_found_by_that_name(tmp_path):
    top = '<compiler meshdir="a/b"/><asset><mesh file="c/shape.stl"/></asset>'
    robot = read(tmp_path, model(GEOM, top=top))
    assert robot.meshes[0].path == "a/b/c/shape.stl"


def test_a_moving_body_that_needs_a_missing_mesh_is_named_with_the_mesh(tmp_path):
    with pytest.raises(ParseError, match=r"toy\.xml:1: body 'b1' .* mesh 'shape'.*shape\.stl"):
        read(tmp_path, model(top=ASSET, body=FROM_MESH))
    with pytest.raises(
        ParseError, match=r"'/etc/shape', and that file is not read, since its name"
    ):
        read(tmp_path, model(top=ASSET.replace("shape.stl", "/etc/shape"), body=FROM_MESH))


def test_inertia_from_geoms_overrides_the_inertia_of_the_body(tmp_path):
    top = '<compiler inertiafromgeom="true"/>' + ASSET
    with pytest.raises(ParseError, match=r"body 'b1' .* mesh 'shape'"):
        read(tmp_path, model(GEOM, top=top))


def test_a_primitive_fitted_to_a_missing_mesh_needs_it_too(tmp_path):
    body = FROM_MESH.replace('type="mesh"', 'type="capsule"')
    with pytest.raises(ParseError, match=r"body 'b1' .* mesh 'shape'"):
        read(tmp_path, model(top=ASSET, body=body))


def test_a_geom_without_mass_needs_no_mesh(tmp_path):
    inside = '<geom type="mesh" mesh="shape" mass="0"/><geom size=".1" mass="2"/>'
    body = f'<body name="b1"><joint/>{inside}{{}}</body>'
    assert read(tmp_path, model(top=ASSET, body=body)).links[1].bodies[0].m == 2


def test_a_static_body_that_needs_a_missing_mesh_is_massless_with_a_warning(tmp_path):
    body = FROM_MESH.replace("<joint/>", "")
    robot = read(tmp_path, model(top=ASSET, body=body))
    assert robot.links[1].bodies == ()
    assert any("'b1'" in note.text and "mesh" in note.text for note in robot.warnings)


def test_where_masses_are_scaled_to_a_total_a_static_mesh_matters(tmp_path):
    static = f'<body name="stand">{GEOM}</body>'
    text = model(top='<compiler settotalmass="5"/>' + ASSET).replace(
        "<worldbody>", f"<worldbody>{static}"
    )
    with pytest.raises(ParseError, match=r"body 'stand' .* mesh 'shape'"):
        read(tmp_path, text)


@pytest.mark.parametrize("folder", ["", "assets"])
def test_a_mesh_that_is_there_gives_the_inertia(tmp_path, folder):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "shape.stl").write_bytes(tetrahedron())
    robot = read(tmp_path, model(top=f'<compiler meshdir="{folder}"/>{ASSET}', body=FROM_MESH))
    (body,) = robot.links[1].bodies
    assert body.m == pytest.approx(1000 / 6)
    assert body.com == pytest.approx([0.25] * 3)
    assert robot.meshes[0].T[:3, 3] == pytest.approx(0, abs=1e-9)


def test_a_mesh_outside_the_folder_is_not_opened_unless_allowed(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "shape.stl").write_bytes(tetrahedron())
    text = model(top='<compiler meshdir=".."/>' + ASSET, body=FROM_MESH)
    with pytest.raises(ParseError, match="outside"):
        read(home, text)
    assert read(home, text, folders=[tmp_path]).links[1].bodies[0].m == pytest.approx(1000 / 6)


def test_a_damaged_mesh_is_an_error_of_ours(tmp_path):
    (tmp_path / "shape.stl").write_bytes(tetrahedron()[:100])
    with pytest.raises(ParseError, match="shape"):
        read(tmp_path, model(top=ASSET, body=FROM_MESH))


def test_whatever_refers_to_a_geom_with_a_missing_mesh_still_finds_it(tmp_path):
    geoms = '<geom name="g" type="mesh" mesh="shape"/><geom name="h" size=".1"/>'
    top = ASSET + '<contact><pair geom1="g" geom2="h"/></contact>'
    robot = read(tmp_path, model(geoms, top=top))
    assert any("contact pairs" in note.text for note in robot.warnings)


def test_paths_poses_and_scales_of_meshes_are_kept_for_viewers(tmp_path):
    top = '<asset><mesh name="shape" file="shape.stl" scale=".001 .001 .002"/></asset>'
    geom = '<geom type="mesh" mesh="shape" pos="1 2 3" contype="0" conaffinity="0"/>'
    (mesh,) = read(tmp_path, model(geom, top=top)).meshes
    assert (mesh.link, mesh.path, mesh.kind) == ("b1", "shape.stl", "visual")
    assert mesh.scale == (0.001, 0.001, 0.002)
    assert mesh.T[:3, 3] == pytest.approx([1, 2, 3])


def test_a_mesh_that_a_default_gives_to_geoms_is_traced_to_its_body(tmp_path):
    top = ASSET + '<default><geom type="mesh" mesh="shape"/></default>'
    body = '<body name="b1"><joint/><geom/>{}</body>'
    with pytest.raises(ParseError, match=r"body 'b1' .* mesh 'shape'"):
        read(tmp_path, model(top=top, body=body))


def test_a_mesh_on_a_body_that_muJoCo_fuses_into_a_moving_one_is_asked_for(tmp_path):
    top = '<compiler fusestatic="true"/>' + ASSET
    with pytest.raises(ParseError, match=r"mesh 'shape'"):
        read(tmp_path, model(f'<body name="plate">{GEOM}</body>', top=top))


def test_a_visual_mesh_that_muJoCo_discards_does_not_matter(tmp_path):
    top = '<compiler discardvisual="true"/>' + ASSET
    geom = '<geom type="mesh" mesh="shape" contype="0" conaffinity="0" group="2"/>'
    assert read(tmp_path, model(geom, top=top)).links[1].bodies[0].m == 1


def test_a_mesh_outside_the_folder_does_not_matter_where_only_static_bodies_use_it(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "shape.stl").write_bytes(tetrahedron())
    static = f'<body name="stand">{GEOM}</body>'
    text = model(GEOM, top='<compiler meshdir="../meshes"/>' + ASSET)
    text = text.replace("<worldbody>", f"<worldbody>{static}")
    robot = read(home, text)
    (note,) = [note for note in robot.warnings if "'stand'" in note.text]
    assert "massless" in note.text and "outside" in note.text
    assert f"folder {str(tmp_path / 'meshes')!r} in folders=" in note.text
    assert robot.links[1].bodies == () and robot.links[2].bodies[0].m == 1


def test_a_moving_body_whose_mesh_lies_outside_is_told_which_folder_to_pass(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    meshes = tmp_path / "meshes"
    meshes.mkdir()
    (meshes / "shape.stl").write_bytes(tetrahedron())
    text = model(top='<compiler meshdir="../meshes"/>' + ASSET, body=FROM_MESH)
    with pytest.raises(ParseError, match=r"body 'b1' .*outside") as caught:
        read(home, text)
    assert f"pass the folder {str(meshes)!r} in folders=" in str(caught.value)
    assert read(home, text, folders=[meshes]).links[1].bodies[0].m == pytest.approx(1000 / 6)
