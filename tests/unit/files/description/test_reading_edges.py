"""Readers of files: bounds of what is included, where names are looked up, what is said of them."""

import os

import pytest

from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.mjcf import read_mjcf
from kinetree.files.description.source import read_bytes
from kinetree.files.description.urdf import read_urdf_text
from kinetree.files.description.xacro import expand_xacro
from kinetree.files.description.xacro.expressions import Evaluator
from kinetree.files.description.xacro.inputs import load_yaml
from kinetree.files.description.xml import Element, parse_xml

HEAD = '<?xml version="1.0"?>\n<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
BODY = '<body><joint/><geom size=".1"/></body>'


# XML


def test_a_merge_marker_is_named_with_its_line_after_blank_lines():
    with pytest.raises(ParseError, match=r"f\.xml:5:1: '<<<<<<< HEAD' is a merge marker"):
        parse_xml("\n\n<a>\n<b/>\n<<<<<<< HEAD\n</a>", "f.xml")


def test_a_file_of_comments_has_no_element():
    for text in ("<!-- nothing -->", '<?xml version="1.0"?>'):
        with pytest.raises(ParseError, match=r"f\.xml:.*(no element|XML)"):
            parse_xml(text, "f.xml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<a>\n<b></c></a>", "(the open element is <b> of line 2; every element is closed by its"),
        ("<a>\n<b>", "(the open element is <b> of line 2). Is the file"),
        ("<a/><b/>", ": junk after document element (nothing may follow the root element). Is"),
        (
            "<a><!-- x -- y --></a>",
            "(the open element is <a> of line 1; a comment may not hold '--'",
        ),
    ],
)
def test_broken_xml_is_explained_by_what_is_open(text, words):
    with pytest.raises(ParseError) as caught:
        parse_xml(text, "f.xml")
    assert words in str(caught.value)


# MJCF


def include(tmp_path, parts):
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{BODY * parts}</mujocoinclude>")
    path = tmp_path / "robot.xml"
    path.write_text('<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>')
    return path


OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize("beside", [True, False])
def test_a_mesh_of_an_included_file_may_lie_beside_it(tmp_path, beside):
    """A tetrahedron of 1/6 m^3 at 1000 kg/m^3; welded bodies are no drives."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "part.xml").write_text(
        """<mujocoinclude><asset><mesh name="m" file="m.obj"/></asset><worldbody><body name="a">
        <joint armature="0.2"/><geom type="mesh" mesh="m"/><body name="b" pos="0 0 1">
        <geom type="mesh" mesh="m"/></body></body></worldbody></mujocoinclude>"""
    )
    (tmp_path / ("sub/m.obj" if beside else "m.obj")).write_text(OBJ)
    path = tmp_path / "robot.xml"
    path.write_text('<mujoco><include file="sub/part.xml"/></mujoco>')
    found = read_mjcf(path)
    masses = [body.m for link in found.links for body in link.bodies]
    assert sorted(m for m in masses if m) == pytest.approx([1000 / 6] * 2, rel=1e-6)
    assert [(x.type, x.armature) for x in found.joints] == [("revolute", 0.2), ("fixed", 0)]


@pytest.mark.parametrize(
    ("geom", "joint", "expected"),
    [
        ("", '<joint type="hinge"/>', {"contacts"}),
        ('contype="0"', '<joint type="hinge"/>', set()),
        ('conaffinity="0"', '<joint type="hinge"/>', set()),
        ("", '<joint type="ball" range="0 30" limited="true"/>', {"contacts", "cone"}),
        ("", '<joint type="ball"/>', {"contacts"}),
        ("", "<freejoint/>", {"contacts", "q of a free joint"}),
    ],
)
def test_what_is_read_otherwise_than_mujoco_does_is_noted(tmp_path, geom, joint, expected):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    path = tmp_path / "robot.xml"
    path.write_text(
        f"""<mujoco><worldbody><body>{joint}<geom size=".1" {geom}/></body>
        </worldbody></mujoco>"""
    )
    notes = " ".join(note.text for note in read_mjcf(path).notes)
    for words in ("contacts", "cone", "q of a free joint"):
        assert (words in notes) is (words in expected)


def test_a_folder_is_refused_as_a_file(tmp_path):
    with pytest.raises(ParseError, match="is a folder; expected the path of one file in it"):
        read_bytes(tmp_path)
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(tmp_path / "file", 5) == b"12345"
    with pytest.raises(ParseError, match="larger than 4 bytes"):
        read_bytes(tmp_path / "file", 4)


# URDF and xacro


@pytest.mark.parametrize(
    ("count", "more"), [(2, ""), (8, ""), (9, " and 1 more"), (12, " and 4 more")]
)
def test_links_without_parents_are_listed_up_to_eight(count, more):
    links = "".join(f'<link name="l{k}"/>' for k in range(count))
    with pytest.raises(ParseError) as caught:
        read_urdf_text(f'<robot name="r">{links}</robot>', name="r.urdf")
    text = str(caught.value)
    assert f"(r.urdf:1){more}; expected one root" in text
    assert "l1" in text and "l8" not in text


def element(line=1):
    return Element("joint", {}, "f.urdf", line, 1)


def expand(tmp_path, inside, name="robot.xacro", **options):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEAD}{inside}</robot>")
    findings = Findings()
    return expand_xacro(path, findings=findings, **options).root, findings


def test_folders_of_the_file_and_of_the_process(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "part.xacro").write_text(f'{HEAD}<link name="$(dirname)"/></robot>')
    inside = """<link name="$(dirname)"/><link name="$(cwd)"/>
    <xacro:include filename="sub/part.xacro"/><link name="${xacro.abs_filename('x.stl')}"/>"""
    root, findings = expand(tmp_path, inside)
    names = [link.attributes["name"] for link in root.all("link")]
    expected = [tmp_path, tmp_path / "elsewhere", tmp_path / "sub", tmp_path / "x.stl"]
    assert [os.path.realpath(x) for x in names] == [os.path.realpath(x) for x in expected]
    assert any("$(cwd) is the current folder" in note.text for note in findings.notes)


def test_what_the_file_says_and_what_is_not_read_is_passed_on(tmp_path):
    inside = """<link name="a${xacro.message('hello', 1)}${xacro.warning('careful')}"/>
    <xacro:property name="p" value="1" scope="parent"/><xacro:property name="q" value="2" odd="3"/>
    <xacro:include filename="none*.xacro"/>"""
    root, findings = expand(tmp_path, inside)
    assert root.all("link")[0].attributes["name"] == "a"
    assert any("the file says: hello 1" in note.text for note in findings.notes)
    warnings = " ".join(note.text for note in findings.warnings)
    for words in (
        "the file says: careful",
        "property 'p' has no parent scope; not set",
        "attribute 'odd' of <xacro:property> is not part of xacro",
        "no file matches 'none*.xacro'",
    ):
        assert words in warnings


@pytest.mark.parametrize("name", ["absent.yaml", "folder"])
def test_data_that_is_not_there_is_named_with_the_place_looked_at(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ParseError, match=rf"there is no file .*{name}\. Relative paths start"):
        expand(tmp_path, f"""<link name="${{load_yaml('{name}')}}"/>""")


def test_the_environment_must_have_what_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("KINETREE_NOT_SET", raising=False)
    with pytest.raises(ParseError, match="the environment variable 'KINETREE_NOT_SET' is not read"):
        expand(tmp_path, '<link name="$(env KINETREE_NOT_SET)"/>')
    for text in ("nothing", "cwd a", "env", "env a b", "dirname a", "find a b", "optenv"):
        with pytest.raises(ParseError, match="is not known; expected one of find"):
            expand(tmp_path, f'<link name="$({text})"/>')


def test_a_property_that_needs_itself_is_refused(tmp_path):
    inside = '<xacro:property name="a" value="${a + 1}"/><link name="${a}"/>'
    with pytest.raises(ParseError, match="property 'a': its value depends on itself"):
        expand(tmp_path, inside)
    inside = '<xacro:macro name="m" params="n"><xacro:m n="${n}"/></xacro:macro><xacro:m n="1"/>'
    with pytest.raises(ParseError, match="call itself without an end"):
        expand(tmp_path, inside)


def test_data_may_have_the_units_of_xacro(tmp_path):
    """In rad and m; an inch has 25.4 mm, a foot twelve of them."""
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    units = {"radians": 1, "degrees": 0.017453292519943295, "meters": 1, "millimeters": 1e-3}
    units |= {"foot": 12 * 25.4e-3, "inches": 25.4e-3}
    text = "".join(f"{unit}: !{unit} 3 / 2\n" for unit in units)
    (tmp_path / "data.yaml").write_text(text)
    found, size = load_yaml(tmp_path / "data.yaml", Evaluator(), 1000)
    assert found == {unit: pytest.approx(1.5 * factor, rel=1e-15) for unit, factor in units.items()}
    assert size == len(text)
