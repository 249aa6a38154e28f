"""Units of columns: those that a file or a mapping states, checked against the joints.

A unit that contradicts the quantity, the kind of joint or the option is refused, and so is a unit
other than SI beside columns without one: nothing states in which unit these are.
`kinetree.base.units` knows the spellings.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.units import LENGTH, MASS, Unit, unit_of, unit_spans
from kinetree.base.units import TIME as TIME_BASE
from kinetree.errors import ParseError
from kinetree.model.units import DEGREE, METRE, NUMBER, PER_TIME, RAD, kinds
from kinetree.motion.reading import SIGNALS, Wish
from kinetree.motion.reading.names import TIME, TIMES, WORDS, Meaning

KINDS = {RAD: "an angle", METRE: "a length", NUMBER: "a part of a quaternion"}
# units that no joint vector has, and quantities that files give in them
FOREIGN = {"A": ("tau",), "V": ("tau",), MASS: ("tau",), "%": SIGNALS, "counts": SIGNALS,
           "grad": ("q",), "rps": ("dq",)}  # fmt: skip
SUBJECTS = frozenset({*WORDS, *TIMES})
WINDOW = 60  # signs of a comment that are read before a unit
IN = re.compile(r"(?i)\bin\s+(?:(?:encoder|motor|raw)\s+)?$")
IN_LETTER = re.compile(r"\bin\s+([A-Za-z])(?=\s*(?:$|[,;.)]))")
Stated = Mapping[str, Sequence[Unit | None]]  # units of every quantity's columns


def scales(wish: Wish, stated: Stated, where: str) -> dict[str, tuple[Array, Array]]:
    """Numerators and denominators that make SI units, (n,) each, by quantity."""
    for quantity, own in stated.items():
        for unit, kind, name in _entries(wish, quantity, own):
            if unit is not None:
                _check(wish, quantity, (unit, kind, name), where)
    _check_silent(wish, stated, where)
    return {quantity: _scale(wish, quantity, own) for quantity, own in stated.items()}


def conversions(wish: Wish, stated: Stated) -> list[str]:
    """Notes on the stated units that were converted."""
    return [
        f"{quantity} in {unit}, as stated, was converted"
        for quantity, own in stated.items()
        for unit in dict.fromkeys(own)
        if unit is not None and not unit.si and not (wish.degrees and _turned(unit))
    ]


def usual_unit(meaning: Meaning, wish: Wish) -> str:
    """The SI unit of a column, as it is written in a target."""
    if meaning.kind == TIME:
        return "s"
    names, kind = wish.names(meaning.kind), RAD
    if wish.model is not None and meaning.joint in names:
        kind = kinds(wish.model, meaning.kind)[names.index(meaning.joint)]
    return _si(meaning.kind, kind)


def _si(quantity: str, kind: str) -> str:
    """The SI unit of a quantity of a kind of joint."""
    if quantity == "tau":
        return "N" if kind == METRE else "N m"
    return kind + PER_TIME[quantity] if kind else "1"


def _turned(unit: Unit) -> bool:
    """Whether a unit has the factor of degrees."""
    return (unit.numerator, unit.denominator) == (DEGREE, 1)


def _entries(
    wish: Wish, quantity: str, stated: Sequence[Unit | None]
) -> list[tuple[Unit | None, str, str]]:
    """The unit, kind and name of every entry of a quantity; without a robot, its unit's kind."""
    names = wish.names(quantity) or tuple(f"joint {k + 1}" for k in range(len(stated)))
    if wish.model is not None:
        own = kinds(wish.model, quantity)
    else:
        slide = _dims(_si(quantity, METRE))
        own = [METRE if unit is not None and unit.dims == slide else RAD for unit in stated]
    return list(zip(stated, own, names, strict=True))


def _dims(text: str) -> object:
    unit = unit_of(text)
    assert unit is not None
    return unit.dims


JOINT_DIMS = {_dims(_si(x, kind)) for x in SIGNALS for kind in (RAD, METRE)}
SECONDS = _dims("s")


def _scale(wish: Wish, quantity: str, stated: Sequence[Unit | None]) -> tuple[Array, Array]:
    numerators, denominators = np.ones(len(stated)), np.ones(len(stated))
    for k, (unit, kind, _) in enumerate(_entries(wish, quantity, stated)):
        if unit is not None:
            numerators[k], denominators[k] = unit.numerator, unit.denominator
        elif wish.degrees and kind == RAD and quantity != "tau":
            numerators[k] = DEGREE
    return numerators, denominators


