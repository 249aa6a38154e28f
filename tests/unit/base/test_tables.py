"""Tables and numbers as text; in notebooks every result has a table without foreign markup."""

from html.parser import HTMLParser

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.testing import check_robot

NASTY = "<img src=x onerror=alert(1)>"
PLAIN = {"div", "b", "p", "table", "thead", "tbody", "tr", "th", "td"}
FRAMED = {"img", "iframe", "details", "summary"}  # a movable scene over a still picture
VOID = {"img", "input", "meta", "br"}  # elements without an end


class Tags(HTMLParser):
    """Tags and text of a piece of HTML, which must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.tags, self.text, self.inner = [], set(), "", []
        self.feed(text)
        assert not self.stack

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in VOID:
            self.stack.append(tag)
        self.inner += [value for name, value in attributes if name == "srcdoc"]
        assert not any(name.startswith("on") for name, _ in attributes)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text += data


def nasty_robot():
    builder = kt.Builder(NASTY).link("base").link(f"{NASTY}1", 1, (0.3, 0, 0))
    builder.link(f"{NASTY}2", 1, (0.2, 0.1, 0))
    builder.joint(f"{NASTY}3", "revolute", "base", f"{NASTY}1", limits=kt.Limits(-1, 1, 2, 30))
    builder.joint(f"{NASTY}4", "revolute", f"{NASTY}1", f"{NASTY}2", at=(0.5, 0, 0))
    return builder.build()


def motion(robot):
    t = np.linspace(0, 1, 6)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    return kt.simulate.Trajectory(t=t, q=q, dq=0.1 * q, ddq=0 * q, model=robot.model, name=NASTY)


FACES = {
    "robot": lambda r: r,
    "model": lambda r: r.model,
    "trajectory": motion,
    "limit report": lambda r: r.check(motion(r)),
    "energy": lambda r: motion(r).energy(r),
    "ellipsoid": lambda r: r.force_ellipsoid([0.1, 0.2]),
    "base parameters": lambda r: r.base_parameters(),
    "recursion": lambda r: r.newton_euler([0.1, 0.2], [1, 2], [3, 4]),
    "explanation": lambda r: r.explain([0.1, 0.2], [1, 2], [3, 4]),
    "closed forms": lambda r: kt.symbolic(r),
    "check": lambda r: check_robot(r, states=1, kernel_names=["mass_matrix"]),
}


@pytest.mark.parametrize("name", sorted(FACES))
def test_faces_are_well_formed_and_names_stay_text(name):
    found = FACES[name](nasty_robot())._repr_html_()
    page = Tags(found) if name != "explanation" else None
    if name in ("robot", "trajectory"):
        assert page.tags == PLAIN & page.tags | FRAMED
        (inner,) = map(Tags, page.inner)
        assert "canvas" in inner.tags and "img" not in inner.tags
        return
    if page is not None:
        assert page.tags <= PLAIN
    assert "<img" not in found


def test_the_robot_shows_its_joints_and_limits():
    text = Tags(kt.robots.panda()._repr_html_()).text
    assert all(word in text for word in ("Franka Panda", "panda_joint7", "-2.897", "87"))
    assert "7 degrees of freedom" in text


def test_mimics_and_symbols_have_a_face():
    assert "x index_bend" in kt.robots.hand()._repr_html_()
    m = sympy.Symbol("m_1", positive=True)
    builder = kt.Builder("symbolic").link("base").link("bob", m, (0, 0, -1))
    builder.joint("hinge", "revolute", "base", "bob")
    assert "m_1" in builder.build_model()._repr_html_()


def test_the_report_of_a_file_tells_its_warnings(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="&lt;i&gt;"/><joint name="j" '
        'type="continuous"><parent link="a"/><child link="&lt;i&gt;"/></joint></robot>'
    )
    with pytest.warns(kt.KinetreeWarning):
        robot = kt.load(path)
    page = Tags(robot.report._repr_html_())
    assert "i" not in page.tags and "moves no mass" in page.text and "r.urdf:1" in page.text


def test_linear_systems_are_formulas():
    robot = kt.robots.planar_2r()
    system = robot.linearize([0.1, 0.2], [0, 0], [0, 0])
    text = system._repr_latex_()
    assert r"\dot x = A x + B u" in text and text.count(r"\begin{bmatrix}") == 2
    assert "at steps of 0.01 s" in system.discrete(0.01)._repr_latex_()
    large = kt.algorithms.Linearization(np.zeros((68, 68)), np.zeros((68, 34)))._repr_latex_()
    assert r"A \in \mathbb{R}^{68 \times 68}" in large
    batch = robot.linearize(np.zeros((5, 2)), np.zeros((5, 2)), np.zeros((5, 2)))._repr_latex_()
    assert r"\mathbb{R}^{5 \times 4 \times 4}" in batch


def test_task_space_is_formulas():
    text = kt.robots.panda().task_space(kt.robots.panda().random(rng=0))._repr_latex_()
    assert r"\Lambda = \begin{bmatrix}" in text and r"\eta = \begin{bmatrix}" in text


def test_identified_robots_and_payloads_have_a_face():
    from kinetree.identify import Payload, identify, simulated_recording

    robot = kt.robots.planar_2r()
    path = kt.motion.excitation(robot, 4, 0.02)
    data = simulated_recording(robot, path, torque_noise=0.1)
    found = Tags(identify(robot, data, folds=2)._repr_html_())
    assert "error now" in found.text and "joint1" in found.text
    body = (2.0, np.array([0.1, 0, 0]), np.eye(3), NASTY, np.ones(10), np.full(10, 0.1), 3.0)
    load = Tags(Payload(*body, robot)._repr_html_())
    assert f"payload on {NASTY}" in load.text and "0.196" in load.text
