"""The pages in a real browser: the robot is drawn at robot.pose, and no error is logged."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.views import report_page, session_page

MODELS = Path(__file__).parents[3] / "shared" / "models"
HOSTILE = "<script>alert(1)</script>"


def write(folder, name, text):
    path = folder / f"{name}.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


def positions(page):
    return np.array(page.evaluate("window.kinetree.state().q"))


def has_no_overflow(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def pull(page, k, value):
    """Move slider k like a user: change its value and send the event."""
    page.locator(".handle input").nth(k).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def red_green_blue_near(page, point):
    """Colours of the frame's axes that are drawn within 25 px of a point of {s}."""
    x, y = page.evaluate("(p) => window.kinetree.viewer.project(p)", list(map(float, point)))
    return page.evaluate(
        """([x, y]) => {
          window.kinetree.viewer.draw();
          const canvas = document.getElementById("view"), gl = canvas.getContext("webgl");
          const ratio = canvas.width / canvas.clientWidth, size = Math.round(50 * ratio);
          const left = Math.round(x * ratio - size / 2);
          const bottom = Math.round(canvas.height - y * ratio - size / 2);
          const pixels = new Uint8Array(4 * size * size);
          gl.readPixels(left, bottom, size, size, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
          const found = [0, 0, 0];
          for (let k = 0; k < pixels.length; k += 4) {
            const [r, g, b, a] = pixels.slice(k, k + 4);
            if (a < 250) continue;
            if (r > 1.6 * g && r > 1.6 * b) found[0]++;
            if (g > 1.25 * r && g > 1.25 * b) found[1]++;
            if (b > 1.6 * r && b > 1.4 * g) found[2]++;
          }
          return found;
        }""",
        [x, y],
    )


@pytest.mark.parametrize("name", ["panda", "planar_2r", "cart_pole", "hand"])
def test_sliders_move_the_robot_to_where_the_kernels_say(name, tmp_path, open_page):
    robot = getattr(kt.robots, name)()
    page = open_page(write(tmp_path, name, report_page(robot, samples=50)))
    rng = np.random.default_rng(3)
    limits = [page.locator(".handle input").nth(k) for k in range(robot.n)]
    for k, slider in enumerate(limits):
        low, high = (float(slider.get_attribute(end)) for end in ("min", "max"))
        pull(page, k, rng.uniform(low, high))
    state = page.evaluate("window.kinetree.state()")
    q = np.array(state["q"])
    assert np.any(np.abs(q) > 1e-3)
    scale = np.abs(robot.gravity_forces(q)).max() + 1
    # sums of a dozen products of numbers of the robot's size, in another order
    np.testing.assert_allclose(np.reshape(state["tool"], (4, 4)), robot.pose(q), atol=1e-13)
    np.testing.assert_allclose(np.reshape(state["T"], (-1, 4, 4)), robot.link_poses(q), atol=1e-13)
    np.testing.assert_allclose(state["tau"], robot.gravity_forces(q), atol=1e-13 * scale)
    shown = [float(x) for x in page.inner_text("#tool").split()]
    np.testing.assert_allclose(shown, robot.pose(q)[:3, 3], atol=5.1e-5)  # four decimals


def test_free_joints_turn_by_roll_pitch_and_yaw(tmp_path, open_page):
    robot = kt.robots.quadruped()
    page = open_page(write(tmp_path, "quadruped", report_page(robot, samples=50)))
    for k, value in enumerate((0.3, -0.4, 1.1, 0.2, 0.1, 0.4)):
        pull(page, k, value)
    state = page.evaluate("window.kinetree.state()")
    q = np.array(state["q"])
    R = kt.spatial.rpy(0.3, -0.4, 1.1)
    np.testing.assert_allclose(kt.spatial.from_quaternion(q[:4]), R, atol=1e-14)
    np.testing.assert_allclose(np.reshape(state["T"], (-1, 4, 4)), robot.link_poses(q), atol=1e-13)


