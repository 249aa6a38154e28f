"""Pages as text: well formed, self-contained, and names of the robot stay plain text."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ShapeError
from kinetree.model.samples import random_model
from kinetree.views import report_page, session_page
from kinetree.views.page.document import document, json_text
from kinetree.views.page.report import MAX_ROWS, equations

NAMES = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "]]>",
    "\"'><b>",
    "&lt;i&gt;",
)
VOID = {"meta", "input", "img", "br", "link", "rect", "path", "line", "polygon", "circle"}


class Outline(HTMLParser):
    """Tags, attributes and texts of a page; refuses tags that are not closed in order."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.stack.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.texts.append(data)


def hostile_robot():
    builder = kt.Builder(NAMES[0]).link("base").link(NAMES[1], 1, (0.3, 0, 0))
    builder.link(NAMES[2], 1, (0.2, 0, 0)).frame(NAMES[4], NAMES[2], (0.4, 0, 0), tool=True)
    builder.joint(NAMES[3], "revolute", "base", NAMES[1])
    builder.joint(NAMES[1], "revolute", NAMES[1], NAMES[2], at=(0.5, 0, 0))
    return builder.build()


def page_data(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("name", sorted(kt.robots.TREES))
def test_every_robot_has_a_well_formed_page(name):
    robot = getattr(kt.robots, name)()
    page = report_page(robot, samples=60)
    outline = Outline(page)
    text = " ".join(outline.texts)
    assert all(word in text for word in (robot.name, "Joints", "Links", "Equations of motion"))
    assert all(joint.name in text for joint in robot.model.joints)
    assert len(page_data(page)["handles"]) == robot.n


def test_pages_ask_for_nothing():
    page = report_page(kt.robots.planar_2r(), samples=60)
    outline = Outline(page)
    values = [
        value or "" for name, value in outline.attributes if name in ("src", "href", "action")
    ]
    assert values == []
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(outline.tags)
    bare = page.replace("http://www.w3.org/1998/Math/MathML", "")
    bare = bare.replace('url("data:font/woff2;base64,', "")  # the font of formulas, in the page
    assert (
        "http:" not in bare
        and "https:" not in bare
        and "url(" not in bare
        and "@import" not in bare
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def both_pages(robot, notes):
    motion = robot.simulate([0.1, 0.2], duration=0.1)
    return report_page(robot, samples=60), session_page(robot, motion, notes=notes)


def test_names_of_a_robot_stay_text():
    """The pages of a robot with hostile names have the same elements as those of a harmless one."""
    plain = [Outline(page) for page in both_pages(kt.robots.double_pendulum(), "notes")]
    hostile = [Outline(page) for page in both_pages(hostile_robot(), NAMES[0])]
    for expected, outline in zip(plain, hostile, strict=True):
        assert set(outline.tags) - {"summary", "details", "ul", "li"} <= set(expected.tags)
        assert outline.tags.count("script") == 2
        assert not [name for name, _ in outline.attributes if name.startswith("on")]
        text = " ".join(outline.texts)
        assert all(name in text for name in (NAMES[0], NAMES[1], NAMES[3], NAMES[4]))


def test_file_names_and_warnings_stay_text(tmp_path):
    path = tmp_path / "<b>&'.urdf"
    try:
        path.write_text(
            '<robot name="r"><link name="a"/><link name="&lt;i&gt;"><visual><geometry>'
            '<mesh filename="&lt;script&gt;x.stl"/></geometry></visual></link>'
            '<joint name="j" type="continuous"><parent link="a"/><child link="&lt;i&gt;"/>'
            "</joint></robot>"
        )
    except OSError:
        pytest.skip("this system has no such file names")
    with pytest.warns(kt.KinetreeWarning, match="moves no mass"):
        robot = kt.load(path)
    outline = Outline(report_page(robot, samples=60))
    text = " ".join(outline.texts)
    assert outline.tags.count("script") == 2 and "i" not in set(outline.tags)
    assert all(word in text for word in ("<b>&'.urdf", "<script>x.stl", "link '<i>'"))


def test_json_in_a_script_ends_nothing():
    nasty = {"a": "</script><!--<script>\u2028\u2029&", "b": [1.5, None]}
    text = json_text(nasty)
    shown = {"a": r"</script><!--<script>\u2028\u2029&", "b": [1.5, None]}
    assert json.loads(text) == shown
    assert not set("<>&\u2028\u2029") & set(text)
    with pytest.raises(ValueError):
        json_text(float("nan"))


def test_documents_hold_their_own_hashes():
    import base64
    import hashlib

    page = document("<t>", "<main></main>", {}, ("kinematics.js",))
    script = re.search(r"<script>(.*?)</script>", page, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page and "<title>&lt;t&gt;</title>" in page


def test_closed_forms_are_shown_where_they_are_short():
    page = report_page(kt.robots.cart_pole(), samples=60)
    assert page.count("<math") == 4 and "too long to read" not in page
    assert "too long to read" in report_page(kt.robots.panda(), samples=60)


def test_the_page_of_many_links_needs_no_kernel_of_inverse_dynamics():
    robot = kt.Robot(random_model(3, MAX_ROWS + 1))
    assert f"too long to read: the mass matrix has {robot.n} rows" in equations(robot)
    assert "inverse_dynamics" not in vars(robot)


def test_a_session_holds_the_whole_motion():
    robot = kt.robots.double_pendulum()
    motion = robot.simulate([1.0, 0.5], duration=0.5)
    data = page_data(session_page(robot, motion))["motion"]
    np.testing.assert_allclose(data["t"], motion.t, rtol=1e-8)
    np.testing.assert_allclose(data["q"], motion.q, rtol=1e-8)
    np.testing.assert_allclose(data["columns"]["dq"], motion.dq, rtol=1e-5)


def test_a_scene_that_is_known_is_drawn():
    robot = kt.robots.double_pendulum()
    motion = robot.simulate([1.0, 0.5], duration=0.1)
    whole = kt.views.scene(robot)
    bare = kt.views.Scene(whole.name, whole.extent, whole.of("frame"))
    groups = {
        part["group"]
        for part in page_data(session_page(robot, motion, drawn=bare))["scene"]["parts"]
    }
    assert groups == {"frame"}


def test_a_session_has_the_error_of_a_run_that_follows_a_reference():
    robot = kt.robots.planar_2r()
    run = robot.simulate(
        [0.4, 0.3], duration=1, controller=kt.controllers.PD([0.5, 0.1], kp=9, kd=9)
    )
    charts = {chart["title"]: chart for chart in page_data(session_page(robot, run))["charts"]}
    tracks = {title: chart.get("track") for title, chart in charts.items()}
    assert tracks == {
        "position": "q", "position less reference": None, "rate": "dq", "joint force": "tau",
        "energy": None,
    }  # fmt: skip
    for k, line in enumerate(charts["position less reference"]["series"]):
        np.testing.assert_allclose(line["values"][-1], run.q[-1, k] - (0.5, 0.1)[k], rtol=1e-5)


def test_long_motions_are_thinned_and_keep_their_ends():
    robot = kt.robots.double_pendulum()
    t = np.linspace(0, 10, 5001)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    motion = kt.simulate.Trajectory(t=t, q=q, dq=0 * q, ddq=0 * q, model=robot.model)
    page = session_page(robot, motion)
    kept = page_data(page)["motion"]["t"]
    assert len(kept) == 1500 and kept[0] == 0 and kept[-1] == 10
    assert "1500 of them on this page" in page


def test_forces_are_computed_where_a_motion_has_none():
    robot = kt.robots.planar_2r()
    q = np.zeros((3, 2))
    motion = kt.simulate.Trajectory(t=[0, 1, 2], q=q, dq=q, ddq=q, model=robot.model)
    tau = page_data(session_page(robot, motion))["motion"]["columns"]["tau"]
    np.testing.assert_allclose(tau, robot.gravity_forces(q), rtol=1e-5)


def test_motions_of_another_robot_and_batches_are_refused():
    robot = kt.robots.planar_2r()
    motion = kt.robots.double_pendulum().simulate([0.1, 0.1], duration=0.1)
    with pytest.raises(InputError, match="Give the robot of the trajectory"):
        session_page(robot, motion)
    q = np.zeros((3, 4, 2))
    batch = kt.simulate.Trajectory(t=[0, 1, 2], q=q, dq=q, ddq=q, model=robot.model)
    with pytest.raises((InputError, ShapeError)):
        session_page(robot, batch)


def test_tiny_and_huge_robots_and_odd_characters_have_pages():
    for size in (1e-5, 1.0, 1e5):
        builder = kt.Builder("odd \ud800 \0 name").link("base").link("arm", 1, (0, 0, size))
        builder.joint("hinge", "revolute", "base", "arm", axis=(0, 1, 0))
        page = report_page(builder.build_model(), samples=20)
        page.encode("utf-8")
        data = page_data(page)["scene"]
        capsule = next(part for part in data["parts"] if part["group"] == "body")
        assert np.abs(np.reshape(capsule["A"], (4, 4))[:3, 2]).max() == pytest.approx(size)


def test_wrong_arguments_are_named():
    robot = kt.robots.planar_2r()
    with pytest.raises(InputError, match="samples is 0"):
        report_page(robot, samples=0)
    with pytest.raises(InputError, match="expected a Robot or a Model"):
        report_page("panda")
    with pytest.raises(InputError, match="expected a Robot or a Model"):
        session_page("panda", None)


def test_degrees_turn_the_tables():
    page = report_page(kt.robots.panda(), samples=60, degrees=True)
    assert '<td class="n">−166</td>' in page and 'id="degrees" checked' in page


def test_robots_that_cannot_move_have_a_page():
    builder = kt.Builder("stone").link("base", 3, (0, 0, 1))
    page = report_page(builder.build())
    Outline(page)
    assert "stone" in page
