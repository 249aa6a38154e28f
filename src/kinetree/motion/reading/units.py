"""Units of columns: those that headers state, checked against the joints and the option.

A unit that contradicts the quantity, the kind of joint, its neighbours or the option is refused:
degrees are told apart from radians only where a header or the option states them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import ParseError
from kinetree.model.units import DEGREE, METRE, NUMBER, RAD, kinds
from kinetree.motion.reading import Wish

# unit -> quantity, kind of entry, and the fraction by which a value becomes SI
UNITS: Mapping[str, tuple[str, str, float, float]] = {
    "rad": ("q", RAD, 1, 1),
    "deg": ("q", RAD, DEGREE, 1),
    "m": ("q", METRE, 1, 1),
    "mm": ("q", METRE, 1, 1000),
    "rad/s": ("dq", RAD, 1, 1),
    "deg/s": ("dq", RAD, DEGREE, 1),
    "m/s": ("dq", METRE, 1, 1),
    "mm/s": ("dq", METRE, 1, 1000),
    "rad/s^2": ("ddq", RAD, 1, 1),
    "deg/s^2": ("ddq", RAD, DEGREE, 1),
    "m/s^2": ("ddq", METRE, 1, 1),
    "N m": ("tau", RAD, 1, 1),
    "N": ("tau", METRE, 1, 1),
}
KINDS = {RAD: "an angle", METRE: "a length", NUMBER: "a part of a quaternion"}


def scales(
    wish: Wish, stated: Mapping[str, Sequence[str]], where: str
) -> dict[str, tuple[Array, Array]]:
    """Numerators and denominators that make SI units, (n,) each, by quantity.

    stated: units in the header of every quantity's columns, "" for columns without one.
    """
    turned = [x for x, own in stated.items() if any("deg" in unit for unit in own)]
    silent = [x for x, own in stated.items() if not any(own) and x != "tau"]
    if turned and silent and not wish.degrees:
        raise ParseError(
            f"{where}: {turned[0]} is in degrees by its header, and {silent[0]} has no unit. Name "
            f"the unit of both; or use {wish.ways.degrees} if all angles are in degrees."
        )
    return {quantity: _scale(wish, quantity, own, where) for quantity, own in stated.items()}


def conversions(wish: Wish, stated: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes on the units of the header that were converted."""
    return [
        f"{quantity} in {unit}, as the header states, was converted"
        for quantity, own in stated.items()
        for unit in dict.fromkeys(own)
        if unit and UNITS[unit][2:] != (1, 1) and not (wish.degrees and "deg" in unit)
    ]


def _scale(wish: Wish, quantity: str, stated: Sequence[str], where: str) -> tuple[Array, Array]:
    own = kinds(wish.model, quantity) if wish.model is not None else [RAD] * len(stated)
    names = wish.names(quantity) or tuple(f"joint {k + 1}" for k in range(len(stated)))
    numerators, denominators = np.ones(len(own)), np.ones(len(own))
    for k, (unit, kind, name) in enumerate(zip(stated, own, names, strict=True)):
        if unit:
            _check(wish, quantity, (unit, kind, name), where)
            numerators[k], denominators[k] = UNITS[unit][2:]
        elif wish.degrees and kind == RAD and quantity != "tau":
            numerators[k] = DEGREE
    angles = {unit for unit, kind in zip(stated, own, strict=True) if kind == RAD}
    if "" in angles and any("deg" in x for x in angles) and not wish.degrees:
        raise ParseError(
            f"{where}: some columns of {quantity} are in degrees by their header, others have no "
            f"unit. Name the unit of all of them; or use {wish.ways.degrees} if all are in degrees."
        )
    return numerators, denominators


def _check(wish: Wish, quantity: str, entry: tuple[str, str, str], where: str) -> None:
    """Refuse a unit of another quantity, of another kind of joint, or against the option."""
    unit, kind, name = entry
    known = UNITS.get(unit)
    if known is None or known[0] != quantity or (wish.model is not None and known[1] != kind):
        thing = f", and {name} is {KINDS[kind]}" if wish.model is not None else ""
        raise ParseError(
            f"{where}: {quantity} of {name} is in {unit} by its header; expected a unit of "
            f"{quantity}{thing}."
        )
    if wish.degrees and kind == RAD and known[2] != DEGREE and quantity != "tau":
        raise ParseError(
            f"{where}: {quantity} of {name} is in {unit} by its header, and {wish.ways.degrees} "
            "states degrees; leave that option out."
        )
