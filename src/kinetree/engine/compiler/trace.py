"""Tracing: run a function on scalars that record their operations, which gives its graph.

The function is called once, with arrays of traced scalars (`dtype=object`). Operations on constants
are computed at once and do not appear in the graph. A traced scalar has no value, so no branch may
depend on it. The builder remembers the first thing that was refused: a function that catches the
error and goes on would leave the graph of another branch, so its trace fails all the same.
"""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kinetree import scalars
from kinetree.core.repeat import next_round
from kinetree.engine.compiler.builder import Builder
from kinetree.engine.compiler.graph import Graph, Port, Sweep, no_collection, prune
from kinetree.engine.compiler.optimise import optimise
from kinetree.errors import GraphError, InputError
from kinetree.scalars import FUNCTIONS

NUMBERS = (float, int, np.floating, np.integer)
MAX_WHOLE_EXPONENT = 1024  # greatest whole exponent of a power


def unary_method(op: str) -> Any:
    """Make a method that applies an operation to a traced scalar."""
    return lambda self: unary(op, self)


def binary_method(op: str) -> Any:
    """Make an operator; its most frequent case, two scalars of one trace, is written out.

    A call of `binary` takes as long as finding the node.
    """

    def apply(self: "TracedScalar", other: object) -> Any:
        builder = self.builder
        if type(other) is TracedScalar and other.builder is builder:
            return TracedScalar(builder, builder.apply(op, (self.node, other.node)))
        return binary(op, self, other)

    return apply


def reflected_method(op: str) -> Any:
    """Make an operator for a number on the left of a traced scalar."""

    def apply(self: "TracedScalar", other: object) -> Any:
        if not isinstance(other, NUMBERS):
            return NotImplemented
        builder = self.builder
        node = builder.constant(other := float(other))
        if op == "mul" and (other == 0 or other == 1):  # most entries of constant matrices
            return self if other else TracedScalar(builder, node)
        return TracedScalar(builder, builder.apply(op, (node, self.node)))

    return apply


