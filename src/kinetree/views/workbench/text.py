"""Text on the page: numbers of a steady width, and names that can never become markup."""

from html import escape
from math import floor, isfinite, log10
from typing import Any

__all__ = ["escape", "number", "percent", "table", "vector"]


def number(x: Any, digits: int = 4) -> str:
    """A number of that many digits; tiny ones are zero, which they are to the eye."""
    x = float(x)
    if not isfinite(x):
        return "∞" if x > 0 else "-∞" if x < 0 else "?"
    if abs(x) < 5e-10:
        return "0"
    size = abs(x)
    if size >= 10**digits or size < 1e-3:
        return f"{x:.{digits - 2}e}".replace("e-0", "e-").replace("e+0", "e")
    place = floor(log10(size))  # of the first digit
    return f"{x:.{min(max(digits - 1 - place, 0), digits)}f}"


def vector(x: Any, digits: int = 3) -> str:
    """A row of numbers."""
    return "(" + ", ".join(number(value, digits) for value in x) + ")"


def percent(x: float) -> str:
    """A share of a limit."""
    return f"{100 * x:.0f} %" if x < 9.995 else "≫ 100 %"


def table(head: list[str], rows: list[list[str]], css: str = "kt-table") -> str:
    """A table of cells that are markup already: escape what comes from a file."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="{css}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
