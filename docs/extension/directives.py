"""The directives of the documentation, which turn names and code into figures of a page."""

import os
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from extension import snippets, store
from extension.plots import plot

FIGURES = "figures"  # folder of the built site
DRAWINGS = Path(__file__).parents[1] / "drawings"  # in the colours of figures.css


class Figure(SphinxDirective):
    """A figure; text of the body is its caption."""

    has_content = True

    def figure(self, markup: str, caption: list[str]) -> list[nodes.Node]:
        """Markup with a caption."""
        found = nodes.figure("", nodes.raw("", markup, format="html"), classes=["kt"])
        if any(line.strip() for line in caption):
            holder = nodes.Element()
            lines = type(self.content)(caption, "caption")
            self.state.nested_parse(lines, self.content_offset, holder)
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

    def value(self, code: str, blocks: list[str]) -> Any:
        """Value of code that runs after blocks of the page; a failure names the page's line."""
        names = snippets.names_of(self.page(), blocks) if blocks else {}
        try:
            return snippets.run(code, with_kinetree(names))
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error}, in the code\n{code}") from error

    def robot(self, blocks: list[str]) -> Any:
        """The robot of the first argument: a built-in name, or an expression of the page."""
        what = self.arguments[0].strip()
        return self.value(f"kt.robots.{what}()" if is_robot(what) else what, blocks)

    def robot_blocks(self) -> list[str]:
        """Snippets that the robot and the motion need."""
        named = is_robot(self.arguments[0].strip()) and "trajectory" not in self.options
        return [] if named else self.blocks()

    def position(self, blocks: list[str]) -> list[float] | None:
        """Joint positions of the option q."""
        q = self.options.get("q")
        return None if q is None else [float(x) for x in self.value(f"[{q.strip('[] ')}]", blocks)]

    def key(self, kind: str, *parts: str) -> str:
        """Name of this figure, of all that makes it."""
        return store.key_of(kind, *self.arguments, repr(sorted(self.options.items())), *parts)

    def address(self, path: Path) -> str:
        """Address of a file of the store, which is copied to the site, seen from this page."""
        data = self.env.metadata.setdefault(self.env.docname, {})
        data["figures"] = f"{data.get('figures', '')} {path.name}"
        folder = os.path.dirname(self.env.docname) or "."
        return f"{os.path.relpath(FIGURES, folder)}/{path.name}".replace(os.sep, "/")


class Drawing(Figure):
    """{drawing} NAME: the line drawing docs/drawings/NAME.svg; the body is the caption."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The figure."""
        path = DRAWINGS / f"{self.arguments[0]}.svg"
        if not path.exists():
            known = ", ".join(sorted(x.stem for x in DRAWINGS.glob("*.svg")))
            raise self.error(f"there is no drawing {self.arguments[0]!r}; there are {known}")
        self.env.note_dependency(str(path))
        return self.figure(path.read_text(encoding="utf-8"), list(self.content))


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
        key = self.key("plot", code, *blocks)
        made = store.stored(key, lambda: plot(self.value(code, blocks), self.options, key))
        return self.figure(made, caption)


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
        blocks = self.robot_blocks()
        key = self.key("scene", *blocks)
        store.stored(key, lambda: self.markup(blocks), "html")
        title = self.options.get("alt", f"{self.arguments[0]}, drawn; drag to turn it")
        frame = (
            f'<iframe class="scene" src="{self.address(store.FOLDER / f"{key}.html")}" '
            f'loading="lazy" height="{self.options.get("height", 430)}" '
            f'title="{escape(title)}"></iframe>'
        )
        return self.figure(frame, list(self.content))

    def markup(self, blocks: list[str]) -> str:
        """The page inside the frame."""
        from extension.scenes import motion_scene, robot_scene

        robot = self.robot(blocks)
        shown = tuple(self.options["show"].split()) if "show" in self.options else None
        if "trajectory" in self.options:
            return motion_scene(robot, self.value(self.options["trajectory"], blocks), shown)
        return robot_scene(robot, self.position(blocks), shown)


class Picture(Figure):
    """{picture} ROBOT: a shaded picture without a background; the body is the caption."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {
        name: directives.unchanged
        for name in ("q", "trajectory", "time", "add", "hide", "zoom", "camera", "size", "width",
                     "snippets", "alt")
    }  # fmt: skip

    def run(self) -> list[nodes.Node]:
        """The figure."""
        blocks = self.robot_blocks()
        key = self.key("picture", *blocks)
        path = store.stored_file(key, lambda file: self.draw(file, blocks), "png")
        width = self.options.get("width", "")
        style = f' style="width: {escape(width)}"' if width else ""
        alt = escape(self.options.get("alt", f"{self.arguments[0]}, drawn"))
        image = f'<img class="picture" src="{self.address(path)}" alt="{alt}"{style}>'
        return self.figure(image, list(self.content))

    def draw(self, path: Path, blocks: list[str]) -> None:
        """Write the picture."""
        motion = self.options.get("trajectory")
        rest: dict[str, Any] = {"q": self.position(blocks)}
        if motion is not None:
            rest = {"trajectory": self.value(motion, blocks)}
            if "time" in self.options:
                rest["time"] = float(self.options["time"])
        still(path, self.robot(blocks), self.options, **rest)


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
        begin = f'<details class="solution"><summary>{escape(title)}</summary>'
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


def still(path: Path, robot: Any, options: Any, **rest: Any) -> None:
    """Write a shaded picture of a robot, with the settings of a directive."""
    from kinetree.views import render

    size = tuple(int(x) for x in options.get("size", "1120x760").split("x"))
    camera = options.get("camera")
    render(
        robot, path=path, size=size, transparent=True, zoom=float(options.get("zoom", 1)),
        camera=None if camera is None else tuple(float(x) for x in camera.split(",")),
        add=options.get("add", "").split(), hide=options.get("hide", "floor").split(), **rest,
    )  # fmt: skip


def copy_figures(app, error) -> None:
    """Copy scenes and pictures of all pages into the built site."""
    if error is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / FIGURES
    target.mkdir(parents=True, exist_ok=True)
    for data in app.env.metadata.values():
        for name in data.get("figures", "").split():
            shutil.copyfile(store.FOLDER / name, target / name)
