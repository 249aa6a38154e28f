"""Curves of the motion being played, with a mark that follows time."""

from typing import Any

import numpy as np

from kinetree.simulate.trajectory import Trajectory
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.plots import plot
from kinetree.views.workbench.style import reading

EMPTY = reading("<p>Nothing yet: simulate, upload or record a motion under <b>Motion</b>.</p>")


def add_plots(bench: Bench) -> None:
    """The place of the plots; `bench.plots` is filled by the player."""
    bench.plots = bench.server.gui.add_html(EMPTY)


def plots_reading(robot: Any, trajectory: Trajectory, now: float) -> str:
    """q, dq and tau over time; tau is computed where the motion has none."""
    tau = trajectory.tau
    if tau is None:
        tau = robot.inverse_dynamics(trajectory.q, trajectory.dq, trajectory.ddq)
    names = trajectory.dof_names
    rows = (
        ("q, rad or m", trajectory.q, trajectory.coordinate_names),
        ("dq, rad/s or m/s", trajectory.dq, names),
        ("tau, N m or N", np.asarray(tau), names),
    )
    drawings = [plot(title, trajectory.t, x, names, now) for title, x, names in rows]
    return reading("".join(drawings))
