"""ROS bags without ROS: joint states and joint trajectories, as the package `rosbags` reads them.

Names of joints may come in any order and change between messages: every message is aligned by name.
Joints that the robot lacks are left out with a note, and so are messages of such joints alone.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, nearest
from kinetree.errors import InputError, KinetreeError, ParseError, argument, need
from kinetree.motion.recordings import MAX_NAMES, TIME, ReadRequest, Table, by_hand
from kinetree.motion.recordings.columns import matches
from kinetree.motion.recordings.sizes import check_numbers, check_plain

STATE, PLAN = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
FIELDS = {
    STATE: {"q": "position", "dq": "velocity", "tau": "effort"},
    PLAN: {"q": "positions", "dq": "velocities", "ddq": "accelerations", "tau": "effort"},
}
SECOND = 10**9  # ns
OVERHEAD = 1024  # bytes of a message in memory beside its own, measured for 7 joints
LONGEST_GAP = 5  # between a first stamp of 0 and the next, in usual gaps; simulations begin at 0


def read_bag(path: Path, request: ReadRequest) -> Table:
    """The table of one topic of a bag: a .bag, .mcap or .db3 file, or a folder with metadata.yaml.

    Times of joint states are the stamps of their headers, counted from the first; if all are zero,
    the times at which the bag received them. Times of a trajectory are those from its start.
    """
    need("rosbags.highlevel", "ros", "a ROS bag")
    _check_request(path.name, request)
    topic, _, number = (request.topic or "").partition("#")
    with _opened(path) as reader:
        chosen = _chosen(reader, topic, path.name)
        kind, topic = chosen[0].msgtype, chosen[0].topic
        where, size = f"{path.name}, topic {topic}", 0
        messages: list[Any] = []
        received: list[int] = []
        for connection, time, data in reader.messages(connections=chosen):
            size += len(data) + OVERHEAD
            check_numbers(size, where)
            messages.append(reader.deserialize(data, connection.msgtype))
            received.append(time)
    if not messages:
        raise ParseError(f"{where} has no messages.")
    if kind == PLAN:
        message = _plan(messages, number, where, topic)
        messages, item = list(message.points), "point"
        times = [_nanoseconds(x.time_from_start) for x in messages]
        joints = [list(message.joint_names)] * len(messages)
        notes = ["times are those from the start of the trajectory"]
    else:
        times, notes = _stamps([_nanoseconds(x.header.stamp) for x in messages], received, where)
        joints, item = [list(x.name) for x in messages], "message"
    fields = FIELDS[kind].items()
    samples = [
        Sample(f"{where}, {item} {k}", time, own, {x: getattr(y, name) for x, name in fields})
        for k, (time, own, y) in enumerate(zip(times, joints, messages, strict=True), 1)
    ]
    return _table(samples, request, where, notes, relative=kind == STATE)


@dataclass(frozen=True)
class Sample:
    """One sample: its name in messages, its time in ns, its joints, and arrays by quantity."""

    row: str
    time: int
    joints: list[str]
    arrays: Mapping[str, Sequence[float]]

    def aligned(self, quantity: str, places: Sequence[int]) -> Array:
        """A quantity in the order of places; NaN if the sample has none."""
        x, count = np.asarray(self.arrays[quantity], float), len(self.joints)
        if len(x) not in (0, count):
            raise ParseError(
                f"{self.row}: {counted(len(x), 'number')} of {quantity} for "
                f"{counted(count, 'joint')}; expected one each, or none in any message."
            )
        return x[list(places)] if len(x) else np.full(len(places), np.nan)


def _check_request(file: str, request: ReadRequest) -> None:
    _, sign, number = (request.topic or "").partition("#")
    if sign and not (number.isdigit() and int(number) > 0):
        raise InputError(f"{file}: the topic {request.topic!r} ends with #{number}; expected #1.")
    if request.degrees:
        raise InputError(
            f"{file}: messages of joints are in rad by their definition; leave out "
            f"{argument('degrees', True)}."
        )
    if not request.plain:
        raise InputError(
            f"{file}: messages of joint states have one number for each joint, and {request.owner} "
            "has joints with several. Read a robot with a fixed base."
        )


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    """Open a bag; errors of the package become a ParseError."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    for file in path.iterdir() if path.is_dir() else ():
        check_plain(file)
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        raise InputError(
            f"{path.name or path} is a folder without metadata.yaml; expected a recording, such as "
            "a file in it."
        )
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as reader:
            yield reader
    except KinetreeError:
        raise
    except Exception as error:  # rosbags raises many kinds for damaged files
        text = str(error).strip().partition("\n")[0].rstrip(":.") or type(error).__name__
        raise ParseError(
            f"{path.name} cannot be read as a ROS bag: {text}. If the recording was cut short, "
            "`ros2 bag reindex`, `mcap recover` or `rosbag reindex` may repair it."
        ) from None


def _chosen(reader: Any, topic: str, file: str) -> list[Any]:
    """The connections of the topic, which must be one of a suitable type."""
    every = {
        name: f"{name} ({x.msgtype}, {counted(x.msgcount, 'message')})"
        for name, x in reader.topics.items()
    }
    suitable = [x for x in reader.connections if x.msgtype in FIELDS]
    topics = sorted({x.topic for x in suitable})
    if not topics or (topic and topic not in topics):
        raise InputError(
            f"{file} has no topic {topic} of type {STATE} or {PLAN}; it has "
            f"{', '.join([*every.values()][:MAX_NAMES]) or 'no topics'}.{nearest(topic, topics)}"
        )
    if not topic and len(topics) > 1:
        raise InputError(
            f"{file} has several topics: {', '.join(every[x] for x in topics[:MAX_NAMES])}. Choose "
            f"one: {argument('topic', topics[0])}."
        )
    chosen = [x for x in suitable if x.topic == (topic or topics[0])]
    if len({x.msgtype for x in chosen}) > 1:
        raise ParseError(f"{file}: topic {chosen[0].topic} has messages of several types.")
    return chosen


