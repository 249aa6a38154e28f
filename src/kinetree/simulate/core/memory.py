"""Memory: everything that a user's function can reach and change, recorded and put back.

A control law can keep values between calls in its closure, in attributes of its object, in a
global, in a list or an array, or in a generator of random numbers. To find out whether it does, the
objects that it can reach are walked and copied before it is called; afterwards every copy is
compared with the present value (`Memory.change`), and can be put back (`Memory.restore`).

The walk starts at the function and follows closures, default arguments, the globals that its code
names, attributes, methods, containers and arrays, to a limited depth and number of entries. It does
not enter modules or objects of large libraries, which are taken as they are. Reading a clock leaves
no trace in any of these, so calls of `time` and `datetime` are looked for in the byte code.
"""

import dis
import operator
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree.base.arrays import Array

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.floating, np.integer, np.bool_)
FOREIGN = ("kinetree", "numpy", "scipy", "sympy", "mpmath", "torch", "jax", "cupy", "pandas")
CLOCKS = ("time", "datetime")  # modules
COUNTERS = ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
READINGS = {"now", "today", "utcnow", "localtime", "gmtime", "ctime", "asctime"} | {
    f"{name}{unit}" for name in COUNTERS for unit in ("", "_ns")
}
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")  # instructions of CPython that read an attribute
DEPTH = 4  # levels of objects within objects
MOST = 2_000  # entries that are walked
LARGEST = 200_000  # numbers of an array that is copied


