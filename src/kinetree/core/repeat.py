"""Repetition: a function that is applied to its own results until nothing is open any more."""

from collections.abc import Callable

import numpy as np

from kinetree import scalars
from kinetree.core.arrays import Array
from kinetree.errors import ShapeError

NUMBERS = ("math", "mpmath")  # modules whose scalars are known to be above 0, or not
Function = Callable[[Array, Array], Array]


def repeated(
    function: Function, rounds: int, carried: Array, fixed: Array, *, solves: bool = False
) -> Array:
    """Return `carried` after at most so many rounds of carried = function(carried, fixed).

    A round changes nothing once the first number, `open`, is not above 0. In a compiled kernel the
    rounds are a loop, which is left where no state is open any more; a state that is done has the
    bits that it would have alone. Symbols go through all rounds.

    Args:
        function: returns the next `carried`. It may read constants, but nothing else that varies.
        rounds: how many there are at most.
        carried: shape (c,), its first number `open`.
        fixed: shape (f,), the same in every round.
        solves: the loop finds the solution of equations on which the caller then takes a step of
            Newton's method: derivatives are those of the step, with what the loop found constant.
            A loop without such a step has none.

    Example:
        The square root of a, by Newton's method::

            def newton(carried, fixed):
                (_, x), (a,) = carried, fixed
                y = (x + a / x) / 2
                return np.array([where(abs(y - x) - 1e-12, 1, 0), y])

            root = repeated(newton, 30, np.array([1, a]), np.array([a]))[1]
    """
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
