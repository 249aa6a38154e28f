"""Task-space dynamics of a frame: F = Lambda(q) dV + eta, with the null space of the task.

With J the Jacobian of k coordinates of a frame, and M ddq + c + g + springs + friction = tau,

    Lambda = (J M^-1 J^T)^-1          mass that a force at the frame meets
    J_bar  = M^-1 J^T Lambda          the inverse of J that costs the least kinetic energy
    N      = 1 - J_bar J              N^T tau are joint forces that do not act on the task
    mu     = J_bar^T c - Lambda dJ dq,    p = J_bar^T g
    eta    = mu + p + J_bar^T (springs + friction)

A robot with fewer joints than coordinates moves in a subspace: J_bar is then the least-squares
inverse (J^T J)^-1 J^T and Lambda = J_bar^T M J_bar, the generalised inverse on that subspace.

`task_space` runs on any scalar. On traced scalars it cannot raise an error where J has lost
rank; there a `tolerance` makes the results NaN instead. J J^T - tolerance^2 has positive pivots
exactly where all singular values of J are above the tolerance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike, is_numeric, scalar
from kinetree.core.containers import refuse_labels
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.solve import float_choice, gram, one_or_nan
from kinetree.dynamics.frames import tree_frame_jacobian
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.configuration import random
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.joints.springs import without_passive_forces
from kinetree.dynamics.lean import lean_frame, lean_model, lean_tree
from kinetree.dynamics.mass_matrix import mass_matrix, mass_solver
from kinetree.dynamics.tree import Tree, weightless
from kinetree.errors import InputError, ShapeError, SingularityError
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinates, rates, zeros
from kinetree.model.model import Frame
from kinetree.model.quantity import Make, at_state, check_expressed, quantity, task_rows
from kinetree.present.tables import formulas, matrix
from kinetree.scalars import Scalar, where
from kinetree.spatial.matrices import Factor, dense, factor, mirrored_half, solve

NOTHING = 1e-12  # singular value of a Jacobian that is zero up to rounding
TOLERANCE = 1e-6  # smallest singular value of a Jacobian of full rank
ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of a pivot, relative to the diagonal
ROUNDING_FLOAT32 = 64 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class TaskSpace:
    """Task-space dynamics of k coordinates of a frame; F = J_bar^T tau is the task force.

    In a batch of states, Lambda, eta, mu, p, J_bar and N are NaN where J has lost rank.

    Args:
        J: Jacobian of the task, shape (..., k, n), rad/s and m/s for a unit of each rate.
        dJ: rate of J, shape (..., k, n), the units of J per second.
        Lambda: task-space inertia, shape (..., k, k), kg m^2, kg m and kg.
        eta: task-space bias wrench, shape (..., k), N m and N.
        mu: part of eta by Coriolis and centrifugal forces, shape (..., k), N m and N.
        p: part of eta by gravity, shape (..., k), N m and N. The rest of eta is by springs and
            friction.
        J_bar: dynamically consistent inverse of J, shape (..., n, k), the inverse units of J.
        N: projector onto the null space of the task, shape (..., n, n), dimensionless.
    """

    J: Array
    dJ: Array
    Lambda: Array
    eta: Array
    mu: Array
    p: Array
    J_bar: Array
    N: Array

    @cached_property
    def singular_values(self) -> Array:
        """Singular values of J, largest first, shape (..., min(k, n)), the units of J.

        They are an array of NumPy without gradients, also where J is a tensor of the CPU.
        """
        detach = getattr(self.J, "detach", None)
        J = self.J if detach is None else detach()
        return np.linalg.svd(np.asarray(J, float), compute_uv=False)

    def _repr_latex_(self) -> str:
        parts = (("J", self.J), (r"\Lambda", self.Lambda), (r"\eta", self.eta))
        return formulas(*(matrix(name, x) for name, x in parts))


def check_rank(
    model: Model,
    q: Array,
    frame: str | None,
    expressed: str,
    rows: Sequence[int],
    tolerance: float = TOLERANCE,
) -> None:
    """Raise SingularityError if a singular value of the Jacobian of a task is not above a limit."""
    walked = tree_frame_jacobian(book_tree(model, q), model.frame(frame), expressed)[0]
    sigma = np.linalg.svd(np.asarray(walked, float)[list(rows)], compute_uv=False)
    smallest = float(sigma[-1]) if len(sigma) else 0.0
    if smallest <= tolerance:
        raise SingularityError(
            f"the Jacobian of {model.frame_name(frame)!r} has smallest singular value "
            f"{smallest:.3g} (not above {tolerance:.3g}) at q = {q.tolist()}: the frame cannot "
            "move in every direction of the task. Choose fewer rows, another q, or pass damping."
        )


class Task(NamedTuple):
    """The coordinates of a task: a frame in the tree's frame of its link, axes, and rows."""

    place: Frame
    expressed: str
    rows: tuple[int, ...]


