"""The workbench in a real browser: what it shows is right, fits its window and can be undone."""

import json
import re

import numpy as np
import pytest
from measure import clipped, low_contrast, overlapping, until

import kinetree as kt
from kinetree.views.workbench import quantities, view

SCENE = "window.kinetree.bench.scene"
READY = "!!(window.kinetree && window.kinetree.ready && window.kinetree.bench.readings)"
HOSTILE = "<img src=x onerror=alert(1)>"
URDF = f"""<robot name="{HOSTILE.replace("<", "&lt;")}">
<link name="base"/><link name="&lt;b>arm"><inertial><mass value="1"/><origin xyz="0.5 0 0"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="&lt;script>" type="continuous"><parent link="base"/><child link="&lt;b>arm"/>
<origin xyz="3 3 3"/><axis xyz="0 1 0"/></joint></robot>"""


class Bench:
    """A page of the workbench and its robot; `faults` are errors of the console."""

    def __init__(self, chromium, robot):
        self.robot, self.workbench, self.faults = robot, view(robot, browser=False), []
        self.ended = False
        self.context = chromium.new_context(viewport={"width": 1280, "height": 800})
        self.page = self.open(self.workbench.address)

    def open(self, address):
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda x: self.faults.append(x.text) if x.type == "error" else None)
        page.on("request", lambda x: self.note(x.url))
        page.goto(address)
        until(page, READY)
        return page

    def note(self, url):
        if not url.startswith((self.workbench.address, "data:", "blob:")):
            self.faults.append(f"request: {url}")

    def scene(self, name):
        return self.page.evaluate(f"{SCENE}.{name}")

    def pull(self, k, value):
        self.page.locator(f"[data-slider='{k}']").evaluate(
            "(x, value) => { x.value = value; x.dispatchEvent(new Event('input')); }", value
        )

    def settled(self):
        """Wait until the readings are those of the shown state; give the state."""
        same = "JSON.stringify(window.kinetree.settled())"
        until(self.page, f"{same} === 'true'")
        return {name: np.array(self.scene(name)) for name in ("q", "dq", "ddq")}

    def values(self, selector):
        return [
            float(x)
            for x in self.page.locator(selector).evaluate_all("x => x.map((y) => y.dataset.value)")
        ]

    def shows(self, *panels):
        """Close all panels but these."""
        self.change(docks={"left": [], "right": list(panels), "bottom": []}, folded=[])

    def change(self, **entries):
        self.page.evaluate("(x) => window.kinetree.bench.store.change(x)", entries)

    def close(self):
        self.context.close()
        if not self.ended:
            self.workbench.stop()


@pytest.fixture(scope="module")
def benches(chromium):
    """Pages by the name of their robot, opened once; at the end no error was logged."""
    found = {}

    def get(name, fresh=False):
        """The page of a robot; fresh: as it is after loading, whichever tests ran before."""
        bench = found.get(name)
        if bench is None or bench.ended:
            found[name] = bench = Bench(chromium, getattr(kt.robots, name)())
        elif fresh:
            bench.page.goto("about:blank")
            bench.page.goto(bench.workbench.address)
            until(bench.page, READY)
        return bench

    yield get
    for bench in found.values():
        bench.close()
    assert [fault for bench in found.values() for fault in bench.faults] == []


@pytest.fixture
def panda(benches):
    return benches("panda")


def shares(page):
    return page.evaluate(
        """() => { const box = document.getElementById("view").getBoundingClientRect();
        return [box.width / innerWidth, box.width * box.height / innerWidth / innerHeight]; }"""
    )


def faults_of_layout(page):
    return [*clipped(page), *overlapping(page), *low_contrast(page)]


