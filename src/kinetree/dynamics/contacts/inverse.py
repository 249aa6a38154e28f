"""Inverse dynamics with contacts: joint forces and contact forces within the friction cones.

A motion needs the generalised forces r = M ddq + h. Motors and contacts make them,

    r = tau + J^T f + e

with tau zero in the rows without a motor (a free base), f_k in the cone |f_t| <= mu f_n of its
contact, and e zero where there is a motor. e is what is missing. The forces are those that

    first minimise  e^T M_u^-1 e           M_u: the block of M of the rows without motor
    then            |f|^2

M_u^-1 weighs moments and forces of a base as Gauss' principle does: the result does not depend on
where the frame of the base is. With x = (f_n, f_t / mu) each cone is that of Lorentz, x_0 >= |x_1|,
also for mu = 0.

The solver of a step (impulses.py) finds them: the base, of mass M_u, is pulled by -r and held by
contacts with soft pads, whose softness SOFT is the weight of |f|^2. What the pads give way is added
to the pull, and the forces of the second solution make the motion to SOFT^2 of r (the method of
multipliers).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import numbers
from kinetree.core.text import look_up, number
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.dynamics import eliminated_rows
from kinetree.dynamics.contacts.points import Touch, book_places, lean_places, touches
from kinetree.dynamics.impulses import Problem, Response, solve_rows
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.lean import lean_model, lean_tree
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.rows import TINY, LorentzRow, Seat
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.contacts import contacts_of_model
from kinetree.model.elastic import motor_rows
from kinetree.model.inputs import Wrenches, coordinates, rates
from kinetree.model.quantity import Make, at_state, quantity
from kinetree.model.units import units
from kinetree.present.tables import text_table
from kinetree.scalars import Scalar, maximum, sqrt, where
from kinetree.spatial.matrices import Factor, factor, solve, solve_inward

NAME = "contact_inverse_dynamics"
ARGUMENTS: Sequence[str] = ("q", "dq", "ddq", "F_ext", "contacts", "actuated")
NO_MOTION = 1e-6  # m/s^2 of the whole robot, below which nothing is missing
MAX_SHORTFALL = 1e-5  # of a feasible motion; exact ones reach 1e-12
MIN_EXCESS = 1e-6  # N, that a message names
SOFT = 1e-6  # of the response of the base: the softness of the pads
MULTIPLIERS = 3  # solutions, each of which leaves about SOFT of what is missing
EXACT = 1e-13  # residual of the solver, which decides the forces of pads to EXACT / SOFT
ENOUGH = 1e-9  # residual of a solution that counts as converged
RANK = 1e-12  # share of the equations below which no force of the contacts acts on one


@dataclass(frozen=True, eq=False)
class GroundForces:
    """Joint forces and contact forces of a motion, each contact force within its friction cone.

    Args:
        model: the robot.
        arguments: q, dq, ddq, F_ext, contacts (1 and 0 for each) and actuated.
        tau: joint forces, shape (..., n), N m or N; 0 in rows without a motor.
        forces: of the ground onto each contact, in {s}, shape (..., c, 3), N.
        residual: generalised forces that are missing, shape (..., n), N m or N; 0 in rows with a
            motor, and to rounding where the motion is feasible.
        shortfall: size of the residual as a share of what the rows without motor need, both
            weighted by M_u^-1, shape (...), dimensionless; 0: feasible, 1: the contacts help
            nothing.
        excess: how far the forces would have to leave each friction cone so that the motion becomes
            feasible by the least change of the forces, shape (..., c), N.
        optimality: residual of the solver, shape (...), dimensionless.
    """

    model: Model
    arguments: Mapping[str, Any]
    tau: Array
    forces: Array
    residual: Array
    shortfall: Array
    excess: Array
    optimality: Array

    @property
    def feasible(self) -> Array:
        """True where forces within the cones make the motion, shape (...)."""
        return np.asarray(self.shortfall) < MAX_SHORTFALL

    @property
    def converged(self) -> Array:
        """True where the solver reached its tolerance, shape (...)."""
        return np.asarray(self.optimality) <= ENOUGH

    def verdict(self) -> str:
        """What keeps one motion from being feasible, as a sentence; empty if nothing does."""
        if np.ndim(self.shortfall):
            raise InputError("the forces are of many states; choose one: forces[0].verdict().")
        if self.feasible:
            return ""
        units_of, row = units(self.model, "tau"), int(np.argmax(np.abs(self.residual)))
        missing = (
            f"no forces within the friction cones make this motion: "
            f"{float(self.residual[row]):.4g} {units_of[row]} are missing at "
            f"{self.model.dof_names[row]!r}"
        )
        names = contacts_of_model(self.model, NAME).names
        leaving = [k for k in np.argsort(-self.excess) if self.excess[k] > MIN_EXCESS]
        if not leaving:
            return f"{missing}. No forces of the touching contacts, in or out of cones, make it."
        contacts = ", ".join(f"{names[k]!r} by {float(self.excess[k]):.4g} N" for k in leaving)
        return f"{missing}. To make it, forces would leave the cones of {contacts}."

    def __getitem__(self, state: Any) -> "GroundForces":
        results = {x: getattr(self, x)[state] for x in ContactTerms._fields}
        arguments, shape = dict(self.arguments), np.shape(self.shortfall)
        for name in ("q", "dq", "ddq", "F_ext", "contacts"):
            x = arguments[name]
            if x is not None:
                own = np.shape(x)[-2:] if name == "F_ext" else np.shape(x)[-1:]
                arguments[name] = np.broadcast_to(x, (*shape, *own))[state]
        return GroundForces(self.model, arguments, **results)

    def __str__(self) -> str:
        names = contacts_of_model(self.model, NAME).names
        if np.ndim(self.shortfall):
            count, feasible = np.size(self.shortfall), int(self.feasible.sum())
            return f"forces of {', '.join(names)} in {count} states, {feasible} of them feasible"
        rows = [[name, *map(number, f)] for name, f in zip(names, self.forces, strict=True)]
        lines = text_table([["contact", "x / N", "y / N", "z / N"], *rows])
        return "\n".join([*lines, *filter(None, [self.verdict()])])


class ContactTerms(NamedTuple):
    """The results of `GroundForces`, over any scalars."""

    tau: Array
    forces: Array
    residual: Array
    shortfall: Any
    excess: Array
    optimality: Any


def touching_mask(model: Model, contacts: Any) -> Any:
    """1 for each contact that touches and 0 for the others, shape (..., c), of numbers or a tensor.

    Args:
        model: the robot.
        contacts: names, or 1 and 0 (True and False) for each; None: all touch.
    """
    names = contacts_of_model(model, NAME).names
    if contacts is None:
        return np.ones(len(names))
    if isinstance(contacts, list | tuple) and all(isinstance(x, str) for x in contacts):
        for x in contacts:
            look_up(dict.fromkeys(names, x), x, "contacts")
        return np.array([float(x in contacts) for x in names])
    if not isinstance(contacts, list | tuple | np.ndarray):
        return contacts  # a tensor is not looked at
    mask = numbers(contacts, "contacts", f"1 or 0 for each of {', '.join(names)}")
    if mask.shape[-1:] != (len(names),) or not np.isin(mask, (0, 1)).all():
        raise InputError(
            f"contacts has shape {mask.shape}; expected (..., {len(names)}) of 1 (touches) and 0, "
            f"for {', '.join(names)}."
        )
    return mask


def motors_of(model: Model, actuated: Sequence[str] | None = None) -> tuple[int, ...]:
    """Degrees of freedom with a motor: those named, or moved by actuators, or of no free joint."""
    rows = motor_rows(model, actuated)
    if actuated is None and model.actuators:
        rows = tuple(sorted({d for x in model.actuators for d in x.dofs}))
    if len(rows) == model.n:
        raise InputError(
            f"all degrees of freedom of {model.name!r} have motors, which make every motion "
            "without contact forces. Name those with a motor with actuated=[...]."
        )
    return rows


def contact_maker(motors: Sequence[int] | None = None) -> Make:
    """Trace the forces of q, dq, ddq and touching.

    Args:
        motors: degrees of freedom with a motor; None: those of `motors_of`.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        contacts = contacts_of_model(model, NAME)
        rows = motors_of(model) if motors is None else motors
        lean = lean_model(model, regrouped=regrouped)
        places = lean_places(lean)

        def function(q: Array, dq: Array, ddq: Array, touching: Array, *F_ext: Any) -> ContactTerms:
            tree = lean_tree(lean, q, *F_ext)
            points, mu = touches(tree, places), contacts.frictions
            return contact_inverse_dynamics(tree, points, rows, (dq, ddq), touching, friction=mu)

        return function

    return make


