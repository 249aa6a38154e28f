"""Trajectory: a motion as frozen arrays over time, with methods that plot, check and store it."""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.errors import visible
from kinetree.motion.animation import animate
from kinetree.motion.curve.interpolation import resample
from kinetree.motion.energy import energy_balance
from kinetree.motion.plots import plot
from kinetree.motion.record import Record
from kinetree.motion.recordings.write import to_dataframe, write_csv, write_npz, write_parquet
from kinetree.present.display import shown_or
from kinetree.present.tables import Table


class Trajectory(Record):
    """A motion, or a batch of motions. Arrays are read-only float64.

    Axes between time and joint are a batch. Without a model, every joint has one degree of freedom.
    `computed` names the rates that were left out, "dq" or "ddq".

    Args:
        t: times, shape (T,), s.
        q: joint positions, shape (T, ..., nq), rad or m.
        dq: joint rates, shape (T, ..., n), rad/s or m/s; None: those of the spline through q, and
            files that are written leave them out.
        ddq: joint accelerations, shape (T, ..., n), rad/s^2 or m/s^2; None: those of the spline.
        tau: joint forces, shape (T, ..., n), N m or N; None: only the motion is known.
        joint_names: names of the joints, where there is no model.
        name: name of the motion.
        model: the robot that moved; None: not known.
        meta: description of the run.
        pieces: polynomials of a planned motion; None: samples alone are known.
    """

    # the functions of kinetree.motion that take a trajectory first, as methods
    resample = resample
    energy = energy_balance
    plot = plot
    animate = animate
    to_csv = write_csv
    to_npz = write_npz
    to_parquet = write_parquet
    to_dataframe = to_dataframe

    def table_html(self) -> str:
        """An HTML table of the ranges, highest rates and highest forces of the joints."""
        head = ("", "from", "to", "rate, at most", "force, at most")
        columns = dict(zip(self.coordinate_names, np.moveaxis(self.q, -1, 0), strict=True))
        rows: list[list[float | str]] = []
        for k, name in enumerate(self.dof_names):
            q, tau = columns.get(name), self.tau
            ends = ["", ""] if q is None else [float(q.min()), float(q.max())]
            rows.append([name, *ends, _peak(self.dq, k), "" if tau is None else _peak(tau, k)])
        units = ", ".join(f"{key} in {unit}" for key, unit in self.units.items())
        return Table(repr(self).partition(":")[0] + ")", head, rows, notes=[units]).html()

    def _repr_html_(self) -> str:
        return shown_or("trajectory", self, self.table_html())

    def __repr__(self) -> str:
        batch = f", batch {self.batch_shape}" if self.batch_shape else ""
        joints = ", ".join(self.joint_names)
        size = f"{counted(len(self), 'sample')}, {self.duration:g} s{batch}"
        stuck = self.meta.get("stuck", ())
        note = f'; {counted(len(stuck), "joint")} stuck, see meta["stuck"]' if stuck else ""
        return visible(f"Trajectory({self.name!r}, {size}: {joints}{note})")


def _peak(x: Array, k: int) -> float:
    return float(np.abs(x[..., k]).max())
