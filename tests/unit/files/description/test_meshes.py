"""Mesh readers: the same tetrahedron from every format, and errors with a reason."""

import struct

import numpy as np
import pytest

from kinetree.errors import ParseError
from kinetree.files.description.collada import read_collada
from kinetree.files.description.meshes import READERS, read_mesh, read_obj, read_stl

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], float)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def volume(mesh):
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6


def binary_stl():
    triangles = b"".join(
        struct.pack("<12fH", 0, 0, 0, *CORNERS[list(face)].ravel(), 0) for face in FACES
    )
    return b"x" * 80 + struct.pack("<I", len(FACES)) + triangles


def text_stl():
    lines = ["solid thing"]
    for face in FACES:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += [f"  vertex {x} {y} {z}" for x, y, z in CORNERS[list(face)]]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid"]).encode()


def obj(negative=False):
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS]
    shift = -len(CORNERS) if negative else 1
    return "\n".join(
        [*lines, *(f"f {a + shift}//1 {b + shift} {c + shift}/2/3" for a, b, c in FACES)]
    )


def collada(up="Z_UP", unit=1.0, kind="triangles", node=""):
    numbers = " ".join(str(x) for x in CORNERS.ravel())
    index = " ".join(f"{k} 0" for face in FACES for k in face)
    counts = "<vcount>3 3 3 3</vcount>" if kind == "polylist" else ""
    return f"""<?xml version="1.0"?>
    <COLLADA><asset><unit meter="{unit}"/><up_axis>{up}</up_axis></asset>
    <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">{numbers}</float_array></source>
    <source id="n"><float_array id="na" count="3">0 0 1</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <{kind} count="4"><input semantic="VERTEX" source="#v" offset="0"/>
    <input semantic="NORMAL" source="#n" offset="1"/>{counts}<p>{index}</p></{kind}>
    </mesh></geometry></library_geometries>
    <library_visual_scenes><visual_scene id="s"><node>{node}<instance_geometry url="#g"/></node>
    </visual_scene></library_visual_scenes></COLLADA>""".encode()


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (read_stl, binary_stl()),
        (read_stl, text_stl()),
        (read_obj, obj().encode()),
        (read_obj, obj(negative=True).encode()),
        (read_collada, collada()),
        (read_collada, collada(kind="polylist")),
    ],
)
def test_all_formats_give_the_same_tetrahedron(reader, data):
    mesh = read_mesh(reader, data, "thing")
    assert len(mesh.triangles) == 4
    assert volume(mesh) == pytest.approx(1.0)
    np.testing.assert_allclose(np.unique(mesh.vertices, axis=0), np.unique(CORNERS, axis=0))


def test_squares_become_two_triangles():
    mesh = read_mesh(read_obj, b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n", "square")
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_collada_units_axes_and_nodes():
    moved = read_mesh(read_collada, collada(node="<translate>1 2 3</translate>"), "x")
    np.testing.assert_allclose(moved.vertices.min(axis=0), (1, 2, 3))
    small = read_mesh(read_collada, collada(unit=0.001), "x")
    np.testing.assert_allclose(small.vertices.max(axis=0), (0.001, 0.002, 0.003))
    upright = read_mesh(read_collada, collada(up="Y_UP"), "x")
    np.testing.assert_allclose(upright.vertices.max(axis=0), (1, 0, 2), atol=1e-15)
    assert volume(upright) == pytest.approx(1.0)
    turned = read_mesh(read_collada, collada(node="<rotate>0 0 1 90</rotate>"), "x")
    np.testing.assert_allclose(turned.vertices.min(axis=0), (-2, 0, 0), atol=1e-12)


@pytest.mark.parametrize(
    ("reader", "data", "message"),
    [
        (read_stl, b"", "not an STL file"),
        (read_stl, binary_stl()[:-7], "not an STL file"),
        (read_stl, b"solid empty\nendsolid", "no triangles"),
        (read_stl, binary_stl().replace(b"\0\0\x80?", b"\0\0\x80\x7f"), "not finite"),
        (read_obj, b"v 0 0 0\nf 1 2 9\n", "a corner that does not exist"),
        (read_obj, b"v 0 zero 0\n", "cannot be read as a mesh"),
        (read_obj, b"v 1e9 0 0\nv 0 0 0\nv 0 1 0\nf 1 2 3\n", "more than 10000 m"),
        (read_collada, b"<robot/>", "not a Collada file"),
        (read_collada, b"<COLLADA/>", "no geometry"),
        (read_collada, b"<!DOCTYPE x [<!ENTITY a 'b'>]><COLLADA/>", "document type"),
        (read_collada, collada().replace(b"#v", b"#nowhere"), "cannot be read as a mesh"),
        (read_collada, collada().replace(b"<p>0 0", b"<p>x 0"), "cannot be read as a mesh"),
    ],
)  # fmt: skip
def test_broken_files_are_refused_with_a_reason(reader, data, message):
    with pytest.raises(ParseError, match=message):
        read_mesh(reader, data, "thing")


def test_nodes_that_hold_each_other_end():
    loop = collada().replace(
        b"<library_visual_scenes>",
        b'<library_nodes><node id="a"><instance_node url="#a"/></node></library_nodes>'
        b"<library_visual_scenes>",
    )
    loop = loop.replace(b"<instance_geometry", b'<instance_node url="#a"/><instance_geometry')
    with pytest.raises(ParseError):
        read_mesh(read_collada, loop, "loop")


def test_random_bytes_never_raise_anything_else():
    rng = np.random.default_rng(0)
    for reader, good in (
        (read_stl, text_stl()),
        (read_obj, obj().encode()),
        (read_collada, collada()),
    ):
        for _ in range(60):
            data = bytearray(good)
            for k in rng.integers(0, len(data), 6):
                data[k] = rng.integers(0, 256)
            try:
                mesh = read_mesh(reader, bytes(data), "noise")
            except ParseError:
                continue
            assert np.isfinite(mesh.vertices).all()
    assert set(READERS) == {".stl", ".obj", ".dae"}


MATERIALS = (
    b"newmtl red\nKd 1 0 0\nnewmtl blue paint\nKd 0 0 0.5\nnewmtl wood\nKd 1 1 1\nmap_Kd w.png"
)


def test_materials_of_collada_files_are_plain_colours():
    paint = """<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong><diffuse>
    <color>0 0.5 1 1</color></diffuse></phong></technique></profile_COMMON></effect>
    </library_effects><library_materials><material id="m"><instance_effect url="#e"/></material>
    </library_materials>"""
    bound = """<bind_material><technique_common><instance_material symbol="s" target="#m"/>
    </technique_common></bind_material></instance_geometry>"""
    plain = collada().decode().replace('<triangles count="4"', '<triangles count="4" material="s"')
    painted = plain.replace("</asset>", f"</asset>{paint}")
    painted = painted.replace(
        '<instance_geometry url="#g"/>', f'<instance_geometry url="#g">{bound}'
    )
    assert read_mesh(read_collada, plain.encode(), "x").colours is None
    mesh = read_mesh(read_collada, painted.encode(), "x")
    assert mesh.colours.tolist() == [[0, 128, 255]] * 4
