"""Displays of a notebook in a real browser: robots are drawn, plots answer, nothing is fetched."""

import pytest

import kinetree as kt
from kinetree.motion import quintic

ARM = kt.robots.planar_2r()
MOTION = quintic([0, 0], [1.5, -1], 1, 0.01, robot=ARM, name="reach")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A page of the outputs of a notebook, as a notebook or its export to HTML has them."""
    shown = [ARM, MOTION, MOTION.plot(panels=["q", "dq", "energy"]), ARM]
    cells = "".join(f'<div class="output">{one._repr_html_()}</div>' for one in shown)
    path = tmp_path_factory.mktemp("notebook") / "notebook.html"
    path.write_text(f"<!DOCTYPE html><body style='width:960px'>{cells}</body>", encoding="utf-8")
    return path.as_uri()


def frame(page, k):
    """The k-th frame, when its script has run."""
    found = page.locator("iframe").nth(k).element_handle().content_frame()
    found.wait_for_function("window.kinetree")
    return found


def colours(found):
    """Number of different colours of the robot's canvas."""
    return found.evaluate(
        """() => {
          window.kinetree.viewer.draw();
          const canvas = document.getElementById("view"), gl = canvas.getContext("webgl");
          const pixels = new Uint8Array(4 * canvas.width * canvas.height);
          gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
          return new Set(new Uint32Array(pixels.buffer)).size;
        }"""
    )


def state(found, k=0):
    return found.evaluate(f"window.kinetree.plots[{k}].state()")


def test_outputs_of_a_notebook_work_side_by_side(outputs, open_page, screenshots):
    page = open_page(outputs, 1000, 2400, allowed=("about:",))
    robot, motion, figure, again = (frame(page, k) for k in range(4))
    for found in (robot, motion, again):
        assert colours(found) > 50

    # a slider moves its own robot
    robot.evaluate(
        "() => { const s = document.getElementById('h0'); s.value = 1.2;"
        " s.dispatchEvent(new Event('input')); }"
    )
    assert robot.evaluate("window.kinetree.state().q[0]") == 1.2
    assert again.evaluate("window.kinetree.state().q[0]") == 0

    # a motion plays to its end, and its plots follow
    motion.select_option("#speed", "4")
    motion.click("#play")
    motion.locator("#clock", has_text="1.000 s").wait_for()
    assert [state(motion, k)["cursor"] for k in range(2)] == [1, 1]

    # values at the pointer are those of the nearest sample
    area = figure.locator(".chart-area").first
    box = area.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    figure.locator(".chart-table").first.wait_for()
    time = state(figure)["hover"]
    k = round(time / 0.01)
    rows = figure.locator(".chart-table >> nth=0").locator("td.n").all_inner_texts()
    shown = [float(x.split()[0].replace("\u2212", "-")) for x in rows]
    assert shown == [float(f"{x:.4g}") for x in MOTION.q[k]]
    assert rows[0].endswith(" rad")

    # drag zooms all charts over time, double click goes back
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"], steps=3)
    page.mouse.up()
    low, high = state(figure)["x"]
    assert low == pytest.approx(time, abs=0.02) and 0.7 < high < 0.9
    assert state(figure, 2)["x"] == [low, high]
    page.screenshot(path=screenshots / "notebook_outputs.png")
    area.dblclick()
    assert state(figure)["x"] == [0, 1]

    # the legend switches lines off in charts with the same names; double click: one alone
    names = list(ARM.joint_names)
    button = figure.locator("[data-chart='1'] .legend-name").first
    button.click()
    assert [state(figure, k)["shown"] for k in range(2)] == [names[1:]] * 2
    button.click()
    button.dblclick()
    assert state(figure)["shown"] == names[:1] and len(state(figure, 2)["shown"]) == 3

    # arrow keys move the cursor by samples, in all charts over time
    area.focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    assert state(figure, 2)["cursor"] == pytest.approx(0.12)

    # a second run is drawn dashed
    figure.evaluate(
        "window.kinetree.plots[0].setCompare([{name: 'joint1', values: [0, 1], t: [0, 1]}])"
    )
    assert figure.locator("[data-chart='0'] .track.other").count() == 1
