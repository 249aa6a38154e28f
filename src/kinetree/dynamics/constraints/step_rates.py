"""Rates of steps under constraints with stiff forces or dry friction.

**Stiff forces.** An implicit step has M_h = M + h (D + kd) + h^2 (K + kp) in the place of M
(dynamics/implicit.py). Its acceleration a = (dq_next - dq) / h and the forces of the constraints
in the step satisfy

    M_h a - J^T lambda = tau - b(q, dq) - h (K + kp) dq,     J a + gamma = 0

which is the system of constrained forward dynamics with another matrix: a is the acceleration that
the constraints allow nearest to that of the free step.

**Dry friction** stops and holds joints as in a tree (stiction.py): a bound joint has a given
acceleration, and the friction that this needs, f = b + J^T lambda - M ddq, is compared with the
most that it can give. lambda and f are unique if all joints with dry friction can be independent
joints together: then the matrix that leads from their friction to their accelerations is positive
definite, as M is for a tree. Otherwise, as with friction in all three joints of a slider-crank,
the sharing of friction among joints at rest is not known, and `check_dry_joints` refuses it.

The end of a step is moved onto the constraints as with explicit methods (stepping.py). What a
simulation records beside the step is ddq and lambda of the state itself, and Phi, the errors of the
constraints, (m,).

`implicit_constrained_rate` is the rate of implicit methods, `dry_constrained_rate` that of explicit
ones, and `constrained_in_mode` that of dop853, whose steps end where a joint stops or starts.
In all of them, `items` are the constraints of the model that count, `way` says of each joint with
dry friction whether it slides forward (1), backward (-1) or is held (0), and `goal`, (n,), is the
acceleration that brings a held joint to rest (stiction.slide_or_hold).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.constraints.closures import tree_constraints
from kinetree.dynamics.constraints.dynamics import Items, Kkt
from kinetree.dynamics.constraints.step_constraints import StepConstraints
from kinetree.dynamics.implicit import StepSlopes
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.joints.tangents import integrate
from kinetree.dynamics.stiction import (
    CoulombPairs,
    dry_dofs,
    dry_levels,
    slide_or_hold,
    slip,
    solve_in,
    without_dry_friction,
)
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError, ModelError
from kinetree.model import Model
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar, absolute

State = tuple[Array, Array]  # q, (nq,), and dq, (n,)
RANK = 1e-8  # of the longest row: rows closer to the span of others count as dependent
ATTEMPTS, NEAR = 4, 0.2  # positions to look at, and their distance from a closed one, rad or m


class StepForces:
    """The constraints of a state, and the forces that act in it without dry friction."""

    def __init__(
        self, tree: Tree, items: Items, state: State, tau: Array, T: Scalar | None = None
    ) -> None:
        """The state (q, dq) of a tree under joint forces tau, (n,).

        T: time constant in which errors of the constraints decay, s; None: they stay.
        """
        self.model, (q, self.dq) = tree.model, state
        self.found = tree_constraints(tree, items, q, self.dq)
        self.kkt = Kkt(tree, self.found)
        self.wanted = self.kkt.wanted(self.dq, T)
        self.constraints = StepConstraints.of(self.model, self.kkt, self.wanted)
        self.dry = dry_levels(self.model, self.dq)
        smooth = replace(tree, model=without_dry_friction(self.model)) if self.dry.slide else tree
        self.b = tau - inverse_dynamics(smooth, self.dq, zeros(self.model.n))

    def in_way(self, way: dict[int, Any], goal: Array) -> tuple[Array, Array, Array]:
        """ddq now, (n,), lambda of all rows, (m,), and friction by joint, for ways of sliding."""
        slide, n = self.dry.slide, self.model.n
        ddq, rest = solve_in(
            self.model, self.kkt.matrix, self.b, slide, way, goal, self.constraints
        )
        friction = dry_forces(slide, way, rest)
        unit = np.eye(n, dtype=int)
        whole = sum((unit[d] * f for d, f in friction.items()), start=zeros(n))
        lam = self.kkt.accelerate(self.b - whole, self.wanted)[1]
        return ddq, self.kkt.shared(lam), np.array(list(friction.values()))


def dry_forces(slide: CoulombPairs, way: dict[int, Any], rest: Array) -> dict[int, Any]:
    """Dry friction of each joint: of sliding, or that which binds it, an entry of `rest`, (n,)."""
    return {d: slip(pair, way[d]) + (1 - absolute(way[d])) * rest[d] for d, pair in slide.items()}


def implicit_constrained_rate(
    tree: Tree,
    items: Items,
    state: State,
    tau: Array,
    h: Scalar,
    stop: Scalar = 0,
    gains: Gains | None = None,
    *,
    positions: bool = True,
    T: Scalar | None = None,
) -> tuple[Array, Array]:
    """The rate (dq, a) of a step, (2n,), and (ddq, lambda, Phi) now, (n + 2m,).

    Args:
        tau: joint forces at the beginning of the step, (n,).
        stop: 1/s, about 1 / h, at which dry friction may brake.
        gains: the slopes of tau; None: tau is constant in the step.
        positions: springs and kp count, not only damping and kd.
        T: time constant in which errors of the constraints decay, s; None: they stay.
    """
    at = StepForces(tree, items, state, tau, T)
    model, dq, dry = at.model, at.dq, at.dry
    slopes = StepSlopes.of(model, dq, gains, positions=positions, springs=tree.springs)
    M_h, ahead = slopes.added(at.kkt.matrix, h), slopes.moved(at.b, dq, h)
    if dry.slide:
        way, goal = slide_or_hold(model, M_h, ahead, dry, dq, stop, at.constraints)
        a = solve_in(model, M_h, ahead, dry.slide, way, goal, at.constraints)[0]
        ddq, lam, _ = at.in_way(way, goal)
    else:
        a = at.constraints.solve(M_h, ahead, symmetric=slopes.symmetric)[0]
        ddq, lam = at.kkt.accelerate(at.b, at.wanted)
        lam = at.kkt.shared(lam)
    return np.concatenate([dq, a]), np.concatenate([ddq, lam, at.found.Phi])


def dry_constrained_rate(
    tree: Tree, items: Items, state: State, tau: Array, stop: Scalar, T: Scalar | None = None
) -> tuple[Array, Array]:
    """The rate (dq, ddq) of a state with dry friction, (2n,), and (lambda, Phi), (2m,).

    The arguments are those of `implicit_constrained_rate`.
    """
    at = StepForces(tree, items, state, tau, T)
    way, goal = slide_or_hold(at.model, at.kkt.matrix, at.b, at.dry, at.dq, stop, at.constraints)
    ddq, lam, _ = at.in_way(way, goal)
    return np.concatenate([at.dq, ddq]), np.concatenate([lam, at.found.Phi])


def constrained_in_mode(
    tree: Tree, items: Items, state: State, tau: Array, mode: Array
) -> tuple[Array, Array]:
    """ddq, (n,), and friction (d,), lambda and Phi (2m,) where the mode of each joint is given.

    mode: 1 or -1 for the direction in which a joint slides, 0 for a joint that is held, (d,).
    """
    at = StepForces(tree, items, state, tau)
    way = dict(zip(at.dry.slide, mode, strict=True))
    ddq, lam, friction = at.in_way(way, zeros(at.model.n))
    return ddq, np.concatenate([friction, lam, at.found.Phi])


def check_dry_joints(model: Model) -> None:
    """Raise ModelError if the joints with dry friction cannot all be independent of each other."""
    dry, constraints = dry_dofs(model), model.constraints
    if constraints is None or {*dry} <= {*constraints.independent}:
        return
    # imported here: kernels that are stored need none of this
    from kinetree.dynamics.constraints.projection import project, textbook
    from kinetree.dynamics.constraints.row_space import row_space

    others, rng = [d for d in range(model.n) if d not in dry], np.random.default_rng(0)
    q, J, evaluate = np.array(constraints.home), np.zeros((0, model.n)), textbook(model)
    for _ in range(ATTEMPTS):
        J = evaluate(q)[1]
        if others and row_space(J[:, others], RANK, RANK).rank == len(constraints.basis):
            return
        try:
            step = NEAR * rng.normal(size=model.n)
            q = np.asarray(
                project(model, integrate(model, np.array(constraints.home), step)), float
            )
        except InputError:
            continue
    tied = [d for d in dry if np.abs(J[:, d]).max() > 0]
    names, free = (
        listing([model.dof_names[d] for d in dofs], 6)
        for dofs in (tied, [d for d in constraints.independent if d in tied])
    )
    one = model.dof_names[next(d for d in tied if d not in constraints.independent)]
    raise ModelError(
        f"joints {names} of {model.name!r} have dry friction, which holds joints at rest; with all "
        "of them held, the constraints leave open how they share the force. Expected dry friction "
        f"in joints that can move independently of each other, here {free or 'none of them'}. Use "
        f"friction that grows with the rate alone: robot.with_friction({{{one!r}: Friction("
        "sigmoid=Sigmoid(size, steepness))}), from kt.friction, for each of the others."
    )
