"""The ```python blocks of a page, run in order, so that figures show what the page computes."""

import ast
import contextlib
import io
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


def snippets_before(page: Path, line: int) -> list[str]:
    """Code of the blocks of a page that end above a line (counted from 1)."""
    text = page.read_text(encoding="utf-8")
    end = sum(len(x) + 1 for x in text.split("\n")[: line - 1])
    return [found[2] for found in BLOCK.finditer(text) if found.end() <= end]


class Session:
    """The names of a page after some of its blocks; each block runs once."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "page"}
        self.done: list[str] = []

    def begins(self, blocks: list[str]) -> bool:
        """Whether these blocks begin with those that have run."""
        return self.done == blocks[: len(self.done)]

    def run(self, blocks: list[str]) -> dict[str, Any]:
        """Names after these blocks."""
        for code in blocks[len(self.done) :]:
            run(code, self.names)
            self.done.append(code)
        return dict(self.names)


def run(code: str, names: dict[str, Any]) -> Any:
    """Run statements in a temporary folder; the value is that of a last expression."""
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None:
        tree.body.pop()
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(tree, "<snippet>", "exec"), names)
                if last is None:
                    return None
                return eval(compile(ast.Expression(last.value), "<snippet>", "eval"), names)
        finally:
            os.chdir(here)


SESSIONS: dict[str, list[Session]] = {}


def names_of(page: Path, blocks: list[str]) -> dict[str, Any]:
    """Names of a page after these blocks; continues where an earlier figure stopped."""
    sessions = SESSIONS.setdefault(str(page), [])
    fitting = [session for session in sessions if session.done and session.begins(blocks)]
    if not fitting:
        fitting = [Session()]
        sessions += fitting
    return max(fitting, key=lambda session: len(session.done)).run(blocks)
