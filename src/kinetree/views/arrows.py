"""Arrows for the twists, accelerations and wrenches of the recursion, link by link, in {s}."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import Recursion
from kinetree.errors import InputError
from kinetree.explain import Explanation
from kinetree.model import WORLD
from kinetree.model.constraints import AXES, ROD, Closure
from kinetree.views.loops import closures
from kinetree.views.shapes import LOOP, Colour

# quantity -> (name, unit, colour) of its angular and of its linear half
HALVES: dict[str, tuple[tuple[str, str, Colour], tuple[str, str, Colour]]] = {
    "V": (("omega", "rad/s", (142, 68, 173)), ("v", "m/s", (41, 128, 185))),
    "dV": (("alpha", "rad/s^2", (175, 122, 197)), ("a", "m/s^2", (52, 152, 219))),
    "F": (("moment", "N m", (211, 84, 0)), ("force", "N", (192, 57, 43))),
}


@dataclass(frozen=True, eq=False)
class Arrow:
    """A vector at the origin of link `link`, both in {s}; `value` has the unit of its quantity.

    tip - start is the value, scaled so that the longest arrow of its kind has the chosen length.

    Args:
        quantity: name of the quantity.
        name: name of the arrow.
        unit: unit of the value.
        link: number of the link.
        start: point in {s}, shape (3,), m.
        tip: point in {s}, shape (3,), m.
        value: the vector in {s}, shape (3,), in `unit` (N, N m, m/s ...).
        colour: red, green and blue, 0 to 255.
    """

    quantity: str
    name: str
    unit: str
    link: int
    start: Array
    tip: Array
    value: Array
    colour: Colour


def recursion_arrows(
    recursion: Recursion, quantity: str, length: float, links: range | None = None
) -> tuple[Arrow, ...]:
    """Two arrows per link: the angular and the linear half of V, dV or F.

    Args:
        recursion: result of `kt.dynamics.newton_euler` for numbers.
        quantity: "V", "dV" or "F"; dV is drawn as alpha and the acceleration of the origin.
        length: length of the longest arrow of each half, m.
        links: links that get arrows; None means all.
    """
    if quantity not in HALVES:
        raise InputError(f"quantity is {quantity!r}; expected {', '.join(HALVES)}.")
    T = np.asarray(recursion.T_si, float)
    vectors = {
        "V": (recursion.omega, recursion.v),
        "dV": (recursion.alpha, recursion.a_e),
        "F": (recursion.n, recursion.f),
    }[quantity]
    arrows: list[Arrow] = []
    for (name, unit, colour), rows in zip(HALVES[quantity], vectors, strict=True):
        x = np.asarray(rows, float)
        if recursion.frame == "link":
            x = np.einsum("kij,kj->ki", T[:, :3, :3], x)
        longest = max(np.linalg.norm(x, axis=1), default=0.0)
        scale = length / longest if longest > 0 else 0.0
        for i in range(len(T)) if links is None else links:
            start = T[i, :3, 3]
            tip = start + scale * x[i]
            arrows.append(Arrow(quantity, name, unit, i, start, tip, x[i], colour))
    return tuple(arrows)


def constraint_arrows(explanation: Explanation, length: float) -> list[Arrow]:
    """Moment and force of every constraint onto frame_b, at its origin; zeros are left out.

    Args:
        explanation: of numbers; without constraints there are no arrows.
        length: length of the longest arrow of each kind, m.
    """
    carried, model = explanation.torque.constraints, explanation.model
    if carried is None:
        return []
    T_si = np.asarray(explanation.recursion.T_si, float)
    poses = {WORLD: np.eye(4), **dict(enumerate(T_si))}
    largest = max((abs(float(x)) for x in carried.forces.values()), default=0.0)
    vectors: list[tuple[Closure, Array, str, Array]] = []
    for item in closures(model):
        T_sa = poses[item.link_a] @ np.asarray(item.T_a, float)
        start = (poses[item.link_b] @ np.asarray(item.T_b, float))[:3, 3]
        moment, force = np.zeros(3), np.zeros(3)
        if item.kind == ROD:
            way = start - T_sa[:3, 3]
            force = way / np.linalg.norm(way) * float(carried.forces[item.name])
        for row in item.row_names if item.kind != ROD else ():
            half, _, axis = row.rpartition(".")[2].partition("_")
            vector = T_sa[:3, AXES.index(axis)] * float(carried.forces[row])
            moment, force = (
                (moment + vector, force) if half == "angular" else (moment, force + vector)
            )
        vectors += [(item, start, "moment", moment), (item, start, "force", force)]
    arrows: list[Arrow] = []
    for kind, unit in (("moment", "N m"), ("force", "N")):
        alike = [x for x in vectors if x[2] == kind and np.linalg.norm(x[3]) > 1e-9 * largest]
        longest = max((float(np.linalg.norm(x[3])) for x in alike), default=1.0)
        for item, start, _, value in alike:
            tip = start + value * (length / longest)
            arrows.append(Arrow("lambda", item.name, unit, item.link_b, start, tip, value, LOOP))
    return arrows
