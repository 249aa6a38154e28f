"""Axis: the names along an axis of an array, and how the labels of an object fit them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from kinetree.errors import InputError

MAX_NAMES = 12  # in one message


@dataclass(frozen=True)
class Axis:
    """The names along one axis of an array.

    Args:
        names: in order.
        kind: of the things that are named: "joint", "coordinate", "link", "parameter", or "axis"
            for directions in space.
        robot: the name of the robot, for messages.
        whole: joints with several entries, with the names of these.
        following: joints that follow another, with the name of that: they have no entry.
    """

    names: tuple[str, ...]
    kind: str = "joint"
    robot: str = ""
    whole: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    following: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def entries(self) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
        """The entries of a dict in the order of the names; KeyError if one is missing."""
        return itemgetter(*self.names) if len(self.names) > 1 else self._one_or_none

    def _one_or_none(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(values[name] for name in self.names)

    @property
    def directions(self) -> bool:
        """Whether the names are directions in space, which a dict has no keys for."""
        return self.kind in ("axis", "entry")


# names along the axis of each input (None: it has none), and along the axes of each output
Axes = tuple[tuple[Axis | None, ...], tuple[tuple[Axis | None, ...], ...]]


def of_argument(labels: Sequence[Any], argument: str) -> list[tuple[int, Any]]:
    """Positions and names of the labels of an argument: those of "q:elbow", "t", ... for q.

    Tables of a motion have a column "quantity:joint" for each quantity. Of such a table, q takes
    the columns that begin with "q:", without this beginning; of another table, all.
    """
    beginning = argument.rstrip("0123456789") + ":"
    named = [(k, x) for k, x in enumerate(labels) if str(x).startswith(beginning)]
    return [(k, x[len(beginning) :]) for k, x in named] or list(enumerate(labels))


def order_of(labels: Sequence[object], axis: Axis, argument: str, where: str) -> list[int]:
    """Return where the names of the axis stand among the labels, or raise InputError."""
    names = set(axis.names)
    known = any(isinstance(x, str) and x in names for x in labels)
    pairs = list(enumerate(labels)) if known else of_argument(labels, argument)
    found = [label for _, label in pairs]
    place = {label: k for k, label in pairs}
    if len(place) == len(found) and place.keys() == names:
        return [place[x] for x in axis.names]
    raise InputError(f"{argument}: the {where} {_mismatch(found, axis)}")


def _mismatch(found: Sequence[object], axis: Axis) -> str:
    """What is wrong with the labels, and what is expected."""
    expected = f"{axis.kind}s{f' of {axis.robot!r}' if axis.robot else ''}"
    bare = [x for x in found if not isinstance(x, str)]
    if bare:
        return (
            f"are {shown(bare)}; expected the names of the {expected}: {shown(axis.names)}. If "
            "they are in the order of the robot, pass .to_numpy()."
        )
    twice = [x for x, count in Counter(found).items() if count > 1]
    if twice:
        return f"have {shown(twice)} more than once; expected each name once."
    missing = [x for x in axis.names if x not in found]
    unknown = [str(x) for x in found if x not in axis.names]
    parts = [f"missing {shown(missing)}"] if missing else []
    parts += [f"unknown {shown(unknown)}"] if unknown else []
    return (
        f"do not name the {expected}: {'; '.join(parts)}. Expected {shown(axis.names)}, in any "
        f"order.{_hint(unknown, missing, axis)}"
    )


def _hint(unknown: Sequence[str], missing: Sequence[str], axis: Axis) -> str:
    import difflib  # here, since it is for errors

    for name in unknown:
        if name in axis.following:
            return (
                f" Joint {name!r} follows {axis.following[name]!r} and has no entry of its own; "
                "leave it out."
            )
        if name in axis.whole:
            return f" Joint {name!r} has several entries: {', '.join(axis.whole[name])}."
        near = difflib.get_close_matches(name, missing or axis.names, 1)
        if near:
            return f" Was {near[0]!r} meant by {name!r}?"
    return ""


def shown(names: Iterable[object]) -> str:
    """Return the first of the names in quotes, and the number of others."""
    listed = list(names)
    shown = ", ".join(map(repr, listed[:MAX_NAMES]))
    return f"{shown} and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else shown
