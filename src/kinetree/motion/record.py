"""Record: a motion as frozen arrays over time, with the names of its joints.

`Trajectory` is a Record with methods. The functions that these methods call (interpolation, energy,
limits, files, plots) take a Record, so that nothing here depends on them.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import has_labels, read_times, refuse_labels
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC
from kinetree.model import Model
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.motion.curve.pieces import Interpolant, Pieces, Polynomials, curved
from kinetree.motion.curve.splines import spline_rates
from kinetree.present.labels import Alignment, Axis, check_rows, own_axis

FilePath = str | PathLike[str]
SIGNALS = ("q", "dq", "ddq", "tau")  # the arrays over time, in the order of files
SLIDING = {PRISMATIC, PLANAR, FREE}
PIECES_TOLERANCE = 1e-6  # share of the largest value by which samples may differ from their pieces


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Record:
    """The data of a Trajectory, which describes the fields."""

    _in_words: ClassVar[str] = (
        "a Trajectory; kinetree.motion plans them, kinetree.motion.read(path, robot) reads them, "
        "Trajectory(t=t, q=q, dq=dq, ddq=ddq, model=robot.model) makes one from arrays or data "
        "frames, and those of a GPU have .cpu()"
    )

    t: Array
    q: Array
    dq: Array = cast("Array", None)  # an array after __post_init__
    ddq: Array = cast("Array", None)
    tau: Array | None = None
    joint_names: tuple[str, ...] = ()
    name: str = "trajectory"
    model: Model | None = None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pieces: Pieces | None = None
    computed: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        _set(self, "computed", tuple(x for x in ("dq", "ddq") if getattr(self, x) is None))
        _align(self)
        names = tuple(self.joint_names) or _names(self.model, np.shape(self.q))
        _set(self, "joint_names", names)
        _set(self, "meta", MappingProxyType(dict(self.meta)))
        _set(self, "t", _times(self.t))
        _set(self, "q", _column(self, "q", self.q, self.coordinate_names))
        for name, x in _missing_rates(self).items():
            _set(self, name, x)
        _set(self, "dq", _column(self, "dq", self.dq, self.dof_names))
        _set(self, "ddq", _column(self, "ddq", self.ddq, self.dof_names))
        if self.tau is not None:
            _set(self, "tau", _column(self, "tau", self.tau, self.dof_names))
        if self.pieces is not None:
            _check_pieces(self.pieces, self)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return self.joint_names if self.model is None else self.model.coordinate_names

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names of the entries of dq, ddq and tau."""
        return self.joint_names if self.model is None else self.model.dof_names

    @property
    def units(self) -> Mapping[str, str]:
        """Units of the fields; if some joints slide, "rad or m" and so on."""
        slides = self.model is not None and bool(SLIDING & {*self.model.joint_types})
        kinds = ("rad", "m") if slides else ("rad",)
        per = {"q": "", "dq": "/s", "ddq": "/s^2"}
        rates = {name: " or ".join(x + by for x in kinds) for name, by in per.items()}
        return {"t": "s", **rates, "tau": "N m or N" if slides else "N m"}

    @property
    def duration(self) -> float:
        """Time from the first sample to the last, s."""
        return float(self.t[-1] - self.t[0])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Axes between time and joint; () for a single motion."""
        return self.q.shape[1:-1]

    @cached_property
    def curve(self) -> Pieces:
        """The motion as a function of time: `pieces`, or else the motion between the samples."""
        if self.pieces is not None:
            return self.pieces
        model = self.model if self.model is not None and curved(self.model) else None
        return Interpolant(self.t, self.q, self.dq, self.ddq, model=model)

    def __len__(self) -> int:
        return len(self.t)

    def rollout(self, *index: int) -> Self:
        """One motion of a batch.

        Args:
            index: index of the motion along each axis of the batch.
        """
        if len(index) != len(self.batch_shape):
            raise ShapeError(f"rollout{index} of a batch of shape {self.batch_shape}.")
        at = (slice(None), *index)
        dq, ddq, tau = (
            None if x is None or name in self.computed else x[at]
            for name, x in (("dq", self.dq), ("ddq", self.ddq), ("tau", self.tau))
        )
        pieces = None if self.pieces is None else self.pieces.rollout(index)
        meta = dict(self.meta)
        if "friction_state" in meta:
            meta["friction_state"] = {x: z[at] for x, z in meta["friction_state"].items()}
        return self.replace(q=self.q[at], dq=dq, ddq=ddq, tau=tau, pieces=pieces, meta=meta)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed.

        Other samples t, q, dq or ddq are another motion: the copy then has no pieces, unless they
        are given too. `dq=None` forgets measured rates: they are computed from the positions.

        Args:
            changes: fields by name, with shapes and units as in `Trajectory`.
        """
        for name in {*self.computed} - {*changes}:
            changes[name] = None
        if "pieces" not in changes and self.pieces is not None:
            if not {"t", "q", "dq", "ddq"}.isdisjoint(changes):
                changes["pieces"] = None
        return dataclasses.replace(self, **changes)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [x.name for x in dataclasses.fields(self) if x.init]
        fields = {x: None if x in self.computed else getattr(self, x) for x in names}
        return _make, (type(self), fields | {"meta": dict(self.meta)})  # a proxy has no pickle


