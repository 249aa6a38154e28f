"""Purity: find out whether a user's function depends on its arguments alone.

A law may be compiled only if its traced graph is all that it does, and an adaptive step may be
repeated only if equal arguments give equal forces. No analysis of Python code can prove that, so
`examine` looks for evidence against it in four independent ways:

1. The function is traced twice. Different graphs show a counter, a random number or a branch on
   something remembered; an error about scalars of another trace shows that it keeps values.
2. Everything it can reach is compared before and after a call (memory.py).
3. Its code is searched for calls of a clock (memory.py).
4. It is called on numbers at two states A and B, in the order A, B, B, A. Different values for
   equal arguments show a memory that the walk did not reach; values that differ from those of the
   graph show a branch that tracing cannot see, such as one on the type of its arguments.

A function that passes is compiled, and the hash of its graph with all constants is the key under
which compiled code is remembered. One that fails runs in Python. Either way everything it can reach
is put back at the end, so that a law with a memory starts the run with the memory it was given.

A function that passed before, with the same code and the same values in everything that its code
reads (kernels/fingerprint.py), is not examined again, and not even traced.
"""

import types
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, ArrayLike
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.interpret import interpret
from kinetree.compiler.store import encode
from kinetree.compiler.trace import guarded, trace
from kinetree.errors import InputError, KinetreeError
from kinetree.kernels.fingerprint import fingerprint
from kinetree.kernels.memo import Recent
from kinetree.simulate.core.memory import Memory

Function = Callable[..., tuple[Array, ...]]

AGREE = 1e-6  # of the largest force: rounding is far below, another formula far above
SEEN = 4  # graphs of one function that are remembered
PASSED = 256  # functions that are remembered by their values

_steady: dict[int, tuple[Any, list[str]]] = {}  # by id of a function: weak reference, digests
_passed: Recent[str] = Recent(PASSED)  # digests, by the fingerprint of a function and its arguments


@dataclass(frozen=True)
class Examined:
    """The result of an examination.

    digest: a hash of the graph with all its constants, None if the function runs in Python.
    note: why it does. doubt: the evidence that it is impure. unsteady: two calls with equal
    arguments gave different numbers. sampled: it depends on time alone and is called outside the
    loop.
    """

    digest: str | None
    note: str | None = None
    doubt: str | None = None
    unsteady: bool = False
    sampled: bool = False


def examine(
    name: str,
    function: Function,
    ports: Sequence[Port],
    owner: object,
    example: Sequence[ArrayLike],
    context: Hashable = None,
) -> Examined:
    """Trace a function and find out whether its graph is all that it does.

    Args:
        name: of the function, for notes.
        function: arrays to a tuple of arrays; it calls `owner`.
        ports: its arguments.
        owner: what the user gave: a function, or an object with methods.
        example: arguments of plain numbers, such as those at the start of the run.
        context: everything else that `function` depends on, as a key; None: that is not known, and
            the function is traced at every use.
    """
    value = None if context is None else fingerprint(owner)
    key = None if value is None else (value, tuple(ports), context)
    known = None if key is None else _passed.get(key)
    if known is not None:
        return Examined(known)
    found = _examined(name, function, ports, owner, example)
    # a function that changed something is another one now, and this is not what it computed
    if key is not None and found.digest is not None and fingerprint(owner) == value:
        _passed.put(key, found.digest)
    return found


def _examined(
    name: str,
    function: Function,
    ports: Sequence[Port],
    owner: object,
    example: Sequence[ArrayLike],
) -> Examined:
    """`examine` without looking at what is remembered by value."""
    before = Memory(owner)
    try:
        try:
            graph = trace(function, ports)
        except Exception as problem:
            if writes(problem):
                raise
            return _untraced(name, problem, Calls(function, ports, example))
        digest = digest_of(graph)
        if digest in _known(owner) and before.change() is None:
            return Examined(digest)  # it passed all four checks before, with this very graph
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
        return Examined(None, f"{name} {doubt}", f"{name} {doubt}", calls.unsteady)
    finally:
        before.restore()


def _untraced(name: str, problem: Exception, calls: "Calls") -> Examined:
    """The result for a function that cannot be traced."""
    doubt = f"{name} {calls.doubt()}" if calls.doubt() else None
    return Examined(None, doubt or first_line(problem, named=True), doubt, calls.unsteady)


def _second_trace(function: Function, ports: Sequence[Port], digest: str) -> str | None:
    """Trace once more, with new scalars; return what differs from the first trace, or None."""
    try:
        again = trace(function, ports)
    except Exception as problem:
        if "another trace" in str(problem) or "TracedScalar" in str(problem):
            return "keeps values from one call to the next"
        return f"fails when it is called again ({first_line(problem, named=True)})"
    if digest_of(again) != digest:
        return "computes something else each time it is called"
    return None


class Calls:
    """Values of a function on numbers: at the start A and nearby at B, in the order A, B, B, A."""

    def __init__(
        self, function: Function, ports: Sequence[Port], example: Sequence[ArrayLike]
    ) -> None:
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
        """Return what is wrong with the values, or None."""
        return "gives different values for equal arguments" if self.unsteady else None

    def differs(self, graph: Graph) -> str | None:
        """Compare the values with those of the graph; return what is wrong, or None."""
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


def digest_of(graph: Graph) -> str:
    """A hash of a graph with all its constants."""
    return sha256(encode(graph)).hexdigest()


def first_line(problem: BaseException, named: bool = False) -> str:
    """The first line of an error's message; `named`: after the name of its class."""
    line = str(problem).splitlines()[0] if str(problem) else "no reason given"
    return f"{type(problem).__name__}: {line}" if named else line


def call(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a user's function with read-only arrays; explain the error if it writes into them."""
    try:
        return function(*map(guarded, args))
    except ValueError as problem:
        if isinstance(problem, KinetreeError) or "read-only" not in str(problem):
            raise
        raise InputError(
            f"{name} writes into an array that is read-only, as its arguments are: {problem}. "
            "Compute a new array instead, `e = q - goal` in the place of `q -= goal`, or copy "
            "first: `q = q.copy()`."
        ) from problem


def writes(problem: BaseException) -> bool:
    """Return True for the error of a function that wrote into a read-only argument."""
    return isinstance(problem, InputError) and "read-only" in str(problem.__cause__)


# Functions without a fingerprint that passed before need one trace only. They are remembered by id,
# as many functions and objects cannot be hashed, with a weak reference that removes the entry
# before an id is used again.


def _anchor(owner: Any) -> Any:
    """An object that lives as long as the function: a bound method is made anew at every use."""
    return owner.__self__ if isinstance(owner, types.MethodType) else owner


def _known(owner: object) -> list[str]:
    """Digests of the graphs with which the same function passed before."""
    anchor = _anchor(owner)
    found = _steady.get(id(anchor))
    return found[1] if found is not None and found[0]() is anchor else []


def _remember(owner: object, digest: str) -> None:
    anchor = _anchor(owner)
    try:
        reference = weakref.ref(anchor, partial(_forget, id(anchor)))
    except TypeError:  # an object without weak references is examined each time
        return
    kept = [*_known(owner), digest][-SEEN:]
    _steady[id(anchor)] = reference, kept


def _forget(key: int, reference: Any) -> None:
    found = _steady.get(key)
    if found is not None and found[0] is reference:
        del _steady[key]
