"""Locks: one study at a time writes a file.

The operating system locks NAME.lock for a process, and releases it when that process ends in
whatever way. The lock file that a killed study left behind is free, and the next study takes it.
"""

import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from kinetree.errors import InputError, KinetreeWarning

ENDING = ".lock"
LONGEST = 200  # characters read of the note that a study writes into its lock file
BYTE = 1 << 30  # position of the byte that is locked on Windows, beyond the note


class Taken(OSError):
    """Another study has the lock."""


@contextmanager
def locked(path: Path | None) -> Generator[None, None, None]:
    """Keep an output locked while a study writes it.

    Raises:
        InputError: another study, of this process or another, is writing it.
    """
    if path is None:
        yield
        return
    lock = path.with_name(path.name + ENDING)
    try:
        handle = _take(lock)
    except Taken:
        raise InputError(
            f"another study is writing {path} ({_holder(lock)}); expected an output of its own for "
            "every study. Wait until it ends, or give another output."
        ) from None
    except OSError as problem:
        warnings.warn(
            f"{lock.name} cannot be locked ({problem.strerror or problem}): make sure that no "
            f"other study writes {path.name} at the same time.",
            KinetreeWarning,
            stacklevel=5,
        )
        yield
        return
    try:
        yield
    finally:
        _give_back(lock, handle)


def _take(lock: Path) -> int:
    """Open and lock the file; return its handle."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
            if _is_at(handle, lock):
                os.ftruncate(handle, 0)
                os.write(handle, f"process {os.getpid()}\n".encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # another study removed it while we opened it: try the new one


def _is_at(handle: int, lock: Path) -> bool:
    """Return True if the open file is still the one under that name."""
    try:
        found = os.stat(lock)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), found)


def _give_back(lock: Path, handle: int) -> None:
    """Remove the file before others can lock it; on Windows it has to be closed first."""
    if sys.platform == "win32":
        os.close(handle)
        try:
            os.unlink(lock)
        except OSError:  # another study has opened it meanwhile
            return
    else:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _lock(handle: int) -> None:
    """Lock an open file, which others may still read; raise Taken if it is locked already."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise Taken from None
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Taken from None


def _holder(lock: Path) -> str:
    """The note of the study that has the lock, for a message."""
    try:
        with lock.open(encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST).strip() or "which has just begun"
    except OSError:
        return "which has just ended"
