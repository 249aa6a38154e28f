"""The forces of a page: envelopes as bars, a map of the workspace, and the numbers."""

from html import escape

import numpy as np

from kinetree.base.arrays import Array
from kinetree.robot import Robot
from kinetree.views.camera import upward
from kinetree.views.envelopes import Envelopes, envelopes
from kinetree.views.page.document import number, table
from kinetree.views.page.range_bars import range_bars
from kinetree.views.page.workspace_map import workspace_map


def forces(robot: Robot, samples: int) -> str:
    """What holding still and moving at full speed ask of every driven joint."""
    found = envelopes(robot, samples)
    if not found.driven:
        return "<p>No joint of this robot has a motor: its base floats and nothing else moves.</p>"
    own = list(found.driven)
    bounds, held, effort = found.bounds, found.held[:, own], found.bounds.effort[own]
    names = [bounds.names[k] for k in own]
    units = ["N" if bounds.sliding[k] else "N m" for k in own]
    moving = None if found.moving is None else found.moving[:, own]
    bars = range_bars(names, held, moving, effort, units)
    head, rows = _numbers(names, units, held, moving, effort)
    return (
        f'<figure><div class="scroll">{bars}</div><figcaption>'
        f"{escape(_words(samples, moving, effort))}</figcaption></figure>"
        f"{_map(robot, found)}"
        f"<details><summary>Numbers</summary>{table('', head, rows, text_columns=2)}</details>"
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
        rows.append([name, units[k], *map(number, ends), number(effort[k]), share])
    return head, rows


def _map(robot: Robot, found: Envelopes) -> str:
    """Where in the workspace holding still is hard; nothing for a tool that stays where it is."""
    up = upward(robot.model)
    height = found.tool @ up
    radius = np.linalg.norm(found.tool - height[:, None] * up, axis=1)
    load, words = _load(found)
    if load is None or float(np.ptp(height)) + float(np.ptp(radius)) < 1e-9:
        return ""
    return (
        f"<figure>{workspace_map(radius, height, load, words)}<figcaption>Where the tool was: "
        f"{escape(words)}</figcaption></figure>"
    )


def _load(found: Envelopes) -> tuple[Array | None, str]:
    """Share of the limits at each position; without limits, of the largest force of one joint."""
    if found.load is not None:
        top = min(float(found.load.max()), 1.0) or 1.0
        over = ", the warning colour is beyond it" if found.load.max() > 1 else ""
        return found.load / top, (
            "largest share of a joint's effort limit that holding still takes; full colour is "
            f"{100 * top:.3g} % of the limit{over}."
        )
    own = list(found.driven)
    largest = np.abs(found.held[:, own]).max(axis=0)
    k, top = own[int(np.argmax(largest))], float(largest.max())
    if top <= 0:
        return None, ""
    unit = "N" if found.bounds.sliding[k] else "N m"
    words = f"force that holds {found.bounds.names[k]}; full colour is {number(top)} {unit}."
    return np.abs(found.tau[:, k]) / top, words
