"""Names and numbers of URDF attributes: strict, and every complaint says where and what."""

import math
import re

from kinetree.description.xml import Element, clip
from kinetree.errors import ParseError

# One way only to match each digit: an ambiguous pattern takes quadratic time on hostile numbers.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
BLANKS = re.compile(r"[ \t\r\n]+")
LARGEST = 1e60  # metres, kilograms, ...: squares and products of larger ones overflow
MAX_NAME = 1000
XACRO_HINT = "expand the file with xacro first, or load the .xacro file itself"


def fault(element: Element, owner: str, text: str) -> ParseError:
    """The error at an element: file:line:column, whose element it is, what is wrong."""
    return ParseError(f"{element.place}: {owner}: {text}")


def show(text: str) -> str:
    """`text` in quotes, short enough for a message."""
    return repr(clip(text))


def has_expression(text: str) -> bool:
    """True if the text holds an unexpanded xacro expression."""
    return "${" in text or "$(" in text


def name_of(element: Element, attribute: str, owner: str) -> str:
    """A required attribute that names a link, a joint or the like."""
    value = element.attributes.get(attribute)
    if value is None:
        raise _absent(element, attribute, owner)
    if not value.strip():
        raise fault(element, owner, f"<{element.tag} {attribute}={value!r}> is an empty name.")
    if len(value) > MAX_NAME:
        text = f"{attribute} {show(value)} has {len(value)} characters; the limit is {MAX_NAME}."
        raise fault(element, owner, text)
    if has_expression(value):
        text = f"{attribute} is {show(value)}, an unexpanded xacro expression; {XACRO_HINT}."
        raise fault(element, owner, text)
    return value


def _absent(element: Element, attribute: str, owner: str) -> ParseError:
    found = clip(", ".join(element.attributes)) or "none"
    text = f"<{element.tag}> has no attribute {attribute!r}; found {found}. Add it."
    return fault(element, owner, text)


def number(
    element: Element,
    attribute: str,
    owner: str,
    default: float | None = None,
    largest: float = LARGEST,
) -> float:
    """One number; without a default the attribute is required."""
    if attribute not in element.attributes and default is not None:
        return default
    return numbers(element, attribute, 1, owner, largest=largest)[0]


def numbers(
    element: Element,
    attribute: str,
    count: int,
    owner: str,
    default: tuple[float, ...] | None = None,
    largest: float = LARGEST,
) -> tuple[float, ...]:
    """`count` finite decimal numbers separated by blanks."""
    value = element.attributes.get(attribute)
    if value is None:
        if default is not None:
            return default
        raise _absent(element, attribute, owner)
    what = f"<{element.tag}> {attribute}={show(value)}"
    return parse_numbers(value, count, what, element, owner, largest)


def parse_numbers(
    value: str, count: int, what: str, element: Element, owner: str, largest: float = LARGEST
) -> tuple[float, ...]:
    """The numbers of a text; `what` names it in complaints."""
    expected = "one number" if count == 1 else f"{count} numbers separated by blanks"
    if has_expression(value):
        text = f"{what} is an unexpanded xacro expression, expected {expected}; {XACRO_HINT}."
        raise fault(element, owner, text)
    tokens = BLANKS.split(value.strip(" \t\r\n")) if value.strip(" \t\r\n") else []
    for token in tokens:
        problem = _problem(token, largest)
        if problem:
            raise fault(element, owner, f"{what}: {show(token)} {problem}; expected {expected}.")
    if len(tokens) != count:
        found = len(tokens) or "nothing"
        raise fault(element, owner, f"{what}: found {found}, expected {expected}.")
    return tuple(map(float, tokens))


def _problem(token: str, largest: float) -> str:
    """What is wrong with one number; empty when nothing is."""
    if NUMBER.fullmatch(token):
        size = abs(float(token))
        if not math.isfinite(size):
            return "is too large for a floating-point number"
        return f"is larger than {largest:g}, beyond any robot" if size > largest else ""
    if "," in token:
        return "has a comma (write decimals with a point, and blanks between numbers)"
    if token.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return "is not finite"
    return "is not a decimal number (no units, no expressions, no hexadecimal)"
