"""The folder of the cache: its place, its permissions and its size limit.

Environment: KINETREE_CACHE_DIR chooses the folder, KINETREE_CACHE=0 switches the cache off,
KINETREE_CACHE_SIZE bounds it ("512M", "2G" or a number of bytes).
"""

import logging
import os
import stat
import sys
from pathlib import Path

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
        return Path(chosen).expanduser() if chosen else _caches() / "kinetree"
    except RuntimeError as homeless:
        raise FileNotFoundError(
            f"no folder for the cache: {homeless} Set KINETREE_CACHE_DIR to a folder."
        ) from homeless


def _caches() -> Path:
    """Return the user's folder for caches on this system."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    chosen = os.environ.get("XDG_CACHE_HOME")
    return Path(chosen) if chosen else Path.home() / ".cache"


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
    _refuse_if_shared(path, path.stat())


def read_own(path: Path) -> bytes:
    """Return the content of a file; PermissionError if another user could have written it."""
    _refuse_if_shared(path.parent, path.parent.stat())
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(number, "rb") as file:
        _refuse_if_shared(path, os.fstat(number))
        return file.read()


def _refuse_if_shared(path: Path, status: os.stat_result) -> None:
    """Raise PermissionError if another user may write here: loaded code has the user's rights."""
    if os.name != "posix":
        return  # the profile folder of Windows is guarded by its access lists
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to user {status.st_uid}, expected {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        raise PermissionError(
            f"{path} may be written by other users (mode {mode:o}); expected only its owner, "
            "e.g. after chmod go-w"
        )
