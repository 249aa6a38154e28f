"""Names of columns: the quantity, joint or number, unit and origin that one name states.

A name is a bag of known words: at most one quantity (`position`, `qd`, `effort`), at most one joint
or number, words on the origin (`actual`, `target`), and words without a meaning of their own
(`state`, `field`). A name with any other word has no meaning here: nothing is guessed from a part
of it. kinetree's own names, `t` and `q:JOINT`, come first and mean nothing else.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kinetree.core.units import Unit, unit_of, units_in
from kinetree.motion.recordings import SIGNALS

TIME, NAME, OTHER = "t", "name", "other"  # kinds of columns besides SIGNALS
QUANTITIES = {
    "q": "q pos position positions angle angles qpos theta jpos",
    "dq": "dq qd qdot vel velocity velocities speed qvel dtheta thetadot jvel",
    "ddq": "ddq qdd qddot acc accel acceleration accelerations qacc ddtheta thetaddot",
    "tau": "tau torque torques trq effort efforts moment moments",
}
WORDS = {word: key for key, text in QUANTITIES.items() for word in text.split()}
DOTS = {"dot": "dq", "ddot": "ddq"}  # of a position: q1_dot
ORIGINS = frozenset(
    "actual act measured meas msr estimated est filtered filt desired des target tgt command "
    "commanded cmd reference ref setpoint goal".split()
)
JOINT_WORDS = frozenset("joint joints jnt j axis dof".split())
WRAPPERS = frozenset(
    "state states field data msg robot arm feedback observation obs value values".split()
)
VOCABULARY = {*WORDS, *DOTS, *ORIGINS, *JOINT_WORDS, *WRAPPERS, "d", "name", "names"}
TIMES = frozenset(
    "t time times timestamp timestamps stamp simtime simulationtime elapsed elapsedtime "
    "timefromstart".split()
)
BOOKKEEPING = frozenset({"headerseq", "headerframeid", "seq", "frameid", "unnamed0"})
PAIR = re.compile(
    r"(stamp|time|timestamp|timefromstart|tv)?(secs?|seconds|nanosecs?|nsecs?|nanoseconds)"
)
TOPIC = re.compile(r"(?i)(.*?)joint_?states?[/.]")  # the namespace and topic of joint states
SPLIT = re.compile(r"[A-Za-z]+|\d+")
CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
LEVELS = re.compile(r"\('([^']*)', '([^']*)'\)")  # a name of two levels as pandas writes it
SEPARATORS = " _.:/\\-[](){}"
BRACKETED = re.compile(r"(.*?)[ _]?[\[({<]([^\[\](){}<>]+)[\])}>]")
SECONDS = re.compile(r"(?i)(.+)[_ .]s")  # time_s: the one single letter that is read as a unit
MOST_UNITS = 4  # of a name; one is its unit, others may be words of a joint's name
NANOSECOND = Unit("ns", (("time", 1),), 1, 10**9)


@dataclass(frozen=True)
class Meaning:
    """One reading of a name.

    Args:
        kind: TIME, one of SIGNALS, NAME (the cells are names of joints) or OTHER (bookkeeping).
        joint: the joint that it names.
        number: the number in a numbered set, such as 1 of q1.
        unit: stated unit; None if the name states none.
        origin: words such as "actual" or "target"; of times "header" or "%".
        part: of a time in two columns: "sec" or "nanosec"; joint is then their common name.
    """

    kind: str
    joint: str | None = None
    number: int | None = None
    unit: Unit | None = None
    origin: str = ""
    part: str = ""


def meanings(text: str, joints: Collection[str]) -> list[Meaning]:
    """All readings of a name, without repetitions; [] if it has none.

    joints: names that are known, from the robot or from `discovered`.
    """
    text = _plain(text)
    if text == TIME:
        return [Meaning(TIME)]
    if named := own_meaning(text, joints):
        return [named]
    if text.startswith("-") and text not in joints:
        return []  # the opposite of a quantity
    readings: list[Meaning] = []
    for body, unit in _with_units(text):
        if body in joints:
            readings.append(Meaning("q", joint=body, unit=unit))
        readings += (replace(x, unit=x.unit or unit) for x in _readings(body, joints))
    return list(dict.fromkeys(readings))


def own_meaning(text: str, joints: Collection[str] = ()) -> Meaning | None:
    """The reading of kinetree's own name `q:JOINT`, perhaps with a unit; None for other names."""
    quantity, colon, joint = text.partition(":")
    if not colon or quantity not in SIGNALS:
        return None
    match = None if joint in joints else BRACKETED.fullmatch(joint)
    if match and (unit := unit_of(match[2])):
        return Meaning(quantity, joint=match[1].strip(), unit=unit)
    return Meaning(quantity, joint=joint)


def discovered(texts: Iterable[str]) -> list[str]:
    """Joints that a file names itself, as in `JOINT_position` and `velocity/JOINT`."""
    joints: dict[str, None] = {}
    words = "|".join(sorted(WORDS, key=len, reverse=True))
    last = re.compile(rf"(?i)(.+?)[_./: ](?:(?:{'|'.join(ORIGINS)})[_./: ])?(?:{words})")
    first = re.compile(rf"(?i)(?:{words})([/._: \[(])(.+?)[\])]?")
    for text in map(_plain, texts):
        if named := own_meaning(text):
            joints[named.joint or ""] = None
            continue
        units = units_in(text)
        if len(units) > MOST_UNITS:
            continue
        for body in [body for body, _ in units] or [text]:
            body = _without_topic(body)[0]
            if match := last.fullmatch(body):
                joints[match[1].lstrip("/")] = None
            elif match := first.fullmatch(body):  # q_1 is numbered, q/joint1 is named
                if not (match[2].isdigit() if match[1] in "/:" else _numbered(match[2])):
                    joints[match[2]] = None
    return list(joints)


