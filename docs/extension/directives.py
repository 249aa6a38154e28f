"""The directives of the documentation, which turn names and code into figures of a page."""

import ast
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from extension import snippets, store
from extension.drawings import DRAWINGS
from extension.plots import plot

SCENES = "scenes"  # folder of the built site


class Figure(SphinxDirective):
    """A figure whose caption is the directive's last paragraph of text."""

    has_content = True

    def figure(self, markup: str, caption: list[str]) -> list[nodes.Node]:
        """Markup with a caption."""
        found = nodes.figure("", nodes.raw("", markup, format="html"), classes=["kt"])
        if any(line.strip() for line in caption):
            holder = nodes.Element()
            self.state.nested_parse(
                type(self.content)(caption, "caption"), self.content_offset, holder
            )
            words = nodes.caption("", "")
            for paragraph in holder.children:
                words += paragraph.children
            found += words
        return [found]

    def page(self) -> Path:
        """The file that the directive stands in."""
        return Path(self.env.doc2path(self.env.docname))

    def blocks(self) -> list[str]:
        """Snippets of the page above the directive, or those that `:snippets:` counts from 1."""
        found = snippets.snippets_before(self.page(), self.lineno)
        wanted = self.options.get("snippets")
        if wanted is None:
            return found
        return [found[int(k) - 1] for k in wanted.replace("none", "").split()]


class Drawing(Figure):
    """{drawing} NAME key=value ...: SVG by the function of this name; the body is the caption."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The figure."""
        name, *settings = self.arguments[0].split()
        if name not in DRAWINGS:
            raise self.error(f"no drawing {name!r}; there are: {', '.join(sorted(DRAWINGS))}")
        options = {key: literal(value) for key, _, value in (x.partition("=") for x in settings)}
        key = store.key_of("drawing", self.arguments[0])
        markup = store.stored(key, lambda: DRAWINGS[name](**options))
        return self.figure(markup, list(self.content))


class Plot(Figure):
    """{plot}: code whose last expression is plotted, run after the page's snippets above it.

    Lines of the body after a line of three dashes are the caption.
    """

    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {
        name: directives.unchanged
        for name in ("of", "title", "x", "y", "joints", "dots", "snippets")
    } | {"logx": directives.flag, "logy": directives.flag}

    def run(self) -> list[nodes.Node]:
        """The figure."""
        lines = list(self.content)
        cut = lines.index("---") if "---" in lines else len(lines)
        code, caption, blocks = "\n".join(lines[:cut]), lines[cut + 1 :], self.blocks()

        def make() -> str:
            names = snippets.names_of(self.page(), blocks)
            return plot(snippets.run(code, names), self.options)

        key = store.key_of("plot", code, repr(sorted(self.options.items())), *blocks)
        return self.figure(store.stored(key, make), caption)


class Scene(Figure):
    """{scene} ROBOT: a movable robot in a frame; the body is the caption.

    ROBOT is the name of a built-in robot, or an expression of the page's names such as `robot`.
    """

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {
        name: directives.unchanged for name in ("q", "trajectory", "show", "snippets", "alt")
    } | {"height": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """The figure."""
        what, blocks = self.arguments[0].strip(), self.blocks()
        needs_names = not what.isidentifier() or not is_robot(what) or "trajectory" in self.options
        blocks = blocks if needs_names else []

        def make() -> str:
            from extension.scenes import motion_scene, robot_scene

            names = dict(snippets.names_of(self.page(), blocks)) if blocks else {}
            robot = snippets.run(
                f"kt.robots.{what}()" if is_robot(what) else what, with_kinetree(names)
            )
            shown = tuple(self.options["show"].split()) if "show" in self.options else None
            if "trajectory" in self.options:
                motion = snippets.run(self.options["trajectory"], with_kinetree(names))
                return motion_scene(robot, motion, shown)
            q = self.options.get("q")
            at = (
                None
                if q is None
                else [float(x) for x in snippets.run(f"[{q.strip('[]')}]", with_kinetree(names))]
            )
            return robot_scene(robot, at, shown)

        key = store.key_of("scene", what, repr(sorted(self.options.items())), *blocks)
        store.stored(key, make, "html")
        self.env.metadata.setdefault(self.env.docname, {}).setdefault("scenes", "")
        self.env.metadata[self.env.docname]["scenes"] += f" {key}"
        up = os.path.relpath(SCENES, os.path.dirname(self.env.docname) or ".").replace(os.sep, "/")
        title = self.options.get("alt", f"{what}, drawn; drag to turn it")
        height = self.options.get("height", 430)
        frame = (
            f'<iframe class="scene" src="{up}/{key}.html" loading="lazy" height="{height}" '
            f'title="{nodes.unescape(title)}"></iframe>'
        )
        return self.figure(frame, list(self.content))


class Solution(SphinxDirective):
    """{solution} TITLE: text that is hidden until the reader opens it."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The opening tag, the parsed text, the closing tag."""
        title = self.arguments[0] if self.arguments else "Solution"
        holder = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, holder)
        begin = f'<details class="solution"><summary>{title}</summary>'
        return [
            nodes.raw("", begin, format="html"),
            *holder.children,
            nodes.raw("", "</details>", format="html"),
        ]


def is_robot(name: str) -> bool:
    """Whether a name is one of the built-in robots."""
    import kinetree as kt

    return name in kt.robots.__all__


def with_kinetree(names: dict[str, Any]) -> dict[str, Any]:
    """The names of a page, with kt and np."""
    import numpy as np

    import kinetree as kt

    return {"kt": kt, "np": np} | names


def literal(value: str) -> Any:
    """A value of a drawing's setting: a number, a tuple of numbers, or text."""
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


def copy_scenes(app, error) -> None:
    """Copy the scenes of all pages into the built site."""
    if error is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / SCENES
    target.mkdir(parents=True, exist_ok=True)
    for data in app.env.metadata.values():
        for key in data.get("scenes", "").split():
            shutil.copyfile(store.FOLDER / f"{key}.html", target / f"{key}.html")
