"""Columns that are mapped by hand: {"name in the file": "q:JOINT", "t", "t[ms]" or None}.

A star in a name stands for any signs. Several columns that a star matches may be mapped to one
quantity, `actual_current_*` to `tau`; their numbers then give their order. A target may state a
unit, `tau:JOINT [mN m]`, which is applied; without one, the unit that the file states is. The two
must not contradict each other. A unit that no joint vector has, such as A or %, must be replaced.

Columns of text may also be mapped by their numbers, {"1": "t", "2-7": "q", "14-19": "tau [mN m]"}:
columns that no number names are left out then, with a note.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from kinetree.core.tables import listing, nearest
from kinetree.core.units import Unit, unit_of, units_in
from kinetree.errors import ParseError
from kinetree.model.units import RAD
from kinetree.motion.recordings import MAX_NAMES, SIGNALS, ReadRequest
from kinetree.motion.recordings.names import BRACKETED, TIME, VOCABULARY, Meaning, own_meaning
from kinetree.motion.recordings.units import usual_unit

# a power of ten beside a unit: tau_Nm_x10, q_e-3rad
SCALE = re.compile(r"(?i)(?<![a-z])(x10+|10\^?-\d+|e-\d+|tenths?|hundredths?|pi)(?!\d)")
NUMBERS = re.compile(r"[1-9]\d*(?:-[1-9]\d*)?")
DIGITS = re.compile(r"\d+(?=\D*$)")  # the last number of a name


def mapped(
    heads: Sequence[str], request: ReadRequest, where: str, beside: Sequence[Unit | None]
) -> tuple[dict[int, Meaning | None], list[str]]:
    """Meanings of the columns that the request maps, None for those that are left out; and notes.

    beside: units that the file states beside the names, None for columns without one.
    """
    meanings: dict[int, Meaning | None] = {}
    notes: list[str] = []
    silent: dict[str, list[str]] = {}  # by the SI unit that is assumed
    for pattern, target in request.columns.items():
        own = matching(heads, pattern)
        if not own:
            raise ParseError(
                f"{where}: there is no column {pattern!r} to map; the file has "
                f"{listing(heads, MAX_NAMES)}.{nearest(pattern, heads)}"
            )
        meaning = _target(pattern, target, request, where) if target else None
        for k in own:
            if k in meanings:
                raise ParseError(f"{where}: column {heads[k]!r} is mapped twice; expected once.")
            if meaning is None:
                meanings[k] = None
                continue
            stated = _with_unit(
                heads[k], pattern, (meaning, beside[k]), request, where, notes, silent
            )
            meanings[k] = _numbered(heads[k], pattern, stated, request, where)
    for unit, own in silent.items():
        if request.degrees and unit.startswith(RAD):
            continue  # which the option states in degrees
        notes.append(f"no unit is stated for {listing(own, MAX_NAMES)}; taken in {unit}")
    return meanings, notes


def by_number(
    heads: Sequence[str], width: int, request: ReadRequest, where: str
) -> tuple[tuple[str, ...], ReadRequest, list[str]] | None:
    """Names with numbers, and the request with a target for each; None: it maps names, or nothing.

    heads: names of the columns, () if there are none. width: number of columns.
    """
    if not request.columns or not all(map(NUMBERS.fullmatch, request.columns)):
        return None
    names = [f"{k + 1} {heads[k]}".strip() if heads else str(k + 1) for k in range(width)]
    targets: dict[str, str | None] = dict.fromkeys(names)
    for key, target in request.columns.items():
        first, last = (int(x) for x in (key.split("-") * 2)[:2])
        if not 1 <= first <= last <= width:
            raise ParseError(
                f"{where}: columns {key} are mapped; the file has columns 1 to {width}."
            )
        body, bracket, unit = (target or "").partition("[")
        joints = request.names(body.strip())
        if first < last and target and len(joints) != last - first + 1:
            raise ParseError(
                f"{where}: columns {key} are mapped to {target!r}; expected q, dq, ddq or tau and "
                f"{len(request.names('dq'))} columns, one for each joint of {request.owner}."
            )
        for k in range(first, last + 1):
            if targets[names[k - 1]] is not None:
                raise ParseError(f"{where}: column {k} is mapped twice; expected once.")
            own = f"{body.strip()}:{joints[k - first]} {bracket}{unit}" if first < last else target
            targets[names[k - 1]] = own.strip() if target and own else None
    left = [name for name, target in targets.items() if target is None]
    note = [f"columns that are left out: {listing(left, MAX_NAMES)}"] if left else []
    return tuple(names), replace(request, columns=targets), note


def file_unit(
    head: str, beside: Unit | None, where: str, joint: str = ""
) -> tuple[str, Unit | None]:
    """The name of a column without its unit, and the unit that the file states for it, or None.

    joint: a name of a joint whose words are not units.
    """
    whole = rf"(?<![^\W_]){re.escape(joint)}(?![^\W_])"  # not the d of deg
    plain = re.sub(whole, "\0" * len(joint), head) if joint else head
    stated = units_in(plain)
    units = [*(unit for _, unit in stated), *([beside] if beside is not None else [])]
    for unit in units[1:]:
        if not unit.same(units[0]):
            raise ParseError(
                f"{where}: column {head!r} states two units, {units[0]} and {unit}; expected one."
            )
    body = stated[0][0] if len(stated) == 1 and stated[0][0] else head
    return body, units[0] if units else None


def unknown_bracket(head: str, joints: Sequence[str] = ()) -> str:
    """The text in brackets at the end of a name, if it may be a unit that is not known; or ""."""
    match = BRACKETED.fullmatch(head)
    if match is None or match[2] in joints or match[2].strip().isdigit() or unit_of(match[2]):
        return ""
    words = re.findall(r"[^\W\d_]+", match[2].lower())
    return "" if words and VOCABULARY.issuperset(words) else match[2]


def matching(heads: Sequence[str], pattern: str) -> list[int]:
    """Columns of that name, or all columns that fit a name with stars."""
    pattern = pattern.strip()
    if pattern in heads:
        return [k for k, head in enumerate(heads) if head == pattern]
    if "*" not in pattern:
        return []
    text = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return [k for k, head in enumerate(heads) if text.fullmatch(head)]


def _target(pattern: str, target: str, request: ReadRequest, where: str) -> Meaning:
    """The meaning that a mapping gives: t, t[ms], q:JOINT, q:JOINT [deg]."""
    text = target.strip()
    known = {x for quantity in SIGNALS for x in request.names(quantity)}
    meaning = own_meaning(text, known)
    if meaning is not None:
        names = request.names(meaning.kind)
        if meaning.joint not in names and (bracket := unknown_bracket(meaning.joint or "")):
            raise ParseError(
                f"{where}: column {pattern!r} is mapped to {target!r}, and {bracket!r} is not a "
                f"unit that is read; expected one of {meaning.kind}, such as "
                f"{usual_unit(meaning, request)}."
            )
        if request.model is not None and meaning.joint not in names:
            raise ParseError(
                f"{where}: column {pattern!r} is mapped to {target!r}; {request.owner} has "
                f"{', '.join(names[:MAX_NAMES])}.{nearest(meaning.joint or '', names)}"
            )
        return meaning
    match = BRACKETED.fullmatch(text)
    body, unit = (match[1].strip(), unit_of(match[2])) if match else (text, None)
    if body in (TIME, *SIGNALS) and (unit or not match):
        return Meaning(body, unit=unit)
    raise ParseError(
        f"{where}: column {pattern!r} is mapped to {target!r}; expected t, t[ms], q:JOINT, "
        "dq:JOINT, ddq:JOINT or tau:JOINT, or nothing to leave it out."
    )


def _with_unit(
    head: str,
    pattern: str,
    target: tuple[Meaning, Unit | None],
    request: ReadRequest,
    where: str,
    notes: list[str],
    silent: dict[str, list[str]],
) -> Meaning:
    """The meaning with the unit of the target, or with the one that the file states."""
    meaning, beside = target
    usual = usual_unit(meaning, request)
    _, stated = file_unit(head, beside, where, meaning.joint or "")
    bracket = unknown_bracket(head, [x for quantity in SIGNALS for x in request.names(quantity)])
    strange = bracket or (str(stated) if stated is not None and not stated.readable else "")
    if stated is not None and (scale := SCALE.search(head)):
        strange = strange or f"{stated} and {scale[0]}"
    if meaning.unit is None:
        if strange:
            way = request.options.column(pattern, f"{request.columns[pattern]} [{usual}]")
            raise ParseError(
                f"{where}: column {head!r} seems to be in {strange}, a unit that is not read. "
                f"Convert it; or, if its numbers are in {usual}, state that: {way}."
            )
        if stated is None:
            silent.setdefault(usual, []).append(head)
        return replace(meaning, unit=stated)
    if strange:
        notes.append(f"column {head!r} is taken in {meaning.unit}, as its mapping states")
    elif stated is not None and not stated.same(meaning.unit):
        raise ParseError(
            f"{where}: column {head!r} is in {stated} by the file and is mapped to "
            f"{request.columns[pattern]!r}; expected one unit. Leave out that of the mapping, or "
            "correct that of the file."
        )
    return meaning


def _numbered(
    head: str, pattern: str, meaning: Meaning, request: ReadRequest, where: str
) -> Meaning:
    """The meaning of one column: a quantity without a joint needs a number in the name."""
    if meaning.kind == TIME or meaning.joint is not None:
        return meaning
    number = DIGITS.search(head)
    if "*" not in pattern or number is None:
        raise ParseError(
            f"{where}: column {head!r} is mapped to {meaning.kind!r} alone; expected a joint with "
            f"it, such as {meaning.kind}:{(request.names(meaning.kind) or ('JOINT',))[0]}."
        )
    return replace(meaning, number=int(number[0]))
