"""Names of files of others are text: a terminal does not obey them, and a page has no markup."""

import os
import subprocess
import sys
import warnings
from unicodedata import category

import numpy as np
import pytest
from hostile_robot import ATTACKS, hostile_urdf

import kinetree as kt
from kinetree.errors import InputError, KinetreeWarning
from kinetree.views import report_page

# Characters that XML allows and a terminal obeys: 8-bit CSI and OSC, DEL, ends of lines, changes of
# the direction of writing, characters without a width, other ends of lines.
CONTROLS = "\x9b \x9d \x7f \r \n \x85 \u202e \u2066 \u200b \u2028 \u2029".split(" ")
NAMES = [f"a{c}31mb{k}" for k, c in enumerate(CONTROLS)]
MATHS = "\u2061\u2062\u2063\u2064"  # operators of MathML without a picture
ESCAPES = [c.encode("unicode_escape").decode() for c in CONTROLS]


def reference(name):
    """A name in XML, with references for the characters."""
    return "".join(c if c.isascii() and c.isalnum() else f"&#{ord(c)};" for c in name)


def urdf(name="r\x9b2J"):
    parts = ['<link name="base"/>']
    body = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    for k, own in enumerate(map(reference, NAMES)):
        parent = reference(NAMES[k - 1]) if k else "base"
        parts.append(
            f'<link name="{own}"><inertial><origin xyz="0 0 .1"/>{body}</inertial></link>'
            f'<joint name="j{own}" type="revolute"><parent link="{parent}"/><child link="{own}"/>'
            '<origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>'
            '<limit lower="-1" upper="1" effort="5" velocity="1"/></joint>'
        )
    return f'<robot name="{reference(name)}">{"".join(parts)}</robot>'


@pytest.fixture(scope="module")
def robot():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        return kt.load_string(urdf())


def obeyed(text):
    """Characters of a text that a terminal would obey or hide, except ends of our own lines."""
    return sorted({c for c in text if not c.isprintable() and c != "\n"})


def test_the_robot_has_the_names_as_they_are_in_the_file(robot):
    assert robot.model.joint_names == tuple(f"j{name}" for name in NAMES)


@pytest.mark.parametrize("escape", ["\\x1b", "\\x07", "\\x00", "\\x08", "\\ud800", "\\uffff"])
def test_xacro_makes_no_character_that_xml_does_not_have(escape):
    """ROS would write a file that no parser of XML reads."""
    head = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    with pytest.raises(kt.errors.KinetreeError) as caught:
        kt.load_string(f"{head}<link name=\"${{'{escape}'}}\"/></robot>", format="xacro")
    assert not obeyed(str(caught.value))


def test_texts_of_the_library_have_escapes(robot):
    q = np.zeros(robot.n)
    motion = robot.simulate(q, q, duration=0.02, dt=0.01)
    texts = [
        repr(robot),
        repr(robot.model),
        repr(motion),
        str(robot.report),
        str(kt.motion.check_limits(robot, motion)),
    ]
    for text in texts:
        assert not obeyed(text)
    assert all(escape in repr(robot) for escape in ESCAPES if escape != "\\n")


def test_errors_and_warnings_have_escapes(robot):
    for wrong in (lambda: robot.lock({"no": 0.0}), lambda: robot.frame("no")):
        with pytest.raises((kt.errors.KinetreeError, AttributeError)) as caught:
            wrong()
        assert not obeyed(str(caught.value))
    assert str(InputError("a\x1b[2Jb\u202ec\nd")) == "a\\x1b[2Jb\\u202ec\nd"
    with pytest.warns(KinetreeWarning, match="b0") as caught:
        kt.load_string(urdf().replace('"0 0 0.2"', '"0 0 0.2" odd="1"').replace("<axis", "<axes"))
    assert not obeyed(str(caught[0].message))


def printed(*words):
    """Standard output and error of a command that believes to be on a terminal."""
    pty = pytest.importorskip("pty", reason="there are no terminals of this kind here")
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    call = [sys.executable, "-m", "kinetree", *words]
    with subprocess.Popen(call, stdout=follower, stderr=follower, env=environment):
        os.close(follower)
        data = b""
        try:
            while piece := os.read(leader, 65536):
                data += piece
        except OSError:  # the end of the process
            pass
    os.close(leader)
    return data.decode().replace("\r\n", "\n")  # a terminal adds the carriage returns


@pytest.mark.parametrize("words", [["info"], ["terms", "--q", "0.1"], ["id", "--q", "no=1"]])
def test_a_terminal_shows_escapes(words, tmp_path):
    (tmp_path / "robot.urdf").write_text(urdf(), encoding="utf-8")
    text = printed(words[0], str(tmp_path / "robot.urdf"), *words[1:])
    assert not obeyed(text), text
    assert "\\x9b" in text and "\\u202e" in text


def test_every_kind_of_output_of_the_command_line_has_escapes(tmp_path):
    (tmp_path / "robot.urdf").write_text(urdf(), encoding="utf-8")
    q = f"j{NAMES[0]}=0.1"
    for words in (["info"], ["terms", "--q", q], ["explain", "--q", q], ["info", "--json"]):
        call = [sys.executable, "-m", "kinetree", words[0], "robot.urdf", *words[1:]]
        found = subprocess.run(call, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert found.returncode == 0 and not obeyed(found.stdout + found.stderr), words


def drawn(motion, path):
    """The figure of a motion as SVG whose names are text."""
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        motion.plot(path)
    return path.read_text(encoding="utf-8")


def test_pages_and_drawings_have_escapes(robot, tmp_path):
    q = np.zeros(robot.n)
    motion = robot.simulate(q, q, duration=0.02, dt=0.01)
    shown = {
        "report": report_page(robot, samples=20),
        "plot": motion._repr_html_(),
        "svg": drawn(motion, tmp_path / "motion.svg"),
        "explanation": robot.explain(q, q, q)._repr_html_(),
        "tables": motion.table_html() + robot.report._repr_html_() + robot.model._repr_html_(),
    }
    for name, text in shown.items():
        hidden = {c for c in obeyed(text) if category(c)[0] == "C" or c in "\u2028\u2029"}
        assert not hidden - {"\t", *MATHS}, name
        assert not any(f"\\u{ord(c):04x}m" in text for c in CONTROLS), name  # of JSON
        assert "\\x9b31m" in text, name


@pytest.mark.parametrize("page", ["robot", "motion", "notebook"])
def test_pages_have_names_as_text(page):
    from html.parser import HTMLParser

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        robot = kt.load_string(hostile_urdf())
    q = np.zeros(robot.n)
    if page == "robot":
        html = report_page(robot, samples=20)
    elif page == "motion":
        html = robot.simulate(q, q, duration=0.02, dt=0.01)._repr_html_()
    else:
        html = robot.report._repr_html_() + robot.model._repr_html_()
    found = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.extend((tag, name, value) for name, value in attrs)

    Tags().feed(html)
    assert found and not [x for x in found if x[1].startswith("on") or x[:2] == ("a", "href")]
    assert not [x for x in found if x[1] == "src" and not x[2].startswith("data:")]
    for attack in ATTACKS[:2]:
        assert attack not in html