def _numbered(text: str) -> bool:
    words = _words(text)
    return words is not None and all(x.isdigit() or x in JOINT_WORDS | ORIGINS for x in words)


def _plain(text: str) -> str:
    """A name without blanks and the dash of a list; two levels of pandas as one name."""
    text = text.strip().removeprefix("- ")
    if match := LEVELS.fullmatch(text):
        return joined_levels([x for x in match.groups() if x])
    return text


def joined_levels(levels: Sequence[str], joint_first: bool = False) -> str:
    """One name from the levels of a pandas column: `q:JOINT` of (q, JOINT), or a path of others."""
    if len(levels) == 2:
        joint, quantity = levels if joint_first or levels[0] not in SIGNALS else reversed(levels)
        if quantity in SIGNALS:
            return f"{quantity}:{joint}"
    return "/".join(levels)


def _with_units(text: str) -> Iterator[tuple[str, Unit | None]]:
    """The name as it is, and without a unit that it states."""
    yield text, None
    units = units_in(text)
    yield from units if len(units) <= MOST_UNITS else ()
    if (match := SECONDS.fullmatch(text)) and any(x.kind == TIME for x in _times(match[1])):
        yield match[1], unit_of("s")


def _readings(body: str, joints: Collection[str]) -> Iterator[Meaning]:
    yield from _times(body)
    body, origin = _without_topic(body)
    for joint in [x for x in joints if x in body]:
        for others in _around(body, joint):
            reading = _parsed(_words(others))
            if reading is not None and reading.kind and reading.number is None:
                yield replace(reading, joint=joint, origin=reading.origin or origin)
    reading = _parsed(_words(body))
    if reading is None:
        return
    if reading.kind == NAME or reading.number is not None or reading.kind in SIGNALS:
        if reading.kind:
            yield replace(reading, origin=reading.origin or origin)
        elif (words := _words(body)) and words[0] in JOINT_WORDS and len(words) == 2:
            yield replace(reading, kind="q", origin=origin)  # joint_1, J1


def _times(body: str) -> Iterator[Meaning]:
    """Readings of a name as the times, or as bookkeeping of a message."""
    rostopic = body.startswith("%")
    plain = re.sub(r"[\s_./:\-%#]", "", _without_topic(body)[0]).lower()
    printed = plain.startswith("field")  # `rostopic echo -p` prints stamps in ns
    plain = plain.removeprefix("field")
    if plain in BOOKKEEPING:
        yield Meaning(OTHER)
    header = plain.startswith("header")
    plain = plain.removeprefix("header")
    origin = "%" if rostopic else "header" if header else ""
    if plain in TIMES:
        yield Meaning(TIME, origin=origin, unit=NANOSECOND if printed and header else None)
    elif match := PAIR.fullmatch(plain):
        part = "nanosec" if match[2].startswith("n") else "sec"
        yield Meaning(TIME, joint=match[1] or "", origin=origin, part=part)


def _without_topic(body: str) -> tuple[str, str]:
    """The name after the topic `.../joint_states/`, and the origin that the topic states."""
    match = TOPIC.match(body)
    if match is None:
        return body, ""
    origin = [x for x in _words(match[1]) or () if x in ORIGINS]
    return body[match.end() :], " ".join(origin)


def _around(text: str, joint: str) -> Iterator[str]:
    """The text without the joint's name, for every place where it stands between separators."""
    start = text.find(joint) if joint else -1
    while start >= 0:
        end = start + len(joint)
        before, after = text[:start], text[end:]
        if not (before and before[-1].isalnum()) and not (after and after[0].isalnum()):
            yield f"{before} {after}"
        start = text.find(joint, start + 1)


def _words(text: str) -> list[str] | None:
    """The words and numbers of a name in lower case; None if it has other signs."""
    if not text.isascii() or not all(x.isalnum() or x in SEPARATORS for x in text):
        return None
    words: list[str] = []
    for run in SPLIT.findall(text):
        known = run.isdigit() or run.lower() in VOCABULARY
        words += [run.lower()] if known else [x.lower() for x in CAMEL.findall(run)]
    return words


def _parsed(words: Sequence[str] | None) -> Meaning | None:
    """The reading of a bag of words; kind is "" without a quantity; None for an unknown word."""
    kind, number, origin = "", None, list[str]()
    for word in words or ():
        if word.isdigit():
            if number is not None or len(word) > 6:
                return None
            number = int(word)
        elif word in WORDS:
            if kind not in ("", WORDS[word]):
                return None
            kind = WORDS[word]
        elif word in DOTS and kind == "q":
            kind = DOTS[word]
        elif word == "d" and kind:  # q_d, as libfranka names desired values
            origin.append("desired")
        elif word in ("name", "names") and not kind:
            kind = NAME
        elif word in ORIGINS:
            origin.append(word)
        elif word not in JOINT_WORDS and word not in WRAPPERS:
            return None
    return Meaning(kind, number=number, origin=" ".join(origin)) if words else None