@pytest.mark.parametrize("name", ["panda", "planar_2r", "quadruped"])
def test_the_robot_is_framed_and_has_most_of_the_window(name, benches, screenshots):
    bench = benches(name, fresh=True)
    assert min(shares(bench.page)) >= 0.6
    points = bench.page.evaluate(
        """() => { const { viewer, robot } = window.kinetree.bench;
        return viewer.corners(["visual", "body", "joint"]).map((p) => viewer.project(p)); }"""
    )
    box = bench.page.locator("#view").bounding_box()
    share = np.array(points) / [box["width"], box["height"]]
    assert share.min() >= 0 and share.max() <= 1
    assert np.ptp(share, axis=0).max() > 0.5
    assert bench.page.locator("#robot-choice option:checked").inner_text() == bench.robot.name
    assert "9.81" in bench.page.locator(".label").first.inner_text()
    bench.page.screenshot(path=screenshots / f"workbench_{name}.png")


def test_readings_are_those_of_the_library(panda):
    panda.shows("joints", "torque", "matrix")
    panda.pull(1, 0.7)
    panda.page.locator("[data-name=dq]").click()
    panda.pull(0, 1.5)
    panda.page.locator("[data-typed='3']").fill("-0,5")
    panda.page.keyboard.press("Enter")
    state = panda.settled()
    assert state["q"][1] == 0.7 and state["dq"][0] == 1.5 and state["dq"][3] == -0.5
    robot = panda.robot
    tau = robot.inverse_dynamics(state["q"], state["dq"], state["ddq"])
    np.testing.assert_allclose(panda.values(".torque-row .value"), tau, rtol=1e-12)
    M = robot.mass_matrix(state["q"])
    np.testing.assert_allclose(panda.values(".cell-button"), M.ravel(), rtol=1e-12)
    panda.page.locator("[data-name=q]").click()


def test_a_large_robot_has_a_sentence_in_place_of_its_matrix(benches, monkeypatch):
    bench = benches("planar_2r", fresh=True)
    bench.shows("torque", "matrix", "hand")
    bench.settled()
    assert bench.page.locator(".cell-button").count() == 4
    monkeypatch.setattr(quantities, "MAX_FULL", 1)
    bench.change(q=[0.3, 0.4])
    bench.settled()
    assert bench.page.locator(".cell-button").count() == 0
    assert bench.page.get_by_text("computes no mass matrix").count() == 2
    monkeypatch.undo()
    bench.change(q=[0.3, 0.5])
    bench.settled()
    assert bench.page.locator(".cell-button").count() == 4


def test_every_change_is_undone_and_done_again(panda):
    start = panda.page.evaluate(f"JSON.stringify({SCENE})")
    before = panda.page.evaluate("window.kinetree.bench.store.steps[0]")
    panda.page.keyboard.press("d")
    panda.page.keyboard.press("c")
    panda.pull(2, 0.4)
    panda.page.keyboard.press("5")
    panda.page.locator("#push-on").check()
    panda.page.select_option("#robot-choice", label="cart pole")
    until(panda.page, "window.kinetree.bench.robot.n === 2")
    panda.page.keyboard.press("t")
    end = panda.page.evaluate(f"JSON.stringify({SCENE})")
    steps = panda.page.evaluate("window.kinetree.bench.store.steps[0]") - before
    for _ in range(steps):
        panda.page.locator("#undo").click()
    assert panda.page.evaluate(f"JSON.stringify({SCENE})") == start
    assert panda.page.locator("#robot-choice option:checked").inner_text() == panda.robot.name
    for _ in range(steps):
        panda.page.keyboard.press("Control+Shift+Z")
    assert panda.page.evaluate(f"JSON.stringify({SCENE})") == end
    for _ in range(steps):
        panda.page.keyboard.press("Control+Z")
    assert panda.page.evaluate(f"JSON.stringify({SCENE})") == start


