"""Names of columns: one small grammar.

    t                                 times; also time, timestamp, stamp, and sec beside nanosec
    q:JOINT   JOINT   JOINT_position  a quantity of a joint, by its name
    q1   q[0]   joint1_pos            a column of a numbered set, in the order of the joints
    ... [deg]                         a unit, in brackets of any kind

A name is a quantity, a joint or a number, and words without a meaning of their own (actual, state),
in any order. With any other word it has no meaning here: nothing is guessed from a part of a name.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kinetree.core.units import Unit, unit_of
from kinetree.motion.recordings import SIGNALS, TIME

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
TIMES = frozenset("t time times timestamp timestamps stamp simtime elapsed".split())
SECONDS = frozenset("sec secs second seconds".split())
NANOSECONDS = frozenset("nanosec nanosecs nsec nsecs nanosecond nanoseconds".split())
TIME_FILLERS = frozenset("header from start".split())
TOPIC = re.compile(r"(?i).*?joint_?states?[/.]|- ")  # topic of joint states; a list of YAML
SIGNS = re.compile(r"[\w .:/\\\-\[\](){}]*")
BRACKETED = re.compile(r"(.*?)[ _]?[\[({<]([^\[\](){}<>]+)[\])}>]")


@dataclass(frozen=True)
class Meaning:
    """What a name states.

    kind: TIME or one of SIGNALS. joint: by its name. number: in a numbered set, such as 1 of q1.
    unit: None if the name states none. header: of times, whether they are stamps of messages.
    """

    kind: str
    joint: str | None = None
    number: int | None = None
    unit: Unit | None = None
    header: bool = False


def words_of(text: str) -> tuple[str, ...]:
    """The words and numbers of a name, in lower case."""
    return tuple(re.findall(r"[^\W\d_]+|\d+", text.lower()))


def without_unit(text: str, joints: Collection[str] = ()) -> tuple[str, str]:
    """A name without the unit in brackets at its end, and the text of the unit or ""."""
    match = BRACKETED.fullmatch(text)
    if text in joints or match is None or match[2] in joints or match[2].strip().isdigit():
        return text, ""
    inside = words_of(match[2])
    if inside and all(x in WORDS or x in FILLERS for x in inside) and unit_of(match[2]) is None:
        return text, ""
    return match[1].strip(), match[2]


def joints_by_words(joints: Iterable[str]) -> dict[tuple[str, ...], str]:
    """Joints by the words of their names, without those whose words are the same."""
    found: dict[tuple[str, ...], str] = {}
    twice: set[tuple[str, ...]] = set()
    for joint in dict.fromkeys(joints):
        words = words_of(joint)
        twice |= {words} & {*found}
        found[words] = joint
    return {words: joint for words, joint in found.items() if words and words not in twice}


def discovered(heads: Iterable[str]) -> list[str]:
    """Joints that a file names itself, as in `q:JOINT`, `JOINT_position` and `velocity/JOINT`."""
    words = "|".join(sorted(WORDS, key=len, reverse=True))
    form = re.compile(rf"(?i)/?(.+?)[_./: ](?:{words})|(?:{words})[/._: ](.+)")
    joints: dict[str, None] = {}
    for head in heads:
        body = without_unit(head)[0]
        quantity, _, joint = body.partition(":")
        if quantity in SIGNALS and joint:
            joints[joint] = None
        elif match := form.fullmatch(TOPIC.sub("", body)):
            name = match[1] or match[2]
            if not all(x.isdigit() or x in FILLERS for x in words_of(name)):
                joints[name] = None
    return list(joints)


def meaning(body: str, joints: Mapping[tuple[str, ...], str]) -> Meaning | None:
    """The meaning of a name without its unit, None if it has none."""
    quantity, colon, joint = body.partition(":")
    if colon and quantity in SIGNALS:
        return Meaning(quantity, joint)
    body = TOPIC.sub("", body)
    words = words_of(body)
    if not words or not SIGNS.fullmatch(body) or body.startswith("-"):
        return None
    return _time(words) or _of_joint(words, joints) or _of_words(words)


def quantities(head: str) -> set[str]:
    """Quantities that words of a name state."""
    return {WORDS[x] for x in words_of(head) if x in WORDS}


def _time(words: Sequence[str]) -> Meaning | None:
    fine = not NANOSECONDS.isdisjoint(words)
    clock = fine or not TIMES.union(SECONDS).isdisjoint(words)
    if not clock or not {*words} <= TIMES | SECONDS | NANOSECONDS | TIME_FILLERS:
        return None
    return Meaning(TIME, unit=unit_of("ns") if fine else None, header="header" in words)


def _of_joint(words: tuple[str, ...], joints: Mapping[tuple[str, ...], str]) -> Meaning | None:
    """A joint by all words of its name, the longest one, and a quantity."""
    for size in range(len(words), 0, -1):
        for first in range(len(words) - size + 1):
            joint = joints.get(words[first : first + size])
            rest = words[:first] + words[first + size :]
            found = Meaning("q") if not rest else _of_words(rest)
            if joint is not None and found is not None and found.number is None:
                return Meaning(found.kind, joint)
    return None


def _of_words(words: Sequence[str]) -> Meaning | None:
    """The meaning of a quantity and perhaps a number; None without one or with another word."""
    kind, number = "", None
    for word in words:
        if word.isdigit() and number is None and len(word) < 7:
            number = int(word)
        elif word in WORDS and kind in ("", WORDS[word]):
            kind = WORDS[word]
        elif word in DOTS and kind == "q":
            kind = DOTS[word]
        elif word not in FILLERS:
            return None
    if not kind and number is not None and len(words) == 2 and words[0] in JOINT_WORDS:
        kind = "q"  # joint_1, J1
    return Meaning(kind, number=number) if kind else None
