"""The workbench in a real browser: uploads and downloads, other robots, hostile names."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from workbench_page import WorkbenchPage

import kinetree as kt

pytest.importorskip("viser", reason="the workbench needs viser: pip install 'kinetree[view]'")
sys.path.insert(0, str(Path(__file__).parents[1] / "security"))
from hostile_robot import ATTACKS, hostile_urdf


@pytest.fixture(scope="module")
def one_page(chromium):
    """One page for all tests, since loading takes longest; at the end no error was logged."""
    from kinetree.views.workbench import view

    with view(kt.robots.planar_2r(), browser=False) as workbench:
        page = WorkbenchPage(chromium, workbench)
        yield page
        page.close()
        assert not page.faults


@pytest.fixture
def opened(one_page):
    """Open a robot."""

    def put(robot, degrees=False):
        one_page.put(robot, degrees=degrees)
        return one_page

    return put


def test_a_robot_is_uploaded_and_its_names_stay_text(opened, tmp_path, screenshots):
    page = opened(kt.robots.planar_2r())
    file = tmp_path / "attack.urdf"
    file.write_text(hostile_urdf())
    page.page.locator("input[type=file]:not([accept*=csv])").first.set_input_files(file)
    assert page.until(lambda: page.bench.state.robot.n == len(ATTACKS) - 1)
    page.page.get_by_text("Joint forces").wait_for()
    assert page.until(lambda: len(page.values("tau")) == len(ATTACKS) - 1)
    for tab in ("M", "Hand", "Forces", "Motion", "Push", "Recursion", "Robot"):
        page.tab(tab)
    page.tab("Recursion")
    page.press("next ▶")
    page.page.get_by_text("Step 1 of").wait_for()
    assert page.page.evaluate("window.hit") is None
    assert page.page.locator("img[src=x], iframe, script[src], a[href^=javascript]").count() == 0
    page.shot(screenshots / "workbench_hostile.png")


def test_a_file_that_is_no_robot_is_refused_with_words(opened, tmp_path):
    page = opened(kt.robots.planar_2r())
    file = tmp_path / "broken.urdf"
    file.write_text("<robot name='x'><link")
    page.page.locator("input[type=file]:not([accept*=csv])").first.set_input_files(file)
    page.page.get_by_text("That did not work").wait_for()
    assert page.bench.state.robot.name == "planar 2R"


def test_a_trajectory_is_opened_and_the_session_is_saved(opened, open_page, tmp_path):
    robot = kt.robots.planar_2r()
    page = opened(robot)
    t = np.linspace(0, 0.5, 26)
    rows = [f"{x!r},{math.sin(x)!r},{x * x!r}" for x in t.tolist()]
    file = tmp_path / "motion.csv"
    file.write_text("\n".join(["t,q:joint1,q:joint2", *rows]))
    page.tab("Motion")
    page.page.locator("input[type=file][accept*=csv]").first.set_input_files(file)
    assert page.until(lambda: page.bench.trajectory is not None)
    assert page.until(lambda: abs(page.bench.state.q[1] - 0.25) < 1e-12)

    with page.page.expect_download() as download:
        page.press("Save the motion (CSV)")
    saved = tmp_path / "saved.csv"
    download.value.save_as(saved)
    back = kt.motion.read_csv(saved, robot)
    np.testing.assert_array_equal(back.q, page.bench.trajectory.q)

    with page.page.expect_download() as download:
        page.press("Save this session (one HTML file)")
    session = tmp_path / "session.html"
    download.value.save_as(session)
    offline = open_page(session.as_uri())
    offline.get_by_role("button", name="Play").click()
    clock = "() => parseFloat(document.querySelector('#time').value)"
    assert page.until(lambda: offline.evaluate(clock) > 0.2)


@pytest.mark.parametrize("name", ["planar_2r", "humanoid"])
def test_other_robots_fit_on_the_page(opened, screenshots, name):
    page = opened(getattr(kt.robots, name)(), degrees=True)
    page.shot(screenshots / f"workbench_{name}.png")
    page.tab("Equations")
    page.tab("Robot")
    wide = page.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert not wide
    page.shot(screenshots / f"workbench_{name}_equations.png")


def test_a_robot_is_drawn_as_if_it_were_the_first(opened, chromium, tmp_path):
    """The page keeps nothing of the previous robot, such as the pose of a link."""
    opened(kt.robots.panda())
    page = opened(kt.robots.quadruped())
    after = page.drawn(tmp_path / "after.png")
    fresh = WorkbenchPage(chromium, page.workbench)
    first = fresh.drawn(tmp_path / "first.png")
    fresh.close()
    assert np.abs(after - first).max() < 0.2
    opened(kt.robots.panda())
    assert np.abs(page.drawn(tmp_path / "other.png") - first).max() > 0.4


def test_degrees_are_degrees(opened):
    page = opened(kt.robots.planar_2r(), degrees=True)
    page.page.get_by_role("tab", name="q, deg", exact=True).wait_for()
    page.set_slider("joint1", 90)
    assert page.until(lambda: abs(page.bench.state.q[0] - np.pi / 2) < 1e-3)


def test_another_robot_is_chosen_from_the_list(opened):
    page = opened(kt.robots.planar_2r())
    page.page.get_by_role("combobox", name="Robot").click()
    page.page.get_by_role("option", name="scara", exact=True).click()
    assert page.until(lambda: page.bench.state.robot.n == 4)
    assert page.until(lambda: len(page.values("tau")) == 4)


def test_the_page_names_its_robot_and_can_be_dark(opened, screenshots):
    page = opened(kt.robots.scara())
    page.page.get_by_text("kinetree · SCARA").wait_for()
    grey = "getComputedStyle(document.querySelector('.kt-table th')).color"
    brightness = f"Math.max(...{grey}.match(/\\d+/g).slice(0, 3).map(Number))"
    assert page.page.evaluate(brightness) < 130
    box = page.page.get_by_role("checkbox", name="dark")
    box.click()
    assert page.until(lambda: page.page.evaluate(brightness) > 160)
    page.shot(screenshots / "workbench_scara_dark.png")
    box.click()
    assert page.until(lambda: page.page.evaluate(brightness) < 130)


def test_numbers_fit_into_the_boxes_beside_sliders(opened):
    page = opened(kt.robots.panda())
    too_long = """() => [...document.querySelectorAll("input[type=text]")]
        .filter(x => x.scrollWidth > x.clientWidth + 1).map(x => x.value)"""
    page.press("random")
    assert page.until(page.shows_tau)
    assert page.page.locator("input[type=text]:visible").count() >= 7
    assert page.page.evaluate(too_long) == []
