"""The lecture of docs/teaching.md: every step is done, and shows the numbers of the page."""

import json
import re
from pathlib import Path

import pytest
from measure import until

from kinetree.views.workbench import view

DOCS = Path(__file__).parents[2] / "docs"
# what the lecturer does, and what the class sees
STEPS = (
    ("open 1_weight.json", "joint1: 368.9, joint2: 74.6"),
    ("set q of joint2 to 90 °", "joint1: 294.3, joint2: 0.0"),
    ("set q of joint2 to 180 °", "joint1: 219.7, joint2: -74.6"),
    ("press `0`, then `I`, and choose gravity Moon", "joint1: 60.9, joint2: 12.3"),
    ("open 2_inertia.json", "joint1: 43.44, joint2: 10.94"),
    ("press `3`", "M 1,1: 43.44, M 1,2: 10.94, M 2,2: 3.34"),
    ("set ddq of joint1 to 0, ddq of joint2 to 1 rad/s²", "joint1: 10.94, joint2: 3.34"),
    ("click M 1,1", ""),
    ("open 3_passes.json", ""),
    ("press `N`", "V ωz: 0.200"),
    ("press `N`", "V ωz: 0.350, vx: 0.129, vy: 0.153"),
    ("press `N`", "F nz = tau: 38.67"),
    ("press `N`", "F nz = tau: 318.19"),
    ("open 4_rates.json", "joint1: 0.0, joint2: 30.4"),
    ("set dq of joint2 to 2 rad/s", "joint1: -91.2, joint2: 30.4"),
    ("open 5_release.json, press `R`", "total energy: -11.29"),
    ("drag the time to the end", "total energy: -11.29"),
    ("open 6_hold.json, press `R`, drag the time to the end", "q of joint1: -3.4"),
    ("press `K`, set kp to 256, press `R`, drag the time to the end", "q of joint1: -0.8"),
    ("open 7_panda.json", "panda_joint2: -16.53, panda_joint4: 19.14"),
    ("press `5`, push the robot, set force z to -20", "panda_joint2: -26.03, panda_joint1: 0.00"),
    ("click the torque of panda_joint2", ""),
)
BENCH = "window.kinetree.bench"
SETTLED = "JSON.stringify(window.kinetree.settled()) === 'true'"
NUMBER = r"(-?\d+(?:\.\d+)?)"


@pytest.fixture
def lecture(open_page):
    """The page of the workbench that the lecture begins with."""
    with view("planar_2r", browser=False) as bench:
        page = open_page(bench.address)
        until(page, "!!(window.kinetree && window.kinetree.ready)")
        yield page


def set_entry(page, quantity, joint, value, unit):
    """Choose the quantity, and type a number in the unit that is written."""
    page.locator(f"[data-name={quantity}]").click()
    page.evaluate(f"(x) => {BENCH}.store.change({{ degrees: x }})", unit == "°")
    k = page.locator(".slider-row .name").all_inner_texts().index(joint)
    page.locator(f"[data-typed='{k}']").fill(value)
    page.keyboard.press("Tab")


def open_scene(page, name):
    text = (DOCS / "teaching" / name).read_text("utf8")
    assert page.evaluate("(text) => window.kinetree.restore(text)", text)


def press(page, key):
    last = json.dumps(page.evaluate(f"{BENCH}.scene.run"))
    page.locator("#view").focus()
    page.keyboard.press(key.lower())
    if key == "R":
        until(page, f"{BENCH}.scene.run !== {last}", 60)


def set_kp(page, x):
    page.locator(".slider-row:has([data-gain=kp]) .typed").fill(x)
    page.keyboard.press("Tab")


def set_push(page, axis, x):
    k = "xyz".index(axis)
    page.locator(f".slider-row:has([data-push='force,{k}']) .typed").fill(x)
    page.keyboard.press("Tab")


def choose_gravity(page, planet):
    page.select_option("#gravity-choice", planet.lower())


def click_entry(page, i, j):
    page.locator(f"[data-m='{int(i) - 1},{int(j) - 1}']").click()


def to_the_end(page):
    page.locator("#time").evaluate("x => { x.value = x.max; x.dispatchEvent(new Event('input')); }")


ACTIONS = {
    r"open (\w+\.json)": open_scene,
    rf"(ddq|dq|q) of (\w+) to {NUMBER} ?(°|rad/s²|rad/s|rad|)": set_entry,
    r"`(\w)`": press,
    r"gravity (\w+)": choose_gravity,
    r"click M (\d),(\d)": click_entry,
    r"(?:drag) the time to the end": to_the_end,
    rf"kp to {NUMBER}": set_kp,
    r"push the robot": lambda page: page.locator("#push-on").click(),
    rf"force (\w) to {NUMBER}": set_push,
    r"the torque of (\w+)": lambda page, name: page.locator(
        f".torque-row:has([title='{name}'])"
    ).click(),
}


def do(page, words):
    """Carry out the actions of one row, in their order."""
    found = [
        (x.start(), act, x.groups()) for p, act in ACTIONS.items() for x in re.finditer(p, words)
    ]
    assert found, words
    for _, act, values in sorted(found, key=lambda x: x[0]):
        act(page, *values)
        until(page, SETTLED, 60)


def shown(page, name, symbol):
    """A number of the page by its name in the table; symbol: V or F, of the latest name."""
    if name.startswith("M "):
        at = ",".join(str(int(x) - 1) for x in name[2:].split(","))
        return float(page.locator(f"[data-m='{at}']").get_attribute("data-value"))
    if name.startswith("q of "):
        k = page.evaluate(f"{BENCH}.robot.dofs.map((x) => x.name)").index(name[5:])
        return page.evaluate(f"{BENCH}.at.q[{k}]") * 57.29577951308232
    if name == "total energy":
        text = page.locator(".energy span").last.inner_text().replace("−", "-")
        return float(re.search(NUMBER, text)[1])
    if name == "tau" or name[-2:-1] in ("ω", "v", "n", "f"):
        letters = {"V": "ωxωyωzvxvyvz", "F": "nxnynzfxfyfz"}
        row = "tau,0" if name == "tau" else f"{symbol},{letters[symbol].index(name[-2:]) // 2}"
        return float(page.locator(f"[data-step='{row}']").get_attribute("data-value"))
    row = f".torque-row:has([title='{name}']) .value"
    return float(page.locator(row).get_attribute("data-value"))


def see(page, words):
    """Compare every number that is written with what is shown, to its digits."""
    symbol = ""
    for piece in re.split(r", (?=\S+:|M |vx|vy|panda)", words):
        names, _, value = piece.partition(": ")
        if not (number := re.match(NUMBER, value)):
            continue
        for name in names.split(" = "):
            symbol = name[0] if name[:2] in ("V ", "F ") else symbol
            places = len(number[1].partition(".")[2])
            found = shown(page, name, symbol)
            assert abs(found - float(number[1])) <= 0.51 * 10.0**-places, (piece, found)


def test_every_step_of_the_lecture(lecture):
    page = (DOCS / "teaching.md").read_text("utf8")
    assert all(x in page for x in ("368.9", "10.94", "318.19", "-91.2", "-26.03"))
    for action, seen in STEPS:
        do(lecture, action)
        try:
            see(lecture, seen)
        except Exception as error:
            raise AssertionError(f"{action}: {seen}") from error
