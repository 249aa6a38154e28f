"""Displays for notebooks: a robot that can be moved, and a motion that plays beside its plots.

Every display is one frame (`kinetree.present.display.framed`) with a page that fetches nothing,
over a still picture, and stays below 2 MB: meshes and samples are thinned.
"""

import base64
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from kinetree.motion.animation import Animation
from kinetree.motion.plots import charts_of, plot
from kinetree.motion.trajectory import Trajectory
from kinetree.present.charts import as_png, chart_data, spread
from kinetree.present.display import framed
from kinetree.present.tables import escape, page_number
from kinetree.robot import Robot
from kinetree.views.page.constraints import closure_line
from kinetree.views.page.document import ROBOT_SCRIPTS, chart_frames, document
from kinetree.views.page.session import motion_data, player, session_page, tracks_of
from kinetree.views.page.stage import (
    Stage,
    handle_data,
    sliders,
    stage_of,
    still,
    switches,
    tool_line,
)
from kinetree.views.parts import Parts, coarser
from kinetree.views.render import render

SCENE_HEIGHT, MOTION_HEIGHT = 430, 480  # px
MAX_TRIANGLES = 40_000  # of meshes of files, about 1 MB
MAX_SAMPLES, MAX_NUMBERS = 600, 60_000  # of the page of a motion
MAX_SEEN = 24  # positions that are used to choose the camera
UNSEEN = (
    "The robot is not drawn: this browser has no WebGL, or more views are open than it allows "
    "(about 16). Run the cell again."
)
SHOWN = ("q", "tau")  # charts beside a motion


def robot_html(robot: object) -> str:
    """The robot with a slider for every joint, and the table of its joints.

    Args:
        robot: a Robot of numbers.
    """
    assert isinstance(robot, Robot)
    stage = light(stage_of(robot))
    body = (
        f'<main class="embedded"><section class="stage"><div>{canvas(stage)}</div>'
        f'<div class="controls">{switches(stage)}{sliders(stage)}<div class="switches">'
        '<label><input type="checkbox" id="degrees"> degrees</label></div>'
        f"{tool_line(stage)}{closure_line(stage)}</div></section></main>"
    )
    data = stage.data() | {"q": np.asarray(stage.q, float).tolist(), "handles": handle_data(stage)}
    page = document(robot.name, body, data, ROBOT_SCRIPTS)
    table = f"<details><summary>table of joints</summary>{robot.model._repr_html_()}</details>"
    return framed(page, still(stage), SCENE_HEIGHT, f"{robot.name}, to be moved", below=table)


def trajectory_html(trajectory: object) -> str:
    """The motion with a player and plots; a batch, or a motion without a robot, as plots alone.

    Args:
        trajectory: a Trajectory.
    """
    assert isinstance(trajectory, Trajectory)
    if trajectory.batch_shape or trajectory.model is None:
        picture = base64.b64encode(as_png(plot(trajectory))).decode()
        return f'<img alt="{escape(trajectory.name)}" src="data:image/png;base64,{picture}">'
    table = f"<details><summary>table of ranges</summary>{trajectory.table_html()}</details>"
    return played(trajectory, Robot(trajectory.model), 1.0, table)


def animation_html(animation: object) -> str:
    """The motion of an animation, with a player and plots.

    Args:
        animation: an Animation.
    """
    assert isinstance(animation, Animation)
    motion = animation.trajectory
    assert isinstance(motion, Trajectory)
    return played(motion, robot_of(animation), animation.speed)


def save_animation(animation: object, path: str | os.PathLike[str]) -> str:
    """Write an animation as a page, or as a movie of our own renderer; returns the path.

    Args:
        animation: an Animation.
        path: file that ends with .html, .gif or .mp4.
    """
    assert isinstance(animation, Animation)
    motion, robot = animation.trajectory, robot_of(animation)
    assert isinstance(motion, Trajectory)
    if Path(path).suffix.lower() == ".html":
        Path(path).write_text(session_page(robot, motion), encoding="utf-8", newline="\n")
    else:
        render(robot, motion, path=path, fps=animation.fps, speed=animation.speed)
    return os.fspath(path)


def robot_of(animation: Animation) -> Robot:
    """The robot of an animation, with the meshes of its file if a Robot was given."""
    given = animation.robot
    return given if isinstance(given, Robot) else Robot(animation.model)


def played(trajectory: Trajectory, robot: Robot, speed: float, below: str = "") -> str:
    """A motion of a robot in a frame: the robot, a player, and plots of positions and forces."""
    most = min(len(trajectory), MAX_SAMPLES, max(60, MAX_NUMBERS // (3 * robot.model.nq + 1)))
    keep = spread(len(trajectory), most)
    seen = np.asarray(trajectory.q, float)[spread(len(trajectory), MAX_SEEN)]
    stage = light(stage_of(robot, q=seen))
    t, tracks = np.asarray(trajectory.t, float)[keep], tracks_of(robot, trajectory, keep)
    charts = [x.thinned(most) for x in charts_of(trajectory, robot, SHOWN)]
    frames = "".join(chart_frames(len(charts)))
    body = (
        f'<main class="embedded"><section class="stage played"><div>{canvas(stage)}'
        f'{player(t, speed)}<div class="controls">{switches(stage)}</div></div>'
        f'<div class="charts">{frames}</div></section></main>'
    )
    data = stage.data() | motion_data(stage, t, tracks)
    data["charts"] = [chart_data(chart) for chart in charts]
    page = document(trajectory.name, body, data, ROBOT_SCRIPTS)
    title = f"{trajectory.name} of {robot.name}, {page_number(trajectory.duration)} s"
    return framed(page, still(stage), MOTION_HEIGHT, title, below=below)


def light(stage: Stage) -> Stage:
    """The stage with meshes of files that fit into a notebook."""
    parts = Parts(coarser(stage.parts.meshes, MAX_TRIANGLES), stage.parts.parts)
    return replace(stage, parts=parts)


def canvas(stage: Stage) -> str:
    """The canvas of the viewer; the still picture of a page would be a second one here."""
    name = escape(stage.model.name)
    return (
        f'<div class="picture"><canvas id="view" tabindex="0" aria-label="{name}, drag to turn">'
        f'</canvas><p class="unseen">{UNSEEN}</p></div>'
    )
