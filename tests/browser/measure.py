"""A browser, and measurements of a page in it: text that is cut or overlaps, and contrast.

Each measurement takes playwright's page and gives a list of sentences; an empty list is a good
page. The measurements themselves are in measure.js.
"""

import shutil
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SCRIPT = Path(__file__).with_name("measure.js").read_text(encoding="utf-8")


def program() -> str | None:
    """The installed Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


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
