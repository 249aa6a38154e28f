"""Purity: whether a user's function gives the same forces whenever it is given the same state.

A function is traced twice, and the two graphs are compared; what it can reach (attributes, closure,
globals, generators of random numbers) is compared before and after a call; and it is called on
numbers, out of order, and compared with its graph. A function that passes is compiled, and its
graph with all constants is what compiled code is remembered by. Everything it can reach is put back
afterwards, so that a function with a memory starts the run with the memory that it was given.
"""

import dis
import operator
import random
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.interpret import interpret
from kinetree.compiler.store import encode
from kinetree.compiler.trace import trace
from kinetree.errors import InputError, KinetreeError

Function = Callable[..., tuple[Array, ...]]

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.floating, np.integer, np.bool_)
FOREIGN = ("kinetree", "numpy", "scipy", "sympy", "mpmath", "torch", "jax", "cupy", "pandas")
CLOCKS = ("time", "datetime")  # modules
READINGS = {"now", "today", "utcnow", "localtime", "gmtime", "ctime", "asctime"} | {
    f"{name}{unit}"
    for name in (
        "time",
        "monotonic",
        "perf_counter",
        "process_time",
        "thread_time",
        "clock_gettime",
    )
    for unit in ("", "_ns")
}
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")  # of CPython's code
DEPTH = 4  # of objects within objects
MOST = 2_000  # entries that are looked at
LARGEST = 200_000  # numbers of an array that is looked at
AGREE = 1e-6  # of the largest force: rounding is far below, another formula far above
SEEN = 4  # graphs of one function that are remembered


@dataclass(frozen=True)
class Examined:
    """The result of an examination.

    digest: a hash of the graph with all its constants, None where the function runs in Python.
    note: why it does. doubt: what is impure about it. unsteady: two calls with equal arguments gave
    different numbers. sampled: it depends on time alone and is called outside the loop.
    """

    digest: str | None
    note: str | None = None
    doubt: str | None = None
    unsteady: bool = False
    sampled: bool = False


_steady: dict[int, tuple[Any, list[str]]] = {}  # functions by id: a weak reference, their digests


def examine(
    name: str, function: Function, ports: Sequence[Port], owner: Any, example: Sequence[Any]
) -> Examined:
    """Trace a function and find out whether its graph is all that it does.

    Args:
        name: of the function, for notes.
        function: arrays to a tuple of arrays; it calls `owner`.
        ports: its arguments.
        owner: what the user gave: a function, or an object with methods.
        example: arguments of plain numbers, such as those at the start of the run.
    """
    before = Memory(owner)
    try:
        return _examine(name, function, ports, owner, example, before)
    finally:
        before.restore()


def _examine(
    name: str,
    function: Function,
    ports: Sequence[Port],
    owner: Any,
    example: Sequence[Any],
    before: "Memory",
) -> Examined:
    try:
        graph = trace(function, ports)
    except Exception as problem:
        if writes(problem):
            raise
        reason = f"{type(problem).__name__}: {_first_line(problem)}"
        found = Calls(function, ports, example)
        doubt = f"{name} {found.doubt()}" if found.doubt() else None
        return Examined(None, doubt or reason, doubt, found.unsteady)
    digest = digest_of(graph)
    if digest in _known(owner) and before.change() is None:
        return Examined(digest)
    between = Memory(owner)
    doubt = _second_trace(function, ports, digest)
    touched = between.change()
    if doubt is None and touched is not None:
        doubt = f"changes {touched} whenever it is called"
    if doubt is None and before.clock is not None:
        doubt = f"reads the clock ({before.clock})"
    before.restore()
    calls = Calls(function, ports, example)
    doubt = calls.doubt() or doubt or calls.differs(graph)
    if doubt is None:
        _remember(owner, digest)
        return Examined(digest)
    doubt = f"{name} {doubt}"
    return Examined(None, doubt, doubt, calls.unsteady)


def writes(problem: BaseException) -> bool:
    """Whether an error says that a function wrote into an array that it was given."""
    return isinstance(problem, InputError) and "read-only" in str(problem.__cause__)