class TracedScalar:
    """A node of a graph under construction, with the operators of a number."""

    __slots__ = ("builder", "node")

    def __init__(self, builder: Builder, node: int) -> None:
        self.builder = builder
        self.node = node

    __add__, __radd__ = binary_method("add"), reflected_method("add")
    __sub__, __rsub__ = binary_method("sub"), reflected_method("sub")
    __mul__, __rmul__ = binary_method("mul"), reflected_method("mul")
    __truediv__, __rtruediv__ = binary_method("div"), reflected_method("div")
    __neg__, __abs__ = unary_method("neg"), unary_method("abs")

    # NumPy's functions of an object array call the methods of its elements.
    sin, cos, sqrt = unary_method("sin"), unary_method("cos"), unary_method("sqrt")
    exp, log, tanh = unary_method("exp"), unary_method("log"), unary_method("tanh")
    fabs = __abs__

    def __pos__(self) -> "TracedScalar":
        return self

    def __pow__(self, exponent: object) -> "TracedScalar":
        return power(self, exponent)

    def __rpow__(self, base: object) -> Any:
        return exponential(base, self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        # NumPy asks here where a traced scalar itself is an argument of one of its functions
        return numpy_function(ufunc, method, *args, **options)

    def arctan2(self, x: object) -> "TracedScalar":
        """Angle of the point (x, self) in rad."""
        return atan2(self, x)

    def clip(self, low: object, high: object, out: None = None) -> "TracedScalar":
        """Return the nearest number between two bounds, for `np.clip`."""
        return minimum(maximum(self, low), high)

    def __bool__(self) -> NoReturn:
        refuse(self, "has no truth value")

    def __eq__(self, other: object) -> NoReturn:
        refuse(self, "cannot be compared")

    def __ne__(self, other: object) -> NoReturn:
        refuse(self, "cannot be compared")

    # a comparison is 1 where it is true and 0 elsewhere, for `where`; NaN compares as false

    def __lt__(self, other: object) -> Any:
        return compared(reflected_difference(self, other))

    def __gt__(self, other: object) -> Any:
        return compared(binary("sub", self, other))

    def __le__(self, other: object) -> Any:
        return either(self < other, reflected_difference(self, other))

    def __ge__(self, other: object) -> Any:
        return either(self > other, binary("sub", self, other))

    def __float__(self) -> NoReturn:
        refuse(self, "is not a float (it was written into an array of floats, or given to `math`)")

    def __index__(self) -> NoReturn:
        refuse(self, "is not a whole number")

    __int__ = __trunc__ = __floor__ = __ceil__ = __index__

    def __round__(self, digits: int | None = None) -> NoReturn:
        refuse(self, "cannot be rounded")

    def __mod__(self, other: object) -> NoReturn:
        refuse(self, "has no remainder")

    __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = __mod__

    def __format__(self, spec: str) -> str:
        return refuse(self, f"cannot be written as {spec!r}") if spec else repr(self)

    def __hash__(self) -> NoReturn:
        refuse(self, "has no hash")

    def __repr__(self) -> str:
        return f"TracedScalar({self.builder.ops[self.node]} %{self.node})"


class TracedTruth(TracedScalar):
    """The result of a comparison: 1 where it holds, 0 elsewhere.

    Two of them have no sum: NumPy's truth values add up to at most 1, Python's to 2.
    """

    __slots__ = ()

    def __add__(self, other: object) -> Any:
        if isinstance(other, TRUTH):
            text = (
                "two comparisons are added or subtracted, which NumPy and Python "
                "do differently. Write where(a, 1, 0) + where(b, 1, 0) to count them, a * b for "
                "both, maximum(a, b) for one or the other."
            )
            raise GraphError(remember(self, text))
        return binary("add", self, other)

    def __sub__(self, other: object) -> Any:
        return self + other if isinstance(other, TRUTH) else super().__sub__(other)

    def __rsub__(self, other: object) -> Any:
        return self + other if isinstance(other, TRUTH) else super().__rsub__(other)

    def __mul__(self, other: object) -> Any:
        found = binary("mul", self, other)
        both = found is not NotImplemented and isinstance(other, TracedTruth)
        return TracedTruth(found.builder, found.node) if both else found

    __radd__, __rmul__ = __add__, __mul__


TRUTH = TracedTruth | bool | np.bool_


class TracedArray(np.ndarray[Any, np.dtype[np.object_]]):
    """An array of traced scalars for a user's function, in which NumPy's functions are found.

    NumPy's loops over plain arrays of objects do not know all of them: `np.minimum`, `np.clip` and
    comparisons ask for truth values, and `np.isnan` fails without naming what is possible.
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        result = numpy_function(ufunc, method, *args, **options)
        return guarded(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.where and len(args) == 3 and not kwargs:
            return guarded(scalars.where(holds(np.asarray(args[0], object)), *args[1:]))
        try:
            return guarded(super().__array_function__(func, types, args, kwargs))
        except Exception as problem:
            remember(args, f"np.{func.__name__}: {problem}")
            raise


@scalars.elementwise
def holds(test: Any) -> Any:
    """Return a number that is above 0 where NumPy takes a condition as true: where it is not 0.

    The result of a comparison stays as it is. NaN is not 0.
    """
    if not isinstance(test, TracedScalar):
        return 1 if test else 0
    if truth_node(test.builder, test.node):
        return test
    zero = 1 - sign(test) * sign(test)  # NaN where the number is
    return where(zero, 0, 1)


def truth_node(builder: Builder, node: int) -> bool:
    """Return True for a node that is 0 or 1 and nothing else: the result of a comparison."""
    if builder.ops[node] == "select":
        return all(truth_node(builder, k) for k in builder.args[node][1:])
    return builder.numbers[node] in (0.0, 1.0)


def guarded(x: Any) -> Any:
    """Return an array of traced scalars as a `TracedArray`, anything else as it is."""
    traced = isinstance(x, np.ndarray) and x.dtype == object
    if traced and any(isinstance(element, TracedScalar) for element in x.flat):
        return x.view(TracedArray)
    return x


# NumPy's functions whose loops over objects use the operators of the elements
OBJECT_LOOPS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.matmul: operator.matmul,
}


def numpy_function(ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
    """Apply a function of NumPy to traced scalars and arrays of them; unknown ones are named."""
    if ufunc in OBJECT_LOOPS:
        if isinstance(args[0], np.generic) and isinstance(args[-1], TracedScalar) and not options:
            return OBJECT_LOOPS[ufunc](boxed(args[0]), args[-1])
        if "out" in options:
            options["out"] = tuple(boxed(x) for x in options["out"])
        args = tuple(boxed(x) for x in args)
        if method != "__call__":  # sums of truth values count them
            args = (scalars.elementwise(uncounted)(args[0]), *args[1:])
        return getattr(ufunc, method)(*args, **options)
    function = scalars.NUMPY.get(ufunc.__name__)
    if function is None or method != "__call__" or set(options) - {"dtype"}:
        name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        raise InputError(remember(args, scalars.unknown(name)))
    return function(*[boxed(x) if isinstance(x, np.ndarray) else x for x in args])


def uncounted(x: Any) -> Any:
    """Return a truth value as the number 0 or 1, anything else as it is."""
    return TracedScalar(x.builder, x.node) if isinstance(x, TracedTruth) else x


def boxed(x: Any) -> Any:
    """Return a traced scalar as an array without axes, a `TracedArray` as a plain array.

    A number of NumPy becomes a float: a long double would stay one in an array of objects, and its
    product with a traced scalar would ask NumPy again.
    """
    if isinstance(x, np.generic):
        return float(x)
    if isinstance(x, TracedScalar):
        box = np.empty((), object)
        box[()] = x
        return box
    return x.view(np.ndarray) if type(x) is TracedArray else x


def refuse(x: TracedScalar, what: str) -> NoReturn:
    """Raise an error that says why a traced scalar cannot do it, and what to write instead."""
    text = (
        f"a traced scalar {what}: it represents every value at once. Branch on the "
        f"model, never on q; take functions from kinetree.scalars ({', '.join(FUNCTIONS)}); "
        "build arrays with np.array([...]) instead of writing into arrays of floats."
    )
    raise GraphError(remember(x, text))


def remember(x: Any, text: str) -> str:
    """Return the message of an error, after the first trace in x has noted that it was raised."""
    if isinstance(x, TracedScalar):
        x.builder.refused = x.builder.refused or text
    elif isinstance(x, np.ndarray | list | tuple):
        for element in x.flat if isinstance(x, np.ndarray) else x:
            remember(element, text)
    return text


def binary(op: str, x: TracedScalar, other: object) -> Any:
    """Return `x op other`, or NotImplemented where `other` is not a number."""
    if not isinstance(other, (TracedScalar, *NUMBERS)):
        return NotImplemented
    builder, node = x.builder, operand(x.builder, other)
    if op == "mul" and builder.ops[node] == "const" and builder.numbers[node] in (0, 1):
        return TracedScalar(builder, x.node if builder.numbers[node] else node)  # as most entries
    return TracedScalar(builder, builder.apply(op, (x.node, node)))


def reflected_difference(x: TracedScalar, other: object) -> Any:
    """Return `other - x` for a number or a traced scalar."""
    difference = binary("sub", x, other)
    if difference is NotImplemented:
        return difference
    return TracedScalar(x.builder, operand(x.builder, other)) - x


def compared(difference: TracedScalar) -> Any:
    """Return 1 where the difference is above 0, 0 elsewhere."""
    return difference if difference is NotImplemented else truth(where(difference, 1, 0))


def either(strict: TracedScalar, difference: TracedScalar) -> Any:
    """Return 1 where a strict comparison is true or the difference is 0; 0 where it is NaN."""
    if strict is NotImplemented:
        return strict
    equal = 1 - sign(difference) * sign(difference)  # NaN where the difference is
    return truth(where(equal, 1, strict))


def truth(x: TracedScalar) -> TracedTruth:
    """Return a number that is 0 or 1 as the result of a comparison."""
    return TracedTruth(x.builder, x.node)


def unary(op: str, x: TracedScalar) -> TracedScalar:
    """Return `op` of a traced scalar."""
    return TracedScalar(x.builder, x.builder.apply(op, (x.node,)))


def power(x: TracedScalar, exponent: object) -> TracedScalar:
    """Return x to a constant power: by squaring, with a square root, or exp(exponent log(x))."""
    if isinstance(exponent, Fraction):
        exponent = float(exponent)
    if not isinstance(exponent, NUMBERS) or not math.isfinite(exponent):
        text = (
            f"a traced scalar was raised to the power {exponent!r}; expected a finite number. "
            "Write exp(y * log(x)) of kinetree.scalars for x^y."
        )
        raise GraphError(remember(x, text))
    if exponent < 0:
        return reciprocal(power(x, -exponent))
    if exponent == int(exponent) and exponent <= MAX_WHOLE_EXPONENT:
        return whole_power(x, int(exponent))
    if 2 * exponent == int(2 * exponent) and exponent <= MAX_WHOLE_EXPONENT:
        root = x.sqrt()
        return root * whole_power(x, int(exponent)) if exponent > 1 else root
    return (float(exponent) * x.log()).exp()


def whole_power(x: TracedScalar, n: int) -> TracedScalar:
    """Return x^n for n >= 0, by repeated squaring."""
    result: Any = 1
    square = x
    while n:
        if n % 2:
            result = square * result
        n //= 2
        square = square * square if n else square
    return TracedScalar(x.builder, x.builder.constant(1)) * result


def reciprocal(x: TracedScalar) -> TracedScalar:
    """Return 1 / x."""
    return TracedScalar(x.builder, x.builder.constant(1)) / x


def exponential(base: object, x: TracedScalar) -> Any:
    """Return base^x for a base that is a positive number."""
    if not isinstance(base, NUMBERS):
        return NotImplemented
    if not base > 0:
        text = f"{base!r} was raised to the power of a traced scalar; expected a base above 0."
        raise GraphError(remember(x, text))
    return (TracedScalar(x.builder, x.builder.constant(float(base))).log() * x).exp()


# `kinetree.scalars` finds the functions of a kind of scalars in the module of its type
sin, cos, sqrt, exp = TracedScalar.sin, TracedScalar.cos, TracedScalar.sqrt, TracedScalar.exp
log, tanh, absolute = TracedScalar.log, TracedScalar.tanh, TracedScalar.fabs
sign = unary_method("sign")


def atan2(y: object, x: object) -> TracedScalar:
    """Angle of the point (x, y) in rad; one of both may be a number."""
    return mixed("atan2", y, x)


def minimum(x: object, y: object) -> TracedScalar:
    """The smaller of two numbers; y where they are equal; NaN where one is NaN."""
    return mixed("min", x, y)


def maximum(x: object, y: object) -> TracedScalar:
    """The larger of two numbers; y where they are equal; NaN where one is NaN."""
    return mixed("max", x, y)


def where(test: object, positive: object, other: object) -> TracedScalar:
    """Return `positive` where test > 0, `other` elsewhere and where the test is NaN."""
    return mixed("select", test, positive, other)


def mixed(op: str, *args: object) -> TracedScalar:
    """Return `op` of traced scalars and numbers."""
    traced = next(x for x in args if isinstance(x, TracedScalar))
    nodes = [operand(traced.builder, x) for x in args]
    return TracedScalar(traced.builder, traced.builder.apply(op, tuple(nodes)))


def operand(builder: Builder, x: object) -> int:
    """Return the node of a traced scalar of this trace, or of a number."""
    if isinstance(x, TracedScalar):
        if x.builder is not builder:
            refuse(x, "was combined with a traced scalar of another trace")
        return x.node
    if not isinstance(x, NUMBERS):
        raise GraphError(f"a traced function was given a {type(x).__name__}; expected numbers.")
    return builder.constant(float(x))


def repeated(
    function: Callable[[Any, Any], Any], rounds: int, carried: Any, fixed: Any, solves: bool
) -> NDArray[np.object_]:
    """Return the results of a loop (`kinetree.core.repeat`), which is one node of the graph."""
    builder = builder_of(*carried, *fixed)
    is_open = builder.numbers[operand(builder, carried[0])]
    if rounds < 1 or (is_open is not None and not is_open > 0):
        return np.array(carried, object)

    def once(before: NDArray[np.object_], stay: NDArray[np.object_]) -> list[Any]:
        after = next_round(function, before, stay)
        return [_kept(before[0], new, old) for new, old in zip(after, before, strict=True)]

    return loop(builder, once, carried, fixed, lambda graph: Sweep(int(rounds), graph, solves))


def scanned(
    function: Callable[[Any, Any, Any], Any], carried: Any, rows: Any, fixed: Any
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Return the results of a scan (`kinetree.core.repeat`), which is one node of the graph."""
    count = len(rows)
    builder = builder_of(*carried, *rows.ravel(), *fixed)
    made = loop(
        builder, function, carried, fixed, lambda graph: Sweep(count, graph, scans=True), rows
    )
    return made[: len(carried)], made[len(carried) :].reshape(count, -1)


def builder_of(*numbers: object) -> Builder:
    """Return the builder of the first traced scalar among some numbers."""
    return next(x.builder for x in numbers if isinstance(x, TracedScalar))


def loop(
    builder: Builder,
    function: Callable[..., Any],
    carried: Any,
    fixed: Any,
    sweep: Callable[[Graph], Sweep],
    rows: Any = None,
) -> NDArray[np.object_]:
    """Append a loop; return the numbers that it leaves.

    The graph of a round is traced and optimised alone. Numbers of `fixed` that are constants are
    constants in it, and equal ones are one.
    """
    numbers, stay = builder.numbers, [operand(builder, x) for x in fixed]
    varying = list(dict.fromkeys(node for node in stay if numbers[node] is None))

    def once(before: Any, inputs: Any, *row: Any) -> Any:
        known = {node: numbers[node] for node in stay} | dict(zip(varying, inputs, strict=True))
        return function(before, np.array([known[node] for node in stay], object), *row)

    ports = [Port("carried", (len(carried),)), Port("fixed", (len(varying),))]
    outputs: list[tuple[str, tuple[str, ...]]] = [("next", ())]
    given = [*carried]
    if rows is not None:
        ports.append(Port("row", (rows.shape[1],)))
        outputs.append(("result", ()))
        given += rows.ravel().tolist()
    start = [operand(builder, x) for x in given]
    start[len(carried) : len(carried)] = varying
    made = sweep(optimise(trace(once, ports, outputs)))
    node = builder.apply("repeat", tuple(start), made)
    left = [builder.apply("carried", (node,), (0, k)) for k in range(made.made)]
    return np.array([TracedScalar(builder, k) for k in left], object)


def _kept(is_open: TracedScalar, new: object, old: TracedScalar) -> TracedScalar:
    """Return the new number where the loop is open, the old one elsewhere."""
    builder = is_open.builder
    node = operand(builder, new)
    begin = (is_open.node, old.node)  # of a choice that is made already
    if builder.ops[node] == "select" and builder.args[node][::2] == begin:
        return TracedScalar(builder, node)
    return where(is_open, TracedScalar(builder, node), old)


@no_collection()
def trace(
    function: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]] | None = None,
) -> Graph:
    """Return the graph of a function of arrays: its computation as straight-line code.

    Args:
        function: called once with an array of traced scalars for each input, shape `Port.shape`
            (a traced scalar where the shape is ()); returns an array or scalar, or a tuple of them.
        inputs: name, shape and dimension letters of each argument.
        outputs: name and dimension letters of each result; `out0`, `out1`, ... where left out.

    Returns:
        A graph without dead nodes, in the order in which the function computed.
    """
    builder = Builder()
    returned = function(*(traced_array(builder, k, port) for k, port in enumerate(inputs)))
    if builder.refused:
        raise GraphError(f"{builder.refused} The function caught this error and went on.")
    ports, results = read_results(builder, returned, outputs)
    return prune(builder.graph(inputs, ports, results))