def label(function: object, role: str = "the law") -> str:
    """Name a function or an object for messages."""
    name = getattr(function, "__name__", type(function).__name__)
    return f"{role} {name!r}"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One thing that a function could change: its name, how to read it, its value before.

    back: writes a value back. same: compares two values.
    """

    name: str
    now: Callable[[], Any]
    before: Any
    back: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]

    @property
    def changed(self) -> bool:
        """Whether the value now differs from the value before."""
        return not self.same(self.now(), self.before)


class Memory:
    """Snapshots of everything that a function can reach and change, taken when it is made.

    clock: the function of `time` or `datetime` that its code calls, or None.
    """

    def __init__(self, owner: object) -> None:
        self.kept: list[Snapshot] = []
        self.clock: str | None = None
        self.left = MOST
        self.seen: set[int] = set()
        self.alive: list[Any] = []  # keeps the objects alive, so that no id is used twice
        self.add("NumPy's random numbers", _numpy_state, _set_numpy_state)
        self.add("random numbers", random.getstate, random.setstate, operator.eq)
        self.walk(owner, label(owner, "").strip(" '"), 0)

    def change(self) -> str | None:
        """Return the name of something that has changed, or None."""
        return next((kept.name for kept in self.kept if kept.changed), None)

    def restore(self) -> None:
        """Put back everything that has changed."""
        for kept in self.kept:
            if kept.changed:
                kept.back(kept.before)

    def add(
        self,
        name: str,
        now: Callable[[], Any],
        back: Callable[[Any], Any],
        same: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        """Record one value."""
        self.kept.append(Snapshot(name, now, now(), back, same or _same))

    def add_attribute(self, name: str, x: object, key: str) -> None:
        """Record one attribute."""
        self.add(name, partial(getattr, x, key), partial(setattr, x, key))

    def walk(self, x: Any, name: str, depth: int) -> None:
        """Record what can change in x, and in everything that x refers to."""
        if isinstance(x, PLAIN) or id(x) in self.seen or depth > DEPTH or self.left <= 0:
            return
        self.seen.add(id(x))
        self.alive.append(x)
        self.left -= 1
        if isinstance(x, types.MethodType):
            self.walk(x.__self__, name, depth)
            self.walk(x.__func__, name, depth)
        elif isinstance(x, types.FunctionType):
            self.walk_function(x, name, depth)
        elif isinstance(x, partial):
            self.walk((x.func, x.args, x.keywords), name, depth)
        elif isinstance(x, np.ndarray):
            self.walk_array(x, name, depth)
        elif isinstance(x, list | dict | set | deque | tuple):
            self.walk_container(x, name, depth)
        elif isinstance(x, np.random.Generator):
            self.add_attribute(f"the generator {name!r}", x.bit_generator, "state")
        elif isinstance(x, random.Random):
            self.add(f"the generator {name!r}", x.getstate, x.setstate, operator.eq)
        elif not isinstance(x, type | types.ModuleType) and not _foreign(type(x)):
            self.walk_object(x, name, depth)

    def walk_function(self, x: types.FunctionType, name: str, depth: int) -> None:
        """Walk the closure, defaults and attributes of a function, and the globals it names."""
        if _foreign(x):
            return
        self.walk_attributes(x, name, depth)
        self.walk((x.__defaults__, x.__kwdefaults__), name, depth)
        names = {word for code in _codes(x.__code__) for word in code.co_names}
        values: dict[str, Any] = {}
        for free, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            try:
                values[free] = cell.cell_contents
            except ValueError:  # not yet bound
                continue
            self.add_attribute(repr(free), cell, "cell_contents")
            self.walk(values[free], free, depth + 1)
        for found in sorted(names & x.__globals__.keys()):
            value = values[found] = x.__globals__[found]
            if isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
                continue
            get, put = x.__globals__.get, x.__globals__.__setitem__
            self.add(f"the global {found!r}", partial(get, found), partial(put, found))
            self.walk(value, found, depth + 1)
        self.clock = self.clock or _clock(x.__code__, names, values)

    def walk_array(self, x: Array, name: str, depth: int) -> None:
        """Record the numbers of an array that can be written, and walk its objects."""
        if x.size > LARGEST or not x.flags.writeable:
            return
        self.add(f"the array {name!r}", x.copy, partial(np.copyto, x))
        if x.dtype == object and x.size < self.left:
            for entry in x.flat:
                self.walk(entry, name, depth + 1)

    def walk_container(self, x: Any, name: str, depth: int) -> None:
        """Record the entries of a container, and walk them."""
        if len(x) > self.left:
            return
        self.left -= len(x)
        if not isinstance(x, tuple):
            self.add(f"{name!r}", partial(type(x).copy, x), partial(_refill, x))
        for entry in x.values() if isinstance(x, dict) else x:
            self.walk(entry, name, depth + 1)

    def walk_object(self, x: object, name: str, depth: int) -> None:
        """Walk the attributes of an object, those of its classes, and its methods."""
        self.walk_attributes(x, name, depth)
        for kind in type(x).__mro__:
            if kind is object or _foreign(kind):
                continue
            entries = list(vars(kind).items())
            slots = {k for k, value in entries if isinstance(value, types.MemberDescriptorType)}
            for key in sorted(slots - {"__dict__"}):
                if hasattr(x, key):
                    put = partial(object.__setattr__, x, key)  # works on frozen records too
                    self.add(f"{name}.{key}", partial(getattr, x, key), put)
                    self.walk(getattr(x, key), f"{name}.{key}", depth + 1)
            if id(kind) in self.seen:
                continue
            self.seen.add(id(kind))
            for key, value in entries:
                if isinstance(value, types.FunctionType):
                    self.walk(value, key, depth + 1)
                elif isinstance(value, PLAIN) and not key.startswith("__"):
                    self.add_attribute(f"{kind.__name__}.{key}", kind, key)

    def walk_attributes(self, x: object, name: str, depth: int) -> None:
        """Record the dictionary of an object, and walk its values."""
        own = getattr(x, "__dict__", None)
        if not isinstance(own, dict) or len(own) > self.left:
            return
        self.left -= len(own)
        if own or not isinstance(x, types.FunctionType):
            self.add(f"an attribute of {name!r}", own.copy, partial(_refill, own))
        for key, value in list(own.items()):
            self.walk(value, key, depth + 1)


def _foreign(x: object) -> bool:
    """Return True if a class or function belongs to a library that is not walked."""
    root = (getattr(x, "__module__", None) or "builtins").partition(".")[0]
    if x is types.SimpleNamespace or root == "__main__":
        return False
    return root in FOREIGN or root in sys.stdlib_module_names


def _clock(code: types.CodeType, names: set[str], values: Mapping[str, Any]) -> str | None:
    """Return the function of `time` or `datetime` that a code calls, or None.

    names: all names in the code. values: those of its globals and closure that are known.
    """
    for value in values.values():
        if getattr(value, "__module__", None) in CLOCKS:  # from time import time
            own = getattr(value, "__name__", "")
            if own in READINGS or (isinstance(value, type) and names & READINGS):
                return f"{value.__module__}.{own}"
    modules = {key: x.__name__ for key, x in values.items() if isinstance(x, types.ModuleType)}
    if names.isdisjoint(CLOCKS) and set(modules.values()).isdisjoint(CLOCKS):
        return None
    # a name alone is no proof: `t.time` of the user's own object is not the clock, so a module must
    # be loaded or imported, and one of its clock functions must be read as an attribute
    steps = [x for part in _codes(code) for x in dis.get_instructions(part)]
    used = {x.argval for x in steps if x.opname.startswith("LOAD_") and x.opname not in ATTRIBUTES}
    loaded = {name for key, name in modules.items() if key in used}
    loaded |= {x.argval for x in steps if x.opname == "IMPORT_NAME"}
    found = sorted(x.argval for x in steps if x.opname in ATTRIBUTES and x.argval in READINGS)
    known = sorted(loaded & set(CLOCKS))
    return f"{known[0]}.{found[0]}" if known and found else None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _numpy_state() -> Any:
    return np.random.get_state()


def _set_numpy_state(state: Any) -> None:
    np.random.set_state(state)


def _refill(x: Any, entries: Any) -> None:
    """Give a container its old entries."""
    if isinstance(x, dict):
        x.update(entries)
        for key in x.keys() - entries.keys():
            del x[key]
        return
    x.clear()
    x.extend(entries) if isinstance(x, list | deque) else x.update(entries)


def _same(a: Any, b: Any) -> bool:
    """Return True if two values are identical or equal numbers; containers entry by entry."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, PLAIN):
        return bool(a == b) or (a != a and b != b)
    if isinstance(a, np.ndarray):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype == object:
            return all(_same(x, y) for x, y in zip(a.flat, b.flat, strict=True))
        return a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(x, b[key]) for key, x in a.items())
    if isinstance(a, tuple | list | deque):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, set):
        return len(a) == len(b) and all(x in b for x in a)
    return False