TaskTerms = tuple[Array, ...]  # the fields of `TaskSpace`, over any scalars


def task_maker(option: Literal["damping", "tolerance"] | None = None) -> Make:
    """Trace the terms of a task; NaN where J has lost rank.

    option: a third argument; None: no damping, and the usual tolerance.
    """

    def make(
        model: Model, regrouped: bool, frame: str | None, expressed: str, rows: tuple[int, ...]
    ) -> Callable[..., Any]:
        if option != "damping":  # a task that is singular wherever one looks is refused
            somewhere = random(model, np.random.default_rng(0))
            limit = TOLERANCE if option is None else NOTHING
            check_rank(model, somewhere, frame, expressed, rows, limit)
        lean = lean_model(model, regrouped=regrouped)
        task = Task(lean_frame(lean, frame), expressed, rows)

        def function(q: Array, dq: Array, *more: Any) -> TaskTerms:
            options = {"tolerance": TOLERANCE} if option is None else {option: more[0]}
            return task_space(lean_tree(lean, q), task, dq, **options)

        return function

    return make


@quantity(
    "q dq -> J: k n, dJ: k n, Lambda: k k, eta: k, mu: k, p: k, J_bar: n k, N: n n",
    make=task_maker(),
    solves=True,
    over="frame",
    choices=("expressed", "rows"),
    weighs=True,
    refused="A frame of a robot with constraints moves less freely than its tree; use the tree "
    "without constraints",
    method=False,
)
def task_space(
    tree: Tree,
    task: Task,
    dq: Array,
    *,
    damping: Scalar | None = None,
    tolerance: Scalar | None = None,
) -> TaskTerms:
    """Dynamics of k coordinates of a frame: F = Lambda dV + eta, with the null space of the task.

    All but J and dJ are NaN where J has lost rank (a singular value not above 1e-6).

    Returns:
        J: Jacobian of the task [rad/s and m/s for a unit of each rate].
        dJ: rate of J [the units of J per second].
        Lambda: task-space inertia [kg m^2, kg m and kg].
        eta: bias wrench mu + p + J_bar^T (springs + friction) [N m and N].
        mu: part of eta by Coriolis and centrifugal forces [N m and N].
        p: part of eta by gravity [N m and N].
        J_bar: dynamically consistent inverse of J [inverse units of J].
        N: null-space projector 1 - J_bar J [dimensionless].

    Example:
        >>> robot.compile('task_space', rows=(3, 4))([0.1, 0.2], [1, 0.5])[2].round(3)
        array([[295.486,  21.12 ],
               [ 21.12 ,   5.219]])
    """
    # damping: as in `task_space_at_state`. tolerance: of a singular value of J, not above which
    # results are NaN; None: no test
    place, expressed, rows = task
    chosen, n = list(rows), tree.model.n
    J = tree_frame_jacobian(tree, place, expressed)[0][chosen]
    sound = 1 if tolerance is None or damping is not None else full_rank(J, tolerance)
    Lambda, J_bar = _mass_and_inverse(tree, J, damping, sound)
    dJ = tree_frame_jacobian(tree, place, expressed, dq)[1][chosen]
    c, g, passive = _forces(tree, dq)
    mu, p = J_bar.T @ c - Lambda @ (dJ @ dq), J_bar.T @ g
    eta = mu + p + J_bar.T @ passive
    return J, dJ, Lambda, eta, mu, p, J_bar, np.eye(n, dtype=int) - J_bar @ J


@at_state(task_space)
def task_space_at_state(
    model: Model,
    q: StateLike,
    dq: StateLike | None = None,
    *,
    V: ArrayLike | None = None,
    frame: str | None = None,
    expressed: str = "body",
    rows: Sequence[int] | None = None,
    damping: float = 0,
    tolerance: float = TOLERANCE,
) -> TaskSpace:
    """Lambda(q) and eta(q, V) of a frame, for any number of joints.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s; None: from V, or at rest.
        V: twist of the frame, shape (k,) for k rows, rad/s and m/s, instead of dq: the rates follow
            as J_bar V.
        frame: name of a frame of the robot; None: the tool.
        expressed: "body", "space" or "aligned", the axes and reference point of twist and wrench,
            as in `frame_velocity`.
        rows: which of the six coordinates (three angular, three linear) make the task; all when
            None. A robot with fewer joints than rows moves in a subspace: Lambda is then the
            generalised inverse on that subspace.
        damping: adds damping^2 to J M^-1 J^T near singularities; in the units of its square root.
        tolerance: J is singular if its smallest singular value is not above this; in the units of
            J.

    Raises:
        SingularityError: J has lost rank, with its smallest singular value.
    """
    q = coordinates(model, q)
    without_constraints(model, "dynamics.task_space")
    check_expressed(expressed)
    rows = task_rows(rows)
    damping, tolerance = not_negative(damping, "damping"), not_negative(tolerance, "tolerance")
    tree, place = book_tree(model, q), model.frame(frame)
    if damping == 0:
        check_rank(model, q, frame, expressed, rows, tolerance)
    task = Task(place, expressed, tuple(rows))

    def at(dq: Array) -> TaskSpace:
        found = map(dense, task_space(tree, task, dq, damping=damping or None))
        return TaskSpace(*(x.astype(float) if is_numeric(x) else x for x in found))

    if V is not None:
        dq = rates_of_twist(at(zeros(model.n)).J_bar, V, dq)
    return at(zeros(model.n) if dq is None else rates(model, dq, "dq"))