def call(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a user's function returns for arrays that it must not write into."""
    try:
        return function(*args)
    except ValueError as problem:
        if isinstance(problem, KinetreeError) or "read-only" not in str(problem):
            raise
        raise InputError(
            f"{name} writes into an array that is read-only, as its arguments are: {problem}. "
            "Compute a new array instead, `e = q - goal` in the place of `q -= goal`, or copy "
            "first: `q = q.copy()`."
        ) from problem


def label(function: Any, role: str = "the law") -> str:
    """How notes name a function or an object."""
    name = getattr(function, "__name__", type(function).__name__)
    return f"{role} {name!r}"


def digest_of(graph: Graph) -> str:
    """A hash of a graph with all its constants."""
    return sha256(encode(graph)).hexdigest()


def _second_trace(function: Function, ports: Sequence[Port], digest: str) -> str | None:
    """What a second trace, with leaves of its own, shows."""
    try:
        again = trace(function, ports)
    except Exception as problem:
        if "another trace" in str(problem) or "TracedScalar" in str(problem):
            return "keeps values from one call to the next"
        return f"fails when it is called again ({type(problem).__name__}: {_first_line(problem)})"
    if digest_of(again) != digest:
        return "computes something else each time it is called"
    return None


class Calls:
    """A function on numbers: at the start A and nearby at B, in the order A, B, B, A."""

    def __init__(self, function: Function, ports: Sequence[Port], example: Sequence[Any]) -> None:
        rng = np.random.default_rng(0)
        pairs = zip(example, ports, strict=True)
        start = [np.asarray(x, float).reshape(port.shape) for x, port in pairs]
        near = [x + 1e-3 * (1 + abs(x)) * rng.uniform(0.5, 1, x.shape) for x in start]
        self.states = start, near
        self.found: list[list[Array]] = []
        try:
            for k in (0, 1, 1, 0):
                args = [float(x) if x.ndim == 0 else x.copy() for x in self.states[k]]
                self.found.append([np.array(x, float) for x in function(*args)])
        except Exception as problem:
            if writes(problem):
                raise
            self.found = []  # it needs other arguments than these: nothing is known

    @property
    def unsteady(self) -> bool:
        """Whether equal arguments gave different numbers."""
        found = self.found
        return bool(found) and not (_equal(found[0], found[3]) and _equal(found[1], found[2]))

    def doubt(self) -> str | None:
        """The same in words."""
        return "gives different values for equal arguments" if self.unsteady else None

    def differs(self, graph: Graph) -> str | None:
        """Whether the graph computes something else than the function does on numbers."""
        if not self.found:
            return None
        traced = interpret(graph, *self.states[1])
        for x, y in zip(traced, self.found[1], strict=True):
            x = np.asarray(x, float)
            if not (np.isfinite(x).all() and np.isfinite(y).all()):
                continue
            if x.shape != y.shape or (abs(x - y) > AGREE * (1 + abs(y).max(initial=0))).any():
                return "computes something else on numbers than on traced scalars"
        return None


def _equal(a: Sequence[Array], b: Sequence[Array]) -> bool:
    return len(a) == len(b) and all(
        np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True)
    )


def _first_line(problem: BaseException) -> str:
    return str(problem).splitlines()[0] if str(problem) else "no reason given"


# Functions that passed -----------------------------------------------------------------------


def _anchor(owner: Any) -> Any:
    """An object that lives as long as the function: a bound method is made anew at every use."""
    return owner.__self__ if isinstance(owner, types.MethodType) else owner


def _known(owner: Any) -> list[str]:
    """Graphs with which the same function passed before."""
    anchor = _anchor(owner)
    found = _steady.get(id(anchor))
    return found[1] if found is not None and found[0]() is anchor else []


def _remember(owner: Any, digest: str) -> None:
    anchor = _anchor(owner)
    try:
        reference = weakref.ref(anchor, partial(_forget, id(anchor)))
    except TypeError:  # an object that knows no weak reference is examined each time
        return
    kept = [*_known(owner), digest][-SEEN:]
    _steady[id(anchor)] = reference, kept


def _forget(key: int, reference: Any) -> None:
    found = _steady.get(key)
    if found is not None and found[0] is reference:
        del _steady[key]


# What a function can reach -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kept:
    """One thing that a function could change: its name, its value now and before, a way back."""

    name: str
    now: Callable[[], Any]
    before: Any
    back: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]

    @property
    def changed(self) -> bool:
        """Whether it is not as it was."""
        return not self.same(self.now(), self.before)


