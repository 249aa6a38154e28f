"""Displays of a notebook: one frame each, small, with a picture below, names as text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import Trajectory, quintic

ARM = kt.robots.planar_2r()
MOTION = quintic([0, 0], [1, 1], 1, 0.01, robot=ARM, name="reach")
HOSTILE = "</script>'\"><img src=x onerror=alert(1)>&#39;"
MOST = 2_000_000  # characters of one display


class Frames(HTMLParser):
    """Tags of a display, and the pages in its frames."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.pages, self.sources = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.sources += [found[x] for x in ("src", "href") if x in found]
        if tag == "iframe":
            assert found["sandbox"] == "allow-scripts"
            self.pages.append(found["srcdoc"])


def hostile_arm():
    builder = kt.Builder(HOSTILE).link("base").link(HOSTILE, 1, (0.3, 0, 0))
    builder.joint(HOSTILE, "revolute", "base", HOSTILE)
    return builder.build()


@pytest.mark.parametrize(
    "shown",
    [
        ARM,
        kt.robots.humanoid(),
        MOTION,
        MOTION.plot(),
        MOTION.animate(),
        MOTION.replace(model=None, joint_names=("a", "b")),
        hostile_arm(),
    ],
    ids=["robot", "humanoid", "motion", "figure", "animation", "bare motion", "hostile"],
)
def test_a_display_is_one_small_frame_over_a_picture(shown):
    html = shown._repr_html_()
    found = Frames(html)
    assert len(html) < MOST / 4 and html.isascii()
    assert found.tags.count("iframe") == 1 and "script" not in found.tags
    (picture,) = found.sources
    assert picture.startswith(("data:image/png;base64,iVBOR", "data:image/svg+xml;base64,"))
    (page,) = found.pages
    inside = Frames(page)
    assert page.startswith("<!DOCTYPE html>") and inside.tags.count("script") == 2
    assert not inside.sources and "img" not in inside.tags
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def test_the_table_stays_below_the_robot():
    assert ARM.model._repr_html_() in ARM._repr_html_()
    assert MOTION.table_html() in MOTION._repr_html_()
    assert "planar 2R" in repr(ARM)


def test_a_robot_of_symbols_is_a_table():
    sympy = pytest.importorskip("sympy")
    builder = kt.Builder("soft").link("base").link("arm", sympy.Symbol("m"), (1, 0, 0))
    builder.joint("j", "revolute", "base", "arm")
    html = builder.build()._repr_html_()
    assert "<iframe" not in html and "<table" in html


def test_a_batch_is_drawn_as_median_and_range():
    q = np.random.default_rng(0).normal(size=(20, 9, 2))
    batch = Trajectory(t=np.arange(20.0), q=q, dq=0 * q, ddq=0 * q, model=ARM.model)
    figure = batch.plot(panels=["q"])
    one = figure.charts[0].series[1]
    assert np.array_equal(one.y, np.median(q[:, :, 1], axis=1))
    assert np.array_equal(one.band[0], q[:, :, 1].min(axis=1))
    assert figure.notes == ("Of 9 motions: the median, and shaded the range of all.",)
    assert "Of 9 motions" in Frames(batch._repr_html_()).pages[0]


def test_a_long_motion_of_many_joints_stays_small():
    robot = kt.robots.humanoid()
    q = np.tile(robot.neutral(), (1000, 1))
    rest = np.zeros((1000, robot.n))
    motion = Trajectory(t=np.arange(1000.0), q=q, dq=rest, ddq=rest, tau=rest, model=robot.model)
    assert len(motion._repr_html_()) < MOST


def test_limits_that_change_with_the_rate_follow_it():
    drive = kt.Drive(curve=((0.0, 5.0), (10.0, 1.0)))
    robot = ARM.with_drives({"joint1": drive})
    motion = quintic([0, 0], [1, 1], 1, 0.01, robot=robot)
    low, high = motion.plot(panels=["tau"]).charts[0].series[0].limits
    assert np.shape(low) == np.shape(high) == (101,) and np.ptp(high) > 0


def test_animations_are_saved_as_pages_and_movies(tmp_path):
    shown = MOTION.animate(fps=5, speed=2)
    shown.save(tmp_path / "x.html")
    assert "reach" in (tmp_path / "x.html").read_text(encoding="utf-8")
    shown.save(tmp_path / "x.gif")
    assert (tmp_path / "x.gif").read_bytes().startswith(b"GIF89a")
    with pytest.raises(kt.KinetreeError, match="ends with"):
        shown.save(tmp_path / "x.webp")
    assert '<option value="2" selected>' in Frames(shown._repr_html_()).pages[0]
