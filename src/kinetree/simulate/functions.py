"""Functions of the user in a simulation: traced when they are given, or called in Python.

The rules:

- A function depends on its arguments alone. What remembers something is declared:
  `controllers.Stateful` or `controllers.Sampled`.
- It is traced when it is given, and the graph is the law of that run. The hash of the graph with
  all its constants is the key under which compiled code is remembered.
- A function that cannot be traced runs in Python, and so does one that is given as
  `kinetree.simulate.python(f)`.
- It is called at two states when it is given: at the start, and beside it at the end of the run.
  Results must be those of the graph, and equal calls must give equal results.
- It is called from one thread, with copies of its arguments that it cannot write.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array, read_only
from kinetree.core.containers import has_labels
from kinetree.core.options import typed
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.law import ROUNDING, TracedLaw, differs, law_name, traced_law
from kinetree.engine.compiler.trace import TracedScalar, guarded
from kinetree.engine.kernels.derivative import read_shape
from kinetree.errors import GraphError, InputError, KinetreeError, SingularityError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.inputs import dof_axis
from kinetree.present.labels import by_name

NEARBY = 1e-7  # of an argument: so far from a jump, rounding does not decide on its side
REPEATED_CALL = 1e-9  # of the largest result: two calls with equal arguments agree

EMPTY = inspect.Parameter.empty
Parts = tuple[Array, ...]
Function = Callable[..., Parts]

REMEDY = (
    "Declare what it remembers: kinetree.controllers.Stateful has a state that is integrated, and "
    "kinetree.controllers.Sampled is called exactly once a sample, with an object of its own. Give "
    "noise over time as kinetree.simulate.signal(t, values)."
)
IMPURE = f"it is not a function of its arguments alone. {REMEDY}"
MISREAD = (
    f"traced, then called. Either it is not a function of its arguments alone. {REMEDY} Or tracing "
    "misread it, which follows one way through isinstance, try and the like for all numbers: give "
    "it as kinetree.simulate.python(f)."
)


class PythonFunction:
    """A function that is called as it is, not traced or compiled: `kinetree.simulate.python`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any) -> Any:
        """Call the function; refuse traced scalars."""
        if any(map(is_traced, args)):
            raise GraphError(f"{label(self, 'the function')} stays in Python.")
        return self.function(*args)


def python(function: Callable[..., Any]) -> PythonFunction:
    """A function for `simulate` that runs in Python as it is.

    It is called at trial states and several times a step, so it must depend on its arguments alone
    like any other. Take it for functions that print or draw, or that tracing would misread.

    Args:
        function: of the same arguments as without `python`.
    """
    if not callable(function):
        raise InputError(f"kinetree.simulate.python was given {function!r}; expected a function.")
    return PythonFunction(function)