def test_the_tool_is_drawn_where_it_is(tmp_path, open_page, screenshots):
    robot = kt.robots.planar_2r()
    page = open_page(write(tmp_path, "drawn", report_page(robot, samples=50)))
    for group in ("body", "joint"):
        page.uncheck(f"[data-group={group}]")
    before = robot.pose(positions(page))[:3, 3]
    assert max(red_green_blue_near(page, before)[:2]) > 10
    pull(page, 0, 1.2)
    pull(page, 1, -2.0)
    page.screenshot(path=screenshots / "report_tool_moved.png")
    after = robot.pose(positions(page))[:3, 3]
    assert np.linalg.norm(after - before) > 0.5
    assert max(red_green_blue_near(page, after)[:2]) > 10
    assert sum(red_green_blue_near(page, before)) == 0


def test_home_and_switches_and_degrees(tmp_path, open_page):
    robot = kt.robots.panda()
    page = open_page(write(tmp_path, "switches", report_page(robot, samples=50, degrees=True)))
    assert page.inner_text(".handle output >> nth=3") == "-90.0°"
    page.uncheck("#degrees")
    assert page.inner_text(".handle output >> nth=3") == "-1.571 rad"
    start = positions(page)
    pull(page, 1, 0.7)
    assert not np.array_equal(positions(page), start)
    page.click("#home")
    assert np.array_equal(positions(page), start)
    assert not page.evaluate("window.kinetree.viewer.isShown('inertia')")
    page.check("[data-group=inertia]")
    assert page.evaluate("window.kinetree.viewer.isShown('inertia')")


def test_dragging_turns_the_view_and_nothing_else(tmp_path, open_page):
    robot = kt.robots.panda()
    page = open_page(write(tmp_path, "drag", report_page(robot, samples=50)))
    seen = "window.kinetree.viewer.project([0.3, 0.2, 0.5])"
    before, q = page.evaluate(seen), positions(page)
    box = page.locator("#view").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, box["y"] + 240, steps=4)
    page.mouse.up()
    far = "([x, y]) => { const p = " + seen + "; return Math.hypot(p[0] - x, p[1] - y) > 5; }"
    page.wait_for_function(far, arg=before)
    turned = page.evaluate(seen)
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"([x, y]) => {seen}[0] !== x || {seen}[1] !== y", arg=turned)
    assert np.array_equal(positions(page), q)


@pytest.mark.parametrize("name", ["panda", "humanoid", "planar_2r", "cart_pole", "hand"])
def test_pages_fit_their_window(name, tmp_path, open_page, screenshots):
    robot = getattr(kt.robots, name)()
    page = open_page(write(tmp_path, name, report_page(robot, samples=400)))
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 800})
        assert has_no_overflow(page)
        page.screenshot(path=screenshots / f"report_{name}_{width}.png", full_page=True)


def test_dark_and_print(tmp_path, open_page, screenshots):
    robot = kt.robots.panda()
    page = open_page(write(tmp_path, "dark", report_page(robot)), color_scheme="dark")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", colour)[:3])) < 60
    page.check("[data-group=inertia]")
    page.screenshot(path=screenshots / "report_panda_dark.png", full_page=True)
    page.emulate_media(media="print", color_scheme="light")
    assert page.locator("#view").is_hidden() and page.locator(".picture svg").is_visible()
    assert page.locator(".controls").is_hidden()
    page.set_viewport_size({"width": 800, "height": 1100})
    page.screenshot(path=screenshots / "report_panda_print.png", full_page=True)
    page.pdf(path=screenshots / "report_panda.pdf", format="A4")


def test_without_scripts_there_is_a_picture(tmp_path, open_page):
    page = open_page(
        write(tmp_path, "plain", report_page(kt.robots.panda(), samples=50)),
        java_script_enabled=False,
    )
    assert page.locator(".picture svg").is_visible() and page.locator(".controls").is_hidden()


def test_without_webgl_the_sliders_still_compute(tmp_path, chromium):
    robot = kt.robots.planar_2r()
    page = chromium.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
    page.goto(write(tmp_path, "flat", report_page(robot, samples=50)))
    assert page.locator(".picture svg").is_visible() and page.locator("#view").is_hidden()
    pull(page, 0, 0.6)
    shown = [float(x) for x in page.inner_text("#tool").split()]
    np.testing.assert_allclose(shown, robot.pose(positions(page))[:3, 3], atol=5.1e-5)
    page.close()


