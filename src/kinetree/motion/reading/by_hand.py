"""Columns that are mapped by hand: {"name in the file": "q:JOINT", "t", "t[ms]" or None}.

A star in a name stands for any signs. Several columns that a star matches may be mapped to one
quantity, `actual_current_*` to `tau`; their numbers then give their order. A target without a unit
keeps the unit that the name of the column states; one that is not known must be replaced.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from kinetree.base.tables import listing
from kinetree.errors import ParseError
from kinetree.model.units import RAD, kinds
from kinetree.motion.reading import MOST, SIGNALS, Wish, nearest
from kinetree.motion.reading.names import (
    BRACKETED,
    TIME,
    VOCABULARY,
    Meaning,
    own_meaning,
    stated_unit,
    unit_of,
)
from kinetree.motion.reading.units import UNITS

DIGITS = re.compile(r"\d+(?=\D*$)")  # the last number of a name


def mapped(heads: Sequence[str], wish: Wish, where: str) -> dict[int, Meaning | None]:
    """Meanings of the columns that the wish maps; None for those that are left out."""
    found: dict[int, Meaning | None] = {}
    for pattern, target in wish.columns.items():
        own = matching(heads, pattern)
        if not own:
            raise ParseError(
                f"{where}: there is no column {pattern!r} to map; the file has "
                f"{listing(heads, MOST)}.{nearest(pattern, heads)}"
            )
        meaning = _target(pattern, target, wish, where) if target else None
        for k in own:
            if k in found:
                raise ParseError(f"{where}: column {heads[k]!r} is mapped twice; expected once.")
            own_unit = _with_unit(heads[k], pattern, meaning, wish, where)
            found[k] = _numbered(heads[k], pattern, own_unit, wish, where)
    return found


def matching(heads: Sequence[str], pattern: str) -> list[int]:
    """Columns of that name, or all columns that fit a name with stars."""
    pattern = pattern.strip()
    if pattern in heads:
        return [k for k, head in enumerate(heads) if head == pattern]
    if "*" not in pattern:
        return []
    text = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return [k for k, head in enumerate(heads) if text.fullmatch(head)]


def _target(pattern: str, target: str, wish: Wish, where: str) -> Meaning:
    """The meaning that a mapping gives: t, t[ms], q:JOINT, q:JOINT [deg]."""
    text = target.strip()
    known = {x for quantity in SIGNALS for x in wish.names(quantity)}
    own = own_meaning(text, known)
    if own is not None:
        names = wish.names(own.kind)
        if wish.model is not None and own.joint not in names:
            raise ParseError(
                f"{where}: column {pattern!r} is mapped to {target!r}; {wish.owner} has "
                f"{', '.join(names[:MOST])}.{nearest(own.joint or '', names)}"
            )
        return own
    match = BRACKETED.fullmatch(text)
    body, unit = (match[1].strip(), unit_of(match[2])) if match else (text, "")
    if body in (TIME, *SIGNALS) and (unit or not match):
        return Meaning(body, unit=unit)
    raise ParseError(
        f"{where}: column {pattern!r} is mapped to {target!r}; expected t, t[ms], q:JOINT, "
        "dq:JOINT, ddq:JOINT or tau:JOINT, or nothing to leave it out."
    )


def _with_unit(
    head: str, pattern: str, meaning: Meaning | None, wish: Wish, where: str
) -> Meaning | None:
    """The meaning with the unit of the column's name, if the target states none."""
    if meaning is None or meaning.unit:
        return meaning
    if unit := stated_unit(head):
        return replace(meaning, unit=unit)
    target = wish.columns[pattern]
    match = BRACKETED.fullmatch(head)
    words = re.findall(r"[^\W\d_]+", match[2].lower()) if match else []
    joints = {x for quantity in SIGNALS for x in wish.names(quantity)}
    if match and match[2] not in joints and not VOCABULARY.issuperset(words):
        usual = _usual_unit(meaning, wish)
        raise ParseError(
            f"{where}: column {head!r} seems to be in {match[2]}, a unit that is not read. Convert "
            f"it; or, if its numbers are in {usual}, state that: "
            f"{wish.ways.column(pattern, f'{target} [{usual}]')}."
        )
    return meaning


def _usual_unit(meaning: Meaning, wish: Wish) -> str:
    """The SI unit of a column, as it is written in a target."""
    if meaning.kind == TIME:
        return "s"
    names, kind = wish.names(meaning.kind), RAD
    if wish.model is not None and meaning.joint in names:
        kind = kinds(wish.model, meaning.kind)[names.index(meaning.joint)]
    wanted = meaning.kind, kind, 1, 1
    return next((unit for unit, entry in UNITS.items() if entry == wanted), "1")


def _numbered(
    head: str, pattern: str, meaning: Meaning | None, wish: Wish, where: str
) -> Meaning | None:
    """The meaning of one column: a quantity without a joint needs a number in the name."""
    if meaning is None or meaning.kind == TIME or meaning.joint is not None:
        return meaning
    number = DIGITS.search(head)
    if "*" not in pattern or number is None:
        raise ParseError(
            f"{where}: column {head!r} is mapped to {meaning.kind!r} alone; expected a joint with "
            f"it, such as {meaning.kind}:{(wish.names(meaning.kind) or ('JOINT',))[0]}."
        )
    return replace(meaning, number=int(number[0]))