def rates_of_twist(J_bar: Array, V: ArrayLike, dq: object = None) -> Array:
    """Joint rates J_bar V, (..., n), of a twist V, (..., k); dq must not be given, too."""
    if dq is not None:
        raise InputError("give the joint rates dq or the twist V, not both.")
    refuse_labels(V, "V")
    x: Any = V if hasattr(V, "shape") else np.asarray(V)
    k = J_bar.shape[-1]
    if tuple(x.shape[-1:]) != (k,):
        raise ShapeError(f"V has shape {tuple(x.shape)}; expected (..., {k}), one entry per row.")
    return (J_bar * x[..., None, :]).sum(-1)


def _mass_and_inverse(
    tree: Tree, J: Array, damping: Scalar | None, sound: Any
) -> tuple[Array, Array]:
    """Lambda, (k, k), and J_bar, (n, k), times `sound`, which is 1 or NaN."""
    k, n = J.shape
    M = mass_matrix(tree)
    if k > n and damping is None:
        J_bar = least_squares_inverse(J) * sound
        return mirrored_half(J_bar.T @ (M @ J_bar)), J_bar
    Minv_Jt = mass_solver(tree, M)(J.T)
    A = mirrored_half(J @ Minv_Jt)  # J M^-1 J^T
    if damping is not None:
        A = A + np.eye(k, dtype=int) * (damping * damping)
    Lambda = mirrored_half(solve(task_factor(A), np.eye(k, dtype=int)) * sound)
    return Lambda, Minv_Jt @ Lambda


def _forces(tree: Tree, dq: Array) -> tuple[Array, Array, Array]:
    """Joint forces c, g, and springs with friction, (n,) each; their sum is `bias_forces`."""
    rest, smooth = zeros(tree.model.n), without_passive_forces(tree.model)
    c = inverse_dynamics(weightless(tree), dq, rest)
    g = inverse_dynamics(replace(tree, model=smooth, springs=None), rest, rest)
    friction = friction_forces(tree.model, dq)
    return c, g, friction if tree.springs is None else tree.springs.at(dq) + friction


def full_rank(J: Array, tolerance: Scalar) -> Any:
    """1 where all singular values of J, (k, n), are above a tolerance, else NaN.

    A pivot that is not above its own rounding counts as zero, too: in float64 this is at singular
    values of 1e-7 of the largest, in float32 of 3e-3.
    """
    k, n = J.shape
    G = gram(J, [1] * n) if k <= n else gram(J.T, [1] * k)
    size = len(G)
    shifted = G - np.eye(size, dtype=int) * (tolerance * tolerance)
    pivots = task_factor(shifted).D
    least = float_choice(G[0, 0], ROUNDING, ROUNDING_FLOAT32)
    sound: Any = 1
    for i, pivot in enumerate(pivots):
        sound = where(pivot - least * G[i, i], sound, 0)
    return one_or_nan(sound)


def least_squares_inverse(J: Array) -> Array:
    """(J^T J)^-1 J^T, (n, k), of a J with more rows than columns.

    The normal equations lose twice the digits of the condition of J; one step X + (1 - X J) X of
    Newton's method for the inverse gives them back.
    """
    X = solve(task_factor(gram(J.T, [1] * len(J))), J.T)
    return X + (np.eye(J.shape[1], dtype=int) - X @ J) @ X


def task_factor(A: Array) -> Factor:
    """The factor of J M^-1 J^T, J J^T or J^T J; an error speaks of the task, not of inertias."""
    try:
        return factor(A, [f"coordinate {i}" for i in range(len(A))])
    except SingularityError as problem:
        raise SingularityError(
            "the task cannot be accelerated in every direction: its Jacobian is singular to "
            "rounding (the frame is at a singular position, or the coordinates differ by far in "
            "size). Choose fewer rows, another q, or pass damping."
        ) from problem


def not_negative(value: ArrayLike, name: str) -> float:
    """Return an option as a float; raise InputError if it is below zero."""
    value = float(scalar(value, name))
    if value < 0:
        raise InputError(f"{name} is {value}; expected >= 0.")
    return value