def test_a_torque_unfolds_into_parts_that_add_up(panda):
    panda.shows("joints", "torque")
    panda.change(dq=[1, 2, -1, 0.5, 1, 2, 3], ddq=[3, 1, 0, 2, 1, 0, 1])
    state = panda.settled()
    tau = panda.robot.inverse_dynamics(state["q"], state["dq"], state["ddq"])
    panda.page.locator("[data-tau='1']").click()
    until(panda.page, "!!document.querySelector('.unfold-head')")
    until(panda.page, "!!window.kinetree.bench.unfolded")
    tree = panda.page.evaluate("window.kinetree.bench.unfolded.trees[0]")
    leaves = list(leaf_values(tree))
    assert len(leaves) > 20
    assert abs(sum(leaves) - tau[1]) <= 1e-13 * sum(map(abs, leaves))
    panda.page.locator(".unfold-parts summary").first.click()
    lit = panda.page.locator(".unfold-equation .lit").first
    assert (
        lit.get_attribute("data-term")
        == panda.page.locator(".unfold-head.chosen .unfold-name").inner_text()
    )


def leaf_values(node):
    children = node.get("children") or []
    if not children:
        yield node["value"]
    for child in children:
        yield from leaf_values(child)


def test_panels_fit_in_both_themes_and_in_the_classroom(benches, panda):
    every = [
        "joints",
        "torque",
        "matrix",
        "unfold",
        "push",
        "recursion",
        "run",
        "hand",
        "drawing",
        "robot",
    ]
    found = {}
    for theme, classroom in (("light", False), ("dark", True)):
        for k in range(0, len(every), 2):
            panda.change(theme=theme, classroom=classroom, table=True)
            panda.shows(*every[k : k + 2])
            panda.settled()
            name = f"{theme}_{every[k]}"
            found[name] = faults_of_layout(panda.page)
    panda.change(theme=None, classroom=False, table=False)
    bench = benches("quadruped")
    bench.shows("matrix", "joints", "torque")
    bench.settled()
    found["quadruped"] = faults_of_layout(bench.page)
    assert (panda.scene("matrix"), bench.scene("matrix")) == ("numbers", "map")  # 7 and 18 columns
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_a_link_pulled_by_hand_loads_the_joints(panda):
    panda.shows("joints", "torque")
    panda.page.keyboard.press("0")
    panda.page.keyboard.press("h")
    x, y = panda.page.evaluate(
        """() => { const { viewer, poses } = window.kinetree.bench;
        return viewer.project([3, 7, 11].map((i) => poses[4][i])); }"""
    )
    box = panda.page.locator("#view").bounding_box()
    panda.page.keyboard.down("Alt")
    panda.page.mouse.move(box["x"] + x, box["y"] + y)
    panda.page.mouse.down()
    panda.page.mouse.move(box["x"] + x + 60, box["y"] + y - 40, steps=3)
    panda.page.mouse.up()
    panda.page.keyboard.up("Alt")
    state, push = panda.settled(), panda.scene("push")
    assert np.linalg.norm(push["force"]) > 1
    robot, i = panda.robot, push["link"]
    R = robot.link_poses(state["q"])[i, :3, :3].T
    F_ext = np.zeros((7, 6))
    F_ext[i, 3:] = R @ push["force"]
    F_ext[i, :3] = np.cross(push["point"], F_ext[i, 3:])
    tau = robot.inverse_dynamics(state["q"], state["dq"], state["ddq"], F_ext)
    np.testing.assert_allclose(panda.values(".torque-row .value"), tau, atol=1e-9)
    grip = panda.page.locator("#grip-tip")
    grip.focus()
    panda.page.keyboard.press("ArrowUp")
    assert panda.scene("push.force") != push["force"]
    panda.page.locator("#push-on").uncheck()


def test_the_recursion_lights_the_term_whose_numbers_are_shown(benches):
    bench = benches("planar_2r")
    bench.change(dq=[1, 2], ddq=[0.5, 1])
    bench.shows("recursion")
    until(bench.page, "!!window.kinetree.bench.recursion")
    for _ in range(4):
        bench.page.keyboard.press("n")
    state = bench.settled()
    tau = bench.robot.inverse_dynamics(state["q"], state["dq"], state["ddq"])
    until(bench.page, "!!document.querySelector('[data-symbol=tau]')")
    np.testing.assert_allclose(bench.values("[data-step='tau,0']"), tau[:1], rtol=1e-12)
    for quantity in ("F", "tau"):
        rows = bench.page.locator(f"[data-symbol={quantity}] tr[data-term]")
        for k in range(rows.count()):
            rows.nth(k).focus()
            lit = bench.page.locator(f"[data-symbol={quantity}] math .lit")
            assert lit.evaluate_all("x => x.map((y) => y.dataset.term)") == [
                rows.nth(k).get_attribute("data-term")
            ]
    assert "n" in bench.page.locator(".label").all_inner_texts()


