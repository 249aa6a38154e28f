"""Units of columns: those that a file or a mapping states, checked against the joints.

A unit that contradicts the quantity, the kind of joint or the option is refused, and so is a unit
other than SI beside columns without one: nothing states in which unit these are.
`kinetree.core.units` knows the spellings.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.units import Unit, unit_of
from kinetree.errors import ParseError
from kinetree.model.units import DEGREE, METRE, NUMBER, PER_TIME, RAD, kinds
from kinetree.motion.recordings import ReadRequest
from kinetree.motion.recordings.names import TIME, Meaning

KINDS = {RAD: "an angle", METRE: "a length", NUMBER: "a part of a quaternion"}
Stated = Mapping[str, Sequence[Unit | None]]  # units of every quantity's columns


def scales(request: ReadRequest, stated: Stated, where: str) -> dict[str, tuple[Array, Array]]:
    """Numerators and denominators that make SI units, (n,) each, by quantity."""
    for quantity, units in stated.items():
        for unit, kind, name in entries(request, quantity, units):
            if unit is not None:
                _check(request, quantity, (unit, kind, name), where)
    _check_silent(request, stated, where)
    return {quantity: _scale(request, quantity, units) for quantity, units in stated.items()}


def conversions(request: ReadRequest, stated: Stated) -> list[str]:
    """Notes on the stated units that were converted."""
    return [
        f"{quantity} in {unit}, as stated, was converted"
        for quantity, units in stated.items()
        for unit in dict.fromkeys(units)
        if unit is not None and not unit.si and not (request.degrees and _turned(unit))
    ]


def usual_unit(meaning: Meaning, request: ReadRequest) -> str:
    """The SI unit of a column, as it is written in a target."""
    if meaning.kind == TIME:
        return "s"
    names, kind = request.names(meaning.kind), RAD
    if request.model is not None and meaning.joint in names:
        kind = kinds(request.model, meaning.kind)[names.index(meaning.joint)]
    return si_unit(meaning.kind, kind)


def si_unit(quantity: str, kind: str) -> str:
    """The SI unit of a quantity of a kind of joint."""
    if quantity == "tau":
        return "N" if kind == METRE else "N m"
    return kind + PER_TIME[quantity] if kind else "1"


def in_degrees(text: str) -> Unit | None:
    """The unit in degrees of one in radians."""
    return unit_of(text.replace(RAD, "deg"))


def _turned(unit: Unit) -> bool:
    """Whether a unit has the factor of degrees."""
    return (unit.numerator, unit.denominator) == (DEGREE, 1)


def entries(
    request: ReadRequest, quantity: str, stated: Sequence[Unit | None]
) -> list[tuple[Unit | None, str, str]]:
    """The unit, kind and name of every entry of a quantity; without a robot, its unit's kind."""
    names = request.names(quantity) or tuple(f"joint {k + 1}" for k in range(len(stated)))
    if request.model is not None:
        kinds_of_entries = kinds(request.model, quantity)
        if len(stated) < len(names):  # of the motors alone
            there = [k for k, name in enumerate(names) if name not in request.optional]
            kinds_of_entries = [kinds_of_entries[k] for k in there]
            names = tuple(names[k] for k in there)
    else:
        slide = dims_of(si_unit(quantity, METRE))
        kinds_of_entries = [
            METRE if unit is not None and unit.dims == slide else RAD for unit in stated
        ]
    return list(zip(stated, kinds_of_entries, names, strict=True))


def dims_of(text: str) -> object:
    """What a unit measures, by its text."""
    unit = unit_of(text)
    assert unit is not None
    return unit.dims


def _scale(
    request: ReadRequest, quantity: str, stated: Sequence[Unit | None]
) -> tuple[Array, Array]:
    numerators, denominators = np.ones(len(stated)), np.ones(len(stated))
    for k, (unit, kind, _) in enumerate(entries(request, quantity, stated)):
        if unit is not None:
            numerators[k], denominators[k] = unit.numerator, unit.denominator
        elif request.degrees and kind == RAD and quantity != "tau":
            numerators[k] = DEGREE
    return numerators, denominators


def _check(request: ReadRequest, quantity: str, entry: tuple[Unit, str, str], where: str) -> None:
    """Refuse a unit of another quantity, of another kind of joint, or against the option."""
    unit, kind, name = entry
    if unit.dims != dims_of(si_unit(quantity, kind)):
        thing = f", and {name} is {KINDS[kind]}" if request.model is not None else ""
        raise ParseError(
            f"{where}: {quantity} of {name} is stated in {unit}; expected "
            f"{si_unit(quantity, kind)} or another unit of {quantity}{thing}."
        )
    if request.degrees and kind == RAD and quantity != "tau" and not _turned(unit):
        raise ParseError(
            f"{where}: {quantity} of {name} is stated in {unit}, and {request.options.degrees} "
            "states degrees; leave that option out."
        )


def _check_silent(request: ReadRequest, stated: Stated, where: str) -> None:
    """Refuse units other than SI beside columns that have none: of angles, lengths or forces."""
    converted: dict[str, str] = {}
    silent: dict[str, tuple[str, str]] = {}
    for quantity, units in stated.items():
        for unit, kind, name in entries(request, quantity, units):
            key = "tau" if quantity == "tau" else kind
            if request.degrees and key == RAD:
                continue
            if unit is None:
                silent.setdefault(key, (quantity, name))
            elif not unit.si:
                converted.setdefault(key, f"{quantity} of {name} is stated in {unit}")
    for key, text in converted.items():
        if key in silent:
            more = f"; or use {request.options.degrees} if all angles are in degrees"
            more = more if " in deg" in text else ""
            quantity, name = silent[key]
            by_hand = request.options.column("NAME", f"{quantity}:{name} [UNIT]")
            raise ParseError(
                f"{where}: {text}, and {quantity} of {name} has no unit. State the unit of both, "
                f"in the header or by hand, {by_hand}{more}."
            )
