"""The section Joint forces: the range of the forces over q, for holding still and for moving."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import without_rounding
from kinetree.dynamics.joints.configuration import random_positions
from kinetree.errors import InputError
from kinetree.files.description.joints import FREE
from kinetree.model.bounds import bounds_of
from kinetree.present.tables import page_number
from kinetree.robot import Robot
from kinetree.views.page.document import scroll_table

SEED = 8


@dataclass(frozen=True, eq=False)
class Envelopes:
    """Ranges (2, n) of joint forces, lowest and highest, over random positions.

    held: gravity and springs. moving: every joint at its speed limit, without acceleration, with
    friction; None if no joint has a speed limit. driven: joints with a motor, by their index in dq.
    """

    driven: tuple[int, ...]
    held: Array
    moving: Array | None


def forces(robot: Robot, samples: int) -> str:
    """Forces of every driven joint for holding still and for moving at full speed."""
    envelope, bounds = envelopes(robot, samples), bounds_of(robot.model)
    if not envelope.driven:
        return "<p>No joint of this robot has a motor: its base floats and nothing else moves.</p>"
    ranges = [envelope.held] if envelope.moving is None else [envelope.held, envelope.moving]
    titles = ("held from", "to", "moving from", "to")
    head = ["joint", "unit", *titles[: 2 * len(ranges)], "limit", "largest share"]
    rows = []
    for k in envelope.driven:
        ends, effort = [float(x) for span in ranges for x in span[:, k]], bounds.effort[k]
        has_limit = np.isfinite(effort) and effort > 0
        share = f"{100 * max(map(abs, ends)) / effort:.0f} %" if has_limit else "–"
        unit = "N" if bounds.sliding[k] else "N m"
        rows.append([bounds.names[k], unit, *map(page_number, ends), page_number(effort), share])
    words = f"Over {samples} random positions within the limits: held still"
    if envelope.moving is not None:
        words += "; moving with every joint at its speed limit, without acceleration"
    return scroll_table(head, rows, caption=f"{words}.", text=2)


def envelopes(robot: Robot, samples: int = 2000) -> Envelopes:
    """Envelopes over random positions within the limits; a free base is not moved."""
    if samples < 1:
        raise InputError(f"samples is {samples}; expected 1 or more random positions.")
    model, rng = robot.model, np.random.default_rng(SEED)
    q = random_positions(model, rng, samples)
    bounds, floating = bounds_of(model), []
    for joint in model.joints:
        if joint.type == FREE:
            q[:, list(joint.coords)] = robot.neutral()[list(joint.coords)]
            floating += joint.dofs
    still = np.zeros((samples, model.n))
    # one kernel for both: that of gravity would take as long to make as it takes here
    tau = without_rounding(robot.inverse_dynamics(q, still, still))
    moving = None
    if np.isfinite(bounds.velocity).any():
        speed = np.where(np.isfinite(bounds.velocity), bounds.velocity, 0.0)
        dq = rng.choice([-1.0, 1.0], tau.shape) * speed
        forces = without_rounding(robot.inverse_dynamics(q, dq, still))
        moving = np.array([forces.min(axis=0), forces.max(axis=0)])
    driven = tuple(k for k in range(model.n) if k not in floating)
    return Envelopes(driven, np.array([tau.min(axis=0), tau.max(axis=0)]), moving)
