"""The lecture of docs/teaching.md, walked through in the workbench: each step and what is seen."""

import itertools
import re
import time
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.views.workbench import view

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "teaching.md"
TABLE = re.compile(r"^\| do \| see \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| (.+?) \|(.*)\|$", re.MULTILINE)
KEYS = {"Ctrl+S": "Control+s"}
COLUMNS = {
    name: k % 6
    for k, name in enumerate("ωx ωy ωz vx vy vz nx ny nz fx fy fz".split())  # of a 6-vector
}
LONGEST_WAIT_S = 10.0


def steps():
    """(what the lecturer does, what the class sees) of every row of the tables."""
    return [
        (do.strip(), [x.strip() for x in see.split(";") if x.strip()])
        for table in TABLE.findall(PAGE.read_text("utf8"))
        for do, see in ROW.findall(table)
    ]


def minutes():
    """(first, last) minute of every part."""
    found = re.findall(r"^## .*\((\d+) to (\d+) minutes\)$", PAGE.read_text("utf8"), re.MULTILINE)
    return [(int(first), int(last)) for first, last in found]


def type_into(page, box, number):
    box.fill(number)
    box.press("Tab")


def joint_box(page, quantity, name):
    """The box of a joint for q, dq or ddq, which is chosen first."""
    page.locator(".panel, section", has=page.locator(".sliders")).get_by_text(
        re.compile(rf"^{quantity}\s")
    ).first.click()
    words = {"q": "position", "dq": "rate", "ddq": "acceleration"}[quantity]
    return page.locator(f"input[type=text][aria-label='{words} of {name}']")


