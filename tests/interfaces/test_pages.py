"""Pages: well formed, self-contained, and their numbers are those of the library."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import kinetree as kt
from kinetree.views import identification_page, report_page, session_page

VOID = {"meta", "input", "img", "br", "link", "rect", "path", "line", "polygon", "circle"}
HOSTILE = "</script>'\"><img src=x onerror=alert(1)>&#39;"


class Outline(HTMLParser):
    """Tags, texts and tables of a page; refuses tags that are not closed in order."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.attributes, self.texts = [], [], [], []
        self.rows: list[list[str]] = []
        self.feed(page)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.stack.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        if {"td", "th"} & set(self.stack):
            self.rows[-1][-1] += data
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.texts.append(data)

    def row(self, name, length):
        """The numbers of the row of that name and length."""
        (found,) = (x for x in self.rows if x[:1] == [name] and len(x) == length)
        return [number(cell) for cell in found]


def number(cell):
    text = cell.replace("−", "-").replace("∞", "inf")
    return float(text) if re.fullmatch(r"-?(inf|[\d.]+(e-?\d+)?)", text) else cell


def page_data(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def loads_nothing(page):
    outline = Outline(page)
    values = [x or "" for name, x in outline.attributes if name in ("src", "href", "action")]
    values = [x for x in values if not x.startswith("data:image/png;base64,")]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    inside = not {"link", "iframe", "object", "embed", "base"} & set(outline.tags)
    return (
        not values
        and inside
        and policy.startswith("default-src 'none'")
        and ("unsafe" not in policy)
    )


@pytest.mark.parametrize("name", sorted(kt.robots.__all__))
def test_a_report_has_the_robot(name):
    robot = getattr(kt.robots, name)()
    page = report_page(robot, samples=40)
    outline, data = Outline(page), page_data(page)
    text = " ".join(outline.texts)
    assert all(joint.name in text for joint in robot.model.joints) and robot.name in text
    assert data["robot"]["n"] == robot.n and len(data["q"]) == robot.nq
    assert data["robot"]["gravity"] == list(robot.model.gravity[-3:])
    np.testing.assert_allclose(
        [link["M"] for link in data["robot"]["links"]], np.reshape(robot.model.M_pi, (-1, 16)),
        atol=1e-12,
    )  # fmt: skip
    assert loads_nothing(page)


def test_tables_of_a_report_have_the_numbers_of_the_library():
    robot = kt.robots.panda()
    robot = robot.with_friction({"panda_joint2": kt.friction.Friction(1.5, 0.25)})
    outline = Outline(report_page(robot, samples=500))
    for joint in robot.model.joints:
        row = outline.row(joint.name, 11)
        limits = joint.limits
        shown = [limits.lower, limits.upper, limits.velocity, limits.effort]
        np.testing.assert_allclose(row[4:8], shown, rtol=1e-3)
        assert row[8:10] == ([1.5, 0.25] if joint.name == "panda_joint2" else [0, 0])
    for k, name in enumerate(robot.model.link_names):
        row = outline.row(name, 10)
        mass = robot.model.m[k]
        assert row[2] == pytest.approx(mass, rel=1e-3)
        G = robot.model.G[k]
        com = np.array([G[2, 4], G[0, 5], G[1, 3]]) / mass
        np.testing.assert_allclose(row[3:6], com, rtol=2e-3, atol=1e-3)
    # forces that hold the robot still, over random positions within the limits
    rng = np.random.default_rng(3)
    low, high = np.array([(x.limits.lower, x.limits.upper) for x in robot.model.joints]).T
    g = robot.gravity_forces(rng.uniform(low, high, (4000, 7)))
    for k, joint in enumerate(robot.model.joints):
        row = outline.row(joint.name, 8)
        size = np.abs(g[:, k]).max()
        np.testing.assert_allclose(
            row[2:4], [g[:, k].min(), g[:, k].max()], atol=0.25 * size + 1e-6
        )
        assert (
            row[2] >= g[:, k].min() - 0.05 * size - 1e-6
            and row[3] <= g[:, k].max() + 0.05 * size + 1e-6
        )


def test_a_session_has_the_motion_and_computes_missing_forces():
    robot = kt.robots.planar_2r()
    run = robot.simulate([1.0, 0.5], duration=0.5)
    data = page_data(session_page(robot, run))["motion"]
    for name in ("t", "q"):
        np.testing.assert_allclose(data[name], getattr(run, name), rtol=1e-8)
    np.testing.assert_allclose(data["dq"], run.dq, rtol=1e-5)
    q = np.array([[0.1, 0.2], [0.3, 0.1], [0.2, 0.2]])
    bare = kt.simulate.Trajectory(t=[0, 1, 2], q=q, dq=0 * q, ddq=0 * q, model=robot.model)
    tau = page_data(session_page(robot, bare))["motion"]["tau"]
    np.testing.assert_allclose(tau, robot.gravity_forces(q), rtol=1e-5)
    assert loads_nothing(session_page(robot, bare, notes=HOSTILE))
    with pytest.raises(kt.errors.KinetreeError):  # of another robot
        session_page(kt.robots.panda(), bare)


def test_a_long_motion_is_thinned_and_keeps_its_ends():
    robot = kt.robots.double_pendulum()
    t = np.linspace(0, 10, 5001)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    motion = kt.simulate.Trajectory(t=t, q=q, dq=0 * q, ddq=0 * q, model=robot.model)
    kept = page_data(session_page(robot, motion))["motion"]["t"]
    assert len(kept) < 2000 and kept[0] == 0 and kept[-1] == 10


def test_an_identification_has_its_numbers():
    robot = kt.robots.rp().with_friction({"joint1": kt.friction.Friction(0.5, 0.2)})
    excitation = kt.motion.excitation(robot, 5, 0.02, reach=0.8)
    data = kt.identify.simulated_recording(robot, excitation, torque_noise=0.1)
    found = kt.identify.identify(kt.robots.rp(), data)
    page = identification_page(found)
    assert loads_nothing(page)
    for name in robot.joint_names:
        assert name in page
    for beta in found.fit.beta:
        assert f"{beta:.5g}" in page
    charts = page_data(page)["charts"]
    assert page.count("<figure data-chart=") == len(charts) >= 2 * found.robot.n
    assert [(x["title"], x["unit"]) for x in charts[:2]] == [("joint1", "N m"), ("joint2", "N")]


def hostile_arm():
    builder = kt.Builder(HOSTILE).link("base").link(HOSTILE, 1, (0.3, 0, 0))
    builder.joint(HOSTILE, "revolute", "base", HOSTILE)
    return builder.build()


def test_pages_load_nothing_and_names_are_text():
    robot = hostile_arm()
    run = robot.simulate([0.1], duration=0.05)
    for page in (report_page(robot, samples=20), session_page(robot, run, notes=HOSTILE)):
        outline = Outline(page)
        assert loads_nothing(page)
        assert outline.tags.count("script") == 2 and outline.tags.count("img") == 1
        assert not [name for name, _ in outline.attributes if name.startswith("on")]
        assert HOSTILE in " ".join(outline.texts)


class Frames(HTMLParser):
    """Tags of a display of a notebook, and the pages in its frames."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.pages = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "iframe":
            found = dict(attributes)
            assert found["sandbox"] == "allow-scripts"
            self.pages.append(found["srcdoc"])


def test_displays_of_a_notebook_are_frames_of_pages():
    robot = kt.robots.planar_2r()
    motion = kt.motion.quintic([0, 0], [1, 1], 1, 0.01, robot=robot)
    for shown in (robot, motion, motion.animate(), hostile_arm()):
        html = shown._repr_html_()
        found = Frames(html)
        assert found.tags.count("iframe") == 1 and "script" not in found.tags
        assert len(html) < 500_000 and "unsafe" not in found.pages[0]
    assert robot.model._repr_html_() in robot._repr_html_()
    results = (
        kt.symbolic(robot), kt.dynamics.mass_ellipsoid(robot, [0.1, 0.2]),
        kt.load_string(kt.convert.to_urdf(robot, losses="allow")).report,
        robot.explain([0, 1], [0, 0], [0, 0]),
    )  # fmt: skip
    for result in results:
        html = result._repr_html_()
        Outline(html)
        assert "<script" not in html and len(html) > 100
