"""Axis: the names along an axis of an array, and how the labels of an object fit them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from kinetree.errors import InputError

TIMES = ("t", "time", "timestamp", "stamp", "sec", "secs")
MAX_NAMES = 12  # in one message


@dataclass(frozen=True)
class Axis:
    """The names along one axis of an array.

    Args:
        names: in order.
        kind: of the things that are named: "joint", "coordinate", "link", "parameter", or "axis"
            for directions in space. xarray results call the dimension so.
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
    def owner(self) -> str:
        """The words " of 'robot'" for messages; empty without a robot."""
        return f" of {self.robot!r}" if self.robot else ""

    @property
    def directions(self) -> bool:
        """Whether the names are directions in space, which a dict has no keys for."""
        return self.kind in ("axis", "entry")


# names along the axis of each input (None: it has none), and along the axes of each output
Axes = tuple[tuple[Axis | None, ...], tuple[tuple[Axis | None, ...], ...]]


@dataclass(frozen=True)
class Form:
    """How a labelled argument is labelled: its kind, and the labels of its leading axes.

    rows: the index of a pandas frame. dims, coords: leading dimensions and coordinates of a
    DataArray, and `own`, its dimension of joints. shape: of the leading axes.
    """

    kind: str = ""
    shape: tuple[int, ...] = ()
    rows: Any = None
    dims: tuple[Any, ...] = ()
    coords: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    own: Any = "joint"


def of_argument(labels: Sequence[Any], argument: str) -> list[tuple[int, Any]]:
    """Positions and names of the labels of an argument: those of "q:elbow", "t", ... for q.

    Tables of a motion have a column "quantity:joint" for each quantity. Of such a table, q takes
    the columns that begin with "q:", without this beginning; of another table, all.
    """
    beginning = argument.rstrip("0123456789") + ":"
    named = [(k, x) for k, x in enumerate(labels) if str(x).startswith(beginning)]
    return [(k, x[len(beginning) :]) for k, x in named] or list(enumerate(labels))


def order_of(
    found: Sequence[object], axis: Axis, argument: str, where: str, levels: int = 1
) -> list[int]:
    """Return where the names of the axis stand among the labels found, or raise InputError."""
    if levels > 1:
        such = f", such as {found[0]!r}" if found else ""
        raise InputError(
            f"{argument}: the {where} have {levels} levels{such}; expected the names of "
            f"{axis.kind}s alone. Choose one quantity first, such as frame[{argument!r}]."
        )
    names = set(axis.names)
    if any(isinstance(x, str) and x in names for x in found):
        pairs = list(enumerate(found))
    else:
        pairs = of_argument(found, argument)
        found = [label for _, label in pairs]
    try:
        place = {label: k for k, label in pairs}
    except TypeError as error:
        raise InputError(f"{argument}: the {where} are not names: {error}.") from None
    if len(place) == len(found) == len(axis.names) and all(x in place for x in axis.names):
        return [place[x] for x in axis.names]
    raise InputError(_mismatch(found, axis, argument, where))


def _mismatch(found: Sequence[object], axis: Axis, argument: str, where: str) -> str:
    expected = f"{axis.kind}s{axis.owner}"
    bare = [x for x in found if not isinstance(x, str)]
    if bare:
        numbered = found == list(range(len(axis.names)))
        remedy = (
            "If they are in the order of the robot, pass .to_numpy()."
            if numbered
            else "Label the values with the names, which are texts, or pass a plain array."
        )
        return (
            f"{argument}: the {where} are {shown(bare)}; expected the names of the {expected}: "
            f"{shown(axis.names)}. {remedy}"
        )
    twice = [x for x, count in Counter(found).items() if count > 1]
    if twice:
        return (
            f"{argument}: the {where} have {shown(twice)} more than once; expected each name once."
        )
    missing = [x for x in axis.names if x not in found]
    unknown = [str(x) for x in found if x not in axis.names]
    parts = [f"missing {shown(missing)}"] if missing else []
    parts += [f"unknown {shown(unknown)}"] if unknown else []
    text = (
        f"{argument}: the {where} do not name the {expected}: {'; '.join(parts)}. Expected "
        f"{shown(axis.names)}, in any order."
    )
    return text + _hint(unknown, missing, axis, "polars" in where)


def _hint(unknown: Sequence[str], missing: Sequence[str], axis: Axis, polars: bool) -> str:
    for name in unknown:
        if name in axis.following:
            return (
                f" Joint {name!r} follows {axis.following[name]!r} and has no entry of its own; "
                "leave it out."
            )
        if name.lower() in TIMES:
            way = f"frame.drop({name!r})" if polars else f"frame.set_index({name!r})"
            return f" Take the times out: {way}."
        if name in axis.whole:
            return f" Joint {name!r} has several entries: {', '.join(axis.whole[name])}."
        prefix = _prefix(name, axis)
        if prefix:
            return f" Remove the beginning {prefix!r} of the names."
        import difflib  # here, since it is for errors

        near = difflib.get_close_matches(name, missing or axis.names, 1)
        if near:
            return f" Was {near[0]!r} meant by {name!r}?"
    return ""


def _prefix(name: str, axis: Axis) -> str:
    """Return what stands before a name of the axis in another name; empty if nothing does."""
    ends = [x for x in axis.names if name.endswith(x) and x != name]
    return name.removesuffix(max(ends, key=len)) if ends else ""


def shown(names: Iterable[object]) -> str:
    """Return the first of the names in quotes, and the number of others."""
    listed = list(names)
    shown = ", ".join(map(repr, listed[:MAX_NAMES]))
    return f"{shown} and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else shown
