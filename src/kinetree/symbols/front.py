"""kt.symbolic: the closed forms of a robot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kinetree.base.extras import need
from kinetree.errors import InputError
from kinetree.model import model_of

if TYPE_CHECKING:
    from kinetree.symbols.robot import SymbolicRobot


def symbolic(
    robot: Any, parameters: str | Sequence[str] | None = None, *, snap: float = 1e-10
) -> "SymbolicRobot":
    """The equations of a robot in closed form, with exact numbers and symbols.

    Args:
        robot: a Robot or a Model. Any number of it may be a SymPy symbol or expression; floats
            become the fractions that their decimals say, rotations the roots that were meant.
        parameters: numbers to replace by symbols: "inertial" (m1, c1x, I1xx), "lengths" (L1),
            "gravity" (g), "friction" (b1, f1), "drives" (Ia1, Im1, r1), several of them, or "all".
            Zeros stay zero.
        snap: entries of rotations this close to 0, 1/2, sqrt(2)/2, sqrt(3)/2, 1 or another simple
            root are taken as it, since files often write pi with a dozen digits; `notes` of the
            result says where. 0 allows for rounding alone.

    Returns:
        M, C, c, g, tau, T, J, K, U, Lambda and christoffel as SymPy objects, each computed when it
        is first asked for.
    """
    need("sympy", "symbolic", "a closed form")
    model = model_of(robot)
    if not 0 <= snap < 0.01:
        raise InputError(f"snap is {snap}; expected 0 <= snap < 0.01.")
    from kinetree.symbols.robot import SymbolicRobot

    return SymbolicRobot(model, parameters, snap)
