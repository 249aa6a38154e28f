"""scene: everything of a robot that can be drawn, from its joints, its masses and its file."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.algorithms import forward_kinematics, neutral
from kinetree.base.arrays import Array, known
from kinetree.errors import InputError, ParseError
from kinetree.model import WORLD, Model
from kinetree.views.bodies import body_shapes, joint_shapes, link_points
from kinetree.views.inertias import inertia_shapes
from kinetree.views.shapes import AXES, Scene, Shape
from kinetree.views.visual import Visual
from kinetree.views.visuals import read_visuals, visual_shapes


def scene(
    robot: Any,
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Scene:
    """The shapes of a robot.

    Bodies and joints are drawn from the joint axes, ellipsoids from the inertias. A robot that was
    loaded from a file also has the visuals of that file; meshes are opened only inside `folder`.

    Args:
        robot: a Robot or a Model, of numbers.
        source: the URDF or MJCF file with the visuals; that of `robot.report` when None.
        folder: where meshes may lie; the folder of `source` when None.
    """
    model = numeric_model(robot)
    extent = size_of(model)
    shapes = [*body_shapes(model, extent), *joint_shapes(model, extent)]
    shapes += [*inertia_shapes(model, extent), *frame_shapes(model, extent)]
    visuals, remarks = visuals_of(robot, source, folder)
    shapes += visual_shapes(model, visuals)
    return Scene(model.name, extent, tuple(shapes), remarks)


def visuals_of(robot: Any, source: Any, folder: Any) -> tuple[tuple[Visual, ...], tuple[str, ...]]:
    """Visuals of the source, or of the file that the robot came from, and remarks about them."""
    report = getattr(robot, "report", None)
    own = getattr(report, "source", None)
    how = {}  # the robot's own file is read again as it was read before
    if report is not None and own is not None and (source is None or own == Path(source)):
        how = {"folders": report.folders, "arguments": report.arguments}
    if source is not None:
        return read_visuals(source, folder, **how)
    if own is None:
        return (), ()
    try:
        return read_visuals(own, folder, **how)
    except ParseError as error:  # the robot is here, its file may be gone since
        return (), (f"the file cannot be read any more: {error}",)


def numeric_model(robot: Any) -> Model:
    """The model of a robot, refused where it holds symbols: they have no place on a screen."""
    model = robot if isinstance(robot, Model) else getattr(robot, "model", None)
    if not isinstance(model, Model):
        raise InputError(f"robot is {robot!r}; expected a Robot or a Model.")
    for name in ("M_pi", "m", "com", "I_com"):
        if known(np.asarray(getattr(model, name))) is None:
            raise InputError(
                f"{name} of {model.name!r} holds symbols; a robot is drawn with numbers. "
                "Put numbers in their place, e.g. build it with floats."
            )
    return model


def size_of(model: Model) -> float:
    """Diagonal of the box around all joints, ends and frames at the neutral position, m."""
    T = forward_kinematics(model, neutral(model)).astype(float)
    poses = {WORLD: np.eye(4), **dict(enumerate(T))}
    points: list[Array] = []
    for i in (WORLD, *model.links):
        start, ends = link_points(model, i)
        points += [poses[i][:3, :3] @ p + poses[i][:3, 3] for p in (start, *ends)]
    box = np.ptp(np.array(points), axis=0)
    return float(np.linalg.norm(box)) or 1.0


def frame_shapes(model: Model, extent: float) -> list[Shape]:
    """The space frame {s} and the tool frame."""
    tool, size = model.frame(), (0.12 * extent,)
    return [
        Shape("frame", "frame", WORLD, np.eye(4), size, AXES[2], "{s}"),
        Shape("frame", "frame", tool.link, np.asarray(tool.T_if, float), size, AXES[2], model.tool),
    ]