def read_results(
    builder: Builder, returned: Any, outputs: Sequence[tuple[str, tuple[str, ...]]] | None
) -> tuple[list[Port], list[list[int]]]:
    """Return the ports of what a traced function returned, and the nodes of each."""
    arrays = [
        np.asarray(item) for item in (returned if isinstance(returned, tuple) else (returned,))
    ]
    if outputs is None:
        outputs = [(f"out{k}", ()) for k in range(len(arrays))]
    if len(outputs) != len(arrays):
        names = ", ".join(name for name, _ in outputs)
        raise GraphError(
            f"the traced function returned {len(arrays)} arrays but {len(outputs)} outputs "
            f"were announced ({names}). Return a tuple with one array for each."
        )
    named = zip(outputs, arrays, strict=True)
    ports = [Port(name, array.shape, dims) for (name, dims), array in named]
    results = [
        [read(builder, x, port, k) for k, x in enumerate(array.ravel().tolist())]
        for port, array in zip(ports, arrays, strict=True)
    ]
    return ports, results


def traced_array(builder: Builder, k: int, port: Port) -> NDArray[np.object_] | TracedScalar:
    """Return input k as an array of traced scalars."""
    elements = [TracedScalar(builder, builder.input(k, i)) for i in range(math.prod(port.shape))]
    if port.shape == ():
        return elements[0]
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array.reshape(port.shape)


def read(builder: Builder, x: object, port: Port, element: int) -> int:
    """Return the node of one element of an output; a plain number becomes a constant."""
    if isinstance(x, TracedScalar) and x.builder is builder:
        return x.node
    if isinstance(x, NUMBERS):
        return builder.constant(float(x))
    index = tuple(int(i) for i in np.unravel_index(element, port.shape)) if port.shape else ()
    raise GraphError(
        f"element {index} of output {port.name!r} is a {type(x).__name__}; a traced function "
        "returns arrays of numbers and of the traced scalars that it was given."
    )
