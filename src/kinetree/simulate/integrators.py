"""Methods of integration with fixed steps: what each stage makes of the rates so far.

Each method is written once, over any scalar kind: it is traced into the compiled loop, and run as
it is where a controller can only be run by Python. x + v means the way along a tangent vector,
on quaternions too (space.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.simulate.space import Space

Stage = Callable[[Space, Any, Array, Sequence[Array]], Array]


@dataclass(frozen=True)
class Method:
    """When the rate is evaluated within a step, as parts of h, and what follows from it.

    braking: how many times 1 / h dry friction may brake at most. For dq' = -braking / h dq one step
    leaves little of dq: nothing with Euler's methods, a quarter with Runge and Kutta's.
    """

    name: str
    order: int
    braking: float
    times: tuple[float, ...]
    stages: tuple[Stage, ...]


def euler(space: Space, h: Any, x: Array, k: Sequence[Array]) -> Array:
    """X + h k_1: the book's, of first order; q moves with the old dq."""
    return space.plus(x, k[0] * h)


def semi_implicit_euler(space: Space, h: Any, x: Array, k: Sequence[Array]) -> Array:
    """Dq + h ddq first, then q moves with the new dq: of first order, but energy does not drift."""
    n = space.model.n
    _, dq, _ = space.split(x)
    new = space.settle(dq, dq + k[0][n : 2 * n] * h)
    return space.plus(x, np.concatenate([new * h, new - dq, k[0][2 * n :] * h]))


RK4_SHARES = (0.5, 0.5, 1.0)  # where in the step k_2, k_3 and k_4 are evaluated, and with how much


def rk4_stage(i: int) -> Stage:
    """Stages 1 to 3 of the classical method lead to where k_2, k_3 and k_4 are evaluated."""

    def stage(space: Space, h: Any, x: Array, k: Sequence[Array]) -> Array:
        return space.plus(x, step_rates(space, h, k)[i] * (h * RK4_SHARES[i]))

    return stage


def rk4_end(space: Space, h: Any, x: Array, k: Sequence[Array]) -> Array:
    """X + h (k_1 + 2 k_2 + 2 k_3 + k_4) / 6."""
    a, b, c, d = step_rates(space, h, k)
    return space.plus(x, (a + (b + c) * 2 + d) * (h / 6))


def step_rates(space: Space, h: Any, k: Sequence[Array]) -> list[Array]:
    """The rates as those of the coordinates of the step (Munthe-Kaas); k itself without turns."""
    found = [k[0]]
    for share, rate in zip(RK4_SHARES, k[1:], strict=False):
        found.append(space.inverse_rate(found[-1] * (h * share), rate))
    return found


METHODS = {
    "euler": Method("euler", 1, 1.0, (0.0,), (euler,)),
    "semi_implicit_euler": Method("semi_implicit_euler", 1, 1.0, (0.0,), (semi_implicit_euler,)),
    "rk4": Method(
        "rk4", 4, 1.6, (0.0, 0.5, 0.5, 1.0), (rk4_stage(0), rk4_stage(1), rk4_stage(2), rk4_end)
    ),
}
ADAPTIVE = "dop853"


def find_method(name: str) -> Method | None:
    """The method of that name; None is the adaptive one."""
    if name == ADAPTIVE:
        return None
    if name not in METHODS:
        known = ", ".join([*METHODS, ADAPTIVE])
        raise InputError(f"method is {name!r}; choose one of {known}.")
    return METHODS[name]
