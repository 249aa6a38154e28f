"""References of joint positions, and joints that friction keeps away from their goal at the end.

A law such as PD, PID or computed torque pulls with a force that shrinks with the error. Below the
dry friction of a joint it moves nothing, and the joint rests where it is. `stuck_joints` finds the
joints that ended like this:

- the goal is at rest, and the joint too;
- it is further from its goal than FAR_FROM_GOAL;
- the friction f = tau - M ddq - h that holds it is within the dry friction of the joint.

Robots with constraints, wrenches and parameters that differ between rollouts are not judged.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.dry_friction import dry_friction, without_dry_friction
from kinetree.dynamics.joints.motors import motor_rates
from kinetree.engine.kernels.memo import kernel, remembered
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model.inputs import coordinate_axis
from kinetree.model.units import kinds
from kinetree.simulate.inputs import Input
from kinetree.simulate.setup import Setup

AT_REST = 1e-6  # rad/s or m/s: rates that fixed steps leave to a joint that friction holds
FAR_FROM_GOAL = {"rad": 1e-3, "m": 1e-4}  # rad or m: smaller errors are not reported
STUCK_SLACK = 1e-6  # of the friction level, by which the end of a step may exceed it

MAX_REFERENCE = 256  # samples; a reference that is a function is called once for each


@dataclass(frozen=True)
class StuckJoint:
    """A joint that friction keeps away from its goal; `rollout` is its place in a batch.

    Args:
        joint: name of the joint.
        goal: its position in the reference, rad or m.
        distance: the goal less the position at the end, rad or m.
        force: that the law adds to what holds the joint without friction, N m or N.
        friction: the dry friction against that force, N m or N.
        unit: "rad" or "m".
        rollout: indices of the rollout; () without a batch.
        integral: whether the law has an integral, which may release the joint later.
    """

    joint: str
    goal: float
    distance: float
    force: float
    friction: float
    unit: str
    rollout: tuple[int, ...] = ()
    integral: bool = False

    def __str__(self) -> str:
        which = f" of rollout {self.rollout}" if self.rollout else ""
        unit = "N m" if self.unit == "rad" else "N"
        way = "A planned motion as the reference, an integral or higher gains bring it there."
        if self.integral:
            way = "The integral of the controller may release it in a longer run."
        return (
            f"joint {self.joint!r}{which} rests {abs(self.distance):.3g} {self.unit} from its goal "
            f"{self.goal:.4g} {self.unit}: friction holds it. The controller pushes with "
            f"{abs(self.force):.3g} {unit}, and the joint slides above {self.friction:.3g} {unit}. "
            f"{way}"
        )


def stuck_joints(setup: Setup, t: Array, arrays: dict[str, Any]) -> tuple[StuckJoint, ...] | None:
    """Return the joints that friction keeps away from their goal; None if nothing is judged.

    Args:
        setup: the simulated robot, and its law; one without positions to follow has no goal.
        t: times of the motion, (T,), s.
        arrays: q, dq, ddq and tau, (T, ..., n).
    """
    model, reference = setup.model, _reference(setup)
    axes = getattr(type(setup.acting.controller), "named_fields", None) or {}
    judged = setup.acting.F_ext is None and not setup.acting.parameters
    judged &= reference is not None and "kp" in axes and model.constraints is None
    if not judged or motor_rates(model) is not None:
        return None
    goal = None if reference is None else _resting_goal(reference, t)
    if not dry_friction(model) or goal is None or goal.shape[-1:] != (model.nq,):
        return ()
    q, dq, ddq, tau = (np.asarray(arrays[name])[-1] for name in ("q", "dq", "ddq", "tau"))
    places = {
        joint.dofs[0]: joint.coords[0]
        for joint in model.joints
        if joint.type in SCREW_TYPES and joint.follows is None
    }
    dofs = [d for d in dry_friction(model) if d in places]
    columns = [places[d] for d in dofs]
    away = np.broadcast_to(goal, q.shape)[..., columns] - q[..., columns]
    units = [kinds(model, "q")[k] for k in columns]
    far = np.abs(away) > [FAR_FROM_GOAL.get(unit, np.inf) for unit in units]
    held = np.argwhere(far & (np.abs(dq[..., dofs]) <= AT_REST))
    if not len(held):
        return ()
    smooth = remembered(model, ("without dry friction",), lambda: without_dry_friction(model))
    carried = tau - kernel(smooth, "inverse_dynamics")(q, dq, ddq)
    stuck: list[StuckJoint] = []
    for *place, k in held:
        at, d = tuple(int(x) for x in place), dofs[k]
        plus, minus = dry_friction(model)[d]
        force = float(carried[(*at, d)])
        level = float(plus if force > 0 else minus)
        if abs(force) <= level * (1 + STUCK_SLACK):
            name, distance = model.dof_names[d], float(away[(*at, k)])
            wanted = float(q[(*at, columns[k])]) + distance
            numbers = wanted, distance, force, level
            stuck.append(StuckJoint(name, *numbers, units[k], at, integral="ki" in axes))
    return tuple(stuck)


def _reference(setup: Setup) -> Input | None:
    """The reference of joint positions that a controller follows."""
    axes = getattr(type(setup.acting.controller), "named_fields", None) or {}
    if axes.get("reference") is not coordinate_axis:
        return None
    sampling = setup.sampling
    return setup.acting.signals.get("reference") if sampling is None else sampling.reference


def _resting_goal(reference: Input, t: Array) -> Array | None:
    """The positions, (..., nq), at which a reference rests when the motion ends; None: it moves."""
    before, now = reference.over(t[[max(len(t) - 2, 0), -1]])[0]
    if len(reference.breaks):
        return now if t[-1] >= reference.breaks[-1] else None
    return now if np.array_equal(now, before) else None


def followed_positions(setup: Setup, t: Array) -> dict[str, Array] | None:
    """Times t (K,) of the motion and positions q (K, nq) of the reference at these times.

    None without a controller that follows joint positions, for rollouts, and for robots with
    constraints, of whose reference only the independent entries count.
    """
    reference = _reference(setup)
    if reference is None or setup.batch or setup.model.constraints is not None:
        return None
    at = t[np.unique(np.linspace(0, len(t) - 1, MAX_REFERENCE).round().astype(int))]
    q = reference.over(at)[0]
    return {"t": at, "q": q} if q.shape == (len(at), setup.model.nq) else None
