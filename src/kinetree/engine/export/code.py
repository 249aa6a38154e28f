"""ExportedCode: the files of an exported function, and their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kinetree.errors import InputError

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