@typed
def law(
    function: Callable[..., Any],
    robot: Model | HasModel | None = None,
    *,
    shapes: Mapping[str, int | tuple[int, ...]] | None = None,
) -> TracedLaw:
    """Trace a function once, for many simulations: a value, which stays what it is now.

    Values that the function reads and that change afterwards have no effect. Equal laws are equal,
    and can be pickled.

    Args:
        function: of t, s, or of t, q, (nq,), and dq, (n,), and further arguments.
        robot: whose q and dq it takes; None for a function of t alone.
        shapes: of further arguments in their order, such as {"z": 2} for a Stateful law.
    """
    if isinstance(function, TracedLaw):
        return function
    name = law_name(function)
    full = ("t", "q", "dq", *(shapes or {}))
    ways = (full,) if shapes else (("t",), full)
    timed = check_arguments(function, f"the law {name!r}", *ways) == ("t",)
    if robot is None and not timed:
        raise InputError(
            f"kinetree.simulate.law({name}) needs the robot, whose q and dq the law takes: "
            f"kinetree.simulate.law({name}, robot). Only a function of t alone does without."
        )
    model = None if robot is None else model_of(robot)
    ports = [Port("t", ())]
    if model is not None and not timed:
        ports += [Port("q", (model.nq,)), Port("dq", (model.n,))]
    ports += [Port(key, read_shape(key, shape)) for key, shape in (shapes or {}).items()]

    def called(t: Any, *arrays: Any) -> Any:
        result = call(f"the law {name!r}", function, t, *map(read_only, arrays))
        if model is not None and has_labels(result):
            return by_name(result, dof_axis(model), "tau")
        return result

    try:
        traced = traced_law(called, ports, name)
    except Exception as problem:
        if writes(problem):
            raise
        raise InputError(
            f"the law {name!r} cannot be traced: {first_line(problem, named=True)} Take sin, cos "
            "and the like from kinetree.scalars, or give it as kinetree.simulate.python(...)."
        ) from problem
    plain = UserFunction(f"the law {name!r}", lambda *args: as_parts(called(*args)), traced)
    zeros = [np.zeros(port.shape) for port in ports]
    plain.check([shifted(zeros, seed, 0.5) for seed in range(2)])
    return traced


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of the user in one simulation: arrays to a tuple of arrays.

    name: for messages. plain: the function itself, with checks of its results; None if it was
    traced long ago (`kinetree.simulate.law`). traced: its graph, None if it runs in Python, and
    `note` says why.
    """

    name: str
    plain: Function | None
    traced: TracedLaw | None = None
    note: str | None = None

    def __call__(self, *args: Any) -> Parts:
        """Return the results, of the graph if there is one."""
        return self.call(*args) if self.traced is None else self.traced.parts(*args)

    @property
    def key(self) -> str | None:
        """The hash of the graph; None if it runs in Python."""
        return None if self.traced is None else self.traced.digest

    def call(self, *args: Any) -> Parts:
        """Call the function; explain the error of one that kept a traced scalar."""
        assert self.plain is not None
        try:
            results = self.plain(*args)
        except GraphError as problem:
            if any(map(is_traced, args)):
                raise
            raise self._error(args, IMPURE) from problem
        except Exception as problem:
            add_time(problem, self.name, args[0])
            raise
        if any(map(is_traced, results)) and not any(map(is_traced, args)):
            raise self._error(args, IMPURE)  # its trace has left traced scalars in what it keeps
        return results

    def check(self, states: Sequence[Sequence[Any]]) -> None:
        """Call the function at some states, forth and back, and compare with its graph."""
        if self.plain is None:
            return
        first = [self._results(args) for args in states]
        for args, results in reversed(list(zip(states, first, strict=True))):
            again = self._results(args)
            if results is None or again is None:
                continue
            size = max((float(np.abs(x).max(initial=0)) for x in args), default=0.0)
            if differs(again, results, REPEATED_CALL, ROUNDING * (1 + size)):
                raise self._error(args, IMPURE)
            if self.traced is None or self.traced.compare(results, *args):
                continue
            beside = shifted(args)  # where a function jumps, rounding may decide on the side
            there = self._results(beside)
            if there is not None and not self.traced.compare(there, *beside):
                raise self._error(beside, MISREAD)

    def _results(self, args: Sequence[Any]) -> Parts | None:
        """The results in Python; None at a singular state, which the function refuses."""
        try:
            return self.call(*args)
        except SingularityError:
            return None

    def _error(self, args: Sequence[Any], why: str) -> InputError:
        """The error of a function with two results for equal arguments."""
        return InputError(
            f"{self.name} gives different results for the same arguments at "
            f"t = {float(args[0]):.6g} s: {why}"
        )


def user_function(
    name: str, plain: Function, ports: Sequence[Port], states: Sequence[Sequence[Any]]
) -> UserFunction:
    """Trace a function as it is now, and check it at some states.

    One that cannot be traced runs in Python.
    """
    try:
        function = UserFunction(name, plain, traced_law(plain, ports, name))
    except Exception as problem:
        if writes(problem):
            raise
        function = UserFunction(name, plain, None, first_line(problem, named=True))
    function.check(states)
    return function


def shifted(args: Sequence[Any], seed: int = 0, share: float = NEARBY) -> list[Any]:
    """Arguments that are a little off in every entry."""
    rng = np.random.default_rng(seed)
    arrays = [np.asarray(x, float) for x in args]
    moved = [x + share * (1 + abs(x)) * rng.uniform(0.5, 1, x.shape) for x in arrays]
    return [float(x) if x.ndim == 0 else x for x in moved]


def check_arguments(function: object, name: str, *ways: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longest list of arguments with which a function can be called, of some lists.

    Arguments are given by place, and parameters may have any names. Raises InputError for what
    would go wrong in silence: a name of the lists at another place, a parameter that has a default
    and would get an argument of another name (`gain=2.0` in the place of dq), and one named q or
    dq that would get nothing.
    """
    try:
        signature = inspect.signature(cast(Callable[..., Any], function))
    except (TypeError, ValueError):  # built in: it does not say
        return ways[-1]
    for arguments in reversed(ways):
        try:
            taken = signature.bind(*arguments).arguments
        except TypeError:
            continue
        named = [x for x in signature.parameters if x in ways[-1]]
        named += [x for x in list(taken)[1:] if signature.parameters[x].default is not EMPTY]
        if all(taken.get(x) == x for x in named):
            return arguments
    expected = " or ".join(f"f({', '.join(arguments)})" for arguments in ways)
    raise InputError(
        f"{name} takes the arguments {signature}; expected {expected}, by place. Parameters of its "
        f"own follow by keyword, f({', '.join(ways[-1])}, *, gain=2.0), or are bound with "
        "functools.partial."
    )


