"""Lean frames: every link frame moved onto its joint's axis, its constant rotation made sparse.

A joint of one degree of freedom turns about or slides along z of its lean frame, so that

    T_pi = (R, p) Rot_z(theta + theta_0) Trans_z(d)

with a constant R about x wherever two axes allow it (the frames of Denavit and Hartenberg). Frames
are chosen from the leaves to the base: the first child decides where on its axis the frame of a
link is and where its x points. Extended precision is used where the machine has it, so that exact
zeros differ clearly from small numbers.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.model import WORLD, Model

WIDE = np.longdouble
DUST = 1e-15  # largest rounding of an exact zero, relative to the size of the robot
STEEP = (
    0.3  # sine between two axes below which their common normal may lie far away and is not used
)


@dataclass(frozen=True, eq=False)
class Placement:
    """Place of a lean frame on its parent: constant R (3, 3), p (3,) and the angle theta_0.

    turn: theta_0 as (cos, sin). X: the lean frame seen from the link's own frame {i}, (4, 4).
    """

    R: Array
    p: Array
    turn: tuple[float, float]
    X: Array


def place_frames(model: Model) -> list[Placement]:
    """The lean frame of every link."""
    M_pi = model.M_pi.astype(WIDE)
    X = _choose_frames(model, M_pi)
    size = max(1e-3, float(np.abs(model.M_pi[:, :3, 3]).max(initial=0)))
    placements = []
    for i in model.links:
        p = model.parent[i]
        X_p = np.eye(4, dtype=WIDE) if p == WORLD else X[p]
        M = _inverse(X_p) @ M_pi[i] @ X[i]
        if model.joints[i].type in SCREW_TYPES:
            R, turn = _sparse_turn(M[:3, :3])
        else:
            R, turn = M[:3, :3], (WIDE(1), WIDE(0))
        placements.append(
            Placement(
                R=_without_dust(R),
                p=_cleared(M[:3, 3], size).astype(np.float64),
                turn=tuple(_without_dust(np.array(turn)).tolist()),  # type: ignore[arg-type]
                X=X[i],
            )
        )
    return placements


def _choose_frames(model: Model, M_pi: Array) -> dict[int, Array]:
    """Pose of each lean frame in the link's own frame, leaves first."""
    X: dict[int, Array] = {}
    for i in reversed(model.links):
        joint = model.joints[i]
        if joint.type not in SCREW_TYPES or joint.screw is None:
            X[i] = np.eye(4, dtype=WIDE)
            continue
        screw = joint.screw.astype(WIDE)
        slides = joint.type == PRISMATIC
        z = _unit(screw[3:] if slides else screw[:3])
        point = None if slides else np.cross(z, screw[3:])
        children = [c for c in model.children[i] if model.joints[c].type in SCREW_TYPES]
        if children:
            c = children[0]
            x, origin = _toward(z, point, M_pi[c] @ X[c], model.joints[c].type == PRISMATIC)
        else:
            x, origin = _free_end(z, point, model.M_pi[i].astype(WIDE))
        X[i] = _pose(np.column_stack([x, np.cross(z, x), z]), origin)
    return X


def _toward(z: Array, point: Array | None, T: Array, child_slides: bool) -> tuple[Array, Array]:
    """x and origin on the axis (point, z) from the child's lean frame T at rest.

    The axis of a sliding joint passes through any point: it goes through the child's origin.
    """
    z_c, o_c = T[:3, 2], T[:3, 3]
    normal = np.cross(z, z_c)
    sine = np.linalg.norm(normal)
    x = _across(T[:3, 0] if sine < DUST else normal / sine, z)
    if point is None:
        return x, o_c
    gap = o_c - point
    foot = point + z * (z @ gap)
    if sine >= DUST:
        if sine < STEEP or child_slides:
            return x, foot
        along = (gap @ z - (z @ z_c) * (gap @ z_c)) / (sine * sine)
        return x, point + z * along  # foot of the common normal of the two axes
    away = o_c - foot
    length = np.linalg.norm(away)
    apart = length > DUST * max(1.0, float(np.linalg.norm(o_c))) and not child_slides
    return (_across(away / length, z) if apart else x), foot


def _free_end(z: Array, point: Array | None, M: Array) -> tuple[Array, Array]:
    """x and origin of a link without children: nearest to its parent's axes."""
    home = -(M[:3, :3].T @ M[:3, 3])  # the parent's origin
    start = np.zeros(3, WIDE) if point is None else point
    candidates = [M[:3, :3].T[:, k] for k in range(3)]
    x = min(candidates, key=lambda axis: abs(float(axis @ z)))
    return _across(x, z), start + z * (z @ (home - start)) if point is not None else home


def _sparse_turn(R: Array) -> tuple[Array, tuple[float, float]]:
    """R = R_c Rot_z(theta_0) with a sparse R_c whose x lies in a coordinate plane or axis."""
    z = R[:, 2]
    axes = np.eye(3, dtype=WIDE)
    level = [k for k in range(3) if abs(z[k]) < DUST]
    x = axes[level[0]] if level else _unit(np.cross(axes[2], z))
    R_c = np.column_stack([x, np.cross(z, x), z])
    turned = R_c.T @ R
    return R_c, (turned[0, 0], turned[1, 0])


def _cleared(x: Array, size: float) -> Array:
    """`x` with zeros where only rounding is left."""
    return np.where(np.abs(x) < DUST * size, WIDE(0), x)


def _without_dust(R: Array) -> Array:
    """Entries of a rotation as doubles, at 0, 1 or -1 where only rounding is between."""
    R = _cleared(R, 1.0)
    return np.where(np.abs(np.abs(R) - 1) < DUST, np.sign(R), R).astype(np.float64)


def _across(x: Array, z: Array) -> Array:
    """The part of x perpendicular to z, of length 1; any such direction if there is none."""
    part = x - z * (z @ x)
    if np.linalg.norm(part) < 1e-3:
        k = int(np.argmin(np.abs(z)))
        part = np.eye(3, dtype=WIDE)[k] - z * z[k]
    return _unit(part)


def _unit(x: Array) -> Array:
    return x / np.linalg.norm(x)


def _pose(R: Array, p: Array) -> Array:
    T = np.eye(4, dtype=WIDE)
    T[:3, :3], T[:3, 3] = R, p
    return T


def _inverse(T: Array) -> Array:
    return _pose(T[:3, :3].T, -(T[:3, :3].T @ T[:3, 3]))
