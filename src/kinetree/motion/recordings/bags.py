"""ROS bags without ROS: joint states and joint trajectories of MCAP, SQLite and ROS 1 bags.

The package `rosbags` reads the files. Names of joints may come in any order and change between
messages: every message is aligned by name. Messages of other joints alone, such as those of a
gripper on the same topic, are left out with a note once these joints are left out by hand.
"""

import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.tables import counted, listing, nearest
from kinetree.errors import InputError, ParseError, need
from kinetree.motion.recordings import MAX_NAMES, SIGNALS, ReadRequest, Table
from kinetree.motion.recordings.by_hand import matching
from kinetree.motion.recordings.clocks import FAR, STAMP
from kinetree.motion.recordings.names import BRACKETED
from kinetree.motion.recordings.sizes import check_bag, check_messages, check_numbers

STATE, PLAN = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
FIELDS = {
    STATE: {"q": "position", "dq": "velocity", "tau": "effort"},
    PLAN: {"q": "positions", "dq": "velocities", "ddq": "accelerations", "tau": "effort"},
}
SECOND = 10**9  # ns
OVERHEAD = 1024  # bytes of a message in memory beside its own, measured for 7 joints
LONGEST_GAP = 5  # between a first stamp of 0 and the next, in usual gaps; simulations begin at 0
REPAIRS = {".mcap": "mcap recover", ".bag": "rosbag reindex"}


def read_bag(path: Path, request: ReadRequest) -> Table:
    """The table of one topic of a bag: a .bag, .mcap or .db3 file, or a folder with metadata.yaml.

    Times of joint states are the stamps of their headers, counted from the first; if all are zero,
    the times at which the bag received them. Times of a trajectory are those from its start.
    """
    need("rosbags.highlevel", "ros", "a ROS bag")
    check_bag(path)
    with _opened(path) as reader:
        topic, number = _topic(request.topic, path.name)
        suitable = [x for x in reader.connections if x.msgtype in FIELDS]
        chosen = _chosen(suitable, reader, topic, path.name, request)
        kind = chosen[0].msgtype
        check_messages(reader, chosen[0].topic, path.name)
        messages: list[tuple[int, Any]] = []
        size = 0
        for connection, received, data in reader.messages(connections=chosen):
            size += len(data) + OVERHEAD
            check_numbers(size, f"{path.name}, topic {chosen[0].topic}")
            messages.append((received, reader.deserialize(data, connection.msgtype)))
    where = f"{path.name}, topic {chosen[0].topic}"
    if not messages:
        raise ParseError(f"{where} has no messages.")
    if kind == PLAN:
        samples, notes = _plan_samples(messages, number, where, request)
    elif number is not None:
        raise InputError(f"{where}: #{number} chooses a trajectory, and the topic has {kind}.")
    else:
        samples, notes = _state_samples(messages, where)
    return _table(samples, request, where, notes, relative=kind == STATE)


@dataclass(frozen=True)
class _Sample:
    """One sample: its time in ns, its joints, and the arrays that it has."""

    row: str
    time: int
    names: Sequence[str]
    arrays: Mapping[str, Sequence[float]]


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    """Open a bag; errors of the package become a ParseError."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    if path.is_dir() and not (path / "metadata.yaml").is_file():
        inside = sorted(x.name for x in path.iterdir() if x.suffix in (".mcap", ".db3", ".bag"))
        hint = f" It has {listing(inside, MAX_NAMES)}: name one of them." if inside else ""
        raise InputError(
            f"{path.name or path} is a folder without metadata.yaml; expected a recording.{hint}"
        )
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as reader:
            yield reader
    except (InputError, KeyboardInterrupt):
        raise
    except (sqlite3.Error, Exception) as error:  # rosbags raises many kinds for damaged files
        text = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        repair = REPAIRS.get(path.suffix, "ros2 bag reindex")
        raise ParseError(
            f"{path.name} cannot be read as a ROS bag: {text.rstrip(':.')}. If the recording was "
            f"cut short, `{repair}` may repair it."
        ) from None


def _topic(text: str | None, file: str) -> tuple[str | None, int | None]:
    """The topic and the number of a message, from `/topic#2`."""
    if text is None:
        return None, None
    topic, sign, number = text.partition("#")
    if sign and not (number.isdigit() and int(number) > 0):
        raise InputError(f"{file}: the topic {text!r} ends with #{number}; expected a number.")
    return topic, int(number) if sign else None


def _chosen(
    suitable: Sequence[Any], reader: Any, topic: str | None, file: str, request: ReadRequest
) -> list[Any]:
    """The connections of the topic, which must be one of a suitable type."""
    topics = {x.topic for x in suitable}
    every = {x.topic: x.msgtype for x in reader.connections}
    if topic is not None:
        connections = [x for x in suitable if x.topic == topic]
        if not connections and topic in every:
            raise InputError(
                f"{file}: topic {topic} has messages {every[topic]}; expected {STATE} or {PLAN}."
            )
        if not connections:
            raise InputError(
                f"{file}: there is no topic {topic}; it has {_listed(reader, every)}."
                f"{nearest(topic, list(every))}"
            )
    elif not topics:
        raise ParseError(
            f"{file} has no topic of type {STATE} or {PLAN}; it has {_listed(reader, every)}."
        )
    elif len(topics) > 1:
        raise InputError(
            f"{file} has several topics: {_listed(reader, sorted(topics))}. Choose one: "
            f"{request.options.topic(min(topics))}."
        )
    else:
        connections = list(suitable)
    if len({x.msgtype for x in connections}) > 1:
        raise ParseError(f"{file}: topic {connections[0].topic} has messages of several types.")
    return connections


def _listed(reader: Any, topics: Sequence[str] | Mapping[str, str]) -> str:
    texts: list[str] = []
    for name in topics:
        info = reader.topics[name]
        texts.append(f"{name} ({info.msgtype}, {counted(info.msgcount, 'message')})")
    more = f" and {len(texts) - MAX_NAMES} more" if len(texts) > MAX_NAMES else ""
    return (", ".join(texts[:MAX_NAMES]) or "no topics") + more


def _stamp(time: Any, row: str) -> int:
    if not 0 <= int(time.nanosec) < SECOND:
        raise ParseError(f"{row}: {STAMP}")
    return int(time.sec) * SECOND + int(time.nanosec)


def _first_is_unstamped(stamps: Sequence[int], received: Sequence[int]) -> bool:
    """Whether a first stamp of 0 is far from the next, by the stamps and by the bag's own times."""
    if len(stamps) < 2 or stamps[0] != 0:
        return False
    usual = median([other - one for one, other in pairwise(stamps[1:])] or [0])
    return stamps[1] > LONGEST_GAP * max(usual, received[1] - received[0])


