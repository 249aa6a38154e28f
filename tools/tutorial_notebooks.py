"""Make notebooks/tutorial from docs/tutorial: one notebook for each chapter.

    python tools/tutorial_notebooks.py            # write the notebooks
    python tools/tutorial_notebooks.py --check    # exit with 1 if one differs from its chapter

Python snippets become cells, and printed results are left out: the reader runs the cells. Drawings
become pictures inside the notebook, plots become cells with matplotlib, scenes become cells that
show the robot or the motion. Solutions are folded: their text opens with a click, and the source
of their cells is hidden.
"""

import ast
import base64
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS, CHAPTERS = ROOT / "docs", ROOT / "docs" / "tutorial"
NOTEBOOKS = ROOT / "notebooks" / "tutorial"
FENCE = re.compile(r"^(`{3,})(.*)$")
LINK = re.compile(r"\]\((?!https?:)([^)#]+\.md)(#[^)]*)?\)")
PICTURE = re.compile(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]*")
NOTE = (
    "The text of this notebook is that of the chapter [{name}](../../docs/tutorial/{name}.md). "
    "It needs `pip install 'kinetree[symbolic,plot]'`. Solutions are folded: click to open them."
)


@dataclass(frozen=True)
class Block:
    """Prose (kind "") or a fenced block: its kind such as "python", its head and its lines."""

    kind: str
    head: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines).strip("\n")


def blocks_of(lines: list[str]) -> Iterator[Block]:
    """Prose and fenced blocks of Markdown, in order; a longer fence may contain shorter ones."""
    prose = Block("", "")
    rest = iter(lines)
    for line in rest:
        found = FENCE.match(line)
        if found is None:
            prose.lines.append(line)
            continue
        if prose.text:
            yield prose
        prose = Block("", "")
        kind, _, head = found[2].partition(" ")
        inside = Block(kind.strip("{}"), head)
        for line_inside in rest:
            if line_inside.rstrip() == found[1]:
                break
            inside.lines.append(line_inside)
        yield inside
    if prose.text:
        yield prose


def options_of(block: Block) -> tuple[dict[str, str], list[str]]:
    """Options (:name: value) at the top of a directive, and the lines below them."""
    found = {}
    for k, line in enumerate(block.lines):
        option = re.match(r":(\w+):\s*(.*)", line)
        if option is None:
            return found, block.lines[k:]
        found[option[1]] = option[2]
    return found, []


def relinked(text: str) -> str:
    """Prose with links that lead from the folder of the notebooks."""

    def lead(link: re.Match[str]) -> str:
        target = (CHAPTERS / link[1]).resolve()
        if target.parent == CHAPTERS:
            return f"]({target.stem}.ipynb)"
        return f"](../../{target.relative_to(ROOT).as_posix()}{link[2] or ''})"

    return LINK.sub(lead, text)


def picture_of(name: str) -> str:
    """Address of a drawing as data, with the light colours of the documentation."""
    css = (DOCS / "_static" / "figures.css").read_text(encoding="utf-8")
    colours = re.search(r"body \{(.*?)\}", css, re.DOTALL)
    assert colours is not None
    rules = "\n".join(line for line in css.splitlines() if line.startswith("svg.sketch"))
    style = f"<style>svg {{{colours[1]} background: #fff; }}\n{rules}</style>"
    svg = (DOCS / "drawings" / f"{name.strip()}.svg").read_text(encoding="utf-8").strip()
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    svg = svg.replace(">", f">{style}", 1)
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def plot_code(block: Block) -> tuple[str, str]:
    """Code of a plot with matplotlib, and its caption."""
    options, lines = options_of(block)
    cut = lines.index("---") if "---" in lines else len(lines)
    code = lines[:cut]
    last = ast.parse("\n".join(code)).body[-1].lineno - 1  # the expression that is plotted
    code[last] = f"x_values, curves = {code[last]}"
    labels = {"title": options.get("title", ""), "xlabel": options.get("x", "t, s")}
    labels["ylabel"] = options.get("y", "")
    if "logy" in options:
        labels["yscale"] = "log"
    setting = ", ".join(f'{key}="{value}"' for key, value in labels.items())
    cell = [
        "import matplotlib.pyplot as plt\n",
        *code,
        "figure, panel = plt.subplots(figsize=(7, 3.5))",
        "for name, y_values in curves.items():",
        "    panel.plot(x_values, y_values, label=name)",
        f"panel.set({setting})",
        "panel.grid(alpha=0.3)",
        "panel.legend();",
    ]
    return "\n".join(cell), "\n".join(lines[cut + 1 :]).strip()


