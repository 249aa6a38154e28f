"""Differences between Linux, macOS and Windows: folders, permissions, signals, consoles.

This is the only module that asks which system it runs on. Every function asks when it is called,
not when it is imported, and imports what only one system has inside the branch of that system.
So every module of kinetree loads on every system, and tests can run each branch on any of them.
"""

import errno
import os
import re
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import socket

Handler = Callable[[int, FrameType | None], None]

INTERRUPT = bytes([signal.SIGINT])  # the byte of Ctrl-C
WAITS = (0.001, 0.01, 0.05, 0.1, 0.2, 0.4)  # s between attempts to replace a file on Windows


def on_windows() -> bool:
    """Return True on Windows."""
    return sys.platform == "win32"


# Folders and files


def user_caches() -> Path:
    """Return the user's folder for caches; RuntimeError if the user has no home folder.

    Linux and other systems: XDG_CACHE_HOME or ~/.cache; macOS: ~/Library/Caches; Windows:
    LOCALAPPDATA.
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    chosen = os.environ.get("XDG_CACHE_HOME")
    return Path(chosen) if chosen else Path.home() / ".cache"


def path_in_uri(text: str) -> str:
    """Return the path in file://PATH, given what follows file://: Windows writes file:///C:/name."""
    if sys.platform == "win32" and re.match(r"/[A-Za-z]:", text):
        return text[1:]
    return text


def open_own(path: Path) -> int:
    """Open a file of bytes for reading and return its number; links are not followed on POSIX."""
    return os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))


def refuse_if_shared(path: Path, status: os.stat_result) -> None:
    """Raise PermissionError if another user may write to a file or folder with this status.

    Windows has no such bits; the folder of a user's profile is guarded by its access lists.
    """
    if sys.platform == "win32":
        return
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to user {status.st_uid}, expected {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        raise PermissionError(
            f"{path} may be written by other users (mode {mode:o}); expected only its owner, "
            "e.g. after chmod go-w"
        )


def replace(source: Path | str, target: Path | str) -> None:
    """Rename a file, in one step, to a name that may exist already.

    Windows refuses that while a program has the target open without sharing it, as virus scanners
    and other readers do for moments. So the attempt is repeated there, for less than a second.
    """
    for wait in WAITS if sys.platform == "win32" else ():
        try:
            return os.replace(source, target)
        except PermissionError:
            time.sleep(wait)
    try:
        os.replace(source, target)
    except PermissionError as problem:
        if sys.platform != "win32":
            raise
        raise PermissionError(
            problem.errno,
            "a program uses this file, or arrays that were read from it are still in use; expected "
            "a file that can be replaced. Close it there, or choose another name",
            str(target),
        ) from problem


# Processes


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    count = getattr(os, "process_cpu_count", os.cpu_count)  # Python 3.13 and later have the first
    return count() or 1


def on_fork(
    *,
    before: Callable[[], None] | None = None,
    after_in_parent: Callable[[], None] | None = None,
    after_in_child: Callable[[], None] | None = None,
) -> None:
    """Call functions at every fork of this process, on systems that fork."""
    register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
    if register is not None:
        hooks = {
            "before": before,
            "after_in_parent": after_in_parent,
            "after_in_child": after_in_child,
        }
        register(**{when: call for when, call in hooks.items() if call is not None})


def own_session() -> dict[str, Any]:
    """Return arguments of subprocess.Popen that keep Ctrl-C of this program from the new one."""
    if sys.platform == "win32":
        import subprocess

        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


# Signals


def on_interrupt(handler: Handler) -> Callable[[], bytes]:
    """Call `handler` at Ctrl-C; return a function that waits for INTERRUPT, which is sent at once.

    Python calls the handler between two of its own instructions; the byte is sent by the system's
    handler, even inside compiled code. Call this in the main thread. Every other signal that
    Python handles sends a byte too. Bytes go through a pipe, on Windows through a socket.
    """
    if sys.platform == "win32":
        import socket

        receiver, sender = socket.socketpair()
        sender.setblocking(False)
        wake, wait = sender.detach(), partial(receiver.recv, 1)
    else:
        source, wake = os.pipe()
        os.set_blocking(wake, False)
        wait = partial(os.read, source, 1)
    signal.signal(signal.SIGINT, handler)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return wait


def on_termination(handler: Handler) -> None:
    """Call `handler` when the system asks the program to end: SIGTERM; Ctrl-Break on Windows.

    Also when its terminal is closed, SIGHUP, unless that is ignored as under nohup.
    """
    signal.signal(signal.SIGTERM, handler)
    if sys.platform == "win32":
        signal.signal(signal.SIGBREAK, handler)
    elif signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)


def reader_is_gone(problem: OSError) -> bool:
    """Return True if writing failed because the reader of a pipe has closed it.

    Windows reports that as an invalid argument when the pipe is this program's output.
    """
    if sys.platform == "win32" and problem.errno == errno.EINVAL:
        return problem.filename is None  # a file that cannot be opened has a name
    return isinstance(problem, BrokenPipeError)


# Consoles and sockets


def ready_output() -> None:
    """Make stdout print every text: a terminal that cannot show Greek gets a question mark.

    In a pipe or a file, Windows would write the letters of its own code page and two characters at
    the end of a line. There stdout writes what kinetree writes into files and reads from them:
    UTF-8 with one character at the end of a line. PYTHONIOENCODING has precedence.
    """
    reconfigure: Callable[..., None] | None = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is None:
        return
    if sys.platform != "win32" or sys.stdout.isatty():
        reconfigure(errors="replace")
    elif os.environ.get("PYTHONIOENCODING"):
        reconfigure(errors="replace", newline="\n")
    else:
        reconfigure(encoding="utf-8", errors="replace", newline="\n")


def claim_port(listening: "socket.socket") -> None:
    """Let a socket take a port that was in use a moment ago, but none that is in use.

    SO_REUSEADDR does that on POSIX. On Windows it would let two programs share a port, so that the
    second could take over the connections of the first.
    """
    import socket

    if sys.platform == "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


# Threads

Value = TypeVar("Value")
_lock = threading.RLock()  # one for all values: they are made from one another


def once(make: Callable[[], Value]) -> Callable[[], Value]:
    """Return a function that calls `make` at its first call alone, and gives that value to all.

    `functools.cache` lets threads that ask at the same time each make a value, and keeps the last.
    That is harmless for plain values, and not for memory whose address machine code has: the first
    value is freed while its address is in use. An error is not kept: the next call tries again.
    """
    made: list[Value] = []

    @wraps(make)
    def value() -> Value:
        if not made:
            with _lock:
                if not made:
                    made.append(make())
        return made[0]

    return value


def _renew_lock() -> None:
    """Give a forked child a lock of its own: a thread that it does not have may hold the old."""
    global _lock
    _lock = threading.RLock()


on_fork(after_in_child=_renew_lock)
