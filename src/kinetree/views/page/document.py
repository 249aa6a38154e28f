"""A self-contained HTML document: it fetches nothing, and only its own script may run."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import cast

from kinetree.errors import visible
from kinetree.present.charts import Chart, chart_data
from kinetree.present.mathml import formula_style
from kinetree.present.tables import Cell, escape, html_table


def document(
    title: str,
    body: str,
    data: Mapping[str, object],
    scripts: Sequence[str],
    *,
    own_style: str = "",
    own_scripts: Sequence[str] = (),
    connect: str = "'none'",
    formulas: bool = False,
) -> str:
    """The page.

    Its Content-Security-Policy has the hashes of its own style and script, so text that got into
    the page unescaped by mistake could neither run nor load anything.

    Args:
        title: plain text.
        body: markup, in which all text from outside has been escaped.
        data: data of the scripts, which read it as JSON from the element "data".
        scripts: names of files in this folder, run one after the other.
        own_style: style of this page alone, after that of all pages.
        own_scripts: texts of scripts of this page alone, run after the others.
        connect: where scripts may send requests, as in the policy.
        formulas: scripts will show formulas, whose font is then in the page, as it is if the body
            has formulas.
    """
    formulas = formulas or "<math" in body
    style = resource("style.css") + (formula_style() if formulas else "") + own_style
    script = (
        '"use strict";\n(() => {\n' + "\n".join([*map(resource, scripts), *own_scripts]) + "})();\n"
    )
    fonts = "data:" if formulas else "'none'"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        f"connect-src {connect}; font-src {fonts}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{json_text(data)}</script>
<script>{script}</script>
</body>
</html>
"""
    return page.encode("utf-8", "replace").decode("utf-8")  # names can contain lone surrogates


def json_text(data: object) -> str:
    """JSON for a <script>: no character in it can end or begin an element, or is invisible."""
    text = json.dumps(_shown(data), separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


NUMBERS = {float, int}


def _shown(data: object) -> object:
    """`data` with its texts and keys as a page shows them."""
    if type(data) is float or type(data) is int:  # as most are: the next questions take long
        return data
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, Mapping):
        return {_shown(key): _shown(x) for key, x in cast("Mapping[object, object]", data).items()}
    if isinstance(data, list | tuple):
        entries = cast("Sequence[object]", data)
        return entries if NUMBERS.issuperset(map(type, entries)) else [_shown(x) for x in entries]
    return data


@cache
def resource(name: str) -> str:
    """A file of this folder."""
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def scroll_table(
    head: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str = "", text: int = 1
) -> str:
    """An `html_table` that scrolls sideways on a narrow page."""
    return f'<div class="scroll">{html_table(head, rows, caption=caption, text=text)}</div>'


ROBOT_SCRIPTS = (
    "numbers.js", "kinematics.js", "closure.js", "pose.js", "orbit.js", "viewer.js", "plot.js",
    "charts.js", "robot.js",
)  # fmt: skip
CHART_SCRIPTS = (
    "numbers.js",
    "plot.js",
    "charts.js",
    "figure.js",
)  # of a page without other scripts


def chart_page(title: str, sections: Sequence[str], charts: Sequence[Chart]) -> str:
    """A page of sections whose charts are drawn in the browser."""
    foot = "<footer>Written by kinetree. SI units.</footer>"
    data = {"charts": [chart_data(chart) for chart in charts]}
    return document(title, f"<main>{''.join(sections)}{foot}</main>", data, CHART_SCRIPTS)


def chart_frames(count: int) -> list[str]:
    """Elements in which the script draws the charts of the page's data."""
    return [f'<figure data-chart="{k}"></figure>' for k in range(count)]
