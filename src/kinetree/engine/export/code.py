"""ExportedCode: the files of an exported function, and their names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kinetree.errors import InputError

LONGEST = 63  # characters of a name in MATLAB
BY_US = ("exported by kinetree ", "Self-test of ")  # in the first lines of our files


@dataclass(frozen=True)
class ExportedCode:
    """An exported function: the texts of its files.

    name: of the function, and the stem of the files. texts: by ending, the source first; C has
    ".c", ".h" and "_test.c". `str` of it is the source.
    """

    name: str
    texts: Mapping[str, str]

    @property
    def source(self) -> str:
        """The text of the first file."""
        return next(iter(self.texts.values()))

    @property
    def header(self) -> str:
        """The text of the header of C."""
        return self.texts[".h"]

    @property
    def self_test(self) -> str:
        """The text of the self-test of C."""
        return self.texts["_test.c"]

    def files(self, stem: str | None = None) -> dict[str, str]:
        """Names of the files and their texts; includes refer to these names."""
        stem = self.name if stem is None else stem
        if not stem or set(stem) & set('"\\/\n\r') or not stem.isprintable():
            raise InputError(
                f"the files would be named {stem!r}; expected a name without quotes and slashes, "
                f"such as {self.name!r}."
            )
        old, new = (f'#include "{name}.h"' for name in (self.name, stem))
        return {f"{stem}{ending}": text.replace(old, new, 1) for ending, text in self.texts.items()}

    def save(self, path: str | Path) -> list[Path]:
        """Write the files and return their names.

        Args:
            path: name of the source file, such as "panda_id.c"; the others are panda_id.h and
                panda_id_test.c. A source file of this name is replaced; a file of the other names
                only if kinetree wrote it.
        """
        path = Path(path)
        ending = next(iter(self.texts))
        if path.suffix != ending:
            raise InputError(f"the path is {str(path)!r}; expected a name that ends in {ending}.")
        files = {path.with_name(name): text for name, text in self.files(path.stem).items()}
        for beside in list(files)[1:]:
            if beside.exists() and not _by_us(beside):
                raise InputError(
                    f"{beside} exists and was not written by kinetree; it would be replaced beside "
                    f"{path.name}. Choose another name than {path.name}, or move that file."
                )
        for written, text in files.items():
            written.write_text(text, encoding="utf-8", newline="\n")
        return list(files)

    def __str__(self) -> str:
        return self.source


def _by_us(path: Path) -> bool:
    """Return True if the file begins as a header or self-test of kinetree, or is empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    head = "\n".join(text.split("\n", 2)[:2])
    return not text or any(words in head for words in BY_US)


# Names of functions: identifiers of every language


def identifier(text: str) -> str:
    """Make an identifier: ASCII, a letter first, at most 63 characters.

    Other characters become one underscore; "7 axis" becomes "robot_7_axis".
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    if not name or not name[0].isalpha():
        name = f"robot_{name}".rstrip("_")
    return name[:LONGEST].rstrip("_")


def chosen_name(name: str) -> str:
    """Return the name that the caller chose, or raise an error that proposes another one.

    It is not changed: two different names must give two functions.
    """
    if not isinstance(name, str):
        raise InputError(f"name is {name!r}; expected the name of a function, such as 'my_arm'.")
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or len(name) > LONGEST:
        raise InputError(
            f"name is {name[:80]!r}; expected ASCII letters, digits and underscores, a letter "
            f"first, at most {LONGEST} of them, such as {identifier(name)!r}."
        )
    return name


def function_name(robot: str, *words: str) -> str:
    """robot_quantity_frame; the robot's name is cut if the whole would be too long."""
    tail = "_".join(map(identifier, words))[:LONGEST].rstrip("_")
    head = identifier(robot)[: max(LONGEST - len(tail) - 1, 0)].rstrip("_")
    return f"{head}_{tail}" if head else tail