def wait_until(is_so):
    """Wait for a condition, LONGEST_WAIT_S at most; return whether it came true."""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not (found := is_so()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def open_scene(page, name):
    page.set_input_files("#robot-files", str(DOCS / "teaching" / name))
    box = page.locator("#robot-files")  # the page empties it when the scene is open
    assert wait_until(lambda: box.input_value() == ""), f"the scene {name} is not opened"


def press(page, key):
    page.keyboard.press(KEYS.get(key, key.lower() if len(key) == 1 else key))


def set_joint(page, quantity, name, number, unit):
    box = joint_box(page, quantity, name)
    type_into(page, box, number)
    shown = box.locator("xpath=..").locator(".unit").inner_text().strip()
    assert shown == unit, f"the box is in {shown}, the lecture says {unit}"


def set_gain(page, name, number):
    row = page.locator(".slider-row", has=page.locator(f"[data-gain={name}]"))
    type_into(page, row.locator("input[type=text]"), number)


def set_push(page, kind, axis, number, unit):
    row = page.locator(".slider-row", has=page.locator(f"[data-push='{kind},{'xyz'.index(axis)}']"))
    type_into(page, row.locator("input[type=text]"), number)


def drag_to_the_end(page):
    page.locator("#time").evaluate(
        "node => { node.value = node.max; node.dispatchEvent(new Event('input')); }"
    )


DOING = {
    r"open `(.+)`": open_scene,
    r"press `(.+)`": press,
    r"set (d{0,2}q) of (\S+) to (\S+) (.+)": set_joint,
    r"set gain (\S+) to (\S+)": set_gain,
    r"set push (force|moment) ([xyz]) to (\S+) (.+)": set_push,
    r'choose gravity "(.+)"': lambda page, words: page.locator("#gravity-choice").select_option(
        label=words
    ),
    r"click M (\d),(\d)": lambda page, i, j: page.locator(
        f"[data-m='{int(i) - 1},{int(j) - 1}']"
    ).click(),
    r"click the torque of (\S+)": lambda page, name: torque_row(page, name).click(),
    r"click push the robot": lambda page: page.get_by_label("push the robot").check(),
    r"drag the time to the end": drag_to_the_end,
}


def torque_row(page, name):
    return page.locator(".torque-row", has=page.get_by_text(name, exact=True))


def value_of(found):
    """The number of an element that is seen, and its words."""
    assert found.is_visible()
    return float(found.get_attribute("data-value")), found.inner_text()


def number_in(words, pattern):
    found = re.search(pattern, words.replace("−", "-"))
    return float(found[1]) if found else None


def seen(page, what, unit):
    """A number of the page by its words in the lecture; its unit must be shown with it."""
    if match := re.fullmatch(r"torque of (\S+)", what):
        value, words = value_of(torque_row(page, match[1]).locator(".value"))
        assert words.endswith(f" {unit}")
        return value
    if match := re.fullmatch(r"M (\d),(\d)", what):
        i, j = int(match[1]) - 1, int(match[2]) - 1
        assert unit in page.locator(".matrix-place ~ .note").first.inner_text()
        return value_of(page.locator(f"[data-m='{i},{j}']"))[0]
    if match := re.fullmatch(r"(V|F|tau) ?(\S*)", what):
        place = COLUMNS.get(match[2], 0)
        return value_of(page.locator(f"[data-step='{match[1]},{place}']").first)[0]
    if match := re.fullmatch(r"q of (\S+)", what):
        return float(joint_box(page, "q", match[1]).input_value().replace("−", "-"))
    if what == "total energy":
        return number_in(page.locator(".energy").inner_text(), r"total (\S+) J")
    if what == "unfolded":
        root = page.locator(".unfold-place .unfold-value").first
        assert root.locator("small").inner_text().replace("\u202f", " ").startswith(unit)
        return value_of(root)[0]
    if what == "steps":
        return number_in(page.locator(".step-title").inner_text(), r"(\d+) steps")
    if what == "kept":
        return page.locator(".remarks").inner_text().count("kept")
    raise AssertionError(f"the lecture shows {what!r}, which this test does not know")


def agrees(page, fact):
    """Whether a fact of the table is seen; a number agrees in all its decimals."""
    what, _, rest = fact.partition(": ")
    if what == "panel":
        return page.get_by_role("heading", name=rest, exact=True).first.is_visible()
    if what == "run":
        return page.locator(".remarks").inner_text().startswith(rest)
    number, _, unit = rest.partition(" ")
    decimals = len(number.partition(".")[2])
    found = seen(page, what, unit)
    return found is not None and abs(found - float(number)) <= 0.51 * 10.0**-decimals


def wait_for(page, fact, step):
    """Wait until a fact is seen."""
    end, trouble = time.monotonic() + LONGEST_WAIT_S, None
    while time.monotonic() < end:
        try:
            if agrees(page, fact):
                return
            trouble = "another number"
        except Exception as error:  # an element that is not there yet
            trouble = (str(error) or "it is not visible").splitlines()[0]
        page.wait_for_timeout(30)
    pytest.fail(f"after the step {step!r}, {fact!r} is not seen: {trouble}")


def test_the_plan_fills_45_minutes_without_gaps():
    found = minutes()
    assert found[0][0] == 0
    assert found[-1][1] == 45
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))


def test_every_scene_file_is_opened_in_the_lecture():
    files = sorted(path.name for path in (DOCS / "teaching").glob("*.json"))
    assert files == [re.fullmatch(r"open `(.+)`", do)[1] for do, _ in steps() if "open `" in do]


def test_the_lecture_can_be_given(open_page, screenshots):
    with view(kt.robots.planar_2r(), browser=False) as workbench:
        page = open_page(workbench.address)
        page.set_default_timeout(1000 * LONGEST_WAIT_S)
        page.locator(".torque-row").first.wait_for()
        for do, facts in steps():
            found = [(re.fullmatch(pattern, do), act) for pattern, act in DOING.items()]
            match, act = next(((m, act) for m, act in found if m), (None, None))
            assert match, f"the lecture asks to {do!r}, which this test does not know"
            act(page, *match.groups())
            for fact in facts:
                wait_for(page, fact, do)
        page.screenshot(path=screenshots / "lecture_end.png")
