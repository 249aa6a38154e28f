"""scene: everything of a robot that can be drawn, from its joints, its masses and its file."""

import os
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import known
from kinetree.dynamics import neutral
from kinetree.errors import InputError, ParseError
from kinetree.model import Model
from kinetree.motion.inputs import check_single
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot
from kinetree.views.bodies import (
    body_shapes,
    frame_shapes,
    girth,
    inertia_shapes,
    joint_shapes,
    link_points,
    link_poses,
)
from kinetree.views.contacts import contact_shapes, ground_shapes
from kinetree.views.loops import loop_shapes
from kinetree.views.shapes import Scene, Shape
from kinetree.views.visuals import Visual, read_visuals, visual_shapes, visual_source


def scene(
    robot: Robot | Model,
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Scene:
    """The shapes of a robot.

    Bodies and joints are drawn from the joint axes, ellipsoids from the inertias. A robot that was
    loaded from a file also has the visuals of that file; meshes are opened only inside `folder`.

    Args:
        robot: a Robot or a Model, of numbers.
        source: URDF or MJCF file with the visuals; None means the file of `robot.report`.
        folder: folder of the meshes; None means the ROS package or repository that `source` lies
            in, or else its folder.
    """
    model = numeric_model(robot)
    extent = size_of(model)
    shapes = [*body_shapes(model, extent), *joint_shapes(model, extent)]
    shapes += loop_shapes(model, girth(model, extent))
    shapes += [*contact_shapes(model, girth(model, extent)), *ground_shapes(model, extent)]
    shapes += [*inertia_shapes(model, extent), *frame_shapes(model, extent)]
    visuals, remarks = _visuals_of(robot, source, folder)
    drawn = [*visual_shapes(model, visuals)]
    shapes += drawn + (without_visuals(model, shapes, drawn) if drawn else [])
    return Scene(model.name, extent, tuple(shapes), remarks)


def without_visuals(model: Model, shapes: list[Shape], drawn: list[Shape]) -> list[Shape]:
    """Bodies of the links with mass that the file does not draw, beside its visuals."""
    seen = {shape.link for shape in drawn}
    bare = [i for i in model.links if i not in seen and float(model.m[i]) > 0]
    return [replace(x, group="visual") for x in shapes if x.group == "body" and x.link in bare]


def numeric_model(robot: Robot | Model) -> Model:
    """The model of a robot; InputError if it has symbols, which cannot be drawn."""
    model = robot if isinstance(robot, Model) else getattr(robot, "model", None)
    if not isinstance(model, Model):
        raise InputError(f"robot is {robot!r}; expected a Robot or a Model.")
    for name in ("M_pi", "m", "com", "I_com"):
        if known(np.asarray(getattr(model, name))) is None:
            raise InputError(
                f"{name} of {model.name!r} holds symbols; only a robot of numbers can be drawn. "
                "Replace the symbols by numbers, e.g. build the robot with floats."
            )
    return model


def check_motion_of(robot: Robot, trajectory: Trajectory, what: str) -> None:
    """Raise InputError if a trajectory is not one motion of the robot; `what` is to be made."""
    check_single(trajectory, what)
    names, moved = robot.model.coordinate_names, trajectory.coordinate_names
    if moved != names:
        raise InputError(
            f"the trajectory moves {', '.join(moved)}, but {robot.name!r} has {', '.join(names)}. "
            "Give the robot of the trajectory."
        )


def size_of(model: Model) -> float:
    """Diagonal of the box around all joints, ends and frames at the neutral position, m."""
    points = [
        T[:3, :3] @ p + T[:3, 3]
        for i, T in link_poses(model, neutral(model)).items()
        for start, ends in [link_points(model, i)]
        for p in (start, *ends)
    ]
    return float(np.linalg.norm(np.ptp(np.array(points), axis=0))) or 1.0


def _visuals_of(
    robot: Robot | Model,
    source: str | os.PathLike[str] | None,
    folder: str | os.PathLike[str] | None,
) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
    """Visuals of the source, or of the file that the robot was loaded from, and remarks on them."""
    file = visual_source(robot, source, folder)
    if file is None:
        return (), ()
    try:
        return read_visuals(file)
    except ParseError as error:
        if source is not None:
            raise
        # the file was changed or removed after the robot was loaded
        return (), (f"the file cannot be read any more: {error}",)