@quantity(
    "q dq ddq touching -> tau: n, forces: c 3, residual: n, shortfall, excess: c, optimality",
    make=contact_maker(),
    wrenches=True,
    solves=True,
    weighs=True,
    refused="Contact forces beside forces of constraints are not computed",
    method=False,
)
def contact_inverse_dynamics(
    tree: Tree,
    points: Sequence[Touch],
    motors: Sequence[int],
    motion: tuple[Array, Array],
    touching: Array,
    *,
    friction: Sequence[Scalar],
) -> ContactTerms:
    """Joint and contact forces of a motion, in friction cones: tau + J^T f = M ddq + h - residual.

    Returns:
        tau: joint forces, 0 in rows without a motor [N m or N].
        forces: of the ground onto each contact, in {s} [N].
        residual: generalised forces that are missing [N m or N; 0 if feasible].
        shortfall: the residual as a share of the forces needed [dimensionless].
        excess: by which forces of the motion would leave each cone [N].
        optimality: error of the solver, all scaled to 1 [dimensionless].

    Example:
        >>> robot = kt.contacts.monoped()
        >>> kernel = robot.compile("contact_inverse_dynamics")
        >>> kernel(robot.neutral(), [0] * 5, [0] * 5, [1])[1].round(3)
        array([[ 0.  ,  0.  , 58.86]])
    """
    # points: the contacts. motors: degrees of freedom with a motor. motion: dq and ddq. touching: 1
    # for a contact that may push, else 0. friction: mu of each contact
    n, bare = tree.model.n, [k for k in range(tree.model.n) if k not in motors]
    r = inverse_dynamics(tree, *motion)
    J = np.concatenate([x.J * on for x, on in zip(points, touching, strict=True)])  # (3 c, n)
    M_u = mass_matrix(tree)[np.ix_(bare, bare)]
    mass = factor(M_u, None)
    f, optimality = _forces(J[:, bare], r[bare], M_u, friction)
    f = f * np.repeat(touching, 3)
    missing = r - J.T @ f
    residual = np.array([missing[k] if k in bare else 0 for k in range(n)])
    tau = np.array([0 if k in bare else missing[k] for k in range(n)])
    forces = np.array([x.axes.T @ f[3 * k : 3 * k + 3] for k, x in enumerate(points)])
    little = sum(tree.model.m) * (NO_MOTION * NO_MOTION)
    needed, short = (x[bare] @ solve(mass, x[bare]) for x in (r, missing))
    # the least change of the forces that would make the motion, without regard to the cones
    G = solve_inward(mass, J[:, bare].T) / np.array([sqrt(d) for d in mass.D])[:, None]
    left = solve_inward(mass, missing[bare]) / np.array([sqrt(d) for d in mass.D])
    ridge = np.trace(G @ G.T) / max(1, len(bare)) * RANK + TINY
    change = G.T @ solve(factor(G @ G.T + np.eye(len(bare), dtype=int) * ridge, None), left)
    excess = [_outside((f + change)[3 * k : 3 * k + 3], x) for k, x in enumerate(friction)]
    shortfall = sqrt(short / (needed + little + TINY))
    return ContactTerms(tau, forces, residual, shortfall, np.array(excess), optimality)


