"""Scenes for the documentation: a robot with sliders, or one that plays a motion, on one page."""

from typing import Any

import numpy as np

import kinetree as kt
from kinetree.motion.trajectory import Trajectory
from kinetree.present.charts import spread
from kinetree.views.page.document import ROBOT_SCRIPTS, document
from kinetree.views.page.session import MAX_SAMPLES, motion_data, player, tracks_of, values_table
from kinetree.views.page.stage import (
    Stage,
    handle_data,
    picture_frame,
    sliders,
    stage_of,
    switches,
    tool_line,
)

SEEN = 24  # positions of a motion that choose the camera


def robot_scene(robot: kt.Robot, q: list[float] | None, shown: tuple[str, ...] | None) -> str:
    """A page with the robot and its sliders."""
    at = None if q is None else np.asarray([q], float)
    stage = stage_of(robot, q=at)
    degrees = '<label><input type="checkbox" id="degrees"> degrees</label>'
    controls = f"{switches(stage)}{sliders(stage)}{degrees}{tool_line(stage)}"
    data = shown_groups(stage.data(), shown) | {
        "q": np.asarray(stage.q, float).tolist(),
        "handles": handle_data(stage),
    }
    return document(robot.name, frame(stage, "", controls), data, ROBOT_SCRIPTS)


def motion_scene(robot: kt.Robot, motion: Trajectory, shown: tuple[str, ...] | None = None) -> str:
    """A page with the robot, a player and the values at the present time."""
    keep = spread(len(motion), MAX_SAMPLES)
    seen = keep[:: max(1, len(keep) // SEEN)]
    stage = stage_of(robot, q=np.asarray(motion.q, float)[seen])
    t, tracks = np.asarray(motion.t, float)[keep], tracks_of(robot, motion, keep)
    controls = f"{switches(stage)}{tool_line(stage)}{values_table(robot)}"
    data = shown_groups(stage.data(), shown) | motion_data(stage, t, tracks) | {"charts": []}
    return document(robot.name, frame(stage, player(t), controls), data, ROBOT_SCRIPTS)


def frame(stage: Stage, below: str, controls: str) -> str:
    """The robot beside its controls."""
    return (
        f'<main class="embedded"><section class="stage"><div>{picture_frame(stage)}{below}</div>'
        f'<div class="controls">{controls}</div></section></main>'
    )


def shown_groups(data: dict[str, Any], shown: tuple[str, ...] | None) -> dict[str, Any]:
    """Data of a page with other groups switched on: visual, body, joint, loop, inertia, frame."""
    return data if shown is None else data | {"scene": data["scene"] | {"shown": list(shown)}}