class Memory:
    """Everything that a function can reach and change, as it is now.

    Attributes, closures, globals that the code names, lists, dictionaries, arrays, generators of
    random numbers, to a depth; not modules, and no objects of large libraries.
    """

    def __init__(self, owner: Any) -> None:
        self.kept: list[Kept] = []
        self.clock: str | None = None
        self.left = MOST
        self.seen: set[int] = set()
        self.alive: list[Any] = []  # so that no id is used twice
        self.add_random()
        self.walk(owner, label(owner, "").strip(" '"), 0)

    def change(self) -> str | None:
        """The name of something that is not as it was, or None."""
        return next((kept.name for kept in self.kept if kept.changed), None)

    def restore(self) -> None:
        """Put everything back."""
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
        """Keep one thing."""
        self.kept.append(Kept(name, now, now(), back, same or _same))

    def add_attribute(self, name: str, x: Any, key: str) -> None:
        """Keep an attribute."""
        self.add(name, partial(getattr, x, key), partial(setattr, x, key))

    def add_random(self) -> None:
        """The generators that all share."""
        self.add("NumPy's random numbers", _numpy_state, _set_numpy_state)
        self.add("random numbers", random.getstate, random.setstate, operator.eq)

    def walk(self, x: Any, name: str, depth: int) -> None:
        """Keep what is in x."""
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
        """Its closure, defaults, attributes, and the globals that its code names."""
        if _foreign(x):
            return
        self.walk_attributes(x, name, depth)
        self.walk((x.__defaults__, x.__kwdefaults__), name, depth)
        names = set(_names(x.__code__))
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
        """Its numbers, where they can be written."""
        if x.size > LARGEST or not x.flags.writeable:
            return
        self.add(f"the array {name!r}", x.copy, partial(np.copyto, x))
        if x.dtype == object and x.size < self.left:
            for entry in x.flat:
                self.walk(entry, name, depth + 1)

    def walk_container(self, x: Any, name: str, depth: int) -> None:
        """Its entries, and what is in them."""
        if len(x) > self.left:
            return
        self.left -= len(x)
        if not isinstance(x, tuple):
            self.add(f"{name!r}", partial(type(x).copy, x), partial(_refill, x))
        for entry in x.values() if isinstance(x, dict) else x:
            self.walk(entry, name, depth + 1)

    def walk_object(self, x: Any, name: str, depth: int) -> None:
        """Its attributes, those of its class, and its methods."""
        self.walk_attributes(x, name, depth)
        for kind in type(x).__mro__:
            if kind is object or _foreign(kind):
                continue
            entries = list(vars(kind).items())
            slots = {k for k, value in entries if isinstance(value, types.MemberDescriptorType)}
            for key in sorted(slots - {"__dict__"}):  # the object's own
                if hasattr(x, key):
                    put = partial(object.__setattr__, x, key)  # frozen records too
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

    def walk_attributes(self, x: Any, name: str, depth: int) -> None:
        """What is in its dictionary."""
        own = getattr(x, "__dict__", None)
        if not isinstance(own, dict) or len(own) > self.left:
            return
        self.left -= len(own)
        if own or not isinstance(x, types.FunctionType):
            self.add(f"an attribute of {name!r}", own.copy, partial(_refill, own))
        for key, value in list(own.items()):
            self.walk(value, key, depth + 1)


def _foreign(x: Any) -> bool:
    """Whether a class or function belongs to a library, whose objects are taken as they are."""
    root = (getattr(x, "__module__", None) or "builtins").partition(".")[0]
    if x is types.SimpleNamespace or root == "__main__":
        return False
    return root in FOREIGN or root in sys.stdlib_module_names


def _clock(code: types.CodeType, names: set[str], values: Mapping[str, Any]) -> str | None:
    """The function of the modules time and datetime that a code calls, or None."""
    for value in values.values():
        if getattr(value, "__module__", None) in CLOCKS:  # from time import time
            own = getattr(value, "__name__", "")
            if own in READINGS or (isinstance(value, type) and names & READINGS):
                return f"{value.__module__}.{own}"
    modules = {key: x.__name__ for key, x in values.items() if isinstance(x, types.ModuleType)}
    if names.isdisjoint(CLOCKS) and set(modules.values()).isdisjoint(CLOCKS):
        return None
    steps = [x for part in _codes(code) for x in dis.get_instructions(part)]
    used = {x.argval for x in steps if x.opname.startswith("LOAD_") and x.opname not in ATTRIBUTES}
    modules = {name for key, name in modules.items() if key in used}
    modules |= {x.argval for x in steps if x.opname == "IMPORT_NAME"}
    found = sorted(x.argval for x in steps if x.opname in ATTRIBUTES and x.argval in READINGS)
    known = sorted(modules & set(CLOCKS))
    return f"{known[0]}.{found[0]}" if known and found else None


def _names(code: types.CodeType) -> Iterator[str]:
    """All names in a code and in the functions that it makes."""
    for part in _codes(code):
        yield from part.co_names


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code and those of the functions that it makes."""
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
    """Whether two values are one, or equal numbers; containers by their entries."""
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
