"""Text of robot files never becomes markup: the readings have only our own tags."""

from html.parser import HTMLParser

import numpy as np
import pytest
from hostile_robot import ATTACKS, hostile_urdf

from kinetree.errors import InputError, KinetreeError
from kinetree.views.workbench.files import read_robot_file
from kinetree.views.workbench.guard import UPLOAD_BYTES
from kinetree.views.workbench.markup import equations_reading
from kinetree.views.workbench.motions import simulated
from kinetree.views.workbench.plots import plots_reading
from kinetree.views.workbench.readings import (
    hand_ellipsoids,
    hand_reading,
    mass_reading,
    torque_reading,
    torques,
)
from kinetree.views.workbench.recursion import explained, step_reading, steps
from kinetree.views.workbench.robot_panel import robot_reading
from kinetree.views.workbench.state import at_rest

DANGEROUS = {"script", "img", "iframe", "object", "embed", "link", "a", "form", "input", "base"}


class Tags(HTMLParser):
    """Collects the tags and attributes of a piece of markup."""

    def __init__(self, markup):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upload")
    robot, _, notes = read_robot_file("x.urdf", hostile_urdf().encode(), folder)
    assert not list(folder.iterdir())  # the upload was removed
    q = np.full(robot.n, 0.3)
    return at_rest(robot).replace(q=q, dq=q, ddq=q), notes


def readings(state, notes):
    robot = state.robot
    plan = steps(robot.model)
    explanation = explained(state)
    yield torque_reading(torques(state))
    yield mass_reading(robot.model.dof_names, robot.mass_matrix(state.q))
    for frame in robot.model.frames:
        yield hand_reading(frame, np.zeros(3), hand_ellipsoids(state, frame, 1.0))
    for k in range(len(plan)):
        yield step_reading(explanation, plan, k)
    yield plots_reading(robot, simulated(state, "fall: no forces", 0.1), 0.05)
    yield robot_reading(robot, [*notes, *ATTACKS])
    yield equations_reading(robot)


def test_names_of_a_file_are_text_in_every_reading(hostile):
    seen = ""
    for markup in readings(*hostile):
        found = Tags(markup)
        assert not DANGEROUS & set(found.tags)
        assert not [name for name in found.attributes if name.startswith(("on", "href", "src"))]
        assert "autofocus" not in found.attributes
        seen += found.text
    for attack in ATTACKS[:-1]:
        assert attack in seen  # shown as written in the file


def test_names_of_nodes_in_the_scene_are_numbers(hostile):
    """A slash in a name would put a shape elsewhere into the tree."""
    pytest.importorskip("viser")
    from kinetree.views.workbench import view

    with view(hostile[0].robot, browser=False) as workbench:
        for name in workbench.bench.server.scene._handle_from_node_name:
            assert "<" not in name and "script" not in name


@pytest.mark.parametrize(
    "name", ["robot.xacro", "robot.exe", "robot", "../../robot.py", "robot.urdf\x00.txt", ""]
)
def test_only_robot_files_are_read(name, tmp_path):
    with pytest.raises(InputError, match="ends with"):
        read_robot_file(name, b"<robot/>", tmp_path)


def test_the_name_of_an_upload_chooses_no_place(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    read_robot_file("../../../evil.urdf", hostile_urdf().encode(), folder)
    assert [x.name for x in tmp_path.iterdir()] == ["private"] and not list(folder.iterdir())


def test_an_upload_larger_than_the_limit_is_refused(tmp_path):
    with pytest.raises(InputError, match="bytes"):
        read_robot_file("x.urdf", bytes(UPLOAD_BYTES + 1), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>',
        b"\xff\xfe not a robot",
        b"<robot",
    ],
)
def test_uploads_are_read_by_the_hardened_reader(text, tmp_path):
    with pytest.raises(KinetreeError):
        read_robot_file("x.urdf", text, tmp_path)
    assert not list(tmp_path.iterdir())


def test_meshes_of_an_upload_are_read_nowhere_else(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    secret = tmp_path / "secret.stl"
    secret.write_bytes(b"solid secret\nendsolid secret\n")
    visual = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    paths = (str(secret), "../secret.stl", f"file://{secret}", "package://../secret.stl")
    visuals = "".join(visual.format(path) for path in paths)
    urdf = hostile_urdf().replace("</link>", f"{visuals}</link>", 1)
    _, drawn, notes = read_robot_file("x.urdf", urdf.encode(), folder)
    assert not drawn.of("visual") and sum("chosen folder" in note for note in notes) == len(paths)


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.xml", "../../secret.xml"])
def test_an_upload_includes_nothing_from_elsewhere(name, tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    text = f"<mujoco><include file='{name}'/></mujoco>"
    with pytest.raises(KinetreeError, match="outside the model's folder"):
        read_robot_file("x.xml", text.encode(), folder)
