"""Files of one expansion of xacro: parsed once, named in messages, found by relative paths.

Relative paths are relative to the file that is being read, as in ROS; where the text stands in
another file (the body of a macro, a property that is evaluated later) and only that file's folder
has the path, it is taken from there. The current folder never counts.
"""

import glob
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kinetree.description.findings import Findings
from kinetree.description.packages import Packages
from kinetree.description.source import decode, read_bytes
from kinetree.description.xml import Element, clip, parse_xml
from kinetree.errors import ParseError

MOST_FILES = 40  # that include each other in a row


class Files:
    """The files that one expansion has parsed, and the stack of those being read."""

    def __init__(
        self, path: Path, folders: Sequence[str | os.PathLike[str]], findings: Findings
    ) -> None:
        self.main = Path(os.path.abspath(path))
        self.packages = Packages(self.main, folders)
        self.findings = findings
        self.roots: dict[Path, Element] = {}
        self.paths: dict[str, Path] = {}  # by the names of files in messages
        self.reading: list[Path] = []  # each included by the one before

    @property
    def folder(self) -> Path:
        """The folder of the file that is being read."""
        return self.reading[-1].parent

    def load(self, path: Path) -> Element:
        """The root of an XML file, parsed when it is first asked for."""
        if path not in self.roots:
            data = read_bytes(path)
            label = self._label(path)
            self.paths[label] = path
            self.roots[path] = parse_xml(decode(data, label), label)
        return self.roots[path]

    def _label(self, path: Path) -> str:
        """The shortest end of the path that names no other file."""
        parts = path.parts
        for count in range(1, len(parts)):
            label = "/".join(parts[-count:])
            if label not in self.paths:
                return label
        return str(path)

    @contextmanager
    def inside(self, path: Path, element: Element) -> Generator[None]:
        """Read `path`, which `element` includes, for the duration of a with statement."""
        if len(self.reading) >= MOST_FILES:
            chain = ", ".join(file.name for file in self.reading[-3:])
            text = f"{len(self.reading)} files include each other in a row ({chain})"
            raise ParseError(f"{element.place}: {text}; does a file include itself?")
        self.reading.append(path)
        try:
            yield
        finally:
            self.reading.pop()

    def matches(self, name: str, element: Element) -> list[Path]:
        """The files that a name means; several if it is a pattern with *, ? or [."""
        if not re.search(r"[*?[]", name):
            return [self.located(name, element)]
        pattern = self.packages.locate(name, self.folder, element.where)
        found = sorted(map(Path, glob.glob(str(pattern))))
        if not found:
            self.findings.warn(element, f"no file matches {clip(name, 200)!r}.")
        return found

    def located(self, name: str, element: Element) -> Path:
        """The file of a name in the text of `element`, relative to the file being read."""
        here = self.folder
        own = self.paths.get(element.file, self.reading[-1]).parent
        path = self.packages.locate(name, here, element.where)
        other = self.packages.locate(name, own, element.where)
        if path == other or not other.is_file():
            return path
        if path.is_file():
            text = f"{clip(name, 200)!r} is {path}, from the file that is being read; not {other}."
            self.findings.warn(element, text)
            return path
        return other
