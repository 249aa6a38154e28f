"""The section Joint forces: envelopes of the forces over q, as bars, a map and numbers."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import without_rounding
from kinetree.dynamics.joints.configuration import random_positions
from kinetree.errors import InputError
from kinetree.files.description.joints import FREE
from kinetree.model.bounds import Bounds, bounds_of
from kinetree.present.tables import escape, page_number
from kinetree.robot import Robot
from kinetree.views.camera import upward
from kinetree.views.page.document import scroll_table
from kinetree.views.page.svg import range_bars, workspace_map

SEED = 8


@dataclass(frozen=True, eq=False)
class Envelopes:
    """Ranges (2, n) of joint forces, lowest and highest, over random positions.

    held: gravity and springs. moving: every joint at its speed limit, without acceleration, with
    friction; None if no joint has a speed limit. driven: joints with a motor, by their index in dq.
    tool: positions of the tool, (N, 3); None without a tool. tau: the holding forces, (N, n).
    """

    bounds: Bounds
    driven: tuple[int, ...]
    held: Array
    moving: Array | None
    tool: Array | None
    tau: Array

    @property
    def load(self) -> Array | None:
        """Largest share of a joint's effort limit at each position, (N,); None without limits."""
        limited = [k for k in self.driven if np.isfinite(self.bounds.effort[k])]
        if not limited:
            return None
        return np.max(np.abs(self.tau[:, limited]) / self.bounds.effort[limited], axis=1)


def forces(robot: Robot, samples: int) -> str:
    """Forces of every driven joint for holding still and for moving at full speed."""
    envelope = envelopes(robot, samples)
    if not envelope.driven:
        return "<p>No joint of this robot has a motor: its base floats and nothing else moves.</p>"
    driven = list(envelope.driven)
    bounds, held, effort = envelope.bounds, envelope.held[:, driven], envelope.bounds.effort[driven]
    names = [bounds.names[k] for k in driven]
    units = ["N" if bounds.sliding[k] else "N m" for k in driven]
    moving = None if envelope.moving is None else envelope.moving[:, driven]
    bars = range_bars(names, held, moving, effort, units)
    head, rows = _numbers(names, units, held, moving, effort)
    return (
        f'<figure><div class="scroll">{bars}</div><figcaption>'
        f"{escape(_words(samples, moving, effort))}</figcaption></figure>"
        f"{_map(robot, envelope)}"
        f"<details><summary>Numbers</summary>{scroll_table(head, rows, text=2)}</details>"
    )


def _words(samples: int, moving: Array | None, effort: Array) -> str:
    parts = [
        f"Over {samples} random positions within the limits: narrow bars, holding the robot still"
    ]
    if moving is not None:
        parts.append("wide bars, at full speed (every joint at its speed limit, no acceleration)")
    if np.isfinite(effort).any():
        parts.append("ticks, effort limits")
    return "; ".join(parts) + ". Every row has its own scale."


def _numbers(
    names: list[str], units: list[str], held: Array, moving: Array | None, effort: Array
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table behind the bars."""
    ranges = [held] if moving is None else [held, moving]
    titles = ("held from", "to", "moving from", "to")
    head = ["joint", "unit", *titles[: 2 * len(ranges)], "limit", "largest share"]
    rows = []
    for k, name in enumerate(names):
        ends = [float(x) for span in ranges for x in span[:, k]]
        has_limit = np.isfinite(effort[k]) and effort[k] > 0
        share = f"{100 * max(map(abs, ends)) / effort[k]:.0f} %" if has_limit else "–"
        rows.append([name, units[k], *map(page_number, ends), page_number(effort[k]), share])
    return head, rows


def _map(robot: Robot, envelope: Envelopes) -> str:
    """A map of the holding forces over the workspace; empty if no tool moves."""
    if envelope.tool is None:
        return ""
    up = upward(robot.model)
    height = envelope.tool @ up
    radius = np.linalg.norm(envelope.tool - height[:, None] * up, axis=1)
    load, words = _load(envelope)
    if load is None or float(np.ptp(height)) + float(np.ptp(radius)) < 1e-9:
        return ""
    return (
        f"<figure>{workspace_map(radius, height, load, words)}<figcaption>Positions of the tool: "
        f"{escape(words)}</figcaption></figure>"
    )


def _load(envelope: Envelopes) -> tuple[Array | None, str]:
    """Load at each position, and a caption: the largest share of an effort limit.

    Without limits: the force of the joint with the largest forces, over its largest value.
    """
    if envelope.load is not None:
        top = min(float(envelope.load.max()), 1.0) or 1.0
        over = "; cells above the limit have the warning colour" if envelope.load.max() > 1 else ""
        return envelope.load / top, (
            "largest share of a joint's effort limit needed to hold still; full colour is "
            f"{100 * top:.3g} % of the limit{over}."
        )
    driven = list(envelope.driven)
    largest = np.abs(envelope.held[:, driven]).max(axis=0)
    k, top = driven[int(np.argmax(largest))], float(largest.max())
    if top <= 0:
        return None, ""
    unit = "N" if envelope.bounds.sliding[k] else "N m"
    words = (
        f"force that holds {envelope.bounds.names[k]}; full colour is {page_number(top)} {unit}."
    )
    return np.abs(envelope.tau[:, k]) / top, words


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
    return Envelopes(
        bounds=bounds,
        driven=tuple(k for k in range(model.n) if k not in floating),
        held=np.array([tau.min(axis=0), tau.max(axis=0)]),
        moving=moving,
        tool=None if model.tool is None else robot.pose(q)[:, :3, 3],
        tau=tau,
    )
