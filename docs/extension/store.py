"""Figures stored by content: docs/_made/figures/KEY, where KEY is a hash of all that made them."""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
FOLDER = DOCS / "_made" / "figures"
SOURCES = (DOCS.parent / "src" / "kinetree", DOCS / "extension", DOCS / "pictures")


@cache
def sources() -> str:
    """Hash of the code that figures are computed and drawn with."""
    found = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".js", ".css", ".svg"):
                found.update(path.read_bytes())
    return found.hexdigest()


def key_of(*parts: str) -> str:
    """Name of a figure that is made from these texts by the present code."""
    return hashlib.sha256("\0".join([sources(), *parts]).encode()).hexdigest()[:20]


def stored(key: str, make: Callable[[], str], suffix: str = "svg") -> str:
    """The figure of a key, made if it is not in the folder."""
    path = FOLDER / f"{key}.{suffix}"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        text = make()
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)  # several builds may draw the same figure
    return path.read_text(encoding="utf-8")


def stored_file(key: str, make: Callable[[Path], None], suffix: str) -> Path:
    """The file of a key, written by `make` if it is not in the folder."""
    path = FOLDER / f"{key}.{suffix}"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        part = FOLDER / f"{key}.{os.getpid()}.{suffix}"
        make(part)
        part.replace(path)
    return path
