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
from kinetree.errors import InputError, KinetreeError, ParseError, need
from kinetree.motion.recordings import MAX_NAMES, SIGNALS, ReadRequest, Table
from kinetree.motion.recordings.columns import matches
from kinetree.motion.recordings.names import without_unit
from kinetree.motion.recordings.sizes import check_numbers, check_plain

STATE, PLAN = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
FIELDS = {
    STATE: {"q": "position", "dq": "velocity", "tau": "effort"},
    PLAN: {"q": "positions", "dq": "velocities", "ddq": "accelerations", "tau": "effort"},
}
SECOND = 10**9  # ns
OVERHEAD = 1024  # bytes of a message in memory beside its own, measured for 7 joints
LONGEST_GAP = 5  # between a first stamp of 0 and the next, in usual gaps; simulations begin at 0


@dataclass(frozen=True)
class _Sample:
    """One sample: its name in messages, its time in ns, its joints, and the arrays that it has."""

    row: str
    time: int
    names: Sequence[str]
    arrays: Mapping[str, Sequence[float]]


def read_bag(path: Path, request: ReadRequest) -> Table:
    """The table of one topic of a bag: a .bag, .mcap or .db3 file, or a folder with metadata.yaml.

    Times of joint states are the stamps of their headers, counted from the first; if all are zero,
    the times at which the bag received them. Times of a trajectory are those from its start.
    """
    need("rosbags.highlevel", "ros", "a ROS bag")
    topic, sign, number = (request.topic or "").partition("#")
    if sign and not (number.isdigit() and int(number) > 0):
        raise InputError(f"{path.name}: the topic {request.topic!r} ends with #{number}; expected "
                         "a number.")  # fmt: skip
    with _opened(path) as reader:
        chosen = _chosen(reader, topic, path.name, request)
        kind, topic = chosen[0].msgtype, chosen[0].topic
        where, size = f"{path.name}, topic {topic}", 0
        messages: list[tuple[int, Any]] = []
        for connection, received, data in reader.messages(connections=chosen):
            size += len(data) + OVERHEAD
            check_numbers(size, where)
            messages.append((received, reader.deserialize(data, connection.msgtype)))
    if not messages:
        raise ParseError(f"{where} has no messages.")
    if kind == PLAN:
        samples, notes = _plan_samples([x for _, x in messages], number, where, request)
    elif number:
        raise InputError(f"{where}: #{number} chooses a trajectory, and the topic has {kind}.")
    else:
        samples, notes = _state_samples(messages, where)
    return _table(samples, request, where, notes, relative=kind == STATE)


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


def _chosen(reader: Any, topic: str, file: str, request: ReadRequest) -> list[Any]:
    """The connections of the topic, which must be one of a suitable type."""
    every = {
        name: f"{name} ({x.msgtype}, {counted(x.msgcount, 'message')})"
        for name, x in reader.topics.items()
    }
    suitable = [x for x in reader.connections if x.msgtype in FIELDS]
    topics = sorted({x.topic for x in suitable})
    if topic and topic not in topics:
        raise InputError(
            f"{file}: there is no topic {topic} of type {STATE} or {PLAN}; it has "
            f"{', '.join([*every.values()][:MAX_NAMES])}.{nearest(topic, topics)}"
        )
    if not topics:
        raise ParseError(
            f"{file} has no topic of type {STATE} or {PLAN}; it has "
            f"{', '.join([*every.values()][:MAX_NAMES]) or 'no topics'}."
        )
    if not topic and len(topics) > 1:
        raise InputError(
            f"{file} has several topics: {', '.join(every[x] for x in topics[:MAX_NAMES])}. Choose "
            f"one: {request.options.topic(topics[0])}."
        )
    chosen = [x for x in suitable if x.topic == (topic or topics[0])]
    if len({x.msgtype for x in chosen}) > 1:
        raise ParseError(f"{file}: topic {chosen[0].topic} has messages of several types.")
    return chosen


def _state_samples(
    messages: Sequence[tuple[int, Any]], where: str
) -> tuple[list[_Sample], list[str]]:
    received = np.array([time for time, _ in messages])
    stamps = np.array([_stamp(x.header.stamp) for _, x in messages])
    notes = ["the stamps of the messages are zero; times are those of the bag"]
    if stamps.any():
        notes, gaps = [], np.diff(stamps)
        usual = max(np.median(gaps[1:]) if len(gaps) > 1 else 0, *np.diff(received[:2]), 0)
        if stamps[0] == 0 and len(gaps) and gaps[0] > LONGEST_GAP * usual:
            raise ParseError(
                f"{where}, message 1 has the stamp 0, and message 2 {gaps[0] / SECOND:.10g} s: the "
                "first was not stamped. Cut it from the bag."
            )
    else:
        stamps = received
    samples = [
        _Sample(f"{where}, message {k}", int(stamp), list(x.name), _arrays(x, STATE))
        for k, (stamp, (_, x)) in enumerate(zip(stamps, messages, strict=True), 1)
    ]
    return samples, notes


