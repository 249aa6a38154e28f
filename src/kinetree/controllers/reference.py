"""References of joints, gains, and how far a robot is from where it should be."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.errors import InputError, ShapeError
from kinetree.model import Joint, Model
from kinetree.scalars import cos, sign, sin
from kinetree.simulate.core.controller import SignalValues
from kinetree.spatial import cross
from kinetree.spatial.so3 import quaternion_rotation


class Following:
    """What controllers that follow a reference share: the name under which it is given."""

    reference: Any

    @property
    def signals(self) -> Mapping[str, Any]:
        """What it follows."""
        return {"reference": as_reference(self.reference)}


def as_reference(value: Any, name: str = "reference") -> Any:
    """A position (..., nq), a function of t, or a Trajectory; positions become arrays."""
    if callable(value) or hasattr(value, "ddq"):
        return value
    try:
        x = np.array(value, float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is {value!r}; expected a position q (..., nq), a function of t that returns "
            "q, (q, dq) or (q, dq, ddq), or a Trajectory."
        ) from None
    if x.ndim == 0 or not np.isfinite(x).all():
        raise InputError(f"{name} is {x.tolist()}; expected finite positions (..., nq).")
    return x


def motion(
    model: Model, given: SignalValues, name: str = "reference"
) -> tuple[Array, Array, Array]:
    """q, dq and ddq of a reference at one time; what is not given is zero."""
    parts = given[name]
    if not 1 <= len(parts) <= 3:
        raise ShapeError(f"{name} has {len(parts)} parts; expected q, (q, dq) or (q, dq, ddq).")
    rest = [np.zeros(model.n, int)] * (3 - len(parts))
    q, dq, ddq = (*parts, *rest)
    for label, x, size in (("q", q, model.nq), ("dq", dq, model.n), ("ddq", ddq, model.n)):
        if np.shape(x) != (size,):
            raise ShapeError(
                f"{label} of the {name} has shape {np.shape(x)}; {model.name!r} needs ({size},)."
            )
    return q, dq, ddq


def errors(
    model: Model, q: Array, dq: Array, given: SignalValues, name: str = "reference"
) -> tuple[Array, Array, Array]:
    """The way e to a reference and its rate de, both (n,), and the ddq of the reference."""
    q_d, dq_d, ddq_d = motion(model, given, name)
    return position_error(model, q, q_d), dq_d - dq, ddq_d


def gain(value: Any, size: int, name: str) -> Array:
    """Gains as a matrix (size, size), from a number, a diagonal (size,) or the matrix itself."""
    x = np.asarray(value, float)
    if x.ndim < 2:
        if x.shape not in ((), (size,)):
            raise ShapeError(f"{name} has shape {x.shape}; expected (), ({size},) or a matrix.")
        x = np.diag(np.broadcast_to(x, size))
    if x.shape != (size, size) or not np.isfinite(x).all():
        raise ShapeError(f"{name} has shape {x.shape}; expected finite numbers ({size}, {size}).")
    if np.linalg.eigvalsh((x + x.T) / 2).min() < 0:
        raise InputError(f"{name} is not positive semi-definite: it would push away from the goal.")
    return x


def position_error(model: Model, q: Array, q_d: Array) -> Array:
    """The way from q to q_d, (n,), as a tangent vector.

    Turns of quaternions count as twice the vector part of the shorter way: their angle where it is
    small, and without the logarithm's trouble at half a turn.
    """
    parts: dict[int, Any] = {}
    for joint in model.joints:
        if joint.follows is None:
            own = list(joint.coords)
            parts.update(zip(joint.dofs, _joint_error(joint, q[own], q_d[own]), strict=True))
    return np.array([parts[k] for k in range(model.n)])


def _joint_error(joint: Joint, q: Array, q_d: Array) -> Array:
    if joint.type == PLANAR:
        c, s = cos(q[0]), sin(q[0])
        x, y = q_d[1] - q[1], q_d[2] - q[2]
        return np.array([q_d[0] - q[0], c * x + s * y, c * y - s * x])
    if joint.type not in (SPHERICAL, FREE):
        return q_d - q
    w, v, u, x = q[0], q[1:4], q_d[0], q_d[1:4]
    turn = (w * x - u * v - cross(v, x)) * (2 * sign(w * u + v @ x))
    if joint.type == SPHERICAL:
        return turn
    return np.concatenate([turn, quaternion_rotation(q[:4]).T @ (q_d[4:] - q[4:])])
