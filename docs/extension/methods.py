"""The page of all methods: a row for every public callable, which leads to its docstring."""

import inspect
import re
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

SIZE = r"(?:[1-9]n?|[TNnmlpdkrb]|nq|links|\*\w+)"  # sizes that docstrings write in shapes
SHAPE = rf"\((?:\.\.\.(?:, (?:{SIZE}|a))*|T, \.\.\.(?:, {SIZE})*|{SIZE},(?: {SIZE},?)*)\)"
LETTER = (
    r"((?:d|dd)?[A-Za-z](?:_\w+)?(?:/dt)?|ddq|tau|pi|Gamma|Phi|Lambda)"
    r"(?:\([^)]*\))?(?=,|:| = | of | about )"
)
MAX_ARGUMENTS = 5  # of a row, which has one line


class Methods(SphinxDirective):
    """{methods}: tables of calls and results, by class or module, and a box that filters them."""

    def run(self) -> list[nodes.Node]:
        """A section for each class or module; `link` adds the addresses when all pages are read."""
        box = (
            '<p class="filter"><input type="search" id="filter" aria-label="filter the methods" '
            'placeholder="filter by name, result or help" hidden></p>'
        )
        return [nodes.raw("", box, format="html"), *(section(*group) for group in groups().items())]


def table():
    """The module tools/method_table.py, which collects what is public."""
    folder = str(Path(__file__).parents[2] / "tools")
    if folder not in sys.path:
        sys.path.append(folder)
    import method_table

    return method_table


def groups() -> dict[str, list[str]]:
    """Names of public callables by class or module; the front door and Robot come first."""
    found: dict[str, list[str]] = {}
    for path in table().public():
        parts = path.split(".")
        found.setdefault(".".join(parts[:2]) if len(parts) > 2 else parts[0], []).append(path)

    def place(name: str) -> tuple[bool, bool, str]:
        return name not in ("kt", "kt.Robot"), not name.startswith("kt"), name.lower()

    return {name: found[name] for name in sorted(found, key=place)}


def section(group: str, paths: list[str]) -> nodes.Node:
    """Heading and table of a class or module."""
    found = nodes.section(ids=[nodes.make_id(f"methods-{group}")], names=[group])
    found += nodes.title("", group)
    found += Rows("", group=group, paths=paths)
    return found


class Rows(nodes.General, nodes.Element):
    """A table whose links are not yet known."""


def link(app, doctree, docname: str) -> None:
    """Replace the tables by HTML with links to the docstrings."""
    objects = app.env.get_domain("py").objects

    def address(path: str) -> str | None:
        """Address of the docstring of a callable, or of its class or module."""
        tail = path.removeprefix("kt.")
        module = table().RESULTS.get(path.split(".")[0], "kinetree")
        for name in (f"{module}.{tail}", f"kinetree.files.{tail}"):
            if entry := objects.get(name):
                page = app.builder.get_relative_uri(docname, entry.docname)
                return f"{page}#{entry.node_id}"
        owner = path.rpartition(".")[0]
        return address(owner) if owner not in ("", "kt") else None

    for rows in list(doctree.findall(Rows)):
        public = table().public()
        lines = [row(x, rows["group"], public[x], address(x)) for x in rows["paths"]]
        head = "<thead><tr><th>call</th><th>returns</th></tr></thead>"
        text = f'<table class="methods">{head}<tbody>{"".join(lines)}</tbody></table>'
        rows.replace_self(nodes.raw("", text, format="html"))


def row(path: str, group: str, thing: Callable[..., Any], address: str | None) -> str:
    """The call and the result; the first line of the help shows at the cursor and is searched."""
    name = path.removeprefix(f"{group}.")
    words = escape(table().first_line(thing), quote=True)
    code = f"<b>{escape(name)}</b>{escape(arguments(thing))}".replace("_", "_<wbr>")
    call = f'<a href="{address}">{code}</a>' if address else code
    return (
        f'<tr title="{words}" data-path="{path}"><td><code>{call}</code></td>'
        f"<td>{escape(result(path, thing))}</td></tr>"
    )


def arguments(thing: Callable[..., Any]) -> str:
    """Arguments without which a call is refused; dots stand for the others."""
    found = table().parameters(thing).values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [x.name for x in found if x.default is x.empty and x.kind not in variable]
    shown = needed[:MAX_ARGUMENTS]
    return f"({', '.join(shown + ['…'] * (len(shown) < len(found)))})"


def result(path: str, thing: Callable[..., Any]) -> str:
    """Letter and shape of every result, or the type."""
    if inspect.isclass(thing):
        return "class"
    doc, first = inspect.getdoc(thing) or "", table().first_line(thing)
    section = re.search(r"^Returns:\n((?:    .*\n?)+)", doc, re.MULTILINE)
    entries = re.split(r"\n(?=    \w+: )", "\n" + section[1]) if section else []
    named = [
        f"{x[1]} {shape[0]}"
        for entry in entries
        if (x := re.match(r"\s*(\w+): ", entry)) and (shape := re.search(SHAPE, entry))
    ]
    if named:
        return ", ".join(named)
    kind = inspect.signature(thing).return_annotation
    if kind in (None, "None", inspect.Signature.empty):
        return ""
    kind = kind.__name__ if inspect.isclass(kind) else re.sub(r"(?:\w+\.)+(?=\w)", "", str(kind))
    if kind == "Array":
        letter, shape = re.match(LETTER, first), re.search(SHAPE, first)
        return f"{letter[1] if letter else ''} {shape[0] if shape else 'array'}".strip()
    owner, same = path.split(".")[-2], "of the same type"
    return {"Any": "", "Self": owner, "~AnyRecord": same, "~Thing": same}.get(kind, kind)
