"""Joint vectors and wrenches as the caller gives them, checked once, at the door of an algorithm."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.arrays import Array, array
from kinetree.errors import ShapeError
from kinetree.model import WORLD, Model
from kinetree.spatial import Ad, inverse

Wrenches = Any | None
TipWrench = Any | Mapping[str, Any] | None


def joint_vector(model: Model, value: Any, name: str) -> Array:
    """`value` as a joint vector, shape (n,), finite."""
    x = array(value, (None,), name)
    if len(x) != model.n:
        raise ShapeError(
            f"{name} has {len(x)} entries but {model.name!r} has {model.n} joints: "
            f"{', '.join(model.joint_names)}. Fixed joints take no entry; "
            "see model.joint_names for the order."
        )
    return x


def zeros(n: int) -> Array:
    """n exact zeros."""
    return np.zeros(n, int)


def six_vector(value: Any, name: str) -> Array:
    """`value` as a 6-vector, angular part first; None is zero."""
    return zeros(6) if value is None else array(value, (6,), name)


def link_wrenches(model: Model, F_ext: Wrenches, F_tip: TipWrench = None) -> list[Array]:
    """Wrench from the world onto every link, in {i}.

    Args:
        model: the robot.
        F_ext: wrenches onto the links, (n, 6), in the link frames.
        F_tip: the book's wrench, exerted BY the tool on the world, (6,), in the tool frame; or a
            mapping from frame names to such wrenches.
    """
    if F_ext is None:
        F = [zeros(6) for _ in model.links]
    else:
        F = list(array(F_ext, (model.n, 6), "F_ext"))
    if F_tip is None:
        return F
    tips = F_tip if isinstance(F_tip, Mapping) else {model.tool: F_tip}
    for name, wrench in tips.items():
        frame = model.frame(name)
        if frame.link != WORLD:
            F_b = six_vector(wrench, f"F_tip at {name!r}")
            F[frame.link] = F[frame.link] - Ad(inverse(frame.T_if)).T @ F_b
    return F


@dataclass(frozen=True)
class Motion:
    """The checked arguments of inverse dynamics."""

    q: Array
    dq: Array
    ddq: Array
    F_ext: list[Array]
    V_base: Array
    dV_base: Array


def read_motion(
    model: Model,
    q: Any,
    dq: Any,
    ddq: Any,
    F_ext: Wrenches = None,
    F_tip: TipWrench = None,
    V_base: Any = None,
    dV_base: Any = None,
) -> Motion:
    """All arguments of inverse dynamics, with gravity turned into an acceleration of the base."""
    return Motion(
        q=joint_vector(model, q, "q"),
        dq=joint_vector(model, dq, "dq"),
        ddq=joint_vector(model, ddq, "ddq"),
        F_ext=link_wrenches(model, F_ext, F_tip),
        V_base=six_vector(V_base, "V_base"),
        dV_base=six_vector(dV_base, "dV_base") - model.gravity,
    )
