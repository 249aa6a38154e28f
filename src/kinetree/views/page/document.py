"""A self-contained HTML document: nothing is fetched, and nothing but its own script may run."""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029"}  # that JSON allows and scripts do not


def document(title: str, body: str, data: Any, scripts: Sequence[str]) -> str:
    """The page.

    Its Content-Security-Policy names the hashes of its own style and script; text that got into
    the page by mistake could therefore neither run nor load anything.

    Args:
        title: plain text.
        body: markup, in which all text from outside has been escaped.
        data: what the script reads from the element "data", as JSON.
        scripts: names of files in this folder, run one after the other.
    """
    style = resource("style.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(resource, scripts)) + "})();\n"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
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
    return page.encode("utf-8", "replace").decode("utf-8")  # names may hold lone surrogates


def json_text(data: Any) -> str:
    """JSON that can stand in a <script>: no character in it can end or begin an element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    for character, code in LINE_ENDS.items():
        text = text.replace(character, code)
    return text


@cache
def resource(name: str) -> str:
    """A file of this folder."""
    return files("kinetree.views.page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1
) -> str:
    """A table of plain texts; columns after the first `text_columns` are numbers."""
    kinds = ["" if k < text_columns else ' class="n"' for k in range(len(head))]
    lines = ['<div class="scroll"><table>', f"<caption>{escape(caption)}</caption>" * bool(caption)]
    lines.append(f"<thead><tr>{_cells('th', head, kinds)}</tr></thead><tbody>")
    lines += [f"<tr>{_cells('td', row, kinds)}</tr>" for row in rows]
    return "\n".join([*lines, "</tbody></table></div>"])


def _cells(tag: str, texts: Sequence[str], kinds: Sequence[str]) -> str:
    cells = zip(texts, kinds, strict=True)
    return "".join(f"<{tag}{kind}>{escape(text)}</{tag}>" for text, kind in cells)


def number(x: Any, digits: int = 4) -> str:
    """A number for a table: short, a true minus, ∞ for no limit."""
    x = float(x)
    if x != x:
        return "–"
    if x in (float("inf"), float("-inf")):
        return "∞" if x > 0 else "−∞"
    return f"{x:.{digits}g}".replace("-", "−")
