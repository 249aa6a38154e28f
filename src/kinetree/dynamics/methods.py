"""Methods of fixed steps as data: their stages, and how a state moves along its rates.

Each method is written once, over any scalar kind: `simulate` traces it into its compiled loop, and
`robot.step` is a kernel of one step. x + v means the state reached along a tangent vector, on
quaternions too (state.py). What the rates are is the step law (step_law.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.tangents import body_turning, exp_quaternion, integrate
from kinetree.dynamics.state import StateSpace, store, within_ranges
from kinetree.errors import InputError
from kinetree.files.description.joints import FREE, PLANAR
from kinetree.model import Joint, Model
from kinetree.scalars import Scalar, cos, sin
from kinetree.spatial.so3 import quaternion_rotation

Stage = Callable[[StateSpace, Scalar, Array, Sequence[Array]], Array]
Close = Callable[[Array], Array]  # moves a state (q, dq, z) onto the constraints


@dataclass(frozen=True)
class Method:
    """The times within a step at which the rate is evaluated, as parts of h, and its stages.

    A stage maps h, x and the rates so far to the next state. braking: how many times 1 / h dry
    friction may brake at most. For dq' = -braking / h dq one step leaves little of dq: nothing with
    Euler's methods, 0.31 with Runge and Kutta's. There c - c^2/2 + c^3/4 < 1 with c = braking, so
    that no stage passes rest, where a law that jumps with the sign of dq would push the joint on.
    impulsive: q moves with the rates at the end of the step, which impulses of contacts decide.
    mean_rates: forces of inertia are those of the mean rates of the step. implicit: accelerations
    depend on h, because damping is that at the end of the step; positions: and so are springs.
    """

    name: str
    order: int
    braking: float
    times: tuple[float, ...]
    stages: tuple[Stage, ...]
    impulsive: bool = False
    mean_rates: bool = False
    implicit: bool = False
    positions: bool = False

    @property
    def sampled(self) -> bool:
        """Whether forces are evaluated once in a step, at its beginning."""
        return len(self.stages) == 1


def euler(space: StateSpace, h: Scalar, x: Array, k: Sequence[Array]) -> Array:
    """x + h k_1: the book's method, of first order; q moves with the old dq."""
    return space.plus(x, k[0] * h)


def semi_implicit_euler(space: StateSpace, h: Scalar, x: Array, k: Sequence[Array]) -> Array:
    """dq + h ddq first, then q moves with the new dq: of first order; straight with contacts."""
    if space.model.contacts is not None:
        return time_stepping(space, h, x, k)
    n = space.model.n
    _, dq, _ = space.split(x)
    new = space.settle(dq, dq + k[0][n : 2 * n] * h)
    return space.plus(x, np.concatenate([new * h, new - dq, k[0][2 * n :] * h]))


def time_stepping(space: StateSpace, h: Scalar, x: Array, k: Sequence[Array]) -> Array:
    """The same, where free and planar joints move straight.

    They move with their new rates in the axes before the step; the rates are then expressed in the
    axes after it.
    """
    model, n = space.model, space.model.n
    q, dq, z = space.split(x)
    new = space.settle(dq, dq + (k[0][n : 2 * n] + body_turning(model, dq)) * h)
    q_next, dq_next = list(integrate(model, q, new * h)), list(new)
    for joint in model.joints:
        if joint.type in (FREE, PLANAR):
            _move_straight(joint, (q, new, h), q_next, dq_next)
    return np.concatenate([q_next, dq_next, z + k[0][2 * n :] * h])


def _move_straight(
    joint: Joint, motion: tuple[Array, Array, Scalar], q_next: list[Scalar], dq_next: list[Scalar]
) -> None:
    """Write the position and the rates of a free or planar joint after a straight motion."""
    q, rates, h = motion
    at, v, dofs = joint.coords, rates[list(joint.dofs)], joint.dofs
    if joint.type == FREE:
        moved = q[list(at[4:])] + quaternion_rotation(q[list(at[:4])]) @ (v[3:] * h)
        turned = quaternion_rotation(exp_quaternion(v[:3] * -h)) @ v[3:]
        q_next[at[4] : at[4] + 3], dq_next[dofs[3] : dofs[3] + 3] = moved, turned
        return
    (c, s), (c_h, s_h) = ((cos(a), sin(a)) for a in (q[at[0]], v[0] * h))
    q_next[at[1]] = q[at[1]] + (c * v[1] - s * v[2]) * h
    q_next[at[2]] = q[at[2]] + (s * v[1] + c * v[2]) * h
    dq_next[dofs[1]], dq_next[dofs[2]] = c_h * v[1] + s_h * v[2], c_h * v[2] - s_h * v[1]


