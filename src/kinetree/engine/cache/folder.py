"""The folder of the cache: its place, its permissions and its size limit.

Environment: KINETREE_CACHE_DIR chooses the folder, KINETREE_CACHE=0 switches the cache off,
KINETREE_CACHE_SIZE bounds it ("512M", "2G" or a number of bytes).
"""

import os
from pathlib import Path

from kinetree.core import system
from kinetree.core.environment import setting

SHARE = 1 / 16  # of the room that one process fills without looking
DEFAULT_LIMIT = 512 << 20
SUFFIX = ".kto"  # of entries
ASIDE = "aside-"  # prefix of files that are still being written
ABANDONED = 3600  # s after which such a file was left by a process that was killed


def enabled() -> bool:
    """Return True if the cache may be used."""
    return setting("KINETREE_CACHE") is not False


def folder() -> Path:
    """Return the folder of the cache: the user's choice, else the system's place for caches."""
    chosen = setting("KINETREE_CACHE_DIR")
    try:
        return Path(chosen).expanduser() if chosen else system.user_caches() / "kinetree"
    except RuntimeError as homeless:
        raise FileNotFoundError(
            f"no folder for the cache: {homeless} Set KINETREE_CACHE_DIR to a folder."
        ) from homeless


def limit() -> int:
    """Return the largest size of all entries together, in bytes."""
    chosen = setting("KINETREE_CACHE_SIZE")
    return DEFAULT_LIMIT if chosen is None else chosen


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


_room: dict[tuple[Path, int], int] = {}  # bytes to be written before the folder is read again


def shrink(folder: Path, limit: int, written: int) -> None:
    """Remove the entries used longest ago until the rest fits, and files of killed processes.

    Others may write, too: of the room that is left a process fills a SHARE before it looks again,
    and where there is none it makes a SHARE of the whole free.
    """
    room = _room.get((folder, limit), 0) - written
    _room[folder, limit] = room
    if room > 0:
        return
    oldest_first = sorted(files(folder), key=lambda item: item[1].st_mtime)
    # measured against the newest file, not the clock: file systems may have clocks of their own
    newest = max((status.st_mtime for _, status in oldest_first), default=0)
    for path, status in oldest_first:
        if path.name.startswith(ASIDE) and status.st_mtime < newest - ABANDONED:
            remove(path)
    entries = [(path, status) for path, status in oldest_first if path.suffix == SUFFIX]
    size = sum(status.st_size for _, status in entries)
    kept = limit if size <= limit else limit * (1 - SHARE)
    for path, status in entries:
        if size <= kept:
            break
        remove(path)
        size -= status.st_size
    _room[folder, limit] = int(SHARE * (limit - size))


def files(folder: Path) -> list[tuple[Path, os.stat_result]]:
    """Return the files of the cache in `folder`; those that vanish meanwhile are left out."""
    entries_found: list[tuple[Path, os.stat_result]] = []
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    for entry in entries:
        if entry.name.endswith(SUFFIX) or entry.name.startswith(ASIDE):
            try:
                entries_found.append((Path(entry.path), entry.stat()))
            except OSError:
                continue
    return entries_found


def remove(path: Path) -> bool:
    """Remove a file that another process may remove too; False if it could not be removed."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
