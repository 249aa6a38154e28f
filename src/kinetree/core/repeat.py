"""Loops over named values: `repeat` until nothing is open any more, and `scan` over rows.

    root = repeat(newton, 30, {"open": 1, "x": a}, {"a": a})["x"]
    end, at = scan(step, {"q": q, "dq": dq}, {"tau": tau}, {"h": h})  # tau: (N, n), at["q"]: (N, n)

In a compiled kernel they are loops, in LLVM, CUDA and C. Floats go through them one round after the
other, and so do symbols and numbers of many digits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree import scalars
from kinetree.core.arrays import Array
from kinetree.errors import ShapeError

NUMBERS = ("math", "mpmath")  # modules whose scalars are known to be above 0, or not
OPEN = "open"
Function = Callable[[Array, Array], Array]
Values = Mapping[str, ArrayLike]
Named = dict[str, Array]


def repeat(
    function: Callable[[Named, Named], Values],
    rounds: int,
    carried: Values,
    fixed: Values | None = None,
    *,
    solves: bool = False,
) -> Named:
    """Return `carried` after at most so many rounds of carried = function(carried, fixed).

    A round changes nothing once `carried["open"]` is not above 0. In a compiled kernel the loop is
    left where no state is open any more; a state that is done has the bits that it would have
    alone. Symbols go through all rounds.

    Args:
        function: returns the next values by their names. It may read constants, but nothing else
            that varies.
        rounds: how many there are at most.
        carried: scalars and arrays by name; one is "open".
        fixed: the same in every round.
        solves: the loop finds the solution of equations on which the caller then takes a step of
            Newton's method: derivatives are those of the step, with what the loop found constant.
            A loop without such a step has none.

    Example:
        The square root of a, by Newton's method::

            def newton(now, given):
                y = (now["x"] + given["a"] / now["x"]) / 2
                return {"open": where(abs(y - now["x"]) - 1e-12, 1, 0), "x": y}

            root = repeat(newton, 30, {"open": 1, "x": a}, {"a": a})["x"]
    """
    if OPEN not in carried:
        raise ShapeError(f"a loop carries {', '.join(carried)}; expected a number 'open' among it.")
    names = [OPEN, *(name for name in carried if name != OPEN)]
    now = Layout.of({name: carried[name] for name in names})
    given = Layout.of(fixed or {})

    def once(numbers: Array, stay: Array) -> Array:
        return now.flat(function(now.named(numbers), given.named(stay)))

    last = repeated(once, rounds, now.flat(carried), given.flat(fixed or {}), solves=solves)
    return now.named(last)


def scan(
    function: Callable[[Named, Named, Named], tuple[Values, Values]],
    carried: Values,
    rows: Values,
    fixed: Values | None = None,
) -> tuple[Named, Named]:
    """Return the last `carried` and all results of carried, result = function(carried, row, fixed).

    There is a round for each row. In a compiled kernel the rounds are a loop, whose rows lie in
    memory; it has no derivatives.

    Args:
        function: returns the next values by their names, and results by theirs. It may read
            constants, but nothing else that varies.
        carried: scalars and arrays by name.
        rows: arrays by name, shape (N, ...), whose rows are the arguments of the rounds.
        fixed: the same in every round.

    Example:
        Explicit Euler under changing forces::

            def step(now, row, given):
                dq = now["dq"] + given["h"] * acceleration(now["q"], now["dq"], row["tau"])
                return {"q": now["q"] + given["h"] * now["dq"], "dq": dq}, {"q": now["q"]}

            end, at = scan(step, {"q": q, "dq": dq}, {"tau": tau}, {"h": h})
    """
    tables = {name: np.asarray(x) for name, x in rows.items()}
    counts = {len(x) for x in tables.values()}
    if len(counts) != 1 or 0 in counts:
        lengths = ", ".join(f"{name} ({len(x)})" for name, x in tables.items())
        raise ShapeError(f"a scan has rows {lengths or 'of nothing'}; expected equally many.")
    now, given = Layout.of(carried), Layout.of(fixed or {})
    row = Layout.of({name: x[0] for name, x in tables.items()})
    made: list[Layout] = []

    def once(numbers: Array, stay: Array, at: Array) -> tuple[Array, Array]:
        after, result = function(now.named(numbers), row.named(at), given.named(stay))
        made[:] = [Layout.of(result)]
        return now.flat(after), made[0].flat(result)

    flat = np.stack([row.flat({name: x[k] for name, x in tables.items()}) for k in range(*counts)])
    last, results = scanned(once, now.flat(carried), flat, given.flat(fixed or {}))
    columns = [made[0].named(result) for result in results]
    return now.named(last), {name: np.stack([x[name] for x in columns]) for name in columns[0]}


@dataclass(frozen=True)
class Layout:
    """The order of named values in a flat array: their shapes."""

    shapes: dict[str, tuple[int, ...]]

    @classmethod
    def of(cls, values: Values) -> "Layout":
        """Return the layout of some values."""
        return cls({name: np.shape(np.asarray(x)) for name, x in values.items()})

    def flat(self, values: Values) -> Array:
        """Return the numbers of values with these names and shapes, one behind the other."""
        arrays = {name: np.asarray(x) for name, x in values.items()}
        shapes = {name: x.shape for name, x in arrays.items()}
        if shapes != self.shapes:
            raise ShapeError(
                f"a loop was given {_listed(self.shapes)} and returned {_listed(shapes)}; expected "
                "the same names and shapes."
            )
        parts = [arrays[name].ravel() for name in self.shapes]
        return np.concatenate(parts) if parts else np.zeros(0)

    def named(self, numbers: Array) -> Named:
        """Return the values by their names."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()]).tolist()
        pairs = zip(self.shapes.items(), [0, *ends], ends, strict=False)
        return {name: numbers[a:b].reshape(shape)[()] for (name, shape), a, b in pairs}


