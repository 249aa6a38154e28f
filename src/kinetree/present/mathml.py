"""LaTeX formulas as MathML by latex2mathml, and the style sheet with their font.

Browsers space and stretch some signs otherwise than TeX; attributes are set where they do.
"""

import base64
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from kinetree.errors import InputError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# commands that make attributes of HTML; formulas have names from files of others
MARKUP = re.compile(r"\\(href|class|style|id|html\w*|url)(?![A-Za-z])")
REFERENCE = re.compile(r"&#x([0-9A-F]+);")  # a character, as latex2mathml writes it
THIN = "0.1667em"
SCRIPTS = ("msub", "msup", "msubsup", "munder", "munderover")
TALL = ("mfrac", "mtable", "munderover", "munder", "mroot", "msqrt")
FUNCTIONS = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "ln", "atan2")
BEFORE_A_SIGN = "([,=<>+−⋅·→"  # a minus behind these belongs to what follows


def from_latex(text: str, *, display: bool = False) -> str:
    """A formula in LaTeX, without dollar signs, as a <math> element.

    Args:
        text: the formula.
        display: on a line of its own, with large sums and fractions.
    """
    block = ' display="block"' if display else ""
    return f"<math{block}>{inside_math(text, display)}</math>"


@cache
def inside_math(text: str, display: bool = False) -> str:
    """A formula as MathML that is not yet in <math>: one <mrow>."""
    from xml.etree.ElementTree import tostring

    from latex2mathml.converter import Converter  # not needed to import kinetree

    if MARKUP.search(text):
        raise InputError(f"the formula {text[:80]!r} has a command of HTML; expected LaTeX alone.")
    try:
        row = Converter(display="block" if display else "inline").convert_to_element(text)[0]
    except Exception as error:  # the errors of the package have no common class
        raise InputError(f"the formula {text[:80]!r} cannot be converted: {error!r}.") from error
    for part in row.iter():
        part.text = REFERENCE.sub(lambda found: chr(int(found[1], 16)), part.text or "")
    for group in row.iter():
        _correct(group)
        for sign in (x for script in group[1:] if group.tag in SCRIPTS for x in script.iter("mo")):
            sign.attrib.update(lspace="0", rspace="0")
    return tostring(row, encoding="unicode", short_empty_elements=False)


def _correct(group: "Element") -> None:
    """Set the signs of one group as TeX does."""
    parts = list(group)
    tall = any(group.find(f".//{tag}") is not None for tag in TALL)
    for k, part in enumerate(parts):
        before = parts[k - 1] if k else None
        after = parts[k + 1] if k + 1 < len(parts) else None
        if part.tag == "mo" and (part.get("fence") or part.text in ("(", ")")) and not tall:
            part.attrib.update(stretchy="false", lspace="0", rspace="0")
        elif part.tag == "mo" and part.text == "/":
            part.attrib.update(lspace="0", rspace="0")
        elif part.text == "^":  # a hat
            part.text = "ˆ"
            part.set("stretchy", "false")
        elif part.text == "−" and before is not None and before.text in [*BEFORE_A_SIGN]:
            part.attrib.update(form="prefix", lspace="0", rspace="0")
        elif part.text in FUNCTIONS and group.tag in ("mrow", "mtd"):
            joined = after is None or after.tag == "mo" or after.find(".//mo[@fence]") is not None
            first = before is None or before.text in [*BEFORE_A_SIGN]
            part.tag = "mo"
            part.set("form", "prefix")
            part.set("lspace", "0" if first else THIN)
            part.set("rspace", "0" if joined else THIN)


@cache
def formula_style() -> str:
    """The style sheet of formulas, with their font inside, for a page that fetches nothing."""
    folder = files(__package__ or "")
    font = base64.b64encode(folder.joinpath("math.woff2").read_bytes()).decode()
    style = folder.joinpath("math.css").read_text(encoding="utf-8")
    return style.replace('"math.woff2"', f'"data:font/woff2;base64,{font}"')
