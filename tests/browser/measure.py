"""Measurements of a page in the browser: text that is cut or overlaps, and contrast of colours.

Each function takes playwright's page and gives a list of sentences; an empty list is a good page.
The measurements themselves are in measure.js.
"""

from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("measure.js").read_text(encoding="utf-8")


def clipped(page: Any, root: str = "body") -> list[str]:
    """Texts that are cut off, where nothing can be scrolled and no title has the rest."""
    return _measured(page, "clipped", root)


def overlapping(page: Any, root: str = "body") -> list[str]:
    """Pairs of texts that are drawn over each other."""
    return _measured(page, "overlapping", root)


def low_contrast(page: Any, root: str = "body", least: float = 4.5) -> list[str]:
    """Texts whose computed colours have less contrast to their background than `least`."""
    return _measured(page, "lowContrast", root, least)


def _measured(page: Any, name: str, *values: object) -> list[str]:
    return page.evaluate(f"(values) => {{ {SCRIPT} return {name}(...values); }}", list(values))


def until(page: Any, condition: str, seconds: float = 30.0) -> None:
    """Wait for a JavaScript expression; pages whose policy forbids eval need this way."""
    for _ in range(int(seconds / 0.02)):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"not within {seconds} s: {condition}")
