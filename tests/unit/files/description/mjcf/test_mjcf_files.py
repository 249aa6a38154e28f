"""Includes: put in their place, and never a way to read other files."""

import os

import pytest
from mjcf_files_given import model

from kinetree.errors import ParseError
from kinetree.files.description.mjcf import read_mjcf

pytest.importorskip("mujoco", reason="MJCF needs mujoco")

PART = '<mujocoinclude><body name="b2" pos="1 2 3"><geom size=".1"/></body></mujocoinclude>'
SECRET = "root:x:0:0:secret"


def write(folder, **files: str):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".xml").write_text(text)
    return folder / "robot.xml"


def test_an_included_body_stands_where_the_include_stood(tmp_path):
    path = write(tmp_path, robot=model('<include file="part.xml"/>'), part=PART)
    joint = read_mjcf(path).joints[1]
    assert (joint.parent, joint.child) == ("b1", "b2")
    assert joint.M_pc[:3, 3].tolist() == [1, 2, 3]
    assert joint.where == "part.xml:1"


def test_a_name_is_sought_in_the_folder_of_the_model_first_then_beside_the_including_file(tmp_path):
    robot = model(top='<include file="sub/a.xml"/>')
    option = "<mujoco><option gravity='{} 0 0'/></mujoco>"
    a = "<mujoco><include file='b.xml'/></mujoco>"
    path = write(tmp_path, robot=robot, sub__a=a, sub__b=option.format(1))
    assert read_mjcf(path).gravity == (1, 0, 0)
    write(tmp_path, b=option.format(2))
    assert read_mjcf(path).gravity == (2, 0, 0)


@pytest.mark.parametrize("name", ["../secret.xml", "sub/../../secret.xml", "{outside}/secret.xml"])
def test_an_include_that_leads_out_of_the_folder_is_refused_unread(tmp_path, name):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.xml").write_text(SECRET)
    path = write(home, robot=model(f'<include file="{name.format(outside=tmp_path)}"/>'))
    with pytest.raises(ParseError, match="outside the model's folder") as caught:
        read_mjcf(path)
    assert "secret:" not in str(caught.value) and SECRET not in str(caught.value)


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "part.xml").write_text(PART)
    try:
        os.symlink(tmp_path / "part.xml", home / "part.xml")
    except OSError:
        pytest.skip("this system makes no symbolic links")
    path = write(home, robot=model('<include file="part.xml"/>'))
    with pytest.raises(ParseError, match="outside"):
        read_mjcf(path)
    assert len(read_mjcf(path, folders=[tmp_path]).links) == 3


def test_refusal_does_not_tell_whether_the_file_exists(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "there.xml").write_text(PART)
    messages = []
    for name in ("there", "lacks"):
        path = write(home, robot=model(f'<include file="../{name}.xml"/>'))
        with pytest.raises(ParseError) as caught:
            read_mjcf(path)
        messages.append(str(caught.value).replace(name, "NAME"))
    assert messages[0] == messages[1]


def test_an_included_file_that_is_no_xml_does_not_appear_in_the_message(tmp_path):
    path = write(tmp_path, robot=model('<include file="notes.xml"/>'), notes=SECRET)
    with pytest.raises(ParseError, match=r"notes.xml") as caught:
        read_mjcf(path)
    assert "root:x" not in str(caught.value)


@pytest.mark.parametrize(
    "files, word",
    [
        ({"a": "<mujoco><include file='b.xml'/></mujoco>",
          "b": "<mujoco><include file='a.xml'/></mujoco>"}, "already included"),
        ({"a": "<mujoco/>"}, "empty"),
        ({}, "does not exist"),
        ({"a": "<mujoco><x></mujoco>"}, "a.xml:1"),
    ],
)  # fmt: skip
def test_includes_that_cannot_be_followed(tmp_path, files, word):
    path = write(tmp_path, robot=model('<include file="a.xml"/>'), **files)
    with pytest.raises(ParseError, match=word):
        read_mjcf(path)


@pytest.mark.parametrize("include", ["<include/>", '<include file="a.xml"><x/></include>'])
def test_malformed_includes_are_refused(tmp_path, include):
    path = write(tmp_path, robot=model(include), a=PART)
    with pytest.raises(ParseError, match=r"robot\.xml:1: <include>"):
        read_mjcf(path)


def test_messages_of_muJoCo_lead_to_the_included_file_and_line(tmp_path):
    part = '<mujoco>\n<body name="b2">\n<joint name="j2"\n axis="0 0 0"/></body></mujoco>'
    path = write(tmp_path, robot=model('<include file="part.xml"/>'), part=part)
    with pytest.raises(ParseError, match=r"^part\.xml:3: .*<joint> 'j2' of body 'b2'.*axis"):
        read_mjcf(path)


def test_nothing_is_written_and_the_folder_of_the_process_does_not_matter(tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    # The inertia matrix is singular where joints are at zero: MuJoCo warns while it compiles.
    joints = '<joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="1 0 0"/>'
    gimbal = f'<body name="gimbal">{joints}<geom size=".1"/></body>'
    path = write(tmp_path, robot=model(f'{gimbal}<include file="part.xml"/>'), part=PART)
    robot = read_mjcf(path)
    assert any("MuJoCo warns" in note.text for note in robot.warnings)
    assert list(elsewhere.iterdir()) == []