def test_presets_run_and_two_runs_are_compared(benches, screenshots):
    bench = benches("planar_2r")
    page = bench.page
    bench.shows("run")
    page.keyboard.press("0")
    presets = page.evaluate("window.kinetree.bench.robot.presets.map((x) => x.name)")
    assert {"hold", "release"} <= set(presets)
    runs = []
    for name in ("release", "hold"):  # tests of the server run all of them
        page.locator(f"[data-preset={name}]").click()
        bench.change(duration=0.3)
        page.locator("#run").click()
        until(page, f"{SCENE}.run !== {runs[-1] if runs else 'null'}")
        runs.append(bench.scene("run"))
    page.locator("#keep-run").click()
    page.keyboard.press("r")
    until(page, f"{SCENE}.run !== {SCENE}.kept")
    assert page.locator("[data-plot=q] .track.other").count() == 2
    page.keyboard.press(".")
    time = page.evaluate("window.kinetree.bench.player.time")
    assert time > 0 and page.locator("#play").inner_text() == "Play"
    page.screenshot(path=screenshots / "workbench_compare.png")
    assert faults_of_layout(page) == []
    link = page.evaluate("window.kinetree.sceneLink()")
    other = bench.open(link)
    until(other, f"{SCENE}.kept !== null && {SCENE}.run !== null")
    same = """(() => { const { run, kept, ...rest } = window.kinetree.bench.scene;
    return JSON.stringify(rest); })()"""
    assert json.loads(other.evaluate(same)) == json.loads(page.evaluate(same))
    camera = "JSON.stringify(window.kinetree.bench.viewer.camera.get())"
    assert other.evaluate(camera) == page.evaluate(camera)
    other.close()
    last = bench.scene("run")
    changed = page.locator(".remarks .warning", has_text="changed after this run")
    assert changed.count() == 0
    bench.change(gravity=[0, -1.62, 0])  # motions of files get the joint forces of this gravity
    assert changed.count() == 1
    resting = b"t,q:joint1,q:joint2\n0,0,0\n0.5,0,0\n1,0,0\n"
    page.set_input_files(
        "#robot-files", {"name": "rest.csv", "mimeType": "text/csv", "buffer": resting}
    )
    until(page, f"{SCENE}.run !== {last}")
    tau = page.evaluate("window.kinetree.runs.get(window.kinetree.bench.scene.run).motion.tau[0]")
    assert tau == pytest.approx([1.62 * (22 * 0.5 + 19 * 1.4), 1.62 * 19 * 0.4])
    assert changed.count() == 0


def test_a_plan_from_a_file_has_a_faint_trace(benches, screenshots, tmp_path):
    bench = benches("planar_2r", fresh=True)
    motion = kt.motion.quintic([0, 0], [1, 0.5], 1.0, 0.1, robot=bench.robot)
    motion.to_csv(tmp_path / "plan.csv")
    bench.page.set_input_files("#robot-files", tmp_path / "plan.csv")
    trace = "window.kinetree.runs.get(window.kinetree.bench.scene.run)?.trace"
    until(bench.page, f"!!({trace})")
    parts = bench.page.evaluate(trace)
    starts = np.array([np.reshape(part["A"], (4, 4))[:3, 3] for part in parts])
    wanted = np.array([np.asarray(bench.robot.pose(q))[:3, 3] for q in motion.q])
    np.testing.assert_allclose(starts[-1], wanted[-2], atol=1e-3)
    apart = np.linalg.norm(starts[:, None] - wanted, axis=2).min(1)
    assert len(parts) >= 8 and apart.max() < 1e-5
    assert all(part["alpha"] < 0.5 for part in parts)
    bench.page.screenshot(path=screenshots / "workbench_trace.png")


