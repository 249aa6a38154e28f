"""A real Chromium for the tests of pages: headless, with WebGL in software, without a network."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from measure import FLAGS, NAMES, program

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Playwright's browser on the installed Chromium; tests are skipped if there is none."""
    if program() is None:
        pytest.skip(f"no Chromium is installed: none of {', '.join(NAMES)} is on the path")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page at an address; at the end no error was logged and no other host was asked.

    `open_page(address, width=1280, height=800, allowed=(), **options)` gives playwright's page;
    `allowed` are beginnings of addresses that the page may ask for besides its own.
    """
    contexts, faults = [], []

    def open_at(
        address: str,
        width: int = 1280,
        height: int = 800,
        allowed: tuple[str, ...] = (),
        **rest: Any,
    ) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": height}, **rest)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("console", lambda message: _note(message, faults))
        ok = (address, "data:", "blob:", *allowed)
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(ok) else faults.append(f"request: {request.url}")
            ),
        )
        page.goto(address)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert not faults, faults


def _note(message: Any, faults: list[str]) -> None:
    """Note errors and refusals of the Content-Security-Policy, but not the advice of a driver."""
    if message.type == "error" or "Content Security Policy" in message.text:
        faults.append(f"console: {message.text}")


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """The folder for screenshots, which people can look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return SCREENSHOTS
