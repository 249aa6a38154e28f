"""Joint forces, live: tau, the parts that make it, and how near it comes to its limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from kinetree.base.arrays import Array
from kinetree.explain.torque import dof_units
from kinetree.model import Model
from kinetree.views.workbench.state import State, external_wrenches
from kinetree.views.workbench.style import COLOURS, reading
from kinetree.views.workbench.text import escape, number, percent

HEADS = {"inertia": "M q̈", "Coriolis": "c", "gravity": "g", "friction": "b", "external": "ext"}


@dataclass(frozen=True, eq=False)
class Torques:
    """tau = M ddq + c + g + b + external, all (n,), in N m or N; limits are infinite where none."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    parts: Mapping[str, Array]
    tau: Array
    limits: Array


def torques(state: State) -> Torques:
    """The joint forces of the state, from the compiled kernels."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    tau = robot.inverse_dynamics(q, dq, ddq, external_wrenches(state))
    free = robot.inverse_dynamics(q, dq, ddq)
    parts = {
        "inertia": robot.mass_matrix(q) @ ddq,
        "Coriolis": robot.coriolis_forces(q, dq),
        "gravity": robot.gravity_forces(q),
        "friction": robot.friction_forces(dq),
        "external": tau - free,
    }
    model = robot.model
    return Torques(model.dof_names, dof_units(model), parts, tau, effort_limits(model))


def effort_limits(model: Model) -> Array:
    """The largest |tau| of every degree of freedom, (n,)."""
    own = [joint for joint in model.joints if joint.follows is None]
    return np.array([joint.limits.effort for joint in own for _ in joint.dofs], float)


def torque_reading(x: Torques) -> str:
    """The table of numbers with a bar below each joint."""
    keys = "".join(
        f'<span><i class="kt-key" style="background:{colour}"></i>{name}</span>'
        for name, colour in COLOURS.items()
    )
    head = "".join(f"<th>{text}</th>" for text in ("joint", "τ", *HEADS.values(), "limit"))
    scale = bar_scales(x)
    rows = [torque_row(x, i) + bar_row(x, i, scale[i]) for i in range(len(x.tau))]
    table = f'<table class="kt-table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'
    return reading(f"<h4>Joint forces τ, N m or N</h4>{table}</table><p>{keys}</p>")


def torque_row(x: Torques, i: int) -> str:
    """Numbers of one degree of freedom; `data-tau` has all digits."""
    share = abs(x.tau[i]) / x.limits[i] if isfinite(x.limits[i]) and x.limits[i] > 0 else None
    limit = "" if share is None else percent(share)
    css = ' class="kt-over"' if share is not None and share > 1 else ""
    name = escape(x.names[i])
    parts = "".join(f"<td>{number(x.parts[part][i], 3)}</td>" for part in HEADS)
    tau = f'<b{css} data-tau="{i}" data-value="{float(x.tau[i])!r}">{number(x.tau[i])}</b>'
    title = f"{name}, {x.units[i]}"
    return f'<tr><td title="{title}">{name}</td><td>{tau}</td>{parts}<td{css}>{limit}</td></tr>'


def bar_scales(x: Torques) -> Array:
    """What half a bar stands for: the limit, or without one the largest sum of parts."""
    sums = sum((np.abs(part) for part in x.parts.values()), np.zeros(len(x.tau)))
    largest = max(float(np.max(sums, initial=0.0)), 1e-9)
    limited = np.isfinite(x.limits) & (x.limits > 0)
    return np.where(limited, x.limits, largest)


def bar_row(x: Torques, i: int, scale: float) -> str:
    """Parts end to end, those above zero to the right; the mark is tau."""
    right, left, boxes = 0.0, 0.0, ""
    for name, colour in COLOURS.items():
        value = float(np.clip(x.parts[name][i] / scale, -1, 1)) * 100
        start = right if value > 0 else left + value
        boxes += (
            f'<rect x="{start:.2f}" y="1" width="{abs(value):.2f}" height="5" fill="{colour}"/>'
        )
        right, left = (right + value, left) if value > 0 else (right, left + value)
    mark = float(np.clip(x.tau[i] / scale, -1, 1)) * 100
    return (
        '<tr class="bar"><td colspan="8"><svg viewBox="-100 0 200 7" height="7" '
        'preserveAspectRatio="none"><rect x="-100" y="3" width="200" height="1" '
        f'fill="var(--kt-line)"/>{boxes}<rect x="{mark - 0.4:.2f}" y="0" width="0.8" height="7" '
        'fill="currentColor"/></svg></td></tr>'
    )