def test_uploads_errors_and_scene_files(benches):
    bench = benches("quadruped")
    page = bench.page
    page.set_input_files(
        "#robot-files", {"name": "my arm.urdf", "mimeType": "text/xml", "buffer": URDF.encode()}
    )
    until(page, f"window.kinetree.bench.robot.name === {json.dumps(HOSTILE)}")
    bench.shows("joints", "robot")
    assert page.locator(".slider-row .name").first.inner_text() == "<script>"
    assert page.locator("#bench img, #bench script").count() == 0
    x, y = page.evaluate("window.kinetree.bench.viewer.project([3.3, 3, 3])")
    box = page.locator("#view").bounding_box()
    assert 0 < x < box["width"] and 0 < y < box["height"]
    bench.pull(0, 0.8)
    stored = page.evaluate("JSON.stringify(window.kinetree.stored())")
    page.keyboard.press("0")
    page.select_option("#robot-choice", label="planar 2r")
    until(page, "window.kinetree.bench.robot.n === 2")
    page.evaluate("(text) => window.kinetree.restore(text)", stored)
    until(page, f"window.kinetree.bench.robot.name === {json.dumps(HOSTILE)}")
    assert bench.scene("q") == [0.8]
    box = page.locator("[data-typed='0']")
    box.fill("fast")
    page.keyboard.press("Enter")
    assert "is not a number" in page.locator(".sliders .notice").inner_text()
    page.locator(".sliders .notice .close").click()
    known = len(bench.faults)
    broken = {"name": "broken arm.urdf", "mimeType": "text/xml", "buffer": b"<robot>"}
    page.set_input_files("#robot-files", broken)
    page.locator("#messages .notice").wait_for()
    assert page.locator("#messages .notice").inner_text().startswith("broken arm.urdf")
    assert bench.scene("q") == [0.8]
    page.keyboard.press("Escape")
    assert page.locator(".notice").count() == 0
    assert all(re.search("400", fault) for fault in bench.faults[known:])  # Chromium's own line
    del bench.faults[known:]