def _stamps(stamps: list[int], received: list[int], where: str) -> tuple[Sequence[int], list[str]]:
    """Times of messages, ns, and notes on them."""
    if not any(stamps):
        return received, ["the stamps of the messages are zero; times are those of the bag"]
    gaps = np.diff(stamps)
    usual = max(np.median(gaps[1:]) if len(gaps) > 1 else 0, *np.diff(received[:2]), 0)
    if stamps[0] == 0 and len(gaps) and gaps[0] > LONGEST_GAP * usual:
        raise ParseError(
            f"{where}, message 1 has the stamp 0, and message 2 {gaps[0] / SECOND:.10g} s: the "
            "first was not stamped. Cut it from the bag."
        )
    return stamps, []


def _plan(messages: Sequence[Any], number: str, where: str, topic: str) -> Any:
    """One trajectory; `number` chooses it if the topic has several."""
    count = counted(len(messages), "trajectory")
    if not number and len(messages) > 1:
        raise InputError(f"{where} has {count}. Choose one: {argument('topic', f'{topic}#1')}.")
    if int(number or 1) > len(messages):
        raise InputError(f"{where} has {count}; there is no #{number}.")
    message = messages[int(number or 1) - 1]
    if not message.points:
        raise ParseError(f"{where}: the trajectory has no points.")
    return message


def _nanoseconds(time: Any) -> int:
    return int(time.sec) * SECOND + int(time.nanosec)


def _renamed(names: Sequence[str], request: ReadRequest, where: str) -> dict[str, str | None]:
    """Joints of the robot by the names in the bag, as they are mapped by hand; None: left out."""
    mapped: dict[str, str | None] = {x: x for x in names}
    for pattern, target in request.columns.items():
        pairs = matches(names, pattern, target)
        if not pairs:
            raise ParseError(
                f"{where}: there is no joint {pattern!r} to map; the messages have "
                f"{listing(names, MAX_NAMES)}.{nearest(pattern, names)}"
            )
        for k, own in pairs:
            kind, _, joint = (own or "q:").partition(":")
            known = request.names("q") or (joint,)
            if kind != "q" or (joint and joint not in known):
                raise ParseError(
                    f"{where}: joint {names[k]!r} is mapped to {own!r}; expected q:JOINT to rename "
                    f"it, of {listing(known, MAX_NAMES)}, or nothing to leave it out."
                    f"{nearest(joint, known)}"
                )
            mapped[names[k]] = joint or None
    return mapped


def _table(
    samples: Sequence[Sample],
    request: ReadRequest,
    where: str,
    notes: list[str],
    *,
    relative: bool,
) -> Table:
    """Samples aligned by name; quantities that all of them lack are absent.

    relative: whether times are counted from the first.
    """
    names = list(dict.fromkeys(name for sample in samples for name in sample.joints))
    mapped = _renamed(names, request, where)
    joints = request.names("q") or tuple(dict.fromkeys(x for x in mapped.values() if x))
    unknown = [x for x in names if mapped[x] and mapped[x] not in joints]
    if unknown:
        notes.append(f"{request.owner} has no {listing(unknown, MAX_NAMES)}, left out")
    kept: list[Sample] = []
    places: list[list[int]] = []
    for sample in samples:
        own = [mapped[x] for x in sample.joints]
        if set(own).isdisjoint(joints):
            continue
        if odd := [x for x in joints if own.count(x) != 1]:
            raise ParseError(
                f"{sample.row}: joint {odd[0]!r} is there {own.count(odd[0])} times; expected "
                f"every joint of {request.owner} once; it has {listing(sample.joints, MAX_NAMES)}."
            )
        kept.append(sample)
        places.append([own.index(x) for x in joints])
    if not kept:
        first = names[0] if names else "NAME"
        raise ParseError(
            f"{where}: no message has the joints {listing(joints, MAX_NAMES)}, but "
            f"{listing(names, MAX_NAMES)}. Rename them: {by_hand(first, f'q:{joints[0]}')}."
        )
    if left := len(samples) - len(kept):
        notes.append(f"{counted(left, 'message')} without joints of the robot left out")
    start = kept[0].time if relative else 0
    if relative:
        first = f"{start // SECOND}.{start % SECOND:09d}"
        notes.append(f"times are counted from the first, {first} s")
    values = {TIME: np.array([x.time - start for x in kept]) / SECOND}
    for quantity in kept[0].arrays:
        x = np.array([x.aligned(quantity, at) for x, at in zip(kept, places, strict=True)])
        if not np.isnan(x).all():
            _check_finite(x, quantity, joints, kept)
            values[quantity] = x
        elif any(len(sample.arrays[quantity]) for sample in kept):
            # ros2_control fills interfaces that a robot lacks
            notes.append(f"{quantity} is NaN in every message and taken as absent")
    for quantity in {*request.required} - {*values}:
        raise ParseError(f"{where}: the messages have no {quantity}, which is needed.")
    return Table(values, joints, lambda k: kept[k].row, where, tuple(notes))


def _check_finite(
    x: Array, quantity: str, joints: Sequence[str], samples: Sequence[Sample]
) -> None:
    for k, j in np.argwhere(~np.isfinite(x))[:1].tolist():
        raise ParseError(
            f"{samples[k].row}: {quantity} of {joints[j]!r} is {x[k, j]}; expected a finite number "
            "in every message, or none in any."
        )