def _state_samples(
    messages: Sequence[tuple[int, Any]], where: str
) -> tuple[list[_Sample], list[str]]:
    rows = [f"{where}, message {k}" for k in range(1, len(messages) + 1)]
    received = [time for time, _ in messages]
    stamps = [_stamp(x.header.stamp, row) for row, (_, x) in zip(rows, messages, strict=True)]
    notes: list[str] = []
    if not any(stamps):
        stamps = received
        notes.append("the stamps of the messages are zero; times are those of the bag")
    elif _first_is_unstamped(stamps, received):
        raise ParseError(
            f"{where}, message 1 has the stamp 0, and message 2 {stamps[1] / SECOND:.10g} s: the "
            "first was not stamped. Cut it from the bag."
        )
    samples = [
        _Sample(
            row, stamp, list(message.name),
            {key: getattr(message, name) for key, name in FIELDS[STATE].items()},
        )
        for row, stamp, (_, message) in zip(rows, stamps, messages, strict=True)
    ]  # fmt: skip
    return samples, notes


def _plan_samples(
    messages: Sequence[tuple[int, Any]], number: int | None, where: str, request: ReadRequest
) -> tuple[list[_Sample], list[str]]:
    """The points of one trajectory; `number` chooses it if the topic has several."""
    if number is None and len(messages) > 1:
        points = [
            f"#{k} ({counted(len(x.points), 'point')})" for k, (_, x) in enumerate(messages, 1)
        ]
        topic = where.partition(", topic ")[2]
        raise InputError(
            f"{where} has {counted(len(messages), 'trajectory')}: {', '.join(points[:MAX_NAMES])}"
            f"{' ...' if len(points) > MAX_NAMES else ''}. Choose one: "
            f"{request.options.topic(f'{topic}#1')}."
        )
    if number is not None and number > len(messages):
        raise InputError(
            f"{where} has {counted(len(messages), 'trajectory')}; there is no #{number}."
        )
    message = messages[(number or 1) - 1][1]
    names = list(message.joint_names)
    samples = [
        _Sample(
            row, _stamp(point.time_from_start, row), names,
            {key: getattr(point, name) for key, name in FIELDS[PLAN].items()},
        )
        for k, point in enumerate(message.points, 1)
        for row in [f"{where}, point {k}"]
    ]  # fmt: skip
    if not samples:
        raise ParseError(f"{where}: the trajectory has no points.")
    return samples, ["times are those from the start of the trajectory"]