SDF = """<sdf version="1.10"><model name="crane"><link name="base"/><link name="arm"/>
<joint name="world_joint" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="lift" type="revolute"><parent>base</parent><child>arm</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""


@pytest.mark.parametrize("ending", [".sdf", ".world"])
def test_a_dropped_folder_with_an_sdf_model_opens(ending, benches):
    bench = benches("quadruped")
    files = {f"crane/model{ending}": SDF, "crane/model.config": "<model/>", "crane/a.dae": ""}
    bench.page.evaluate(
        """(files) => window.kinetree.open(Object.entries(files).map(([place, text]) =>
        Object.assign(new File([text], place.split("/").pop()), { place })))""",
        files,
    )
    assert bench.page.evaluate("window.kinetree.bench.robot.name") == "crane"
    assert bench.page.evaluate("window.kinetree.bench.robot.source") == f"crane/model{ending}"


DAMAGED = {
    "docks": [None, {"left": ["nope"]}, {"left": ["nope"], "right": [], "bottom": []}],
    "sizes": [None, {"left": "wide", "right": 300, "bottom": 300}],
    "marks": [None],
    "folded": [None],
    "q": [["a", "b"], [0.1]],
    "dq": [None],
    "gravity": [[0, 0]],
    "payload": [{"mass": 1}, {"mass": -1, "com": [0, 0, 0]}],
    "frame": ["nose"],
    "push": [{"link": 99}, {"link": 99, "point": [0] * 3, "force": [0] * 3, "moment": [0] * 3}],
    "run": [{}, {"motion": {}}, {"motion": {"t": [0, 1]}}, {"recipe": {"gains": None}}],
    "unfold": [{"kind": "tau", "dof": 2}],
    "camera": [{"angle": 0}],
    "preset": ["nope"],
    "of": [None, {}],
    "colour": ["red"],
}


def test_a_damaged_scene_is_refused_with_its_file_and_changes_nothing(benches):
    bench = benches("planar_2r", fresh=True)
    page, known = bench.page, len(bench.faults)
    stored = json.loads(page.evaluate("JSON.stringify(window.kinetree.stored())"))
    bench.pull(0, 0.7)
    bench.settled()
    before = page.evaluate(f"JSON.stringify({SCENE})")
    for entry, values in DAMAGED.items():
        for value in values:
            damaged = json.dumps(stored | {entry: value}).encode()
            file = {"name": "lecture.json", "mimeType": "text/json", "buffer": damaged}
            page.set_input_files("#robot-files", file)
            page.locator("#messages .notice").wait_for(timeout=10_000)
            words = page.locator("#messages .notice").inner_text()
            assert words.startswith("lecture.json: ") and entry in words, words
            assert page.evaluate(f"JSON.stringify({SCENE})") == before
            page.keyboard.press("Escape")
    assert all("400" in fault for fault in bench.faults[known:])  # Chromium's line on a refusal
    del bench.faults[known:]
    page.evaluate("(text) => window.kinetree.restore(text)", json.dumps(stored))
    assert bench.scene("q") == stored["q"]
    assert page.locator(".notice").count() == 0


def test_the_page_says_that_the_workbench_has_ended(benches):
    bench = benches("quadruped")
    known = len(bench.faults)
    bench.workbench.stop()
    bench.ended = True
    bench.page.keyboard.press("0")
    bench.page.locator("#ended").wait_for()
    assert bench.page.locator("#ended-words").inner_text() == (
        "The workbench has ended; start it again with: kinetree view"
    )
    del bench.faults[known:]


def test_keys_open_panels_and_help(panda):
    panda.shows("joints", "torque")
    for key, panel in {"3": "matrix", "7": "run", "9": "hand", "v": "drawing"}.items():
        panda.page.keyboard.press(key)
        assert panda.page.locator(f".panel[data-panel={panel}]").is_visible()
        assert (
            panda.page.evaluate("document.activeElement.closest('.panel').dataset.panel") == panel
        )
        panda.page.locator("#view").focus()
        panda.page.keyboard.press(key)
        assert panda.page.locator(f".panel[data-panel={panel}]").count() == 0
    panda.page.keyboard.press("?")
    assert panda.page.locator("#help").is_visible()
    panda.page.keyboard.press("Escape")
    assert panda.page.locator("#help").is_hidden()
    unnamed = panda.page.evaluate(
        """[...document.querySelectorAll("button, input, select, [tabindex='0']")]
        .filter((x) => x.checkVisibility() && !x.innerText && !x.ariaLabel && !x.title)
        .filter((x) => !(x.labels && x.labels.length)).map((x) => x.outerHTML)"""
    )
    assert unnamed == []


def test_new_panels_leave_joints_where_it_is(benches):
    bench = benches("panda", fresh=True)
    joints = bench.page.locator(".panel[data-panel=joints]")
    before = joints.bounding_box()
    for panel in ("matrix", "unfold", "push", "recursion", "run", "plots", "hand", "robot"):
        rail = bench.page.locator(f"#rail [data-panel={panel}]")
        rail.click()
        opened = bench.page.locator(f".panel[data-panel={panel}]")
        assert opened.locator("h2").inner_text() == rail.locator(".words").inner_text()
        assert opened.locator(".panel-body").is_visible() and joints.bounding_box() == before
        box = opened.bounding_box()
        assert box["y"] + box["height"] <= 801
    assert "matrix" in bench.scene("folded") and "joints" not in bench.scene("folded")


def test_a_panel_is_dragged_to_another_dock_and_place(benches):
    bench = benches("panda", fresh=True)
    mouse = bench.page.mouse

    def drag(panel, x, y):
        box = bench.page.locator(f".panel[data-panel={panel}] header").bounding_box()
        mouse.move(box["x"] + 60, box["y"] + box["height"] / 2)
        mouse.down()
        mouse.move(x + 20, y + 20)
        mouse.move(x, y)
        mouse.up()
        return bench.scene("docks")

    assert drag("torque", 120, 400) == {"left": ["torque"], "right": ["joints"], "bottom": []}
    assert drag("joints", 200, 60) == {"left": ["joints", "torque"], "right": [], "bottom": []}
    assert drag("torque", 800, 780) == {"left": ["joints"], "right": [], "bottom": ["torque"]}
    assert bench.scene("folded") == []  # a drag is not a click on the title
    bench.page.keyboard.press("Control+z")
    assert bench.scene("docks")["left"] == ["joints", "torque"]


def test_keys_do_what_they_say_in_a_select(benches):
    bench = benches("panda", fresh=True)
    bench.page.keyboard.press("9")
    bench.page.locator("#hand-frame").focus()
    frame = bench.page.locator("#hand-frame").input_value()
    bench.page.keyboard.press("3")
    assert bench.page.locator(".panel[data-panel=matrix]").is_visible()
    bench.page.locator("#hand-frame").focus()
    bench.page.keyboard.press("d")
    assert bench.scene("degrees") and bench.page.locator("#hand-frame").input_value() == frame


def test_a_payload_at_the_tool_changes_the_joint_forces(benches):
    bench = benches("panda", fresh=True)
    q = [0.1, -0.3, 0.2, -2.0, 0.3, 1.8, 0.5]
    bench.change(q=q)
    bench.page.keyboard.press("9")
    box = bench.page.locator(".panel[data-panel=hand] .typed").first
    box.fill("2.5")
    box.press("Enter")
    bench.settled()
    loaded = kt.robots.panda().with_payload(2.5)
    shown = bench.values(".torque-row .value")
    np.testing.assert_allclose(shown, loaded.gravity_forces(q), rtol=1e-9, atol=1e-9)
    assert "payload 2.5 kg" in bench.page.locator("#overlay").inner_text()
    box.fill("-1")
    box.press("Enter")
    assert "from 0 on" in bench.page.locator(".panel[data-panel=hand] .notice").inner_text()
    assert bench.scene("payload") == {"mass": 2.5, "com": [0, 0, 0]}


def test_missing_meshes_are_said_until_the_message_is_closed(chromium, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/><inertia '
        'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><mesh '
        'filename="package://arm/a.stl"/></geometry></visual></link><joint name="j" '
        'type="continuous"><parent link="base"/><child link="tip"/></joint></robot>'
    )
    bench = Bench(chromium, kt.load(path))
    try:
        bench.settled()
        words = bench.page.locator("#messages .notice")
        assert "a.stl" in words.inner_text() and "does not exist" in words.inner_text()
        bench.pull(0, 0.3)
        bench.settled()
        assert words.is_visible()
        words.locator(".close").click()
        assert words.count() == 0 and bench.faults == []
    finally:
        bench.close()


def test_arrows_of_the_recursion_and_open_loops_are_in_view(benches):
    bench = benches("panda", fresh=True)
    bench.change(q=[0.1, -0.3, 0.2, -2.0, 0.3, 1.8, 0.5], dq=[1, 0.6, -0.8, 0.5, 1, 1.2, 2])
    bench.page.keyboard.press("6")
    until(bench.page, "!!window.kinetree.bench.recursion")
    view = bench.page.locator("#view").bounding_box()
    for _ in range(14):
        bench.page.keyboard.press("n")
        for label in bench.page.locator("#overlay .label").all():
            if "m/s²" not in label.inner_text():
                box = label.bounding_box()  # of a tip out of view it would stand at the edge
                assert box["x"] > view["x"] + 4 and box["y"] > view["y"] + 4
                assert box["x"] + box["width"] < view["x"] + view["width"] - 4
    loop = benches("four_bar", fresh=True)
    loop.change(q=[0.9, 0.3, -0.4])
    words = "document.getElementById('overlay').innerText"
    until(loop.page, f"{words}.includes('loop is open: 0.961 m')")
    loop.page.keyboard.press("0")
    until(loop.page, f"!{words}.includes('open')")