def _make(kind: type[Record], fields: dict[str, Any]) -> Record:
    return kind(**fields)


def _set(record: Record, name: str, value: object) -> None:
    object.__setattr__(record, name, value)


def _align(record: Record) -> None:
    """Put labelled signals into the order of the joints, by name; names come from q if not given.

    Rows of data frames are samples, and must have one index. Times may be a column or an index.
    """
    signals = {name: getattr(record, name) for name in SIGNALS}
    for name, value in signals.items():
        check_rows(record.t, value, "t", name)
    _set(record, "t", read_times(record.t))
    if not any(map(has_labels, signals.values())):
        return
    if record.model is not None:
        coordinates, rates = coordinate_axis(record.model), dof_axis(record.model)
    else:
        named = (own_axis(value, name) for name, value in signals.items())
        found = next((axis for axis in named if axis is not None), None)
        names = tuple(record.joint_names) or (() if found is None else found.names)
        coordinates = rates = Axis(names)
        _set(record, "joint_names", names)
    axes = coordinates, rates, rates, rates
    arguments = [(x, axis, name) for (name, x), axis in zip(signals.items(), axes, strict=True)]
    for name, value in zip(signals, Alignment(arguments).values, strict=True):
        _set(record, name, value)


def _names(model: Model | None, shape: Sequence[int]) -> tuple[str, ...]:
    if model is not None:
        return model.joint_names
    return tuple(f"joint_{k}" for k in range(1, 1 + (shape[-1] if shape else 0)))


def _missing_rates(record: Record) -> dict[str, Array]:
    """dq and ddq where they are None: derivatives of the spline through q, or through dq."""
    names, model = record.computed, record.model
    if not names:
        return {}
    if "dq" in names and model is not None and curved(model):
        raise InputError(
            f"dq of trajectory {record.name!r} is missing, and rates of quaternions and planar "
            "positions are not the derivatives of q; give dq."
        )
    if len(record.t) < 2:
        raise InputError(f"{names[0]} is missing, and one sample alone has no rates; give both.")
    rates = spline_rates(record.t, record.q, None if "dq" in names else np.asarray(record.dq))
    return {name: x for name, x in zip(("dq", "ddq"), rates, strict=True) if name in names}


def _times(value: ArrayLike) -> Array:
    """Times as float64; InputError unless they are finite and increase."""
    t = _floats(value, "t")
    if t.ndim != 1 or len(t) == 0:
        raise ShapeError(f"t has shape {t.shape}; expected (T,) with at least one time.")
    _check_finite(t, "t")
    late = np.flatnonzero(np.diff(t) <= 0)
    if late.size:
        k = int(late[0])
        raise InputError(
            f"t[{k + 1}] = {t[k + 1]:.9g} follows t[{k}] = {t[k]:.9g}; times must increase. "
            "Sort the samples and drop repeated ones."
        )
    return _frozen(t)


def _column(record: Record, name: str, value: ArrayLike, names: Sequence[str]) -> Array:
    """An array over time, checked: T first, the batch of q, the joints last; all finite."""
    x = _floats(value, name)
    batch = np.shape(record.q)[1:-1]
    expected = (len(record.t), *batch, len(names))
    if x.shape != expected:
        raise ShapeError(
            f"{name} has shape {x.shape}; expected {expected}: {len(record.t)} times"
            f"{f', a batch of {batch}' if batch else ''} and {len(names)} entries "
            f"({', '.join(names)})."
        )
    _check_finite(x, name, names, record.t)
    return _frozen(x)


def _floats(value: ArrayLike, name: str) -> Array:
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and not value.flags.writeable:
        return value  # frozen already: results of a simulation are too large to be copied
    refuse_labels(value, name)
    try:
        return np.array(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of real numbers: {error}.") from None


def _check_finite(x: Array, name: str, names: Sequence[str] = (), t: Array | None = None) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(x.sum()):  # quick test: one entry that is not finite spoils the sum
            return
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        at = tuple(int(k) for k in bad[0])
        where = f" ({names[at[-1]]!r} at t = {t[at[0]]:.6g} s)" if t is not None else ""
        index = ", ".join(map(str, at))
        raise InputError(f"{name}[{index}]{where} is {x[at]}; expected a finite number.")


def _frozen(x: Array) -> Array:
    x.flags.writeable = False
    return x


def _check_pieces(pieces: Pieces, record: Record) -> None:
    """Raise InputError if the pieces do not give the samples of the record."""
    if not isinstance(pieces, Polynomials | Interpolant):
        raise InputError(
            f"pieces of trajectory {record.name!r} are {pieces!r:.60}; expected those that a "
            "planner of kinetree.motion made, or None."
        )
    t, q = record.t, record.q
    inside = pieces.t[0] <= t[0] and t[-1] <= pieces.t[-1]
    found = pieces(t)[0] if inside else q[:0]
    slack = PIECES_TOLERANCE * (1 + np.abs(q).max(initial=0))
    if found.shape != q.shape or not np.abs(found - q).max(initial=0) <= slack:
        raise InputError(
            f"pieces of trajectory {record.name!r} do not give its samples. trajectory.replace "
            "leaves out pieces that no longer fit; or pass pieces=None."
        )
