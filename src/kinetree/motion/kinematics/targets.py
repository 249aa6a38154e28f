"""Targets of inverse kinematics: poses and positions of frames and of the centre of mass, read."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array_module
from kinetree.core.options import numbers
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.motion.kinematics.descent import CENTER, POSE, POSITION, Task

LARGEST_DEFECT = 1e-5  # of R^T R - 1; rotations of six digits reach 3e-6
ROUNDED = 4e-15  # of R^T R - 1; a rotation that is exact but for rounding

Target = ArrayLike | Mapping[str, ArrayLike]


@dataclass(frozen=True, eq=False)
class Targets:
    """Tasks with their targets, (..., 4, 4) or (..., 3), of one leading shape.

    defect: largest |R^T R - 1| of the rotations as they were given, 0 if it was rounding.
    """

    tasks: tuple[Task, ...]
    arrays: tuple[Array, ...]
    defect: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape."""
        pairs = zip(self.arrays, self.tasks, strict=True)
        return np.broadcast_shapes(*(x.shape[: x.ndim - len(task.shape)] for x, task in pairs))

    @property
    def xp(self) -> Any:
        """The package of the arrays: CuPy if one is on a GPU."""
        return next((m for m in map(array_module, self.arrays) if m is not np), np)

    def flat(self, shape: tuple[int, ...]) -> tuple[Array, ...]:
        """The targets, (B, 4, 4) or (B, 3), of a leading shape with B entries."""
        pairs, xp = zip(self.arrays, self.tasks, strict=True), self.xp
        return tuple(
            xp.array(xp.broadcast_to(xp.asarray(x), shape + task.shape).reshape(-1, *task.shape))
            for x, task in pairs
        )


def read_targets(model: Model, T: Target, frame: str | None) -> Targets:
    """The targets of one frame, or of several by their names.

    Raises:
        InputError: a frame is unknown, a pose is none, or a number is not finite.
    """
    if isinstance(T, Mapping):
        if frame is not None or not T:
            raise InputError(
                "T names the frames of its targets, so that frame=... is left out; expected "
                "{frame: pose (..., 4, 4) or position (..., 3)}."
            )
        given: dict[str | None, Any] = {str(x): y for x, y in T.items()}
    else:
        given = {frame: T}
    found = [_read(model, name, x) for name, x in given.items()]
    try:
        targets = Targets(
            tuple(x[0] for x in found), tuple(x[1] for x in found), max(x[2] for x in found)
        )
        _ = targets.shape
    except ValueError:
        shapes = ", ".join(str(x[1].shape) for x in found)
        raise ShapeError(f"the targets have shapes {shapes}; expected one leading shape.") from None
    return targets


def _read(model: Model, frame: str | None, value: Any) -> tuple[Task, Array, float]:
    name = "T" if frame is None else f"T of {frame!r}"
    if array_module(value) is np:
        value = numbers(value, name, "poses (..., 4, 4) or positions (..., 3)")
    x = value.astype(float)
    is_pose = x.shape[-2:] == (4, 4)
    if not is_pose and x.shape[-1:] != (3,):
        raise ShapeError(
            f"{name} has shape {x.shape}; expected poses (..., 4, 4) or positions (..., 3)."
        )
    if not array_module(x).isfinite(x).all():
        raise InputError(f"{name} has entries that are not finite; expected numbers.")
    if frame == CENTER:
        if is_pose:
            raise ShapeError(f"{name} is a pose; expected positions (..., 3).")
        return Task(CENTER), x, 0.0
    model.frame(frame)  # an unknown frame names the known ones
    if not is_pose:
        return Task(POSITION, frame), x, 0.0
    rotated, defect = _nearest_rotations(x, name)
    return Task(POSE, frame), rotated, defect


def _nearest_rotations(T: Array, name: str) -> tuple[Array, float]:
    """Poses with the rotations nearest to those given, and the largest |R^T R - 1|."""
    xp = array_module(T)
    R, one = T[..., :3, :3], xp.eye(4)
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    errors = [abs((R[..., i] * R[..., j]).sum(axis=-1) - (i == j)) for i, j in pairs]
    off = reduce(xp.maximum, errors)
    last = (T[..., 3, :] != one[3]).any(axis=-1)
    turned = (xp.cross(R[..., 0], R[..., 1]) * R[..., 2]).sum(axis=-1) < 0
    wrong = xp.argwhere(~(off <= LARGEST_DEFECT) | turned | last)
    if len(wrong):
        at = tuple(int(k) for k in wrong[0])
        place = f"{name}[{', '.join(map(str, at))}]" if at else name
        raise InputError(
            f"{place} is not a pose: its last row is {T[at][3].tolist()}, R^T R differs from 1 by "
            f"{float(off[at]):.3g} and det R = {np.linalg.det(R[at].tolist()):.6g}; expected "
            "0 0 0 1, orthonormal columns and det R = 1."
        )
    defect = float(off.max()) if off.size else 0.0
    if defect <= ROUNDED:
        return T, 0.0
    rough, out = off > ROUNDED, T.copy()
    R = R[rough]
    for _ in range(3):  # Newton's steps to the nearest rotation: 1e-5, 1e-10, then rounding
        R = R @ (3 * one[:3, :3] - R.swapaxes(-1, -2) @ R) / 2
    out[rough, :3, :3] = R
    return out, defect
