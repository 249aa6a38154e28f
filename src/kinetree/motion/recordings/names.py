"""Names of columns: one small grammar.

    t                                 times; also time, timestamp, stamp, and sec beside nanosec
    q:JOINT   JOINT   JOINT_position  a quantity of a joint, by its name
    q1   q[0]   joint1_pos            a column of a numbered set, in the order of the joints
    ... [deg]                         a unit, in brackets of any kind

A name is a quantity, a joint or a number, and words without a meaning of their own (actual, state),
in any order. With any other word it has no meaning here: nothing is guessed from a part of a name.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from kinetree.core.units import Unit, unit_of
from kinetree.errors import ParseError
from kinetree.motion.recordings import SIGNALS

TIME = "t"
QUANTITIES = {
    "q": "q pos position positions angle angles qpos theta jpos",
    "dq": "dq qd qdot vel velocity velocities speed qvel dtheta jvel",
    "ddq": "ddq qdd qddot acc accel acceleration accelerations qacc ddtheta",
    "tau": "tau torque torques trq effort efforts moment moments",
}
WORDS = {word: key for key, text in QUANTITIES.items() for word in text.split()}
DOTS = {"dot": "dq", "ddot": "ddq"}  # of a position: theta1_dot
JOINT_WORDS = frozenset("joint joints jnt j axis dof".split())
FILLERS = JOINT_WORDS | frozenset(
    "actual act measured meas msr estimated est filtered filt desired des target tgt command "
    "commanded cmd reference ref setpoint goal state states field data msg robot arm feedback "
    "observation obs value values".split()
)
TIMES = frozenset("t time times timestamp timestamps stamp simtime elapsed timefromstart".split())
STAMP = re.compile(
    r"(?P<header>header)?(?:stamp|time|timestamp|timefromstart)?"
    r"(?:(?P<fine>nanosecs?|nsecs?|nanoseconds)|secs?|seconds)"
)
TOPIC = re.compile(r"(?i).*?joint_?states?[/.]")  # the namespace and topic of joint states
SIGNS = re.compile(r"[A-Za-z0-9 _.:/\\\-\[\](){}]*")
BRACKETED = re.compile(r"(.*?)[ _]?[\[({<]([^\[\](){}<>]+)[\])}>]")


@dataclass(frozen=True)
class Meaning:
    """What a name states.

    kind: TIME or one of SIGNALS. joint: by its name. number: in a numbered set, such as 1 of q1.
    unit: None if the name states none. part: of times, "sec" or "nanosec" if there are two columns.
    header: of times, whether they are stamps of messages.
    """

    kind: str
    joint: str | None = None
    number: int | None = None
    unit: Unit | None = None
    part: str = ""
    header: bool = False


def meaning(text: str, joints: Collection[str], where: str) -> Meaning | None:
    """The meaning of a name, None if it has none.

    joints: names that are known, of the robot or by `discovered`.
    """
    if text == TIME:
        return Meaning(TIME)
    quantity, colon, joint = text.partition(":")
    own = bool(colon) and quantity in SIGNALS
    whole = joint if own else text
    body, bracket = (whole, "") if whole in joints else without_unit(whole, joints)
    found = Meaning(quantity, body) if own else _parsed(body, joints)
    if found is None or not bracket:
        return found
    unit = unit_of(bracket)
    if unit is None:
        raise ParseError(
            f"{where}: column {text!r} is in {bracket!r}, which is not a unit that is read; "
            "expected one such as rad, deg/s, N m or ms, in brackets."
        )
    return replace(found, unit=unit)


def without_unit(text: str, joints: Collection[str] = ()) -> tuple[str, str]:
    """A name without the unit in brackets at its end, and the text of the unit or ""."""
    match = BRACKETED.fullmatch(text)
    if match is None or match[2] in joints or match[2].strip().isdigit():
        return text, ""
    inside = _words(match[2])
    if inside and all(x in WORDS or x in FILLERS for x in inside) and unit_of(match[2]) is None:
        return text, ""
    return match[1].strip(), match[2]


def discovered(texts: Iterable[str]) -> list[str]:
    """Joints that a file names itself, as in `q:JOINT`, `JOINT_position` and `velocity/JOINT`."""
    words = "|".join(sorted(WORDS, key=len, reverse=True))
    forms = re.compile(
        rf"(?i)/?(?P<a>.+?)[_./: ](?:{words})|(?:{words})(?P<mark>[/._: \[(])(?P<b>.+?)[\])]?"
    )
    joints: dict[str, None] = {}
    for text in texts:
        text = text.removeprefix("- ")
        quantity, colon, _ = text.partition(":")
        inside = without_unit(text)[1]
        body = without_unit(text)[0] if unit_of(inside) or not inside else text
        if colon and quantity in SIGNALS:
            joints[body.partition(":")[2]] = None
        elif match := forms.fullmatch(TOPIC.sub("", body)):
            name = match["a"] or match["b"]
            is_number = all(x.isdigit() or x in FILLERS for x in _words(name) or "?")
            named = not name.isdigit() if match["mark"] in ("/", ":") else not is_number
            if match["a"] or named:  # q_1 is numbered, q/joint1 is named
                joints[name] = None
    return list(joints)


def quantities(head: str) -> set[str]:
    """Quantities that words of a name state."""
    words = re.findall("[A-Za-z]+", head) + re.findall("[A-Z]?[a-z]+", head)
    return {WORDS[x.lower()] for x in words if x.lower() in WORDS}


def letters(name: str) -> str:
    """A name in lower case without separators."""
    return "".join(x for x in name.lower() if x.isalnum())


def _parsed(body: str, joints: Collection[str]) -> Meaning | None:
    body = body.removeprefix("- ")  # as YAML lists are written
    if body in joints:
        return Meaning("q", body)
    if time := _time(body):
        return time
    body = TOPIC.sub("", body)
    for joint in sorted((x for x in joints if x in body), key=len, reverse=True):
        rest = re.sub(rf"(?<![^\W_]){re.escape(joint)}(?![^\W_])", " ", body, count=1)
        found = _bag(rest) if rest != body else None
        if found is not None and found.kind and found.number is None:
            return replace(found, joint=joint)
    found = _bag(body)
    return found if found is not None and found.kind else None


def _time(body: str) -> Meaning | None:
    plain = re.sub(r"[\s_./:-]", "", TOPIC.sub("", body)).lower()
    if plain.removeprefix("header") in TIMES:
        return Meaning(TIME, header=plain.startswith("header"))
    match = STAMP.fullmatch(plain)
    if match is None:
        return None
    part = "nanosec" if match["fine"] else "sec"
    return Meaning(TIME, part=part, header=bool(match["header"]))


def _words(text: str) -> list[str] | None:
    """The words and numbers of a name in lower case; None if it has other signs, or a minus."""
    if not SIGNS.fullmatch(text) or text.startswith("-"):
        return None
    return [x.lower() for x in re.findall(r"[A-Za-z]+|\d+", text)]


def _bag(text: str) -> Meaning | None:
    """The meaning of words in any order; kind is "" without a quantity; None: another word."""
    kind, number = "", None
    words = _words(text)
    for word in words or ("?",):
        if word.isdigit() and number is None and len(word) < 7:
            number = int(word)
        elif word in WORDS and kind in ("", WORDS[word]):
            kind = WORDS[word]
        elif word in DOTS and kind == "q":
            kind = DOTS[word]
        elif word not in FILLERS:
            return None
    if not kind and number is not None and len(words or ()) == 2 and words:
        kind = "q" if words[0] in JOINT_WORDS else ""  # joint_1, J1
    return Meaning(kind, number=number)