def _listed(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "nothing"


def scanned(
    function: Callable[[Array, Array, Array], tuple[Array, Array]],
    carried: Array,
    rows: Array,
    fixed: Array,
) -> tuple[Array, Array]:
    """Return `scan` of flat values: the last `carried`, (c,), and the results, (N, k)."""
    loop = getattr(scalars.home_of(*carried, *rows.ravel(), *fixed), "scanned", None)
    if loop is not None:
        return loop(function, carried, rows, fixed)
    results: list[Array] = []
    for row in rows:
        carried, result = function(carried, fixed, row)
        results.append(result)
    return carried, np.array(results)


def repeated(
    function: Function, rounds: int, carried: Array, fixed: Array, *, solves: bool = False
) -> Array:
    """Return `repeat` of flat values: carried, (c,), begins with `open`; fixed: (f,)."""
    loop = getattr(scalars.home_of(*carried, *fixed), "repeated", None)
    if loop is not None:
        return loop(function, rounds, carried, fixed, solves)
    for _ in range(rounds):
        if scalars.home(carried[0]).__name__ in NUMBERS and not carried[0] > 0:
            break
        carried = scalars.where(carried[0], next_round(function, carried, fixed), carried)
    return carried


def constant(numbers: Array) -> Array:
    """Return the same numbers, (k,), which derivatives take as constants."""
    return repeated(_unchanged, 1, np.array([1, *numbers]), np.zeros(1, int), solves=True)[1:]


def _unchanged(carried: Array, fixed: Array) -> Array:
    return carried


def next_round(function: Function, carried: Array, fixed: Array) -> Array:
    """Return what a function makes of `carried`; raise ShapeError for another number of numbers."""
    made = np.asarray(function(carried, fixed))
    if made.shape != carried.shape or carried.ndim != 1:
        raise ShapeError(
            f"a repeated function was given {carried.shape} numbers to carry on and returned "
            f"{made.shape}; expected one axis, as long as before."
        )
    return made
