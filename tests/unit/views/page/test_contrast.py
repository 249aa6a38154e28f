"""Contrast of the pages and the workbench, computed from their style sheets, light and dark.

Text has 4.5 to 1 against whatever is behind it, lines and areas have 3 to 1 (WCAG 2.2, 1.4.3 and
1.4.11).
"""

import re
from importlib.resources import files

import pytest

VIEWS = files("kinetree.views")
STYLE = VIEWS.joinpath("page", "style.css").read_text("utf-8")
BENCH = VIEWS.joinpath("workbench", "app", "workbench.css").read_text("utf-8")
BEHIND = ("paper", "panel")  # what pages and panels are painted with
THEMES = ("light", "dark")
SHARE = 0.72  # most of a colour behind an entry of the mass matrix, see matrix.js


def plain(css):
    return re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)


def rgb(text):
    digits = text.lstrip("#")
    digits = "".join(x * 2 for x in digits) if len(digits) == 3 else digits
    return tuple(int(digits[k : k + 2], 16) for k in (0, 2, 4))


def variables(theme):
    pattern = r"--([\w-]+):\s*light-dark\((#\w+),\s*(#\w+)\)"
    found = re.findall(pattern, plain(STYLE) + plain(BENCH))
    return {name: rgb(pair[THEMES.index(theme)]) for name, *pair in found}


def luminance(colour):
    parts = [x / 255 for x in colour]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def backgrounds(text, colours):
    """Colours that a background makes: a variable's, or mixed with another or what is behind."""
    if text in ("none", "transparent", "inherit"):
        return [colours[name] for name in BEHIND]
    if match := re.fullmatch(r"var\(--([\w-]+)\)", text):
        return [colours[match[1]]] if match[1] in colours else []
    mixture = r"color-mix\(in srgb, var\(--([\w-]+)\) (\d+%|var\(--share\)), ([^)]*\)?)\)"
    match = re.fullmatch(mixture, text)
    if match is None or match[1] not in colours:
        return []
    share = SHARE if match[2].startswith("var") else int(match[2][:-1]) / 100
    rest = match[3].strip()
    others = BEHIND if rest == "transparent" else re.findall(r"--([\w-]+)", rest)
    return [
        tuple(
            share * a + (1 - share) * b for a, b in zip(colours[match[1]], colours[x], strict=True)
        )
        for x in others
    ]


def rules():
    """(selector, declarations) of every rule for the screen."""
    css = plain(STYLE).partition("@page")[0] + plain(BENCH)
    for selector, body in re.findall(r"([^{};]+)\{([^{}]*)\}", css):
        pairs = (x.partition(":") for x in body.split(";") if ":" in x)
        yield selector.strip(), {name.strip(): value.strip() for name, _, value in pairs}


@pytest.mark.parametrize("theme", THEMES)
def test_text_has_contrast(theme):
    colours, checked, weak = variables(theme), 0, []
    for selector, found in rules():
        name = "fill" if re.search(r"\btext\b", selector) else "color"
        shown, behind = found.get(name, ""), found.get("background", "")
        if "canvas" in selector or (not shown and not behind):
            continue
        text = re.fullmatch(r"var\(--([\w-]+)\)", shown)
        if text and text[1] not in colours:  # the grid, of a scene
            continue
        inks = [text[1]] if text else [] if shown not in ("", "inherit") else ["ink"]
        if not text and not behind:
            continue
        if not shown and not re.search(
            r"button|\.lit|chosen|\bth\b|\btd\b|label|data-term", selector
        ):
            continue  # an area without text
        for ink in inks:
            for colour in backgrounds(behind or "none", colours):
                checked += 1
                ratio = contrast(colours[ink], colour)
                weak += [f"{selector}: {ink} has {ratio:.2f}"] if ratio < 4.5 else []
    assert not weak and checked > 40, (weak, checked)


@pytest.mark.parametrize("theme", THEMES)
def test_lines_areas_and_focus_rings_have_contrast(theme):
    colours = variables(theme)
    drawn = [x for x in colours if re.match(r"line\d|part-|axis-", x)]
    drawn += ["accent", "warn", "held", "moving", "good", "lit", "omega", "v", "n", "f"]
    weak = {
        (name, back): round(contrast(colours[name], colours[back]), 2)
        for name in drawn
        for back in BEHIND
        if contrast(colours[name], colours[back]) < 3
    }
    assert not weak and len(drawn) > 20


def test_everything_that_has_the_focus_shows_a_ring():
    assert ":focus-visible { outline: 2px solid var(--accent)" in STYLE
    for css in (STYLE, BENCH):
        assert not re.search(r"outline:\s*(none|0)\b", plain(css))


def test_colours_are_given_as_variables_only():
    body = plain(STYLE).partition("}")[2].partition("@page")[0]  # after :root, and not for paper
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^{}]*\{)", body)
