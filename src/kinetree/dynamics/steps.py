"""Steps of fixed length: the methods of integration, and one step of a robot.

Each method is written once, over any scalar kind: `simulate` traces it into its compiled loop, and
`robot.step` is a kernel of one step. x + v means the state reached along a tangent vector, on
quaternions too (state.py). Forces are constant within a step.

Dry friction stops and holds joints (stiction.py). It brakes at most with `braking` / h, so that a
joint that stops is at rest at the end of the step.

A robot with constraints moves by its constrained accelerations, and the end of each step is moved
back onto the constraints (constraints/stepping.py). Contacts and dry friction of a robot that has
contacts are solved together (contacts/step.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, StateLike, known, scalar
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed
from kinetree.dynamics.constraints.dynamics import Items
from kinetree.dynamics.constraints.step_rates import (
    State,
    dry_constrained_rate,
    implicit_constrained_rate,
)
from kinetree.dynamics.constraints.stepping import (
    Close,
    check_stepping,
    closing,
    constrained_rate,
)
from kinetree.dynamics.contacts.points import Places, book_places
from kinetree.dynamics.contacts.step import check_contact_method, contact_rate, straight_step
from kinetree.dynamics.implicit import implicit_accelerations
from kinetree.dynamics.joints.actuation import check_step_drives, drive_forces, drive_gains
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.state import StateSpace, store, within_ranges
from kinetree.dynamics.stiction import accelerations, dry_dofs
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.inputs import TipWrench, Wrenches, coordinates, rates, zeros
from kinetree.model.labelled import labelled
from kinetree.scalars import Scalar

Stage = Callable[[StateSpace, Scalar, Array, Sequence[Array]], Array]


@dataclass(frozen=True)
class Method:
    """The times within a step at which the rate is evaluated, as parts of h, and its stages.

    A stage maps h, x and the rates so far to the next state. braking: how many times 1 / h dry
    friction may brake at most. For dq' = -braking / h dq one step leaves little of dq: nothing with
    Euler's methods, 0.31 with Runge and Kutta's. There c - c^2/2 + c^3/4 < 1 with c = braking, so
    that no stage passes rest, where a law that jumps with the sign of dq would push the joint on.
    implicit: the accelerations depend on h, because damping is that at the end of the step;
    positions: and so are springs (implicit.py).
    """

    name: str
    order: int
    braking: float
    times: tuple[float, ...]
    stages: tuple[Stage, ...]
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
    """dq + h ddq first, then q moves with the new dq: of first order."""
    if space.model.contacts is not None:
        return straight_step(space, h, x, k[0])
    n = space.model.n
    _, dq, _ = space.split(x)
    new = space.settle(dq, dq + k[0][n : 2 * n] * h)
    return space.plus(x, np.concatenate([new * h, new - dq, k[0][2 * n :] * h]))


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


METHODS = {
    "euler": Method("euler", 1, 1.0, (0.0,), (euler,)),
    "semi_implicit_euler": Method("semi_implicit_euler", 1, 1.0, (0.0,), (semi_implicit_euler,)),
    "rk4": Method(
        "rk4", 4, 1.25, (0.0, 0.5, 0.5, 1.0), (*(_rk4_stage(i) for i in range(3)), _rk4_end)
    ),
    "implicit": Method(
        "implicit", 1, 1.0, (0.0,), (semi_implicit_euler,), implicit=True, positions=True
    ),
    "implicitfast": Method("implicitfast", 1, 1.0, (0.0,), (semi_implicit_euler,), implicit=True),
}


@labelled(("nq",), ("n",))
def step(
    model: Model,
    q: StateLike,
    dq: StateLike,
    tau: StateLike,
    dt: Scalar,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    method: str = "semi_implicit_euler",
    gains: Gains | None = None,
) -> tuple[Array, Array]:
    """The state after one step of length dt: q, (nq,), and dq, (n,), over any scalars.

    Args:
        tau: joint forces, (n,), N m or N, constant in the step.
        dt: length of the step, a number, s.
        F_ext: wrenches onto the links, constant in their axes, (links, 6), N m and N; None: none.
        F_tip: wrench of the tool onto the world, (6,), N m and N, as in `inverse_dynamics`.
        method: "euler" (q moves with the old dq), "semi_implicit_euler" (with the new dq), "rk4"
            (of order 4), "implicit" (semi-implicit, with friction and springs at the end of the
            step) or "implicitfast" (with friction at the end of the step).
        gains: slopes of tau that implicit methods take into account, of which "implicitfast" reads
            kd; None: 0.

    Returns:
        q_next: joint positions after the step, (nq,), rad or m.
        dq_next: joint rates after the step, (n,), rad/s or m/s.
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; choose one of {', '.join(METHODS)}.")
    check_step_drives(model)
    check_contact_method(model, method)
    way, space, items = METHODS[method], StateSpace(model, dry=dry_dofs(model)), placed(model)
    places = book_places(model)
    check_stepping(model)
    dt = scalar(dt, "dt")
    number = known(np.asarray(dt))
    if number is not None and number <= 0:
        raise InputError(f"dt is {dt}; expected the length of a step above 0, s.")
    tau, x = rates(model, tau, "tau"), [coordinates(model, q), rates(model, dq, "dq")]
    stop = way.braking / dt

    def rate(x: Array) -> Array:
        q, dq, _ = space.split(x)
        tree = book_tree(model, q, F_ext, F_tip)
        forces = drive_forces(model, dq, tau)
        slopes = drive_gains(model, dq, tau, gains) if way.implicit else None
        if places:
            return contact_step_rate(way, tree, places, items, (q, dq), forces, dt, slopes)[0]
        if items:
            return constrained_step_rate(way, tree, items, (q, dq), forces, dt, stop, slopes)[0]
        return step_rate(way, tree, dq, forces, dt, stop, slopes)[0]

    close = closing(model, lambda q: book_tree(model, q), items) if items else None
    end = take_stages(way, space, dt, np.concatenate(x), rate, close)
    return end[: model.nq], end[model.nq :]


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


