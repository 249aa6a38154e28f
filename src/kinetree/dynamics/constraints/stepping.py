"""Motion on the constraints: rates of a state, and the way back after a step.

A method of integration follows ddq, so q and dq drift away from Phi(q) = 0 and J dq = 0 by its
errors. Two remedies are written here, both without a branch, so that compiled loops run them.

`closed_state` moves a state back after a step. Each correction of q is the shortest one, measured
by M,

    v = M^-1 J^T y,    J M^-1 J^T y = -Phi(q)

The first two corrections share one factor of A = J M^-1 J^T, that of the state before; the last
has its own, with which the rates are projected too. From an error e before, they leave e^2, e^3 and
e^6 of Phi (times constants of the mechanism) and e^3 of J dq: errors of a step of 1e-3 vanish in
the rounding. The projection of the rates is that of `constraint_impulse`, which does no work in
motions that the constraints allow. Masses that are arguments of a motion are not known here: M is
that of the robot itself. Another M changes the result by a part of the correction, which is an
error of the step, so that methods keep their order.

`constrained_rate` can instead pull the state back with a time constant T (Baumgarte),

    d^2 Phi/dt^2 + 2/T dPhi/dt + Phi/T^2 = 0

an error e decays as (1 + t/T) exp(-t/T). The pull is part of the forces of the constraints.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import tree_constraints
from kinetree.dynamics.constraints.dynamics import Items, Kkt, solvable
from kinetree.dynamics.constraints.solve import float_choice, one_or_nan
from kinetree.dynamics.constraints.step_constraints import StepConstraints
from kinetree.dynamics.constraints.step_rates import check_dry_joints
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.tangents import integrate
from kinetree.dynamics.stiction import dry_dofs, solve_bound
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar, absolute, where
from kinetree.spatial.matrices import is_zero

# of J dq, relative to 1 and to the sum of its terms: after projection, a step error e leaves
# closure errors of order e^6 in position and e^3 in velocity
RATE_TOLERANCE = 1e-4

Place = Callable[[Array], Tree]  # the tree at a position
Close = Callable[[Array], Array]  # a state (q, dq, z) on the constraints


def constrained_rate(
    tree: Tree, items: Items, q: Array, dq: Array, tau: Array, T: Scalar | None = None
) -> tuple[Array, Array]:
    """The rate (dq, ddq) of a state, (2n,), and (lambda, Phi) of all rows, (2m,).

    T: time constant in which errors of the constraints decay, s; None: they stay.
    """
    at = tree_constraints(tree, items, q, dq)
    kkt = Kkt(tree, at)
    wanted = kkt.wanted(dq, T)
    h = inverse_dynamics(tree, dq, zeros(tree.model.n))
    ddq, lam = kkt.accelerate(tau - h, wanted)
    return np.concatenate([dq, ddq]), np.concatenate([kkt.shared(lam), at.Phi])


def closed_state(
    place: Place, items: Items, q: Array, dq: Array, dry: Sequence[int] = ()
) -> tuple[Array, Array]:
    """The position and the rates on the constraints that are nearest to a state next to them.

    place: gives the tree at a position. dry: entries of dq with dry friction; those of them that
    are 0 stay, and so do their q.
    """
    if dry:
        return _closed_around(place, items, q, dq, dry)
    tree = place(q)
    model, kkt = tree.model, Kkt(tree, tree_constraints(tree, items, q))
    q = integrate(model, q, _correction(kkt, kkt.all.Phi))
    q = integrate(model, q, _correction(kkt, tree_constraints(place(q), items, q).Phi))
    tree = place(q)
    kkt = Kkt(tree, tree_constraints(tree, items, q))
    dq = dq + kkt.nearest(kkt.J @ dq)[0]
    return integrate(model, q, _correction(kkt, kkt.all.Phi)), dq


def closed_start(tree: Tree, items: Items, q: Array, dq: Array) -> Any:
    """1, or NaN for a state that the constraints do not allow, from which no step begins.

    The tolerances are those of a simulation, wider for rates, which are projected less exactly
    after a long step, and for float32.
    """
    at = tree_constraints(tree, items, q, dq)
    sizes = [1 + _total(x * v for x, v in zip(row, dq, strict=True)) for row in at.J]
    opening = [_total([x]) / size for x, size in zip(at.J @ dq, sizes, strict=True)]
    sound: Any = 1
    closed = solvable(tree.model).tolerance
    for errors, double, single in ((at.Phi, closed, 1e-4), (opening, RATE_TOLERANCE, 1e-3)):
        for error in errors:
            if is_zero(error):
                continue
            size = absolute(error)
            sound = where(size - float_choice(1 + size, double, single), 0, sound)
    return one_or_nan(sound)


def _total(values: Iterable[Any]) -> Any:
    return sum((absolute(x) for x in values if not is_zero(x)), 0)


def _correction(kkt: Kkt, Phi: Array) -> Array:
    """The shortest tangent vector v, measured by M, with J v = -Phi."""
    return kkt.nearest(Phi[kkt.rows])[0]


def _closed_around(
    place: Place, items: Items, q: Array, dq: Array, dry: Sequence[int]
) -> tuple[Array, Array]:
    """`closed_state` where joints that dry friction holds stay: they would creep otherwise."""
    model = place(q).model
    held = {d: where(absolute(dq[d]), 0, 1) for d in dry}
    rest = zeros(model.n)

    def at(q: Array) -> tuple[Kkt, Callable[[Array], Array]]:
        tree = place(q)
        kkt = Kkt(tree, tree_constraints(tree, items, q))

        def correction(missing: Array) -> Array:
            """The shortest v with J v = -missing that is 0 for held joints."""
            wanted = StepConstraints.of(model, kkt, -missing[kkt.rows])
            return solve_bound(model, kkt.matrix, rest, held, rest, wanted)[0]

        return kkt, correction

    kkt, correction = at(q)
    q = integrate(model, q, correction(kkt.all.Phi))
    q = integrate(model, q, correction(tree_constraints(place(q), items, q).Phi))
    kkt, correction = at(q)
    dq = dq + correction(kkt.all.J @ dq)
    return integrate(model, q, correction(kkt.all.Phi)), dq


def closing(model: Model, place: Place, items: Items) -> Close:
    """The function that moves states x = (q, dq, z) back to the constraints."""
    a, b, dry = model.nq, model.nq + model.n, dry_dofs(model)

    def close(x: Array) -> Array:
        return np.concatenate([*closed_state(place, items, x[:a], x[a:b], dry), x[b:]])

    return close


def check_stepping(model: Model, changes: Collection[str] = ()) -> None:
    """Raise if steps of a robot with constraints would be wrong.

    changes: names of robot data that are arguments of the motion.
    """
    if model.constraints is None:
        return
    check_dry_joints(model)
    if "friction" in changes:
        raise InputError(
            "friction is given as an argument of the motion, so that every joint may have dry "
            f"friction, and {model.name!r} has constraints, under which its sharing is not known. "
            "Make a robot with this friction instead, robot.with_friction."
        )