def _check(wish: Wish, quantity: str, entry: tuple[Unit, str, str], where: str) -> None:
    """Refuse a unit of another quantity, of another kind of joint, or against the option."""
    unit, kind, name = entry
    if unit.dims != _dims(_si(quantity, kind)):
        thing = f", and {name} is {KINDS[kind]}" if wish.model is not None else ""
        raise ParseError(
            f"{where}: {quantity} of {name} is stated in {unit}; expected {_si(quantity, kind)} or "
            f"another unit of {quantity}{thing}."
        )
    if wish.degrees and kind == RAD and quantity != "tau" and not _turned(unit):
        raise ParseError(
            f"{where}: {quantity} of {name} is stated in {unit}, and {wish.ways.degrees} states "
            "degrees; leave that option out."
        )


def _check_silent(wish: Wish, stated: Stated, where: str) -> None:
    """Refuse units other than SI beside columns that have none: of angles, lengths or forces."""
    converted: dict[str, str] = {}
    silent: dict[str, tuple[str, str]] = {}
    for quantity, own in stated.items():
        for unit, kind, name in _entries(wish, quantity, own):
            key = "tau" if quantity == "tau" else kind
            if wish.degrees and key == RAD:
                continue
            if unit is None:
                silent.setdefault(key, (quantity, name))
            elif not unit.si:
                converted.setdefault(key, f"{quantity} of {name} is stated in {unit}")
    for key, text in converted.items():
        if key in silent:
            more = f"; or use {wish.ways.degrees} if all angles are in degrees"
            more = more if " in deg" in text else ""
            quantity, name = silent[key]
            by_hand = wish.ways.column("NAME", f"{quantity}:{name} [UNIT]")
            raise ParseError(
                f"{where}: {text}, and {quantity} of {name} has no unit. State the unit of both, "
                f"in the header or by hand, {by_hand}{more}."
            )


def check_comment(wish: Wish, stated: Stated, clock: str, comment: str, where: str) -> None:
    """Refuse a comment that mentions a unit other than SI of columns that state none.

    clock: name of the column of the times if it states no unit, else "".
    """
    for unit in _mentioned(comment):
        if (unit.readable and unit.si) or (wish.degrees and _turned(unit)):
            continue
        thing = way = ""
        if clock and unit.dims == SECONDS:
            thing, way = f"the time {clock!r}", wish.ways.column(clock, f"t[{unit}]")
        for quantity, own in stated.items():
            for other, kind, name in _entries(wish, quantity, own):
                if other is None and not thing and _suits(unit, quantity, kind):
                    thing = f"{quantity} of {name}"
                    right = unit if unit.readable else _si(quantity, kind)
                    way = wish.ways.column("NAME", f"{quantity}:{name} [{right}]")
        if thing:
            raise ParseError(
                f"{where}: the comment {comment[:60]!r} mentions {unit}, and {thing} has no unit. "
                "State it: in its name, in a comment '# units: ...' with one unit for every "
                f"column, or by hand, {way}."
            )


def _suits(unit: Unit, quantity: str, kind: str) -> bool:
    """Whether a unit is one of the quantity, or one that is taken for it by mistake."""
    foreign = any(quantity in FOREIGN.get(base, ()) for base, _ in unit.dims)
    return unit.dims == _dims(_si(quantity, kind)) or (foreign and unit.dims != ((MASS, 1),))


def _mentioned(comment: str) -> Iterator[Unit]:
    """Units that a comment states; words of other meanings too only count as `angles in turns`."""
    for start, end, unit in unit_spans(comment, _one_unit):
        before = comment[max(0, start - WINDOW) : start]
        bracket = comment[end - 1] in ")]}>"
        subject = any(x.lower() in SUBJECTS for x in re.findall("[A-Za-z]+", before))
        doubtful = str(unit) == "rev" or ("counts", 1) in unit.dims
        if unit.dims in JOINT_DIMS and str(unit) != "rev":
            yield unit
        elif (bracket and subject) or (IN.search(before) and (subject or not doubtful)):
            yield unit
    for match in IN_LETTER.finditer(comment):
        unit = unit_of(match[1])
        if unit is not None:
            yield unit


def _one_unit(unit: Unit) -> bool:
    """Whether words of a comment together are one unit: `kg cm`, and not `ms deg`."""
    bases = {base for base, _ in unit.dims}
    per_time = TIME_BASE in bases and len(bases) == 2 and bool(bases & set(FOREIGN))
    return unit.dims in JOINT_DIMS or bases == {MASS, LENGTH} or per_time
