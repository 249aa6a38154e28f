"""Watch: the limits of a robot as margins, and what is said where one is gone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.errors import KinetreeError
from kinetree.model import Model
from kinetree.scalars import absolute, minimum
from kinetree.simulate.core.state import StateSpace

TURNING = {"position": "rad", "velocity": "rad/s", "effort": "N m"}
SLIDING = {"position": "m", "velocity": "m/s", "effort": "N"}
ROUNDING = 1e-9  # of a limit, or rad, m, N m where that is more


class SimulationError(KinetreeError, ArithmeticError):
    """A simulation that cannot go on; `trajectory` is the part before, or None."""

    trajectory: Any = None


@dataclass(frozen=True)
class Bound:
    """A limit of one joint: which entry of q, dq or tau it binds."""

    joint: str
    quantity: str
    index: int
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Violation:
    """The first time at which a joint left a limit, or a number stopped being one.

    by: how far beyond the limit, at that time, in `unit`; None for a number that is not finite.
    """

    t: float
    joint: str
    quantity: str
    by: float | None
    rollout: tuple[int, ...] = ()
    unit: str = ""

    def __str__(self) -> str:
        where = f" of rollout {list(self.rollout)}" if self.rollout else ""
        if self.by is None:
            return f"t = {self.t:.6g} s: {self.quantity} of joint {self.joint!r}{where} not finite"
        return (
            f"t = {self.t:.6g} s: {self.quantity} of joint {self.joint!r}{where} is "
            f"{self.by:.4g} {self.unit} beyond its limit"
        )


def bounds(model: Model) -> list[Bound]:
    """The finite limits of all joints of one degree of freedom."""
    found = []
    for joint in model.joints:
        if joint.follows is not None or joint.type not in SCREW_TYPES:
            continue
        limits, q, d = joint.limits, joint.coords[0], joint.dofs[0]
        units = SLIDING if joint.type == PRISMATIC else TURNING
        rows = (
            ("position", q, limits.lower, limits.upper),
            ("velocity", d, -limits.velocity, limits.velocity),
            ("effort", d, -limits.effort, limits.effort),
        )
        for quantity, index, low, high in rows:
            if np.isfinite(low) or np.isfinite(high):
                low, high = low - _slack(low), high + _slack(high)
                unit = units[quantity]
                found.append(Bound(joint.name, quantity, index, float(low), float(high), unit))
    return found


def _slack(limit: float) -> float:
    """A joint that rests on its limit may be beyond it by rounding."""
    return ROUNDING * max(1.0, abs(limit)) if np.isfinite(limit) else 0.0


def margins(space: StateSpace, limits: Sequence[Bound], x: Array, tau: Array) -> Array:
    """How far each bound entry is from its limit, (w,), negative beyond it."""
    q, dq, _ = space.split(x)
    found = []
    for bound in limits:
        value = {"position": q, "velocity": dq, "effort": tau}[bound.quantity][bound.index]
        if bound.low == -bound.high:
            found.append(bound.high - absolute(value))
        elif not np.isfinite(bound.low):
            found.append(bound.high - value)
        elif not np.isfinite(bound.high):
            found.append(value - bound.low)
        else:
            found.append(minimum(value - bound.low, bound.high - value))
    return np.array(found)


def watch_graph(space: StateSpace, limits: Sequence[Bound]) -> Graph:
    """The margins of a state x with rates k and forces y = tau."""
    ports = [Port("x", (space.size,)), Port("k", (space.rates,)), Port("y", (space.model.n,))]

    def watch(x: Array, k: Array, y: Array) -> Array:
        return margins(space, limits, x, y)

    return optimise(trace(watch, ports, [("w", ())]))


def violations(
    space: StateSpace,
    limits: Sequence[Bound],
    times: Array,
    first: Array,
    amount: Array,
    batch: tuple[int, ...],
) -> list[Violation]:
    """What was noted, the earliest first; `times` are those of the evaluations."""
    found = []
    for b, j in np.argwhere(first >= 0):
        t = float(times[first[b, j]])
        rollout = tuple(int(k) for k in np.unravel_index(b, batch)) if batch else ()
        if j < space.size:
            joint, quantity = _entry(space, int(j))
            found.append(Violation(t, joint, quantity, None, rollout))
        else:
            bound = limits[j - space.size]
            by = -float(amount[b, j])
            found.append(Violation(t, bound.joint, bound.quantity, by, rollout, bound.unit))
    return sorted(found, key=lambda v: (v.t, v.rollout))


def _entry(space: StateSpace, j: int) -> tuple[str, str]:
    """Joint and kind of a number of the state."""
    nq, n = space.model.nq, space.model.n
    if j < nq:
        return space.model.coordinate_names[j], "position"
    if j < nq + n:
        return space.model.dof_names[j - nq], "velocity"
    return f"entry {j - nq - n} of the controller's state", "value"
