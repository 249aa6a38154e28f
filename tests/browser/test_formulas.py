"""Formulas in a real browser: the font is there, and its parts stand where TeX puts them."""

import pytest

from kinetree.base import math_symbols
from kinetree.base.mathml import from_latex
from kinetree.views.page.document import document

SHOWN = {
    "accent": r"\ddot q + \dot V + \dot{\mathcal{V}}_b",
    "scripts": r"V^T + V_i + q_i^2 + [a]^T",
    "matrix": r"M = \begin{bmatrix} 1 & 0 & x \\ 0 & 1 & y \\ 0 & 0 & 1 \end{bmatrix}",
    "function": r"7 \cos \theta - \left(\frac{a}{b}\right)",
}
BOXES = """() => Object.fromEntries([...document.querySelectorAll('p')].map(p => [p.id,
  [...p.querySelectorAll('math *')].map(e => { const r = e.getBoundingClientRect();
  return {tag: e.localName, text: e.textContent, left: r.left, right: r.right, top: r.top,
  bottom: r.bottom, parent: [...p.querySelectorAll('math *')].indexOf(e.parentElement)}; })]))"""
# characters that look the same in our font and in none: the browser took them from elsewhere
MISSING = """(characters) => {
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 64;
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const drawn = (family, text) => {
    context.clearRect(0, 0, 64, 64);
    context.font = `24px ${family}`;
    context.fillText(text, 24, 40);
    return context.getImageData(0, 0, 64, 64).data.join('');
  };
  return characters.filter(x => drawn('"kinetree math"', x) === drawn('"no such font"', x));
}"""


@pytest.fixture
def page(open_page, tmp_path):
    body = "".join(f'<p id="{name}">{from_latex(text)}</p>' for name, text in SHOWN.items())
    path = tmp_path / "formulas.html"
    path.write_text(document("Formulas", body, {}, ()), encoding="utf-8")
    page = open_page(path.as_uri())
    page.evaluate("document.fonts.ready")
    return page


def test_formulas_are_set_as_tex_sets_them(page):
    loaded = page.evaluate("[...document.fonts].map(x => [x.family, x.status])")
    assert [f"{family.strip(chr(34))} {status}" for family, status in loaded] == [
        "kinetree math loaded"
    ]
    boxes = page.evaluate(BOXES)
    _accents_are_above_their_letters(boxes["accent"])
    _scripts_are_above_and_below_the_line(boxes["scripts"])
    _brackets_are_as_tall_as_the_matrix(boxes["matrix"])
    signs = [text for _, text in math_symbols.SYMBOLS.values()]
    letters = [*math_symbols.GREEK.values(), *math_symbols.CAPITALS.values(), *"aZ0𝑎𝑍𝒱𝜃𝔤ℝ"]
    others = [*math_symbols.LETTERS.values(), *math_symbols.ACCENTS.values()]
    large = [*math_symbols.BIG_OPERATORS.values(), *math_symbols.OVER.values()]
    assert page.evaluate(MISSING, [*signs, *letters, *others, *large]) == []


def _accents_are_above_their_letters(boxes):
    found = 0
    for place, box in enumerate(boxes):
        if box["tag"] == "mover":
            letter, accent = [x for x in boxes if x["parent"] == place]
            size = letter["bottom"] - letter["top"]
            assert accent["bottom"] <= letter["top"] + 0.1 * size, box["text"]
            assert letter["top"] - accent["top"] < size, box["text"]  # near it
            middle = (accent["left"] + accent["right"]) / 2
            width = letter["right"] - letter["left"]
            assert letter["left"] + 0.4 * width < middle < letter["right"] + 0.1 * width
            found += 1
    assert found == 3


def _scripts_are_above_and_below_the_line(boxes):
    for place, box in enumerate(boxes):
        parts = [x for x in boxes if x["parent"] == place]
        if box["tag"] in ("msup", "msubsup"):
            base, high = parts[0], parts[-1]
            assert high["bottom"] < base["bottom"] - 3, box["text"]
            assert high["left"] > base["right"] - 0.5, box["text"]  # it does not run into the base
        if box["tag"] in ("msub", "msubsup"):
            base, low = parts[0], parts[1]
            assert low["top"] > base["top"] + 3 and abs(low["left"] - base["right"]) < 1
    tags = [box["tag"] for box in boxes]
    assert (tags.count("msup"), tags.count("msub"), tags.count("msubsup")) == (2, 1, 1)


def _brackets_are_as_tall_as_the_matrix(boxes):
    (table,) = [box for box in boxes if box["tag"] == "mtable"]
    height = table["bottom"] - table["top"]
    for box in boxes:
        if box["tag"] == "mo" and box["text"] in "[]":
            assert height <= box["bottom"] - box["top"] + 1 < 1.4 * height
            assert abs(box["top"] + box["bottom"] - table["top"] - table["bottom"]) < 0.1 * height


def test_a_page_without_formulas_has_no_font():
    page = document("No formulas", "<p>2 kg</p>", {}, ())
    assert "font/woff2" not in page and "font-src 'none'" in page
