"""Locks: one study at a time writes a file.

The operating system locks NAME.lock for a process, and releases it when that process ends in
whatever way. The lock file that a killed study left behind is free, and the next study takes it.
"""

import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from kinetree.core import system
from kinetree.errors import InputError, KinetreeWarning

ENDING = ".lock"
LONGEST = 200  # characters read of the note that a study writes into its lock file


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
    except system.Taken:
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
        system.unlock(lock, handle)


def _take(lock: Path) -> int:
    """Open and lock the file; return its handle."""
    while True:
        handle = system.open_lock(lock)
        try:
            system.lock(handle)
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
        named = os.stat(lock)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), named)


def _holder(lock: Path) -> str:
    """The note of the study that has the lock, for a message."""
    try:
        with lock.open(encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST).strip() or "which has just begun"
    except OSError:
        return "which has just ended"
