"""session_page: a motion of a robot on one self-contained HTML page, with a player and plots."""

import os
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import Model
from kinetree.motion.plots import charts_of
from kinetree.motion.trajectory import Trajectory
from kinetree.present.charts import chart_data, spread
from kinetree.present.tables import escape, page_number
from kinetree.robot import Robot
from kinetree.views.page.document import ROBOT_SCRIPTS, chart_frames, document
from kinetree.views.page.stage import (
    Stage,
    handle_data,
    picture_frame,
    stage_of,
    switches,
    tool_line,
)
from kinetree.views.scene import check_motion_of, numeric_model
from kinetree.views.shapes import Scene

MAX_SAMPLES = 1500  # samples in the page; of a longer motion, every k-th is kept
MAX_SEEN = 24  # positions that are used to choose the camera
HINT = (
    "Click a plot to go to that time, drag to zoom, double click to go back; click a name to hide "
    "its line."
)
SPEEDS = (0.1, 0.25, 0.5, 1, 2, 4)


def session_page(
    robot: Robot | Model,
    trajectory: Trajectory,
    *,
    notes: str = "",
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    drawn: Scene | None = None,
) -> str:
    """The page of a motion: the robot drawn, a player with a time slider, and plots with a cursor.

    The page is self-contained: it can be mailed and opened without a network.

    Args:
        robot: the robot or its model, of numbers.
        trajectory: one motion of it; joint forces are computed if it has none.
        notes: plain text below the title.
        source, folder: as in `report_page`.
        drawn: the robot's scene, if it is known already; source and folder are then not used.
    """
    model = numeric_model(robot)
    robot = Robot(model) if isinstance(robot, Model) else robot
    check_motion_of(robot, trajectory, "a page of a motion")
    keep = spread(len(trajectory), MAX_SAMPLES)
    seen = keep[:: max(1, len(keep) // MAX_SEEN)]
    stage = stage_of(robot, source, folder, np.asarray(trajectory.q, float)[seen], drawn)
    tracks = tracks_of(robot, trajectory, keep)
    t = np.asarray(trajectory.t, float)[keep]
    charts = [chart.thinned(MAX_SAMPLES) for chart in charts_of(trajectory, robot)]
    figures = "".join(chart_frames(len(charts)))
    same = trajectory.name == robot.name
    title = robot.name if same else f"{robot.name}: {trajectory.name}"
    body = "".join(
        [
            f"<main><header><h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(summary(trajectory, keep))}</p>',
            f"<p>{escape(notes)}</p>" if notes else "",
            f'</header><section class="stage"><div>{picture_frame(stage)}{player(t)}</div>',
            f'<div class="controls">{switches(stage)}{tool_line(stage)}',
            f"{values_table(robot)}</div></section>",
            f'<section><h2>Over time</h2><div class="plots">{figures}</div></section>',
            f"<footer>Written by kinetree. {HINT}</footer></main>",
        ]
    )
    data = stage.data() | motion_data(stage, t, tracks)
    data["charts"] = [chart_data(chart) for chart in charts]
    return document(title, body, data, ROBOT_SCRIPTS)


def tracks_of(robot: Robot, trajectory: Trajectory, keep: Array) -> dict[str, Array]:
    """q, dq and tau over time."""
    q, dq, ddq = (np.asarray(x, float)[keep] for x in (trajectory.q, trajectory.dq, trajectory.ddq))
    if trajectory.tau is None:
        tau = robot.inverse_dynamics(q, dq, ddq)
    else:
        tau = np.asarray(trajectory.tau, float)[keep]
    return {"q": q, "dq": dq, "tau": tau}


def summary(trajectory: Trajectory, keep: Array) -> str:
    """Duration and number of samples, and how many of them the page has."""
    count = len(trajectory)
    shown = "" if len(keep) == count else f", {len(keep)} of them on this page"
    return f"{page_number(trajectory.duration)} s, {counted(count, 'sample')}{shown}"


def player(t: Array, speed: float = 1) -> str:
    """The play button, the time slider, the clock and the speed."""
    speeds = "".join(
        f'<option value="{x:g}"{" selected" if x == speed else ""}>× {x:g}</option>'
        for x in sorted({*SPEEDS, speed})
    )
    return (
        '<div class="player"><button type="button" id="play">Play</button>'
        f'<input id="time" type="range" aria-label="time" min="{float(t[0])!r}" '
        f'max="{float(t[-1])!r}" step="any" value="{float(t[0])!r}"><span id="clock"></span>'
        f'<select id="speed" aria-label="speed">{speeds}</select></div>'
    )


def values_table(robot: Robot) -> str:
    """One row per degree of freedom; the script fills in the numbers at the present time."""
    rows = []
    for k, name in enumerate(robot.model.dof_names):
        coord = _coordinate(robot, k)
        cells = [("q", coord), ("dq", k), ("tau", k)]
        tds = "".join(
            '<td class="n">–</td>'
            if j is None
            else f'<td class="n" data-track="{track}" data-k="{j}"></td>'
            for track, j in cells
        )
        rows.append(f"<tr><td>{escape(name)}</td>{tds}</tr>")
    head = "".join(f'<th class="n">{name}</th>' for name in ("q", "dq", "tau"))
    return (
        '<div class="handles"><table><thead><tr><th>joint</th>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _coordinate(robot: Robot, dof: int) -> int | None:
    """The entry of q that a degree of freedom moves; None if it belongs to a quaternion."""
    for joint in robot.model.joints:
        if joint.follows is None and dof in joint.dofs:
            k = joint.dofs.index(dof)
            if joint.type == SPHERICAL or (joint.type == FREE and k < 3):
                return None
            return joint.coords[k + 1] if joint.type == FREE else joint.coords[k]
    return None


def motion_data(stage: Stage, t: Array, tracks: dict[str, Array]) -> dict[str, Any]:
    """Data of robot.js: the sliders, of which it reads the quaternions, and the motion."""
    motion = {"t": _short(t, 9), "q": [_short(row, 9) for row in tracks["q"]]}
    rows = {name: [_short(row, 6) for row in x] for name, x in tracks.items() if name != "q"}
    return {"handles": handle_data(stage), "motion": motion | rows}


def _short(row: Array, digits: int) -> list[float]:
    """Numbers with few digits, which keeps the page small."""
    return [float(f"{x:.{digits}g}") for x in row]
