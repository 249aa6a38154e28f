"""The gallery of the home page: pictures of what the snippets of other pages compute.

    ```{gallery}
    page#anchor | title | kind of picture | expression
    ```

Every line is a card that leads to a page, or to a section of it. Its picture is made of the names
of the first snippet there: `plot` draws curves and `dots` dots, `picture` renders a robot
(expression: robot, q or motion), `markup` is SVG or HTML.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes

from extension import snippets, store
from extension.directives import Figure, still, with_kinetree
from extension.plots import thumbnail


def slug(heading: str) -> str:
    """Anchor of a heading, as MyST makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def first_snippets(page: Path) -> dict[str, str]:
    """First snippet of a page, by "", and of each of its sections, by anchor."""
    parts = re.split(r"^## (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for heading, text in zip(["", *parts[1::2]], parts[::2], strict=True):
        block = snippets.BLOCK.search(text)
        if block is not None:
            found[slug(heading)] = block[2]
    return found


class Gallery(Figure):
    """Cards with a picture, a title and a link to a page."""

    def run(self) -> list[nodes.Node]:
        """The cards."""
        cards = [self.card(line) for line in self.content if line.strip()]
        return [nodes.raw("", f'<div class="gallery">{"".join(cards)}</div>', format="html")]

    def card(self, line: str) -> str:
        """One card."""
        address, title, kind, what = (x.strip() for x in line.split("|", 3))
        name, _, anchor = address.partition("#")
        page = Path(self.env.srcdir) / f"{name}.md"
        self.env.note_dependency(str(page))
        code = first_snippets(page)
        if anchor not in code:
            raise self.error(f"{name}.md has no section {anchor!r} with code: {', '.join(code)}")
        inside = self.thumbnail(page, kind, what, code[anchor])
        place = f"{name}.html#{anchor}" if anchor else f"{name}.html"
        return (
            f'<a class="card" href="{place}"><span class="thumb">{inside}</span>'
            f"<span>{escape(title)}</span></a>"
        )

    def thumbnail(self, page: Path, kind: str, what: str, code: str) -> str:
        """Markup of a card's picture."""
        key = store.key_of("card", kind, what, code)

        def names() -> dict[str, Any]:
            return with_kinetree(snippets.names_of(page, [code]))

        def draw(path: Path) -> None:
            expression, _, settings = what.partition(";")
            options = dict(x.strip().split("=", 1) for x in settings.split(";") if x.strip())
            robot, at = snippets.run(expression, names())
            rest = {"trajectory": at} if hasattr(at, "dq") else {"q": at}
            if "time" in options:
                rest["time"] = float(options.pop("time"))
            still(path, robot, {"size": "640x440"} | options, **rest)

        if kind == "picture":
            path = store.stored_file(key, draw, "png")
            return f'<img src="{self.address(path)}" alt="">'
        if kind in ("plot", "dots"):
            return store.stored(key, lambda: thumbnail(snippets.run(what, names()), kind, key))
        return store.stored(key, lambda: str(snippets.run(what, names())))
