"""A robot in a file of another format, read back and compared before it is written.

The robot that is read back has the same masses, centres and inertias in {s} at some positions, up
to rounding, and the same limits, friction and armature, except where a loss names the joint.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.core.text import listing
from kinetree.dynamics import link_poses, neutral, random
from kinetree.errors import InputError, KinetreeWarning, MissingPackageError, ModelError
from kinetree.files.loading import load_string
from kinetree.files.write import to_mjcf, to_urdf
from kinetree.model import HasModel, Model, model_of

POSITIONS = 3  # random ones, at which a robot is compared with the one that is read back
ROUNDING = 1e-9  # relative difference of poses and inertias that rotations in a file explain
DROPPED = re.compile("<!-- not supported by [A-Z]+: (.*) -->")
FORMATS = {".urdf": "URDF", ".xml": "MJCF", ".mjcf": "MJCF"}
WRITERS = {"URDF": to_urdf, "MJCF": to_mjcf}
OTHER_DATA = ("limits", "friction", "armature")  # of a joint, besides poses and inertias


@dataclass(frozen=True)
class Saved:
    """A file that was written.

    Args:
        format: URDF or MJCF.
        losses: what the format cannot represent, as sentences.
        joints: how many joints were compared.
        difference: the largest one of poses and inertias, relative.
    """

    format: str
    losses: tuple[str, ...]
    joints: int
    difference: float


@typed
def save(robot: Model | HasModel, path: str | Path) -> Saved:
    """Write a robot as URDF or MJCF, read it back and compare it.

    Shapes and meshes are not part of a model and are never written. Data that the format cannot
    represent are comments in the file.

    Args:
        robot: the robot.
        path: of the file; its ending chooses the format: .urdf, .xml or .mjcf.

    Raises:
        ModelError: the robot that is read back differs.
    """
    model, path = model_of(robot), Path(path)
    format = FORMATS.get(path.suffix.lower())
    if format is None:
        expected = f"a name that ends with {', '.join(FORMATS)}"
        raise InputError(f"the file is {str(path)!r}; expected {expected}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)  # of losses, which are listed
        text = WRITERS[format](model, losses="allow")
        losses, again = DROPPED.findall(text), _read_back(text, format)
    difference = _difference(model, again)
    _compare_joints(model, again, losses)
    path.write_text(text, encoding="utf-8", newline="\n")
    return Saved(format, tuple(losses), len(model.joints), difference)


def _read_back(text: str, format: str) -> Model:
    try:
        return load_string(text).model
    except MissingPackageError as error:
        text = f"the {format} text is read back before the file is written: {error}"
        raise MissingPackageError(text) from error


def _difference(model: Model, again: Model) -> float:
    """The largest relative difference of masses, centres and inertias in {s}."""
    places = {joint.name: i for i, joint in enumerate(again.joints)}
    if missing := [joint.name for joint in model.joints if joint.name not in places]:
        raise ModelError(f"the text that is read back lacks the joints {listing(missing, 6)}.")
    order, rng = [places[joint.name] for joint in model.joints], np.random.default_rng(0)
    worst = 0.0
    for q in (random(model, rng) for _ in range(POSITIONS)):
        mine = _bodies(model, q, range(len(order)))
        theirs = _bodies(again, _position(model, again, q), order)
        for a, b in zip(mine, theirs, strict=True):
            scale = np.abs(a).max(initial=0) or 1
            worst = max(worst, float(np.abs(a - b).max(initial=0) / scale))
    if not worst < ROUNDING:
        raise ModelError(f"poses or inertias that are read back differ by {worst:.2g}, relative.")
    return worst


def _bodies(model: Model, q: Array, order: Iterable[int]) -> tuple[Array, Array, Array]:
    """Masses, centres of mass and inertias about them, in {s}, of the links in that order."""
    links = list(order)
    T = link_poses(model, q)[links]
    m, I = np.asarray(model.m, float)[links], np.asarray(model.I_com, float)[links]
    com = np.asarray(model.com, float)[links]
    centres = np.einsum("lij,lj->li", T[:, :3, :3], com) + T[:, :3, 3]
    return m, centres * (m > 0)[:, None], T[:, :3, :3] @ I @ T[:, :3, :3].transpose(0, 2, 1)


def _position(model: Model, again: Model, q: Array) -> Array:
    """The same position in the order of the robot that is read back.

    A joint that follows another here may have a coordinate of its own there, as in MJCF.
    """
    position = np.asarray(neutral(again), float)
    for joint in model.joints:
        other = again.joint(joint.name)
        if other.follows is None:
            mine = q[list(joint.coords)]
            follower = joint.follows is not None
            position[list(other.coords)] = joint.scale * mine + joint.offset if follower else mine
    return position


def _compare_joints(model: Model, again: Model, losses: Sequence[str]) -> None:
    """Raise ModelError if other data of a joint differ, and no loss names the joint."""
    for joint in model.joints:
        for name in OTHER_DATA:
            same = _close(getattr(joint, name), getattr(again.joint(joint.name), name))
            if not same and not any(repr(joint.name) in loss for loss in losses):
                raise ModelError(f"{name} of joint {joint.name!r} is read back differently.")


def _close(a: Any, b: Any) -> bool:
    """Return True if the numbers of two records agree up to rounding."""
    if is_dataclass(a):
        return all(_close(getattr(a, x.name), getattr(b, x.name)) for x in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_close, a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and isclose(a, b))