def test_names_of_a_file_stay_text(tmp_path, open_page):
    robot = hostile_robot()
    page = open_page(write(tmp_path, "hostile", report_page(robot, samples=50)))
    assert page.title() == f"{HOSTILE} robot"
    assert page.locator("h1").inner_text() == f"{HOSTILE} robot"
    assert page.locator("main script, main img, main iframe").count() == 0
    assert page.inner_text(".handle label >> nth=0") == "</script><img src=x onerror=alert(1)>"


def test_even_injected_markup_could_not_run(tmp_path, chromium):
    """The policy refuses a script that got into the page, independent of the escaping."""
    text = report_page(kt.robots.planar_2r(), samples=50)
    text = text.replace("</main>", "<script>window.broken = 1</script></main>")
    page, said = chromium.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(write(tmp_path, "injected", text))
    assert page.evaluate("[window.broken, !!window.kinetree]") == [None, True]
    assert any("Content Security Policy" in line for line in said)
    page.close()


def hostile_robot():
    first, last = f'"{HOSTILE}', "]]>&amp;"
    builder = kt.Builder(f"{HOSTILE} robot").link("base")
    builder.link(first, 1, (0.3, 0, 0)).link(last, 1, (0.2, 0, 0))
    builder.joint("</script><img src=x onerror=alert(1)>", "revolute", "base", first)
    builder.joint("' onload='x", "revolute", first, last, at=(0.5, 0, 0))
    builder.frame("</title><b>", last, (0.4, 0, 0), tool=True)
    return builder.build()


def test_a_motion_plays(tmp_path, open_page, screenshots):
    robot = kt.robots.double_pendulum()
    motion = robot.simulate([1.0, 0.5], [0.0, 0.0], duration=2.0)
    page = open_page(write(tmp_path, "motion", session_page(robot, motion, notes="Let go.")))
    for time in (0.0, 0.735, 2.0):
        state = page.evaluate("(t) => window.kinetree.seek(t)", time)
        k = int(np.argmin(np.abs(motion.t - time)))
        near = np.abs(motion.dq).max() * np.diff(motion.t).max() + 1e-6
        np.testing.assert_allclose(state["q"], motion.q[k], atol=near)
        np.testing.assert_allclose(
            np.reshape(state["tool"], (4, 4)), robot.pose(state["q"]), atol=1e-13
        )
        cursors = page.evaluate("window.kinetree.plots.map((plot) => plot.state().cursor)")
        assert cursors == [time] * 4
    page.evaluate("window.kinetree.seek(0.8)")
    page.screenshot(path=screenshots / "session_double_pendulum.png", full_page=True)
    assert has_no_overflow(page)
    page.evaluate("window.kinetree.seek(0)")
    page.select_option("#speed", "4")
    page.click("#play")
    page.locator("#clock", has_text="2.000 s").wait_for()
    page.locator("#play", has_text=re.compile("^Play$")).wait_for()
    page.set_viewport_size({"width": 400, "height": 800})
    assert has_no_overflow(page)


@pytest.mark.parametrize("name", ["urdf_tutorial_07", "ur5e_ros2", "r2d2_bullet"])
def test_a_robot_of_a_file(name, tmp_path, open_page, screenshots):
    files = sorted((MODELS / "urdf" / name).glob("*.urdf"))
    if not files:
        pytest.skip("../shared/models is not here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)
        robot = kt.load(files[0])
    page = open_page(write(tmp_path, name, report_page(robot, samples=200)))
    assert has_no_overflow(page)
    page.screenshot(path=screenshots / f"report_{name}.png", full_page=True)


def test_labels_of_limits_have_the_colours_of_their_joints(tmp_path, open_page):
    """The joint forces of the UR5e: 28 N m for the joints of its wrist alone."""
    robot = kt.robots.ur5e()
    path = tmp_path / "run.html"
    robot.simulate(robot.neutral(), duration=0.02).plot(path, panels=["tau"])
    page = open_page(path.as_uri())
    marks = [x.get_attribute("class") for x in page.locator(".chart-svg .owner").all()]
    assert marks == [f"track owner c{k} d0" for k in (3, 4, 5, 3, 4, 5)]