RK4_SHARES = (0.5, 0.5, 1.0)  # where in the step k_2, k_3 and k_4 are evaluated, and with how much


def _rk4_stage(i: int) -> Stage:
    """Stages 1 to 3 of the classical method lead to where k_2, k_3 and k_4 are evaluated."""

    def stage(space: StateSpace, h: Scalar, x: Array, k: Sequence[Array]) -> Array:
        return space.plus(x, _step_rates(space, h, k)[i] * (h * RK4_SHARES[i]))

    return stage


def _rk4_end(space: StateSpace, h: Scalar, x: Array, k: Sequence[Array]) -> Array:
    """x + h (k_1 + 2 k_2 + 2 k_3 + k_4) / 6."""
    a, b, c, d = _step_rates(space, h, k)
    return space.plus(x, (a + (b + c) * 2 + d) * (h / 6))


def _step_rates(space: StateSpace, h: Scalar, k: Sequence[Array]) -> list[Array]:
    """The rates as those of the coordinates of the step (Munthe-Kaas); k itself if none turn."""
    rates = [k[0]]
    for share, rate in zip(RK4_SHARES, k[1:], strict=False):
        rates.append(space.inverse_rate(rates[-1] * (h * share), rate))
    return rates


ONE_STAGE: dict[str, Any] = {"order": 1, "braking": 1.0, "times": (0.0,)}
WITH_IMPULSES: dict[str, Any] = {**ONE_STAGE, "stages": (semi_implicit_euler,), "impulsive": True}
METHODS = {
    "euler": Method("euler", **ONE_STAGE, stages=(euler,)),
    "semi_implicit_euler": Method("semi_implicit_euler", **WITH_IMPULSES),
    "time_stepping": Method(
        "time_stepping", **ONE_STAGE, stages=(time_stepping,), impulsive=True, mean_rates=True
    ),
    "rk4": Method(
        "rk4", 4, 1.25, (0.0, 0.5, 0.5, 1.0), (*(_rk4_stage(i) for i in range(3)), _rk4_end)
    ),
    "implicit": Method("implicit", **WITH_IMPULSES, implicit=True, positions=True),
    "implicitfast": Method("implicitfast", **WITH_IMPULSES, implicit=True),
}


def check_contact_method(model: Model, method: str) -> None:
    """Raise InputError if a robot with contacts cannot be stepped by this method."""
    names = [name for name, x in METHODS.items() if x.impulsive]
    if model.contacts is not None and method not in names:
        raise InputError(
            f"method is {method!r}, and {model.name!r} has contacts, which change velocities "
            f"within a step; expected one of {', '.join(names)}. "
            "robot.with_contacts(None) gives the robot without contacts."
        )


def take_stages(
    method: Method,
    space: StateSpace,
    h: Scalar,
    x: Array,
    rate: Callable[[Array], Array],
    close: Close | None = None,
) -> Array:
    """The state after one step from x, with the rates of a function of the state.

    close: moves the end of the step onto the constraints of a robot that has some.
    """
    reached, k = x, list[Array]()
    for i in range(len(method.stages)):
        k.append(rate(reached))
        reached = take_stage(method, i, space, h, x, k, close)
    return reached


def take_stage(
    method: Method,
    i: int,
    space: StateSpace,
    h: Scalar,
    x: Array,
    k: Sequence[Array],
    close: Close | None = None,
) -> Array:
    """The state after stage i.

    Activations that are integrated are clamped before and after the step. At its end registers
    change, and constraints close.
    """
    x = within_ranges(space, x)
    last = i == len(method.stages) - 1
    reached = store(space, x, method.stages[i](space, h, x, k), k[0] if last else None)
    reached = within_ranges(space, reached) if last else reached
    return close(reached) if last and close is not None else reached