def step_rate(
    method: Method,
    tree: Tree,
    dq: Array,
    tau: Array,
    h: Scalar,
    stop: Scalar,
    gains: Gains | None = None,
) -> tuple[Array, Array]:
    """Rate (dq, ddq) of a state, (2n,), and the acceleration now where the method is implicit.

    h is read by implicit methods, `stop` if a joint has dry friction.
    """
    if not method.implicit:
        return np.concatenate([dq, accelerations(tree, dq, tau, stop)]), zeros(0)
    a, ddq = implicit_accelerations(tree, dq, tau, h, stop, gains, positions=method.positions)
    return np.concatenate([dq, a]), ddq


def constrained_step_rate(
    method: Method,
    tree: Tree,
    items: Items,
    state: State,
    tau: Array,
    h: Scalar,
    stop: Scalar,
    gains: Gains | None = None,
) -> tuple[Array, Array]:
    """The same of a robot with constraints, and (lambda, Phi) of all rows after it.

    state: q, (nq,), and dq, (n,). items: the constraints in the frames of the tree.
    """
    if method.implicit:
        positions = method.positions
        return implicit_constrained_rate(
            tree, items, state, tau, h, stop, gains, positions=positions
        )
    if dry_dofs(tree.model):
        return dry_constrained_rate(tree, items, state, tau, stop)
    return constrained_rate(tree, items, *state, tau)


def contact_step_rate(
    method: Method,
    tree: Tree,
    places: Places,
    items: Items,
    state: State,
    tau: Array,
    h: Scalar,
    gains: Gains | None = None,
    T: Scalar | None = None,
) -> tuple[Array, Array]:
    """The same of a robot with contacts: all results of `contact_rate` by a method.

    items: constraints, in the frames of the tree; T: time constant in which their errors decay.
    """
    implicit, positions = method.implicit, method.positions
    return contact_rate(
        tree, places, items, state, tau, h, gains, implicit=implicit, positions=positions, T=T
    )
