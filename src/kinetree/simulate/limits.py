"""Limits of joints in a simulation: margins that are watched at every step, and violations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.impulses import TOLERANCE
from kinetree.dynamics.methods import Method
from kinetree.dynamics.row_forces import row_sizes
from kinetree.dynamics.state import StateSpace
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.errors import KinetreeError
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.model import Model
from kinetree.scalars import Scalar, minimum
from kinetree.simulate.forces import ActingForces

ROUNDING = 1.001  # of the tolerance: of a residual that is just solved

LIMIT_ROUNDING = 1e-9  # of a limit, or rad, m, N m if that is more

TURNING = {"position": "rad", "velocity": "rad/s", "effort": "N m"}
SLIDING = {"position": "m", "velocity": "m/s", "effort": "N"}
CONTACT = "contact"  # the quantity of the bound on the residual of contacts
CLOSURE = "closure"  # the quantity of a bound on the error of an equation of the constraints


class SimulationError(KinetreeError, ArithmeticError):
    """A simulation that cannot go on.

    trajectory: the part before, or None if it could not begin. violations: the limits that were
    left, the earliest first; empty if a number was not finite.
    """

    trajectory: Any = None  # a Trajectory, or a GpuTrajectory of a simulation on a GPU
    violations: "tuple[Violation, ...]" = ()


@dataclass(frozen=True)
class Bound:
    """A limit of one joint, and the entry of q, dq or tau that it bounds.

    Errors of constraints are bounded in the same way: `joint` is then the name of the equation, and
    `index` an entry of y.
    """

    joint: str
    quantity: str
    index: int
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Violation:
    """The first time at which a joint left a limit, or a number became infinite or NaN.

    Args:
        t: time, s.
        joint: name of the joint.
        quantity: "position", "velocity", "effort" or the array that is not finite; "closure" for
            an equation of the constraints, whose name is `joint`; "contact" for the residual of
            contacts.
        by: how far beyond the limit at that time, in `unit` (rad, m, rad/s ...); None: not finite.
        rollout: index of the rollout in the batch.
        unit: unit of `by`.
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
        if self.quantity == CLOSURE:
            return (
                f"t = {self.t:.6g} s: equation {self.joint!r} of the constraints{where} is open by "
                f"{self.by:.4g} {self.unit} more than allowed"
            )
        if self.quantity == CONTACT:
            return f"t = {self.t:.6g} s{where}, where it is {self.by:.2g} larger"
        return (
            f"t = {self.t:.6g} s: {self.quantity} of joint {self.joint!r}{where} is "
            f"{self.by:.4g} {self.unit} beyond its limit"
        )


def joint_bounds(model: Model) -> tuple[Bound, ...]:
    """The finite limits of all joints of one degree of freedom."""
    bounds: list[Bound] = []
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
                reach = float(low - _slack(low)), float(high + _slack(high))
                bounds.append(Bound(joint.name, quantity, index, *reach, units[quantity]))
    return tuple(bounds)


def _slack(limit: float) -> float:
    """Distance beyond a limit that rounding may give to a joint that rests on it."""
    return LIMIT_ROUNDING * max(1.0, abs(limit)) if np.isfinite(limit) else 0.0


def margins(space: StateSpace, bounds: Sequence[Bound], x: Array, y: Array) -> Array:
    """Distance of each bounded entry from its limit, (w,), negative beyond; y begins with tau."""
    q, dq, _ = space.split(x)
    distances: list[Scalar] = []
    for bound in bounds:
        of = {"position": q, "velocity": dq, "effort": y, CLOSURE: y, CONTACT: y}
        value = of[bound.quantity][bound.index]
        sides = [value - bound.low] if np.isfinite(bound.low) else []
        sides += [bound.high - value] if np.isfinite(bound.high) else []
        distances.append(sides[0] if len(sides) == 1 else minimum(*sides))
    return np.array(distances)


def margins_graph(space: StateSpace, bounds: Sequence[Bound], size: int) -> Graph:
    """The graph of the margins of a state x with rates k; y, (size,), begins with tau."""
    ports = [Port("x", (space.size,)), Port("k", (space.rates,)), Port("y", (size,))]

    def watch(x: Array, k: Array, y: Array) -> Array:
        return margins(space, bounds, x, y)

    return optimise(trace(watch, ports, [("w", ())]))


Places = dict[str, slice]


def result_places(
    model: Model,
    method: Method | None,
    acting: ActingForces | None,
    *,
    stops: bool = False,
    varied: Sequence[str] = (),
) -> Places:
    """Places in y, in this order; varied: data of the robot that change, if `acting` is None.

    - tau, (n,), the joint forces;
    - ddq, (n,), of an implicit method, whose rate has the acceleration of the step instead;
    - friction of joints in a mode, of the adaptive method (None);
    - lam and Phi, the forces and errors of the constraints of a robot that has some;
    - the results of rows: contacts, stops of joints, dry friction (dynamics/row_forces.py);
    - controls of actuators, and command, (n,), the joint forces before the drives.
    """
    sizes = {"tau": model.n}
    if method is None:
        sizes["friction"] = len(dry_dofs(model, () if acting is None else acting.parameters))
    elif method.implicit:
        sizes["ddq"] = model.n
    if model.constraints is not None:
        sizes |= dict.fromkeys(("lam", "Phi"), len(model.constraints.row_names))
    if method is not None:
        dry = bool(dry_dofs(model, varied if acting is None else acting.parameters))
        sizes |= row_sizes(model, dry=dry, stops=stops)
    if acting is not None and acting.actuation is not None:
        sizes |= {} if acting.controls is None else {"controls": len(model.actuators)}
        sizes |= {"command": model.n} if acting.actuation.driven else {}
    places, start = Places(), 0
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places


def closure_bounds(model: Model, method: Method | None) -> tuple[Bound, ...]:
    """The errors Phi of all equations as bounded entries of y; none without constraints."""
    if model.constraints is None:
        return ()
    first = result_places(model, method, None)["Phi"].start
    most = model.constraints.tolerance
    return tuple(
        Bound(name, CLOSURE, first + k, -most, most, "rad or m")
        for k, name in enumerate(model.constraints.row_names)
    )


def residual_bounds(
    model: Model, method: Method | None, varied: Sequence[str], *, stops: bool
) -> tuple[Bound, ...]:
    """The residual of the rows of a step as a bounded entry of y; none without rows.

    varied: data of the robot that change. stops: limits of joints stop them.
    """
    places = (
        {} if method is None else result_places(model, method, None, stops=stops, varied=varied)
    )
    if "residual" not in places:
        return ()
    at = places["residual"].start
    return (Bound("contacts", CONTACT, at, float("-inf"), TOLERANCE * ROUNDING, ""),)
