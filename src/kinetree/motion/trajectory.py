"""Trajectory: a motion as frozen arrays over time, with methods that plot, check and store it."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from kinetree.base.arrays import Array, ArrayLike, StateLike
from kinetree.base.display import shown_or
from kinetree.base.figure import Figure
from kinetree.base.tables import counted, notebook_table
from kinetree.errors import visible
from kinetree.model import HasModel, Model
from kinetree.motion.animation import animate
from kinetree.motion.curve.interpolation import resample
from kinetree.motion.energy import EnergyBalance, energy_balance
from kinetree.motion.plots import plot
from kinetree.motion.record import FilePath, Record
from kinetree.motion.recordings.write import to_dataframe, write_csv, write_npz, write_parquet


class Trajectory(Record):
    """A motion, or a batch of motions. Arrays are read-only float64.

    Axes between time and joint are a batch. Without a model, every joint has one degree of freedom.

    Args:
        t: times, shape (T,), s.
        q: joint positions, shape (T, ..., nq), rad or m.
        dq: joint rates, shape (T, ..., n), rad/s or m/s.
        ddq: joint accelerations, shape (T, ..., n), rad/s^2 or m/s^2.
        tau: joint forces, shape (T, ..., n), N m or N; None: only the motion is known.
        joint_names: names of the joints, where there is no model.
        name: name of the motion.
        model: the robot that moved; None: not known.
        meta: description of the run.
        pieces: polynomials of a planned motion; None: samples alone are known.
    """

    def resample(self, t: ArrayLike) -> Self:
        """The motion at other times; see `kinetree.motion.resample` for what is between samples.

        Args:
            t: times, shape (T,), s; or one number, the largest step between samples, s.
        """
        return resample(self, t)

    def energy(self, robot: Model | HasModel | None = None) -> EnergyBalance:
        """Kinetic and potential energy, work and losses over time.

        Args:
            robot: a Robot or a Model; None: the robot that the trajectory was made with.
        """
        return energy_balance(self, robot)

    def plot(
        self,
        robot: Model | HasModel | None = None,
        *,
        panels: Sequence[str] | None = None,
        path: FilePath | None = None,
        title: str | None = None,
        show: bool = False,
        effort: StateLike | None = None,
        velocity: StateLike | None = None,
    ) -> Figure:
        """Draw positions, rates, joint forces, limits and energy; a Figure that notebooks show.

        Args:
            robot: a Robot or a Model; None: the robot that the trajectory was made with.
            panels: some of "q", "dq", "ddq", "tau", "energy"; None: all that is known but "ddq".
            path: file for the figure: .svg, .html, or .png, .pdf and others with matplotlib; None:
                it is not saved.
            title: title of the figure; None: name of the motion.
            show: whether to open a window of matplotlib.
            effort: limits of joint force to draw, a number or shape (n,), N m or N; None: those of
                the robot.
            velocity: limits of rate to draw, a number or shape (n,), rad/s or m/s; None: those of
                the robot.
        """
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
        """Play the motion in a notebook, write it as a movie, or give it to a viewer.

        Args:
            robot: a Robot, which is drawn with the meshes of its file, or a Model; None: the robot
                that the trajectory was made with.
            viewer: function of the model, the times (F,), s, and the positions (F, nq) of the
                frames; None: the robot is drawn, and the result is an Animation.
            fps: frames per second, 1/s.
            speed: speed of the playback, dimensionless; 1 is real time.
            path: file to write: .gif, .mp4 (needs ffmpeg) or .html; None: it is not saved.
        """
        return animate(self, robot, viewer=viewer, fps=fps, speed=speed, path=path)

    def to_csv(self, path: FilePath) -> None:
        """Write one motion as CSV with names in its first line; `kinetree.motion.read` reads it.

        Args:
            path: path of the file.
        """
        write_csv(self, path)

    def to_npz(self, path: FilePath) -> None:
        """Write NumPy's compressed format; `kinetree.motion.read` reads it.

        Args:
            path: path of the file.
        """
        write_npz(self, path)

    def to_parquet(self, path: FilePath) -> None:
        """Write the table of `to_csv` as Parquet; needs the extra `parquet`.

        Args:
            path: path of the file.
        """
        write_parquet(self, path)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame over time; see `kinetree.motion.to_dataframe`."""
        return to_dataframe(self)

    def table_html(self) -> str:
        """An HTML table of the ranges, highest rates and highest forces of the joints."""
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

    def _repr_html_(self) -> str:
        return shown_or("trajectory", self, self.table_html())

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
        stuck = self.meta.get("stuck", ())
        note = f'; {counted(len(stuck), "joint")} stuck, see meta["stuck"]' if stuck else ""
        return visible(f"Trajectory({self.name!r}, {size}: {joints}{note})")


def _peak(x: Array, k: int) -> float:
    return float(np.abs(x[..., k]).max())