@dataclass
class _Names:
    """The joints of a bag: how its names map to those of the robot, and what is left out."""

    request: ReadRequest
    where: str
    mapped: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def check(self, names: Sequence[str]) -> None:
        """Map every name of the bag; refuse unknown ones with the way to leave them out."""
        for pattern, target in self.request.columns.items():
            joints = [names[k] for k in matching(names, pattern)]
            if not joints:
                raise ParseError(
                    f"{self.where}: there is no joint {pattern!r} to map; the messages have "
                    f"{listing(names, MAX_NAMES)}.{nearest(pattern, names)}"
                )
            joint = (target or "").removeprefix("q:")
            match = BRACKETED.fullmatch(joint)
            if match and joint not in self.request.names("q"):
                raise ParseError(
                    f"{self.where}: joint {pattern!r} is mapped to {target!r}; messages of joints "
                    f"are in SI units by their definition. Leave out [{match[2]}]."
                )
            if target and joint == target:
                raise ParseError(
                    f"{self.where}: joint {pattern!r} is mapped to {target!r}; expected q:JOINT to "
                    "rename it, or nothing to leave it out."
                )
            self.mapped |= dict.fromkeys(joints, joint or None)
        known = self.request.names("q") or tuple(self.mapped.get(x, x) or "" for x in names)
        if self.request.degrees:
            raise InputError(
                f"{self.where}: messages of joints are in rad by their definition, and "
                f"{self.request.options.degrees} states degrees; leave that option out."
            )
        if not self.request.plain:
            raise InputError(
                f"{self.where}: messages of joint states have one number for each joint, and "
                f"{self.request.owner} has joints with several. Read a robot with a fixed base."
            )
        unknown = [x for x in names if self.mapped.get(x, x) not in (None, *known)]
        if unknown:
            follows = self.request.following(unknown[0])
            rename = f"; or rename them: {self.request.options.column(unknown[0], f'q:{known[0]}')}"
            raise ParseError(
                f"{self.where}: {self.request.owner} does not have the joints "
                f"{listing(unknown, MAX_NAMES)}; it has {', '.join(known[:MAX_NAMES])}."
                f"{follows or nearest(unknown[0], known)} Leave them out: "
                f"{self.request.options.column(unknown[0], '')}{'' if follows else rename}."
            )

    def own(self, sample: _Sample) -> dict[str, int]:
        """Places of the joints that are read, by their names in the robot."""
        places: dict[str, int] = {}
        for k, name in enumerate(sample.names):
            joint = self.mapped.get(name, name)
            if joint is not None and joint in places:
                raise ParseError(f"{sample.row}: joint {joint!r} is there twice; expected it once.")
            if joint is not None:
                places[joint] = k
        return places


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
    every = list(dict.fromkeys(name for sample in samples for name in sample.names))
    names = _Names(request, where)
    names.check(every)
    joints = request.names("q") or tuple(
        dict.fromkeys(x for name in every if (x := names.mapped.get(name, name)) is not None)
    )
    kept: list[_Sample] = []
    places: list[list[int]] = []
    for sample in samples:
        indices = names.own(sample)
        missing = [x for x in joints if x not in indices]
        if not indices:
            continue
        if missing:
            raise ParseError(
                f"{sample.row}: {listing(missing, MAX_NAMES)} is missing; expected every joint of "
                f"{request.owner} in a message. Joints of a message: "
                f"{listing(sample.names, MAX_NAMES)}."
            )
        kept.append(sample)
        places.append([indices[x] for x in joints])
    if not kept:
        raise ParseError(f"{where}: no message has the joints {', '.join(joints[:MAX_NAMES])}.")
    if len(kept) < len(samples):
        notes.append(
            f"{counted(len(samples) - len(kept), 'message')} without joints of the robot left out"
        )
    values = {"t": _times(kept, notes, relative=relative)}
    for quantity in SIGNALS:
        x = _quantity(quantity, kept, places, notes)
        if x is not None:
            values[quantity] = x
    for quantity in request.required:
        if quantity not in values:
            raise ParseError(f"{where}: the messages have no {quantity}, which is needed.")
    return Table(values, joints, lambda k: kept[k].row, where, tuple(notes))


def _times(samples: Sequence[_Sample], notes: list[str], *, relative: bool) -> Array:
    """Times in s; stamps are counted from the first."""
    relative = relative or abs(samples[0].time) > FAR * SECOND
    start = samples[0].time if relative else 0
    for one, other in pairwise(samples):
        if other.time <= one.time:
            raise ParseError(
                f"{other.row}: its time {other.time / SECOND:.9f} s does not come after "
                f"{one.time / SECOND:.9f} s of {one.row.rpartition(', ')[2]}; times must increase."
            )
    if relative:
        first = f"{start // SECOND}.{start % SECOND:09d}"
        notes.append(f"times are counted from the first, {first} s")
    return np.array([(x.time - start) / SECOND for x in samples])


def _quantity(
    quantity: str,
    samples: Sequence[_Sample],
    places: Sequence[Sequence[int]],
    notes: list[str],
) -> Array | None:
    """One quantity of all samples, (T, n); None if all of them lack it."""
    there = [len(x.arrays.get(quantity, ())) > 0 for x in samples]
    if not any(there):
        return None
    rows: list[list[float]] = []
    for sample, indices, numbers in zip(samples, places, there, strict=True):
        x = sample.arrays.get(quantity, ())
        if not numbers or len(x) != len(sample.names):
            raise ParseError(
                f"{sample.row}: {counted(len(x), 'number')} of {quantity} for "
                f"{counted(len(sample.names), 'joint')}; expected one each, or none in any message."
            )
        rows.append([float(x[k]) for k in indices])
    table = np.array(rows)
    if not np.isfinite(table).all():
        k, j = (int(x) for x in np.argwhere(~np.isfinite(table))[0])
        if np.isnan(table).all():  # ros2_control fills interfaces that a robot lacks
            notes.append(f"{quantity} is NaN in every message and taken as absent")
            return None
        raise ParseError(
            f"{samples[k].row}: {quantity} of {samples[k].names[places[k][j]]!r} is {table[k, j]}; "
            "expected a finite number."
        )
    return table
