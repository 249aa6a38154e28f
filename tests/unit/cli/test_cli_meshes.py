"""Meshes that are missing are named: by info in its list, by report, render and view on stderr."""

import json

import pytest

ROBOT = """<robot name="drawn">
<link name="base"><visual><geometry><mesh filename="package://arm/base.stl"/></geometry></visual>
</link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial><visual><geometry><mesh filename="{mesh}"/></geometry></visual></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
TRIANGLE = """solid s
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid s
"""


@pytest.fixture(scope="module")
def drawn(program):
    (program.folder / "arm.stl").write_text(TRIANGLE, encoding="utf-8")
    (program.folder / "one.urdf").write_text(ROBOT.format(mesh="arm.stl"), encoding="utf-8")
    (program.folder / "two.urdf").write_text(ROBOT.format(mesh="gone.dae"), encoding="utf-8")
    return program


def test_info_lists_missing_meshes(drawn):
    assert drawn.json("info one.urdf")["missing_meshes"] == ["package://arm/base.stl"]
    assert drawn.json("info two.urdf")["missing_meshes"] == ["package://arm/base.stl", "gone.dae"]
    assert drawn.json("info panda")["missing_meshes"] == []
    shown = drawn("info two.urdf").stdout
    assert "2 missing mesh files\n- package://arm/base.stl\n- gone.dae\n" in shown
    assert "missing" not in drawn("info panda").stdout


def test_a_folder_with_the_meshes_is_found(drawn):
    (drawn.folder / "meshes" / "arm").mkdir(parents=True, exist_ok=True)
    (drawn.folder / "meshes" / "arm" / "base.stl").write_text(TRIANGLE, encoding="utf-8")
    assert drawn.json("info one.urdf --folder meshes")["missing_meshes"] == ["arm.stl"]


def test_report_names_missing_meshes_on_stderr(drawn):
    found = drawn("report two.urdf -o two.html --samples 10 --json")
    assert "2 visuals are not drawn: mesh 'package://arm/base.stl'" in found.stderr
    assert "Give the folder of the meshes with --folder." in found.stderr
    assert drawn("report planar_2r -o arm.html --samples 10").stderr.count("not drawn") == 0


def test_render_draws_the_meshes_that_are_there_and_names_the_others(drawn):
    (drawn.folder / "alone" / "arm").mkdir(parents=True, exist_ok=True)
    (drawn.folder / "alone" / "arm" / "base.stl").write_text(TRIANGLE, encoding="utf-8")
    found = drawn("render two.urdf -o two.png --size 32x24 --json --folder alone")
    assert "1 visual is not drawn: mesh 'gone.dae'" in found.stderr
    assert [x[:15] for x in json.loads(found.stdout)["not_drawn"]] == ["mesh 'gone.dae'"]
    drawn("render one.urdf -o none.png --size 32x24 --hide visual")
    drawn("render one.urdf -o one.png --size 32x24")
    assert (drawn.folder / "one.png").read_bytes() != (drawn.folder / "none.png").read_bytes()


def test_view_names_missing_meshes_on_stderr(drawn, capsys, monkeypatch):
    from kinetree.cli.arguments import AS_IT_IS
    from kinetree.cli.view import opened

    monkeypatch.chdir(drawn.folder)
    with opened("two.urdf", AS_IT_IS, 0, False):
        pass
    said = capsys.readouterr().err
    assert "2 visuals are not drawn: mesh 'package://arm/base.stl'" in said
