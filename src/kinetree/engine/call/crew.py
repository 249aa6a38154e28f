"""Threads that wait in machine code for work, so that a batch begins on all cores at once.

Threads of Python take the interpreter's lock one after the other before they begin, and again when
they end: sixteen of them take longer than a batch of 100,000 states. The threads here entered
machine code for good. One that has a batch opens it, wakes them and takes part; whoever finds it
open joins. When nothing is left, it closes the batch and waits for those that have joined, not for
those that come late.

The locks are Python's own (`PyThread_acquire_lock`), which every platform has and which need no
interpreter. `state` counts the threads that have joined, plus CLOSED where none may join.
"""

import ctypes
import logging
import threading

from kinetree.core.system import on_fork
from kinetree.engine.call.blocks import Function
from kinetree.engine.call.c_api import python_function

log = logging.getLogger(__name__)

CLOSED = 2**32
ENTER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # without Python's lock
LEAD = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
FUNCTIONS = ("crew_wait", "crew_lead")


class Control(ctypes.Structure):
    """What all threads read. job: what `@share` takes; done: the lock of the one that waits."""

    _fields_ = (
        ("state", ctypes.c_int64),
        ("job", ctypes.c_void_p),
        ("done", ctypes.c_void_p),
        ("acquire", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("seats", ctypes.c_void_p),
    )


class Seat(ctypes.Structure):
    """A thread that waits. wake: its lock; called: that it was woken and has not seen it yet."""

    _fields_ = (
        ("called", ctypes.c_int64),
        ("wake", ctypes.c_void_p),
        ("control", ctypes.c_void_p),
        ("room", ctypes.c_char * 40),  # up to a line of the cache
    )


def field(f: Function, kind: str, base: str, place: object) -> str:
    """A field of a structure."""
    return f.load(kind, base, place.offset)  # type: ignore[attr-defined]


def acquire(f: Function, control: str, lock: str) -> None:
    """Wait for a lock."""
    f.call("i32", field(f, "ptr", control, Control.acquire), f"ptr {lock}", "i32 1")


def release(f: Function, control: str, lock: str) -> None:
    """Let one who waits for a lock go on."""
    f.call("void", field(f, "ptr", control, Control.release), f"ptr {lock}")


def emit_wait() -> str:
    """LLVM IR of `void @crew_wait(ptr seat)`, in which a thread stays: wait, join, share, leave."""
    f = Function("crew_wait", "ptr %seat", "void")
    control = field(f, "ptr", "%seat", Seat.control)
    wake = field(f, "ptr", "%seat", Seat.wake)
    with f.repeat():
        acquire(f, control, wake)
        f.do("store atomic i64 0, ptr %seat seq_cst, align 8")
        with f.repeat() as closed:
            now = f.let(f"load atomic i64, ptr {control} seq_cst, align 8")
            with f.when(f.compare("sge", "i64", now, CLOSED)):
                f.go(closed)
            more = f.add(now, 1)
            pair = f.let(f"cmpxchg ptr {control}, i64 {now}, i64 {more} seq_cst seq_cst")
            with f.when(f.let(f"extractvalue {{ i64, i1 }} {pair}, 1")):
                f.call("void", "@share", f"ptr {field(f, 'ptr', control, Control.job)}")
                left = f.let(f"atomicrmw sub ptr {control}, i64 1 seq_cst")
                with f.when(f.compare("eq", "i64", left, CLOSED + 1)):
                    release(f, control, field(f, "ptr", control, Control.done))
                f.go(closed)
    f.give()
    return f.text()


def emit_lead() -> str:
    """LLVM IR of `void @crew_lead(ptr control, i64 helpers)`: the job, with so many threads."""
    f = Function("crew_lead", "ptr %control, i64 %helpers", "void")
    f.do("store atomic i64 0, ptr %control seq_cst, align 8")
    seats = field(f, "ptr", "%control", Control.seats)
    with f.each("%helpers") as k:
        seat = f.item("ptr", seats, k)
        called = f.let(f"atomicrmw xchg ptr {seat}, i64 1 seq_cst")
        with f.when(f.compare("eq", "i64", called, 0)):
            release(f, "%control", field(f, "ptr", seat, Seat.wake))
    f.call("void", "@share", f"ptr {field(f, 'ptr', '%control', Control.job)}")
    joined = f.let(f"atomicrmw or ptr %control, i64 {CLOSED} seq_cst")
    with f.when(f.compare("ne", "i64", joined, 0)):
        acquire(f, "%control", field(f, "ptr", "%control", Control.done))
    f.give()
    return f.text()


def emit_crew() -> list[str]:
    """Both functions; they call `@share`."""
    return [emit_wait(), emit_lead()]


class Crew:
    """Threads that wait. `lead(job, helpers)` does a job with some of them.

    wait, lead: addresses of the two functions.
    """

    def __init__(self, wait: int, lead: int) -> None:
        self.size, self._seats = 0, list[Seat]()
        self._wait, self._lead = ENTER(wait), LEAD(lead)
        self._taken: dict[str, object] = {}
        names = ("PyThread_acquire_lock", "PyThread_release_lock")
        self._control = Control(CLOSED, None, new_lock(), *map(python_function, names))
        _kept.append(self._control)

    def lead(self, job: int, helpers: int) -> bool:
        """Do a job and return True; False if another thread has the crew, and nothing is done.

        The user may interrupt it between any two calls, and the crew is free afterwards: it is
        taken by a name of this job, which is known before, and `finally` makes no call.
        """
        mine = object()
        try:
            if self._taken.setdefault("job", mine) is not mine:
                return False
            if self.size < helpers:
                self._grow(helpers)
            self._control.job = job
            self._lead(ctypes.addressof(self._control), min(helpers, self.size))
        finally:
            if "job" in self._taken and self._taken["job"] is mine:
                del self._taken["job"]
        return True

    def _grow(self, size: int) -> None:
        """Start threads until there are `size`; fewer where the system allows no more.

        The user may interrupt it anywhere: `size` changes last.
        """
        try:
            while len(self._seats) < size:
                seat = Seat(0, new_lock(), ctypes.addressof(self._control))
                place = ctypes.byref(seat)  # by which the thread keeps its seat alive
                threading.Thread(None, self._wait, "kinetree", (place,), daemon=True).start()
                self._seats.append(seat)
        except RuntimeError as problem:
            log.debug("kinetree uses %d threads: %s", 1 + len(self._seats), problem)
        places = (ctypes.c_void_p * len(self._seats))(*map(ctypes.addressof, self._seats))
        _kept.append(places)
        self._control.seats = ctypes.addressof(places)
        self.size = len(places)


def new_lock() -> int:
    """A lock of Python's C interface, taken: the next one who takes it waits."""
    make = ctypes.CFUNCTYPE(ctypes.c_void_p)(python_function("PyThread_allocate_lock"))
    take = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    lock = make()
    take(python_function("PyThread_acquire_lock"))(lock, 1)
    return lock


_kept: list[object] = []  # what threads read that wait for good
_crews: list[Crew] = []  # the one of this process, if it was needed
_making = threading.Lock()


def crew(wait: int, lead: int) -> Crew:
    """The crew of this process."""
    with _making:
        if not _crews:
            _crews.append(Crew(wait, lead))
        return _crews[0]


def forget_crews() -> None:
    """Start anew in a forked child, where the threads of its parent do not exist."""
    global _making
    _crews.clear()
    _making = threading.Lock()


on_fork(after_in_child=forget_crews)
