"""Files of one expansion of xacro: parsed once, named in messages, found by relative paths.

Relative paths are relative to the file that is being read, as in ROS; where the text stands in
another file (the body of a macro, a property that is evaluated later) and only that file's folder
has the path, it is taken from there. The current folder never counts.

A file is opened only in the folders of `Packages.readable`; other names are errors whether or not
there is such a file, so that a description cannot probe the disk.
"""

import glob
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.packages import Packages
from kinetree.files.description.source import check_inside, decode, lies_in, read_bytes
from kinetree.files.description.xml import Element, clip, parse_xml

MOST_FILES = 40  # that include each other in a row
PATTERN = re.compile(r"[*?[]")


class Files:
    """The files that one expansion has parsed, and the stack of those being read."""

    def __init__(
        self,
        path: Path,
        folders: Sequence[str | os.PathLike[str]],
        findings: Findings,
        text: str | None = None,
    ) -> None:
        """Make the files of `path`, or of a text, which `path` is only the name of."""
        self.main = Path(os.path.abspath(path))
        self.packages = Packages(self.main if text is None else None, folders)
        self.folders = [Path(os.path.abspath(folder)) for folder in folders]
        self.text = text
        self.findings = findings
        self.roots: dict[Path, Element] = {}
        self.paths: dict[str, Path] = {}  # by the names of files in messages
        self.reading: list[Path] = []  # each included by the one before

    @property
    def folder(self) -> Path:
        """The folder of the file that is being read; raise ParseError if it is a text."""
        if self.is_text(self.reading[-1]):
            raise ParseError(
                f"{self.main.name}: a text has no folder of its own, which $(dirname) and patterns "
                "of file names need. Load the file instead, by its path."
            )
        return self.reading[-1].parent

    def is_text(self, path: Path) -> bool:
        """Return True if `path` is the name of a text that lies in no folder."""
        return self.text is not None and path == self.main

    def load(self, path: Path) -> Element:
        """The root of an XML file, parsed when it is first asked for."""
        if path not in self.roots:
            label = self._label(path)
            text = self.text if self.is_text(path) else None
            text = decode(read_bytes(path), label) if text is None else text
            self.paths[label] = path
            self.roots[path] = parse_xml(text, label)
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
        if not PATTERN.search(name):
            return [self.located(name, element)]
        pattern = self.packages.locate(name, self.folder, element.where)
        fixed = list(takewhile(lambda part: not PATTERN.search(part), pattern.parts))
        self.check(Path(*fixed), name, element)
        found = sorted(map(Path, glob.glob(str(pattern))))
        if not found:
            self.findings.warn(element, f"no file matches {clip(name, 200)!r}.")
        return [self.check(path, name, element) for path in found]

    def located(self, name: str, element: Element) -> Path:
        """The file of a name in the text of `element`, relative to the file being read.

        Raises:
            ParseError: the file lies outside of the folders that may be read, or would do so.
        """
        source = self.paths.get(element.file, self.reading[-1])
        if self.is_text(self.reading[-1]) or self.is_text(source):
            return self._located_from_text(name, element)
        path = self.packages.locate(name, self.folder, element.where)
        other = self.packages.locate(name, source.parent, element.where)
        if path == other:
            return self.check(path, name, element)
        candidates = [x for x in (path, other) if self.may_read(x)]
        present = [x for x in candidates if x.is_file()]
        if len(present) == 2:
            text = f"{clip(name, 200)!r} is {path}, from the file that is being read; not {other}."
            self.findings.warn(element, text)
        return self.check((*present, *candidates, path)[0], name, element)

    def _located_from_text(self, name: str, element: Element) -> Path:
        """The file of a name in a text: in its package, absolute, or in one of the folders given.

        For a macro of the text that another file calls, the folder of that file counts first.
        """
        places = list(self.folders)
        if not self.is_text(self.reading[-1]):
            places.insert(0, self.reading[-1].parent)
        if "://" in name or Path(name).is_absolute():
            path = self.packages.locate(name, Path(os.sep), element.where)
            return self.check(path, name, element)
        paths = [self.check(Path(os.path.normpath(x / name)), name, element) for x in places]
        found = [path for path in paths if path.is_file()]
        if found:
            return found[0]
        searched = ", ".join(map(str, places)) or "no folder was given"
        raise ParseError(
            f"{element.place}: {clip(name, 200)!r} is a relative path, and a text lies in no "
            f"folder (searched: {searched}). Give the folder that the path starts from in folders=,"
            " or load the xacro file by its path."
        )

    def may_read(self, path: Path) -> bool:
        """Return True if a file lies in a folder that the description may read, links followed."""
        try:
            return lies_in(path, self.packages.readable)
        except (OSError, RuntimeError, ValueError):  # a loop of links, a name that is not a path
            return False

    def check(self, path: Path, name: str, element: Element) -> Path:
        """`path`; raise ParseError if it leads out of the folders that may be read."""
        if self.may_read(path):
            return path
        check_inside(path)
        places = ", ".join(map(str, dict.fromkeys(self.packages.readable)))
        raise ParseError(
            f"{element.place}: {clip(name, 200)!r} is {clip(str(path), 200)!r}, outside the folders"
            f" that may be read ({places or 'a text has no folder of its own'}). If the "
            f"description is to be trusted, give the folder {clip(str(path.parent), 200)!r} in "
            "folders= of kt.load (--folder on the command line)."
        )