def _forces(J: Array, pull: Array, M: Array, friction: Sequence[Scalar]) -> tuple[Array, Scalar]:
    """Contact forces along the axes of the contacts, (3 c,), and the residual of the solver.

    J, pull, M: of the rows without a motor.
    """
    mu = np.array([1, 1, 1] * len(friction), object)
    mu[1::3] = mu[2::3] = list(friction)
    X, mass = J * mu[:, None], factor(M, None)
    own = _responses(mass, X)
    soft = sum(own) * (SOFT / len(X)) + TINY
    sizes = [x + soft for x in own]
    rows = [
        LorentzRow(Seat(k, size=3), np.array([sum(sizes[k : k + 3]), soft, soft * m * m]))
        for k, m in zip(range(0, len(X), 3), friction, strict=True)
    ]
    x, optimality, wanted = np.zeros(len(X), int), 0, pull
    for _ in range(MULTIPLIERS):
        problem = Problem(Response(M, mass, J=X), rows, -(X @ solve(mass, wanted)))
        solution = solve_rows(problem, tolerance=EXACT, fine=EXACT)
        x, optimality = solution.impulses, solution.residual
        wanted = wanted + pull - X.T @ x
    return x * mu, optimality


@at_state(contact_inverse_dynamics)
def contact_inverse_dynamics_at_state(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    contacts: Sequence[str] | ArrayLike | None = None,
    actuated: Sequence[str] | None = None,
) -> GroundForces:
    """Joint forces and contact forces of a motion at one state; see `Robot`'s method.

    Args:
        model: the robot, with contacts.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        ddq: joint accelerations, shape (n,), rad/s^2 or m/s^2.
        F_ext: wrenches onto the links in their frames, shape (l, 6), N m and N; None: no wrench.
        contacts: names of the contacts that touch, or 1 and 0 for each, shape (c,), dimensionless;
            None: all.
        actuated: names of the degrees of freedom with a motor; None: those that actuators move, or
            without actuators all but free joints.
    """
    known = contacts_of_model(model, NAME)
    state = coordinates(model, q), rates(model, dq, "dq"), rates(model, ddq, "ddq")
    mask = touching_mask(model, contacts)
    motors = motors_of(model, actuated)
    tree = book_tree(model, state[0], F_ext)
    points = touches(tree, book_places(model))
    terms = contact_inverse_dynamics(
        tree, points, motors, state[1:], mask, friction=known.frictions
    )
    arguments = dict(zip(ARGUMENTS, (*state, F_ext, mask, actuated), strict=True))
    return GroundForces(model, arguments, *(np.asarray(x, float) for x in terms))


def _responses(mass: Factor, X: Array) -> list[Scalar]:
    """The diagonal of X M^-1 X^T."""
    Y, over_D = eliminated_rows(mass, X)
    return [sum(a * b) for a, b in zip(Y, over_D, strict=True)]


def _outside(f: Array, mu: Scalar) -> Scalar:
    """Distance of a force (normal, two tangents) from its cone, N."""
    across = sqrt(f[1] * f[1] + f[2] * f[2])
    beside = (across - mu * f[0]) / sqrt(1 + mu * mu)
    to_tip = sqrt(f @ f)
    return where(-f[0] - mu * across, to_tip, maximum(beside, 0))
