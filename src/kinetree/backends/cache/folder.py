"""The folder of the cache: its place, its permissions and its size limit.

Environment: KINETREE_CACHE_DIR chooses the folder, KINETREE_CACHE=0 switches the cache off,
KINETREE_CACHE_SIZE bounds it ("512M", "2G" or a number of bytes).
"""

import logging
import os
from pathlib import Path

from kinetree.base import system

log = logging.getLogger(__name__)

DEFAULT_LIMIT = 512 << 20
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
OFF = {"0", "no", "off", "false"}


def enabled() -> bool:
    """Return True if the cache may be used."""
    return os.environ.get("KINETREE_CACHE", "1").strip().lower() not in OFF


def folder() -> Path:
    """Return the folder of the cache: the user's choice, else the system's place for caches."""
    chosen = os.environ.get("KINETREE_CACHE_DIR")
    try:
        return Path(chosen).expanduser() if chosen else system.user_caches() / "kinetree"
    except RuntimeError as homeless:
        raise FileNotFoundError(
            f"no folder for the cache: {homeless} Set KINETREE_CACHE_DIR to a folder."
        ) from homeless


def limit() -> int:
    """Return the largest size of all entries together, in bytes."""
    text = os.environ.get("KINETREE_CACHE_SIZE", "").strip().upper().removesuffix("B")
    if not text:
        return DEFAULT_LIMIT
    unit = UNITS.get(text[-1], 1)
    number = text[:-1] if text[-1] in UNITS else text
    try:
        return int(float(number) * unit)
    except (ValueError, OverflowError):
        log.warning("KINETREE_CACHE_SIZE is %r; expected a size such as 512M or 2G", text)
        return DEFAULT_LIMIT


def make(path: Path) -> None:
    """Make the folder, accessible to its owner alone; an existing one must be safe already."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    system.refuse_if_shared(path, path.stat())


def read_own(path: Path) -> bytes:
    """Return the content of a file; PermissionError if another user could have written it.

    Loaded code has the user's rights.
    """
    system.refuse_if_shared(path.parent, path.parent.stat())
    number = system.open_own(path)
    with os.fdopen(number, "rb") as file:
        system.refuse_if_shared(path, os.fstat(number))
        return file.read()
