"""ROS bags without ROS: joint states, as the package `rosbags` reads them.

Names of joints may come in any order and change between messages: every message is aligned by name.
Joints that the robot lacks are left out with a note, and so are messages of such joints alone.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, nearest
from kinetree.errors import InputError, KinetreeError, ParseError, argument, need
from kinetree.motion.recordings import MAX_NAMES, TIME, ReadRequest, Table, by_hand
from kinetree.motion.recordings.columns import matches
from kinetree.motion.recordings.sizes import check_numbers, check_plain

STATE = "sensor_msgs/msg/JointState"
FIELDS = {"q": "position", "dq": "velocity", "tau": "effort"}
SECOND = 10**9  # ns
OVERHEAD = 1024  # bytes of a message in memory beside its own, measured for 7 joints


def read_bag(path: Path, request: ReadRequest) -> Table:
    """The table of one topic of a bag: a .bag, .mcap or .db3 file, or a folder with metadata.yaml.

    Times are the stamps of the headers, counted from the first; if all are zero, the times at which
    the bag received the messages.
    """
    need("rosbags.highlevel", "ros", "a ROS bag")
    if request.degrees or request.rate is not None or not request.plain:
        raise InputError(
            f"{path.name}: messages of joints have a stamp and one number for each joint, in rad; "
            f"expected a robot with a fixed base, no {argument('degrees', True)} and no "
            f"{argument('rate')}."
        )
    messages: list[Any] = []
    received: list[int] = []
    with _opened(path) as reader:
        chosen = _chosen(reader, request.topic, path.name)
        where, size = f"{path.name}, topic {chosen[0].topic}", 0
        for connection, time, data in reader.messages(connections=chosen):
            size += len(data) + OVERHEAD
            check_numbers(size, where)
            messages.append(reader.deserialize(data, connection.msgtype))
            received.append(time)
    if not messages:
        raise ParseError(f"{where} has no messages.")
    times, notes = [_nanoseconds(x.header.stamp) for x in messages], list[str]()
    if not any(times):
        times, notes = received, ["the stamps are zero; times are those of the bag"]
    rows = [f"{where}, message {k}" for k in range(1, len(messages) + 1)]
    arrays = {x: [getattr(y, name) for y in messages] for x, name in FIELDS.items()}
    joints = [list(x.name) for x in messages]
    return _Samples(where, rows, times, joints, arrays, notes).table(request)


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


def _chosen(reader: Any, topic: str | None, file: str) -> list[Any]:
    """The connections of the topic, or of the only one with joint states."""
    suitable = [x for x in reader.connections if x.msgtype == STATE]
    topics = sorted({x.topic for x in suitable})
    if (topic not in topics) if topic else len(topics) != 1:
        every = [f"{name} ({x.msgtype})" for name, x in reader.topics.items()]
        raise InputError(
            f"{file} has {f'no topic {topic}' if topic else f'{len(topics)} topics'} of type "
            f"{STATE}; it has {', '.join(every[:MAX_NAMES]) or 'no topics'}."
            f"{nearest(topic or '', topics)} Choose one: {argument('topic', 'TOPIC')}."
        )
    return [x for x in suitable if x.topic == (topic or topics[0])]


def _nanoseconds(time: Any) -> int:
    return int(time.sec) * SECOND + int(time.nanosec)


def _renamed(names: Sequence[str], request: ReadRequest, where: str) -> dict[str, str]:
    """Joints of the robot by the names in the bag, as they are mapped by hand; "": left out."""
    mapped = {x: x for x in names}
    for pattern, target in request.columns.items():
        pairs = matches(names, pattern, target)
        for k, own in pairs:
            kind, _, mapped[names[k]] = (own or "q:").partition(":")
            known = {"", *request.names("q")} if request.model else {mapped[names[k]]}
            if kind != "q" or mapped[names[k]] not in known:
                raise ParseError(
                    f"{where}: joint {names[k]!r} is mapped to {own!r}; expected q:JOINT to rename "
                    f"it, or nothing to leave it out.{nearest(mapped[names[k]], known)}"
                )
        if not pairs:
            raise ParseError(
                f"{where}: there is no joint {pattern!r} to map; the messages have "
                f"{listing(names, MAX_NAMES)}.{nearest(pattern, names)}"
            )
    return mapped


@dataclass
class _Samples:
    """Messages.

    rows: each as messages name it. times: ns. joints: the names that each message has. arrays: of
    each quantity, those of the messages.
    """

    where: str
    rows: list[str]
    times: Sequence[int]
    joints: list[list[str]]
    arrays: dict[str, list[Sequence[float]]]
    notes: list[str]

    def table(self, request: ReadRequest) -> Table:
        """The samples aligned by name; quantities that all of them lack are absent."""
        joints, kept, places = self.aligned(request)
        rows = [self.rows[k] for k in kept]
        start = self.times[kept[0]]
        first = f"{start // SECOND}.{start % SECOND:09d}"
        self.notes.append(f"times are counted from the first, {first} s")
        values = {TIME: np.array([self.times[k] - start for k in kept]) / SECOND}
        for quantity, arrays in self.arrays.items():
            x = np.array([self.row(k, arrays[k], at) for k, at in zip(kept, places, strict=True)])
            if np.isnan(x).all():  # ros2_control fills interfaces that a robot lacks with NaN
                self.notes.append(f"there is no {quantity}")
                continue
            for k, j in np.argwhere(~np.isfinite(x))[:1].tolist():
                raise ParseError(
                    f"{rows[k]}: {quantity} of {joints[j]!r} is {x[k, j]}; expected a finite "
                    "number in every message, or none in any."
                )
            values[quantity] = x
        for quantity in {*request.required} - {*values}:
            raise ParseError(f"{self.where}: the messages have no {quantity}, which is needed.")
        return Table(values, joints, lambda k: rows[k], self.where, tuple(self.notes))

    def row(self, k: int, cells: Sequence[float], places: Sequence[int]) -> Array:
        """The numbers of a message in the order of places; NaN if it has none."""
        if len(cells) not in (0, len(self.joints[k])):
            raise ParseError(
                f"{self.rows[k]}: {counted(len(cells), 'number')} for "
                f"{counted(len(self.joints[k]), 'joint')}; expected one each, or none."
            )
        return np.asarray(cells, float)[places] if len(cells) else np.full(len(places), np.nan)

    def aligned(self, request: ReadRequest) -> tuple[tuple[str, ...], list[int], list[list[int]]]:
        """The joints, the samples that have them, and the places of the joints in each of these."""
        names = list(dict.fromkeys(name for own in self.joints for name in own))
        mapped = _renamed(names, request, self.where)
        joints = request.names("q") or tuple(dict.fromkeys(filter(None, mapped.values())))
        unknown = [x for x in names if mapped[x] and mapped[x] not in joints]
        if unknown:
            self.notes.append(f"{request.owner} has no {listing(unknown, MAX_NAMES)}, left out")
        named = [[mapped[name] for name in own] for own in self.joints]
        kept = [k for k, own in enumerate(named) if not {*own}.isdisjoint(joints)]
        if not kept:
            raise ParseError(
                f"{self.where}: no message has the joints {listing(joints, MAX_NAMES)}, but "
                f"{listing(names, MAX_NAMES)}. Rename them: {by_hand('NAME', 'q:JOINT')}."
            )
        if left := len(named) - len(kept):
            self.notes.append(f"{counted(left, 'message')} without joints of the robot left out")
        for k, x in product(kept, joints):
            if named[k].count(x) != 1:
                raise ParseError(
                    f"{self.rows[k]}: joint {x!r} is there {named[k].count(x)} times; expected "
                    f"every joint of {request.owner} once."
                )
        return joints, kept, [[named[k].index(x) for x in joints] for k in kept]
