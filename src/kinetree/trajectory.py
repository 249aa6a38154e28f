"""Trajectory: a motion as frozen arrays over time, with the names of its joints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import counted, table
from kinetree.description.joints import FREE, PLANAR, PRISMATIC
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model

if TYPE_CHECKING:
    from kinetree.motion.pieces import Pieces

_SLIDING = {PRISMATIC, PLANAR, FREE}
_PER_TIME = (("dq", "s"), ("ddq", "s^2"))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trajectory:
    """A motion: t, (T,), s; q, (T, ..., nq), rad or m; dq, ddq and tau, (T, ..., n).

    Axes between time and joint are a batch of motions. tau, N m or N, is None where only the
    motion is known. `model` is the robot that moved, where one is known; without it every joint
    has one degree of freedom and its name stands in `joint_names`. Arrays are read-only float64.

    `pieces` is what the motion is between its samples, where a planner made it: see
    `kinetree.motion.pieces`. Samples that change leave it out, see `replace`.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array | None = None
    joint_names: tuple[str, ...] = ()
    name: str = "trajectory"
    model: Model | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    pieces: "Pieces | None" = None

    def __post_init__(self) -> None:
        model = self.model
        _set(self, "joint_names", tuple(self.joint_names) or _names(model, np.shape(self.q)))
        _set(self, "meta", MappingProxyType(dict(self.meta)))
        _set(self, "t", _times(self.t))
        _set(self, "q", _column(self, "q", self.q, self.coordinate_names))
        for name in ("dq", "ddq", "tau"):
            value = getattr(self, name)
            if value is not None or name != "tau":
                _set(self, name, _column(self, name, value, self.dof_names))
        if self.pieces is not None:
            from kinetree.motion.pieces import check_pieces

            check_pieces(self.pieces, self)

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
        """Units of the fields, those of sliding joints after those of turning ones."""
        sliding = self.model is not None and bool(_SLIDING & {*self.model.joint_types})
        kinds = ("rad", "m") if sliding else ("rad",)
        rates = {name: " or ".join(f"{x}/{s}" for x in kinds) for name, s in _PER_TIME}
        force = "N m or N" if sliding else "N m"
        return {"t": "s", "q": " or ".join(kinds), **rates, "tau": force}

    @property
    def duration(self) -> float:
        """Time from the first sample to the last, s."""
        return float(self.t[-1] - self.t[0])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Axes between time and joint; () for a single motion."""
        return self.q.shape[1:-1]

    def __len__(self) -> int:
        return len(self.t)

    def rollout(self, *index: int) -> "Trajectory":
        """One motion of a batch."""
        if len(index) != len(self.batch_shape):
            raise ShapeError(
                f"rollout({', '.join(map(str, index))}) of a batch of shape {self.batch_shape}; "
                f"give {len(self.batch_shape)} numbers."
            )
        at = (slice(None), *index)
        tau = None if self.tau is None else self.tau[at]
        pieces = None if self.pieces is None else self.pieces.rollout(index)
        motion = {"q": self.q[at], "dq": self.dq[at], "ddq": self.ddq[at]}
        return self.replace(**motion, tau=tau, pieces=pieces)

    def replace(self, **changes: Any) -> "Trajectory":
        """A copy with some fields changed.

        Other samples t, q, dq or ddq are another motion: the copy then has no pieces, unless they
        are given too.
        """
        import dataclasses

        if "pieces" not in changes and self.pieces is not None:
            if not {"t", "q", "dq", "ddq"}.isdisjoint(changes):
                changes["pieces"] = None
            elif "tau" in changes:
                changes["pieces"] = dataclasses.replace(self.pieces, forces=None)
        return dataclasses.replace(self, **changes)

    def resample(self, t: Any) -> "Trajectory":
        """The motion at other times, (T,), or every t seconds; see `kinetree.motion.resample`."""
        from kinetree.motion.interpolation import resample

        return resample(self, t)

    def energy(self, robot: Any = None) -> Any:
        """Kinetic and potential energy, work and losses; see `kinetree.motion.energy_balance`."""
        from kinetree.motion.energy import energy_balance

        return energy_balance(self, robot)

    def plot(self, robot: Any = None, **options: Any) -> Any:
        """A figure of angles, rates, torques, limits and energy; see `kinetree.motion.plot`."""
        from kinetree.motion.plots import plot

        return plot(self, robot, **options)

    def animate(self, robot: Any = None, **options: Any) -> Any:
        """The robot in motion, in a viewer of your choice; see `kinetree.motion.animate`."""
        from kinetree.motion.animation import animate

        return animate(self, robot, **options)

    def to_csv(self, path: Any) -> None:
        """Write a table with names in its first line; see `kinetree.motion.read_csv`."""
        from kinetree.motion.csv_files import write_csv

        write_csv(self, path)

    def to_npz(self, path: Any) -> None:
        """Write NumPy's compressed format; see `kinetree.motion.read_npz`."""
        from kinetree.motion.npz_files import write_npz

        write_npz(self, path)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame over time; see `kinetree.motion.to_dataframe`."""
        from kinetree.motion.dataframe import to_dataframe

        return to_dataframe(self)

    def _repr_html_(self) -> str:
        head = ("", "from", "to", "rate, at most", "force, at most")
        rows = [
            (
                name,
                *self._range(k),
                _peak(self.dq, k),
                "" if self.tau is None else _peak(self.tau, k),
            )
            for k, name in enumerate(self.dof_names)
        ]
        units = ", ".join(f"{key} in {unit}" for key, unit in self.units.items())
        return table(repr(self).partition(":")[0] + ")", head, rows, notes=[units])

    def _range(self, dof: int) -> tuple[Any, Any]:
        """Lowest and highest value of the coordinate of a degree of freedom, where it has one."""
        name = self.dof_names[dof]
        if name not in self.coordinate_names:
            return "", ""
        q = self.q[..., self.coordinate_names.index(name)]
        return q.min(), q.max()

    def __repr__(self) -> str:
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        joints = ", ".join(self.joint_names)
        size = f"{counted(len(self), 'sample')}, {self.duration:g} s{batch}"
        return f"Trajectory({self.name!r}, {size}: {joints})"


def _peak(x: Array, k: int) -> float:
    return float(np.abs(x[..., k]).max())


def _set(record: Trajectory, name: str, value: Any) -> None:
    object.__setattr__(record, name, value)


def _names(model: Model | None, shape: Sequence[int]) -> tuple[str, ...]:
    if model is not None:
        return model.joint_names
    return tuple(f"joint_{k}" for k in range(1, 1 + (shape[-1] if shape else 0)))


def _times(t: Any) -> Array:
    """Times as float64, finite and increasing; complaints say where they are not."""
    t = _floats(t, "t")
    if t.ndim != 1 or len(t) == 0:
        raise ShapeError(f"t has shape {t.shape}; expected (T,) with at least one time.")
    _finite(t, "t")
    late = np.flatnonzero(np.diff(t) <= 0)
    if late.size:
        k = int(late[0])
        raise InputError(
            f"t[{k + 1}] = {t[k + 1]:.9g} follows t[{k}] = {t[k]:.9g}; times must increase. "
            "Sort the samples and drop repeated ones."
        )
    return _frozen(t)


def _column(record: Trajectory, name: str, value: Any, names: Sequence[str]) -> Array:
    """An array over time: T first, the joints last, the batch of q between, all finite."""
    x = _floats(value, name)
    batch = np.shape(record.q)[1:-1]
    expected = (len(record.t), *batch, len(names))
    if x.shape != expected:
        raise ShapeError(
            f"{name} has shape {x.shape}; expected {expected}: {len(record.t)} times"
            f"{f', a batch of {batch}' if batch else ''} and {len(names)} entries "
            f"({', '.join(names)})."
        )
    _finite(x, name, names, record.t)
    return _frozen(x)


def _floats(value: Any, name: str) -> Array:
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and not value.flags.writeable:
        return value  # frozen already: results of a simulation are too large to be copied
    try:
        return np.array(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of real numbers: {error}.") from None


def _finite(x: Array, name: str, names: Sequence[str] = (), t: Array | None = None) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(x.sum()):  # the quick way: one number that is not finite spoils the sum
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
