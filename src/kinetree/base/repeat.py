"""Repetition: a function that is applied to its own results until nothing is open any more."""

from collections.abc import Callable
from functools import partial

from kinetree import scalars
from kinetree.base.arrays import Array
from kinetree.base.pieces import is_recording, piece

NUMBERS = ("math", "mpmath")  # modules whose scalars are known to be above 0, or not


def repeated(
    function: Callable[[Array, Array], Array], rounds: int, carried: Array, fixed: Array
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
    """
    if is_recording():  # the loop is a piece of its own
        return piece(partial(repeated, function, rounds))(carried, fixed)
    loop = getattr(scalars.home_of(*carried, *fixed), "repeated", None)
    if loop is not None:
        return loop(function, rounds, carried, fixed)
    for _ in range(rounds):
        if scalars.home(carried[0]).__name__ in NUMBERS and not carried[0] > 0:
            break
        carried = scalars.where(carried[0], function(carried, fixed), carried)
    return carried
