"""Trajectory: a motion as frozen arrays over time, with methods that plot, check and store it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.tables import counted, notebook_table
from kinetree.model import HasModel, Model
from kinetree.samples.animation import animate
from kinetree.samples.energy import EnergyBalance, energy_balance
from kinetree.samples.files import to_dataframe, write_csv, write_npz
from kinetree.samples.interpolation import resample
from kinetree.samples.plots import plot
from kinetree.samples.record import FilePath, Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Trajectory(Record):
    """A motion: t, (T,), s; q, (T, ..., nq), rad or m; dq, ddq and tau, (T, ..., n).

    Axes between time and joint are a batch of motions. tau, N m or N, is None if only the motion is
    known. `model` is the robot that moved, or None; without it every joint has one degree of
    freedom, and `joint_names` has its name. Arrays are read-only float64.

    `pieces` are the polynomials of a motion that a planner made, see `kinetree.samples.pieces`.
    Other samples have none, see `replace`.
    """

    def resample(self, t: ArrayLike) -> Self:
        """The motion at other times, (T,), or every t seconds; see `kinetree.motion.resample`."""
        return resample(self, t)

    def energy(self, robot: Model | HasModel | None = None) -> EnergyBalance:
        """Kinetic and potential energy, work and losses; see `kinetree.motion.energy_balance`."""
        return energy_balance(self, robot)

    def plot(
        self,
        robot: Model | HasModel | None = None,
        *,
        panels: Sequence[str] | None = None,
        path: FilePath | None = None,
        title: str | None = None,
        show: bool = False,
        effort: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
    ) -> "Figure":
        """A figure of angles, rates, torques, limits and energy; see `kinetree.motion.plot`."""
        return plot(
            self, robot, panels=panels, path=path, title=title, show=show, effort=effort,
            velocity=velocity,
        )  # fmt: skip

    def animate(
        self,
        robot: Model | HasModel | None = None,
        *,
        viewer: Callable[[Model, Array, Array], Any] | None = None,
        fps: float = 25,
        speed: float = 1,
        path: FilePath | None = None,
    ) -> Any:
        """Play the motion, in a viewer of your choice; see `kinetree.motion.animate`."""
        return animate(self, robot, viewer=viewer, fps=fps, speed=speed, path=path)

    def to_csv(self, path: FilePath) -> None:
        """Write a table with names in its first line; see `kinetree.motion.read_csv`."""
        write_csv(self, path)

    def to_npz(self, path: FilePath) -> None:
        """Write NumPy's compressed format; see `kinetree.motion.read_npz`."""
        write_npz(self, path)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame over time; see `kinetree.motion.to_dataframe`."""
        return to_dataframe(self)

    def _repr_html_(self) -> str:
        head = ("", "from", "to", "rate, at most", "force, at most")
        rows = [
            (
                name,
                *self._range(name),
                _peak(self.dq, k),
                "" if self.tau is None else _peak(self.tau, k),
            )
            for k, name in enumerate(self.dof_names)
        ]
        units = ", ".join(f"{key} in {unit}" for key, unit in self.units.items())
        return notebook_table(repr(self).partition(":")[0] + ")", head, rows, notes=[units])

    def _range(self, dof: str) -> tuple[float | str, float | str]:
        """Lowest and highest value of a coordinate; empty texts for a rate without one."""
        if dof not in self.coordinate_names:
            return "", ""
        q = self.q[..., self.coordinate_names.index(dof)]
        return float(q.min()), float(q.max())

    def __repr__(self) -> str:
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        joints = ", ".join(self.joint_names)
        size = f"{counted(len(self), 'sample')}, {self.duration:g} s{batch}"
        return f"Trajectory({self.name!r}, {size}: {joints})"


def _peak(x: Array, k: int) -> float:
    return float(np.abs(x[..., k]).max())
