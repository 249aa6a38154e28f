"""Mass and force ellipsoids at the hand: how heavy it is and how hard it pushes, each way."""

from dataclasses import dataclass

import numpy as np

from kinetree.algorithms import Ellipsoid
from kinetree.base.arrays import Array
from kinetree.errors import SingularityError
from kinetree.views.workbench.state import State
from kinetree.views.workbench.style import reading
from kinetree.views.workbench.text import escape, number, table, vector

KINDS = {"mass": ("effective mass", "kg"), "force": ("force", "N per N m of torque")}
COLOURS = {"mass": (46, 134, 193), "force": (230, 126, 34)}


@dataclass(frozen=True, eq=False)
class Drawn:
    """An ellipsoid as it is drawn: R and semi-axes in m; `lengths` are the numbers they show."""

    R: Array
    radii: Array
    lengths: Array


def hand_ellipsoids(state: State, frame: str | None, size: float) -> dict[str, Drawn]:
    """Both ellipsoids at a frame, the longest finite axis of each `size` long."""
    found = {}
    for kind in KINDS:
        try:
            ellipsoid = getattr(state.robot, f"{kind}_ellipsoid")(state.q, frame)
        except SingularityError:
            continue  # a link without mass: no finite M^-1, so nothing to draw
        found[kind] = drawn(ellipsoid, size)
    return found


def drawn(ellipsoid: Ellipsoid, size: float) -> Drawn:
    """A direction without mobility has no end; it is drawn half as long again as the longest."""
    lengths = ellipsoid.lengths
    finite = lengths[np.isfinite(lengths)]
    scale = size / max(float(np.max(finite, initial=0.0)), 1e-12)
    radii = np.where(np.isfinite(lengths), lengths * scale, 1.5 * size)
    R = np.array(ellipsoid.axes, float)
    if np.linalg.det(R) < 0:
        R[:, 0] = -R[:, 0]
    return Drawn(R, np.maximum(radii, 0.01 * size), lengths)


def hand_reading(frame: str, p: Array, found: dict[str, Drawn]) -> str:
    """The axes of the ellipsoids in numbers."""
    body = f"<h4>Hand: {escape(frame)}</h4><p>at {vector(p)} m in {{s}}</p>"
    for kind, ellipsoid in found.items():
        what, unit = KINDS[kind]
        rows = [
            [vector(np.round(axis, 6)), number(length)]
            for axis, length in zip(ellipsoid.R.T, ellipsoid.lengths, strict=True)
        ]
        body += f"<h4>{kind} ellipsoid</h4>" + table(
            ["direction in {s}", f"{what}, {unit}"], rows, "kt-table kt-wide"
        )
    if any(not np.isfinite(x.lengths).all() for x in found.values()):
        body += "<p>∞: the hand cannot move that way, so any force there is held by the joints.</p>"
    return reading(body)