def add_time(problem: BaseException, name: str, t: Any) -> None:
    """Add a note with the name of a user's function and the time to an error that it raised.

    Raises:
        InputError: in place of a bare ValueError, as of `math.sqrt` where it has no value.
    """
    if is_traced(t):
        return
    if type(problem) is ValueError:
        raise InputError(
            f"{name} fails at t = {float(t):.6g} s: {problem}. Expected real numbers at all times."
        ) from problem
    problem.add_note(f"Raised by {name} at t = {float(t):.6g} s.")


def check_real(x: Array, name: str) -> None:
    """Raise InputError if results have words, complex numbers or nothing in them."""
    if x.dtype.kind in "fiub":
        return
    for value in x.ravel().tolist():
        if value is None or isinstance(value, str | bytes | complex):
            raise InputError(f"{name} returned {value!r:.60}; expected real numbers.")


def label(function: object, role: str = "the law") -> str:
    """Name a function or an object for messages."""
    return f"{role} {law_name(function)!r}"


def call(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a user's function with read-only arrays; explain the error if it writes into them."""
    try:
        return function(*map(guarded, args))
    except ValueError as problem:
        if isinstance(problem, KinetreeError) or "read-only" not in str(problem):
            raise
        raise InputError(
            f"{name} writes into its arguments, which are read-only: {problem}. Compute a new "
            "array instead, `e = q - goal` in the place of `q -= goal`."
        ) from problem


def writes(problem: BaseException) -> bool:
    """Return True for the error of a function that wrote into a read-only argument."""
    return isinstance(problem, InputError) and "read-only" in str(problem.__cause__)


def first_line(problem: BaseException, named: bool = False) -> str:
    """The first line of an error's message; `named`: after the name of its class."""
    line = str(problem).splitlines()[0] if str(problem) else "no reason given"
    return f"{type(problem).__name__}: {line}" if named else line


def as_parts(value: Any) -> Parts:
    """A tuple of new arrays, from one array or several; a function may return its own again."""
    return tuple(map(np.array, value)) if isinstance(value, tuple) else (np.array(value),)


def is_traced(x: Any) -> bool:
    """Return True for a traced scalar, and for an array that has one."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        return any(isinstance(element, TracedScalar) for element in x.flat)
    return isinstance(x, TracedScalar)