def scene_code(block: Block) -> tuple[str, str]:
    """An expression that a notebook shows as a movable scene, and its caption."""
    import kinetree as kt

    options, lines = options_of(block)
    robot = block.head.strip()
    if robot in kt.robots.__all__:
        robot = f"import kinetree as kt\n\nkt.robots.{robot}()"
    return options.get("trajectory", robot), "\n".join(lines).strip()


class Notebook:
    """Cells of one chapter, collected block by block."""

    def __init__(self, chapter: Path, pictures: bool) -> None:
        self.name, self.pictures = chapter.stem, pictures
        self.cells: list[dict[str, object]] = []
        for block in blocks_of(chapter.read_text(encoding="utf-8").split("\n")):
            self.add(block)
            if len(self.cells) == 1:
                self.cell("markdown", NOTE.format(name=self.name), {})

    def words(self, text: str) -> None:
        """A cell of prose."""
        self.cell("markdown", relinked(text), {})

    def code(self, text: str, *, folded: bool = False) -> None:
        """A cell of code; folded: its source is hidden until the reader opens it."""
        hidden = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
        self.cell("code", text, hidden if folded else {})

    def cell(self, kind: str, text: str, metadata: Mapping[str, object]) -> None:
        """A cell with a stable name."""
        number = f"{self.name.partition('_')[0]}-{len(self.cells):02}"
        more = {"execution_count": None, "outputs": []} if kind == "code" else {}
        source = text.splitlines(keepends=True)
        self.cells.append(
            {"cell_type": kind, "id": number, "metadata": metadata, **more, "source": source}
        )

    def add(self, block: Block) -> None:
        """The cells of a block."""
        if not block.kind:
            self.words(block.text)
        elif block.kind == "python":
            self.code(block.text)
        elif block.kind == "drawing":
            data = picture_of(block.head) if self.pictures else "data:image/svg+xml;base64,"
            words = re.sub(r"[\[\]]", "", block.head.split()[0].replace("_", " "))
            self.words(f"![{words}]({data})\n\n*{block.text}*")
        elif block.kind in ("plot", "scene"):
            code, caption = plot_code(block) if block.kind == "plot" else scene_code(block)
            self.code(code)
            self.words(f"*{caption}*")
        elif block.kind == "solution":
            self.solution(block)
        elif block.kind != "text":
            raise ValueError(f"{self.name}: a block of kind {block.kind!r} has no cell")

    def solution(self, block: Block) -> None:
        """Folded cells of a solution."""
        inside = [part for part in blocks_of(block.lines) if part.kind != "text"]
        if inside[0].kind:
            self.words("**Solution**: open the folded cell below.")
        for part in inside:
            if part.kind == "python":
                self.code(part.text, folded=True)
            else:
                title = "Solution" if part is inside[0] else "Answer"
                self.words(f"<details><summary>{title}</summary>\n\n{part.text}\n\n</details>")

    def text(self) -> str:
        """The notebook as a file."""
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        whole = {
            "cells": self.cells,
            "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def outdated() -> list[str]:
    """Names of notebooks that differ from their chapters, not counting the lines of drawings."""
    wanted = {path.stem: Notebook(path, pictures=False).text() for path in CHAPTERS.glob("*.md")}
    stored = {path.stem: path.read_text(encoding="utf-8") for path in NOTEBOOKS.glob("*.ipynb")}
    bare = {name: PICTURE.sub("data:image/svg+xml;base64,", text) for name, text in stored.items()}
    return sorted(name for name in wanted | bare if wanted.get(name) != bare.get(name))


def main() -> int:
    """Write the notebooks, or check them."""
    if "--check" in sys.argv:
        names = outdated()
        for name in names:
            print(
                f"notebooks/tutorial/{name}.ipynb differs; run python tools/tutorial_notebooks.py"
            )
        return 1 if names else 0
    NOTEBOOKS.mkdir(parents=True, exist_ok=True)
    for chapter in sorted(CHAPTERS.glob("*.md")):
        target = NOTEBOOKS / f"{chapter.stem}.ipynb"
        target.write_text(Notebook(chapter, pictures=True).text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
