"""Sphinx configuration of the documentation; `make docs` builds it."""

import logging
import re
import sys
from pathlib import Path

from docutils import nodes

import kinetree
from kinetree.present.mathml import from_latex

sys.path.insert(0, str(Path(__file__).parent))  # docs/extension
logging.getLogger("kinetree").setLevel(logging.WARNING)  # not the times of compilation

project = "kinetree"
author = "the kinetree developers"
copyright = "the kinetree developers, Apache-2.0"
version = release = kinetree.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "extension"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_fence_as_directive = []
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository beside docs/

html_theme = "furo"
html_title = f"kinetree {release}"
# the style sheet and the font of formulas are those of the pages that kinetree writes
BASE = "../src/kinetree/present"
html_static_path = ["_static", f"{BASE}/math.css", f"{BASE}/math.woff2"]
html_css_files = ["math.css", "layout.css"]
templates_path = []
exclude_patterns = ["_build", "_made"]
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_rtype = False  # text before a colon in Returns is not a type
nitpicky = False


def plain_docstring(app, what, name, obj, options, lines: list[str]) -> None:
    """Convert a docstring, plain text with `code` and equations, to reStructuredText.

    Stars, bars and trailing underscores are text; lines that are equations keep their breaks.
    """
    text = "\n".join(lines)
    paragraphs = [as_block(part) for part in re.split(r"\n[ \t]*\n", text)]
    lines[:] = "\n\n".join(paragraphs).split("\n")
    if what in ("property", "attribute"):
        lines[:0] = [
            "..",
            "",
        ]  # a comment, or napoleon reads text before a colon as a type


def as_block(paragraph: str) -> str:
    """A paragraph with special characters escaped, as a line block if it consists of equations."""
    lines = paragraph.rstrip("\n").split("\n")
    if all(line.startswith("    ") or not line for line in lines):  # an example
        return "::\n\n" + paragraph
    escaped = [escape(line) for line in lines]
    if len(lines) > 1 and all(re.match(r"\w[\w, ]{0,30}: \S|  ", line) for line in lines):  # fields
        return "\n".join(map(as_item, escaped))
    equations = sum(1 for line in escaped if re.match(r"[\w,]{1,10}\s+= ", line))
    if len(escaped) > 1 and equations * 2 > len(escaped) and "Args:" not in paragraph:
        return "\n".join(f"| {line.strip()}" for line in escaped if line.strip())
    return "\n".join(escaped)


def as_item(line: str) -> str:
    """A field of a record as a list item; a continuation line is indented."""
    return f"  {line.lstrip()}" if line.startswith("  ") else f"- {line}"


def escape(line: str) -> str:
    """Text with markup characters outside of `code` escaped."""
    parts = re.split(r"(``[^`]*``|`[^`]*`)", line)
    return "".join(
        f"``{part.strip('`')}``" if k % 2 else re.sub(r"([*|]|_(?=\W|$))", r"\\\1", part)
        for k, part in enumerate(parts)
    )


def inline_math(translator, node) -> None:
    """Convert a formula to MathML, so that the pages need no script and no network."""
    translator.body.append(from_latex(node.astext()))
    raise nodes.SkipNode


def block_math(translator, node) -> None:
    """Convert a formula on a line of its own."""
    converted = from_latex(node.astext(), display=True)
    translator.body.append(f'<div class="math">{converted}</div>')
    raise nodes.SkipNode


def setup(app) -> None:
    """Register the renderer of formulas, and the filter of docstrings before napoleon runs."""
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    app.connect("autodoc-process-docstring", plain_docstring, priority=400)
