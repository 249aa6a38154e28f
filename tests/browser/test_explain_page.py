"""The page of an explanation in a browser: every shown number is the sum of those below it."""

import json
import math

import numpy as np
import pytest
from measure import clipped, low_contrast, overlapping

import kinetree as kt
from kinetree.views.page.explain import explain_page

ROOT = ".unfold-place"
# names, values and marks of what is open below the chosen joint force
SHOWN = """place => [...place.querySelectorAll("details.unfold-node[open]")].map(node => {
  const body = node.querySelector(":scope > .unfold-body");
  const rows = [...body.querySelectorAll(":scope > .unfold-parts > .unfold-node")];
  const shown = x => x.querySelector(":scope > .unfold-head .unfold-value");
  const value = x => JSON.parse(shown(x).dataset.value);
  const text = x => shown(x).firstElementChild.textContent;
  const equation = body.querySelector(":scope > .unfold-equation");
  const named = (x, which) => x ? [...x.querySelectorAll(which)].map(y => y.dataset.term) : [];
  return {
    name: node.dataset.name, value: value(node), text: text(node),
    parts: rows.map(x => [x.dataset.name, value(x), text(x)]),
    terms: named(equation, "mrow[data-term]"), lit: named(equation, "mrow.lit"),
  };
})"""


@pytest.fixture(scope="module")
def panda(tmp_path_factory):
    """The page of Panda in motion, as a file."""
    robot = kt.robots.panda()
    rng = np.random.default_rng(5)
    state = kt.algorithms.random(robot.model, rng), *rng.normal(size=(2, robot.n))
    path = tmp_path_factory.mktemp("explain") / "panda.html"
    path.write_text(explain_page(robot.explain(*state)), encoding="utf-8")
    return path, robot, state


def test_every_number_is_the_sum_of_the_numbers_below_it(panda, open_page):
    """One page: terms of a joint are opened by clicks and keys, and what is shown adds up."""
    path, robot, state = panda
    page = open_page(path.as_uri())
    tau = robot.inverse_dynamics(*state)
    for cause in ("inertia", "Coriolis", "centrifugal", "gravity"):
        page.click(f'.forces tr[data-k="3"] td[data-cause="{cause}"]')
        place = page.locator(ROOT).first
        for _ in range(7):  # opens the first row of every level, down to the products
            page.keyboard.press("ArrowRight")
        shown = place.evaluate(SHOWN)
        assert shown[0]["name"] == robot.model.dof_names[3]
        assert math.isclose(shown[0]["value"], tau[3], rel_tol=1e-12)
        assert cause in [node["name"] for node in shown] and len(shown) > 2
        for node in shown:
            if not node["parts"]:
                continue
            values = [value for _, value, _ in node["parts"]]
            scale = sum(map(abs, values))
            assert abs(math.fsum(values) - node["value"]) <= 1e-14 * max(scale, 1e-300)
            assert node["terms"] == [name for name, _, _ in node["parts"]]
            texts = [
                text.replace("\u2212", "-").replace("\u2248", "") for *_, text in node["parts"]
            ]
            tiny = 1e-14 * max(map(abs, values))  # shown as 0
            assert np.allclose([*map(float, texts)], values, rtol=6e-3, atol=tiny)
        chosen = place.locator(".unfold-head.chosen .unfold-name").inner_text()
        way = page.locator(f"{ROOT} .unfold-crumbs button").all_inner_texts()
        lit = [node["lit"] for node in shown if node["lit"]]
        assert way[-1] == chosen and [[name] for name in way[1:]] == lit


def test_terms_of_the_equation_entries_of_M_and_vectors_unfold(panda, open_page):
    path, robot, state = panda
    page = open_page(path.as_uri(), color_scheme="dark")
    page.locator(f'{ROOT} mrow[data-term="gravity"]').first.click()
    assert page.locator(f"{ROOT} .unfold-head.chosen .unfold-name").first.inner_text() == "gravity"
    assert page.locator(f"{ROOT} mrow.lit").first.get_attribute("data-term") == "gravity"
    page.click('.matrix td[data-unfold="M,1,3"] >> nth=0')
    M = robot.mass_matrix(state[0])
    value = page.locator(".matrix .unfold-value").first.get_attribute("data-value")
    assert math.isclose(json.loads(value), M[1, 3], rel_tol=1e-12)
    page.click('.link >> nth=2 >> table[data-symbol="F"] tr.total')
    value = page.locator(".link >> nth=2 >> .unfold-value").first.get_attribute("data-value")
    assert np.allclose(json.loads(value), robot.newton_euler(*state).F[2], rtol=1e-12)
    overflow = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(overflow)
    for fault in (clipped, overlapping, low_contrast):
        assert fault(page) == []