def _plan_samples(
    messages: Sequence[Any], number: str, where: str, request: ReadRequest
) -> tuple[list[_Sample], list[str]]:
    """The points of one trajectory; `number` chooses it if the topic has several."""
    if not number and len(messages) > 1:
        topic = where.partition(", topic ")[2]
        raise InputError(
            f"{where} has {counted(len(messages), 'trajectory')}. Choose one: "
            f"{request.options.topic(f'{topic}#1')}."
        )
    if int(number or 1) > len(messages):
        raise InputError(
            f"{where} has {counted(len(messages), 'trajectory')}; there is no #{number}."
        )
    message = messages[int(number or 1) - 1]
    samples = [
        _Sample(f"{where}, point {k}", _stamp(x.time_from_start), list(message.joint_names),
                _arrays(x, PLAN))
        for k, x in enumerate(message.points, 1)
    ]  # fmt: skip
    if not samples:
        raise ParseError(f"{where}: the trajectory has no points.")
    return samples, ["times are those from the start of the trajectory"]


def _stamp(time: Any) -> int:
    return int(time.sec) * SECOND + int(time.nanosec)


def _arrays(message: Any, kind: str) -> dict[str, Sequence[float]]:
    return {key: getattr(message, name) for key, name in FIELDS[kind].items()}


def _renamed(names: Sequence[str], request: ReadRequest, where: str) -> dict[str, str | None]:
    """Joints of the robot by the names in the bag, as they are mapped by hand; None: left out."""
    if request.degrees:
        raise InputError(
            f"{where}: messages of joints are in rad by their definition, and "
            f"{request.options.degrees} states degrees; leave that option out."
        )
    if not request.plain:
        raise InputError(
            f"{where}: messages of joint states have one number for each joint, and "
            f"{request.owner} has joints with several. Read a robot with a fixed base."
        )
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
            if kind != "q" or (joint and joint not in known) or without_unit(joint, known)[1]:
                raise ParseError(
                    f"{where}: joint {names[k]!r} is mapped to {own!r}; expected q:JOINT without "
                    f"a unit to rename it, of {listing(known, MAX_NAMES)}, or nothing to leave it "
                    f"out.{nearest(joint, known)}"
                )
            mapped[names[k]] = joint or None
    return mapped


def _table(
    samples: Sequence[_Sample],
    request: ReadRequest,
    where: str,
    notes: list[str],
    *,
    relative: bool,
) -> Table:
    """Samples aligned by name; quantities that all of them lack are absent.

    relative: whether times are counted from the first.
    """
    names = list(dict.fromkeys(name for sample in samples for name in sample.names))
    mapped = _renamed(names, request, where)
    joints = request.names("q") or tuple(dict.fromkeys(x for x in mapped.values() if x))
    unknown = [x for x in names if mapped[x] and mapped[x] not in joints]
    if unknown:
        notes.append(f"{request.owner} has no {listing(unknown, MAX_NAMES)}, left out")
    kept: list[_Sample] = []
    places: list[list[int]] = []
    for sample in samples:
        own = [mapped[x] for x in sample.names]
        missing = [x for x in joints if own.count(x) != 1]
        if len(missing) == len(joints) and set(own).isdisjoint(joints):
            continue
        if missing:
            what = "is missing" if missing[0] not in own else "is there twice"
            raise ParseError(
                f"{sample.row}: joint {missing[0]!r} {what}; expected every joint of "
                f"{request.owner} once in a message. Joints of a message: "
                f"{listing(sample.names, MAX_NAMES)}."
            )
        kept.append(sample)
        places.append([own.index(x) for x in joints])
    if not kept:
        raise ParseError(
            f"{where}: no message has the joints {', '.join(joints[:MAX_NAMES])}, but "
            f"{listing(names, MAX_NAMES)}. Rename them by hand: "
            f"{request.options.column(names[0] if names else 'NAME', f'q:{joints[0]}')}."
        )
    if len(kept) < len(samples):
        left = counted(len(samples) - len(kept), "message")
        notes.append(f"{left} without joints of the robot left out")
    start = kept[0].time if relative else 0
    if relative:
        first = f"{start // SECOND}.{start % SECOND:09d}"
        notes.append(f"times are counted from the first, {first} s")
    values = {"t": np.array([x.time - start for x in kept]) / SECOND}
    for quantity in SIGNALS:
        x = _quantity(quantity, kept, places, notes)
        if x is not None:
            values[quantity] = x
        elif quantity in request.required:
            raise ParseError(f"{where}: the messages have no {quantity}, which is needed.")
    return Table(values, joints, lambda k: kept[k].row, where, tuple(notes))


def _quantity(
    quantity: str, samples: Sequence[_Sample], places: Sequence[Sequence[int]], notes: list[str]
) -> Array | None:
    """One quantity of all samples, (T, n); None if all of them lack it."""
    given = [x.arrays.get(quantity, ()) for x in samples]
    if not any(map(len, given)):
        return None
    for sample, x in zip(samples, given, strict=True):
        if len(x) != len(sample.names):
            raise ParseError(
                f"{sample.row}: {counted(len(x), 'number')} of {quantity} for "
                f"{counted(len(sample.names), 'joint')}; expected one each, or none in any message."
            )
    table = np.array([np.asarray(x, float)[at] for x, at in zip(given, places, strict=True)])
    bad = np.argwhere(~np.isfinite(table))
    if np.isnan(table).all():  # ros2_control fills interfaces that a robot lacks
        notes.append(f"{quantity} is NaN in every message and taken as absent")
        return None
    if len(bad):
        k, j = (int(x) for x in bad[0])
        raise ParseError(
            f"{samples[k].row}: {quantity} of {samples[k].names[places[k][j]]!r} is {table[k, j]}; "
            "expected a finite number."
        )
    return table
