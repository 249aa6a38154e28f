"""Dynamics under constraints: accelerations, motor forces, impulses, and reduced equations.

Phi(q) = 0 has the derivatives J dq = 0 and J ddq + gamma = 0, gamma = dJ/dt dq. Constraints push
along their gradients and do no work:

    M ddq + h = tau + J^T lambda,     J ddq + gamma = 0

Forward dynamics eliminates ddq. With the acceleration of the free tree ddq_f = M^-1 (tau - h) and
A = J M^-1 J^T,

    A lambda = -(J ddq_f + gamma),    ddq = M^-1 (tau - h + J^T lambda)

With M = L^T D L and Y = J L^-1, A is Y D^-1 Y^T; a row of Y has entries for the joints between its
frames and the root alone. With z = L^-T (tau - h), J ddq_f is Y D^-1 z and ddq is
L^-1 D^-1 (z + Y^T lambda), so that M is solved once, and ddq_f itself is not needed.

It is the acceleration nearest to ddq_f, measured by M, that the constraints allow (Gauss). Rows
that depend on others in the same way at every position (`Constraints.kept` leaves them out) would
make A singular. They change nothing but the sharing of forces: all rows are X times the kept ones,
and the shares of least norm are X (X^T X)^-1 lambda. Where the dependency changes with q, all rows
are kept, A is singular, and lambda of least norm is found by solve.py, for floats.

Inverse dynamics knows ddq. With r = M ddq + h, the forces of the motors and lambda satisfy
tau + J^T lambda = r, where tau is zero for joints u without motors: J_u^T lambda = r_u. If these
rows determine lambda, the solution is unique. Otherwise the sum of w tau^2 is least, by the method
of multipliers on H = J diag(w, STIFF on u) J^T, with the same proximal steps (solve.py).
"""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import Constrained, tree_constraints
from kinetree.dynamics.constraints.solve import (
    Proximal,
    entries,
    float_choice,
    gram,
    has_floats,
    least_norm,
    one_or_nan,
    solve_general,
    symmetric_product,
)
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree
from kinetree.errors import ModelError
from kinetree.model import Model
from kinetree.model.constrain import CARRIED, constraints_of, moving_constraints
from kinetree.model.constraints import Closure, Constraints, Coupling
from kinetree.model.inputs import zeros
from kinetree.model.quantity import quantity
from kinetree.scalars import absolute, where
from kinetree.spatial.matrices import (
    Factor,
    eliminated,
    solve_inward,
    solve_outward,
)

Items = Sequence[Closure | Coupling]
# weight of joints without motors, relative to the largest weight of a motor; and the steps, each of
# which divides the imbalance of these joints by about STIFF; more would hide motors in rounding
STIFF = 2.0**15
STIFF_MARGIN = 2.0**-33  # least pivot of H, whose rows are measured by STIFF; above its damping
MULTIPLIER_STEPS = 5
# largest force that joints without motors may keep, relative to the sum of all joint forces
IMBALANCE = 2.0**-20
IMBALANCE_FLOAT32 = 2.0**-10
FLOOR = 2.0**-18  # of a typical diagonal of A: the least scale of a row that vanishes


class Accelerations(NamedTuple):
    """ddq, (n,); lam, forces of all rows, (m,); residual J ddq + gamma of all rows, (m,)."""

    ddq: Array
    lam: Array
    residual: Array


class MotorForces(NamedTuple):
    """tau, (n,), zero without a motor; lam, (m,); and two residuals that should be zero.

    force_residual: M ddq + h - tau - J^T lambda, (n,): not zero if the motors cannot make the
    motion. motion_residual: J ddq + gamma, (m,): not zero if the constraints forbid it.
    """

    tau: Array
    lam: Array
    force_residual: Array
    motion_residual: Array


class Impulse(NamedTuple):
    """dq after constraints close, (n,); impulse of all rows, (m,); residual J dq, (m,)."""

    dq: Array
    impulse: Array
    residual: Array


class Reduced(NamedTuple):
    """M_r y'' + h_r = N^T tau for the independent rates y', with dq = N y'.

    M_r: (d, d). h_r: (d,). N: (n, d).
    """

    M_r: Array
    h_r: Array
    N: Array


class Kkt:
    """The system M x - J^T y = b, J x = w of the constraints of a tree at one state, factored.

    With x eliminated, A y = w - J M^-1 b with A = J M^-1 J^T. Accelerations, impulses, projections
    and steps of all kinds solve it.
    """

    def __init__(self, tree: Tree, found: Constrained) -> None:
        self.model, self.given = tree.model, solvable(tree.model)
        self.rows = list(self.given.kept)
        self.all, self.J, self.gamma = found, found.J[self.rows], found.gamma[self.rows]
        self._factor(mass_matrix(tree), self.given.scales, len(self.given.basis))

    def _factor(self, M: Array, scales: Sequence[Any] | None, rank: int | None) -> None:
        self.matrix, self.M = M, factor_mass_matrix(self.model, M)
        self.Y, self.Y_over_D = eliminated_rows(self.M, self.J)
        A, names = symmetric_product(self.Y_over_D, self.Y), row_names(self.given, self.rows)
        self.dependent = self.given.dependent and has_floats(A)
        if scales is None:
            pairs = zip(A.diagonal(), self.given.scales, strict=True)
            scales = [x + FLOOR * typical for x, typical in pairs]
        self.A = Proximal(A, scales, names, dependent=self.dependent, rank=rank)

    def with_matrix(self, M: Array) -> "Kkt":
        """The same constraints with a matrix that slopes of forces or held joints made stiffer.

        The rows of A shrink as slopes grow, so the part that is added to the diagonal (solve.py) is
        measured by the diagonal itself. A row that vanishes at a singular position still has FLOOR
        of the typical value.
        """
        if M is self.matrix:
            return self
        other = copy(self)
        other._factor(M, None, None)
        return other

    def accelerate(self, b: Array, wanted: Array | None = None) -> tuple[Array, Array]:
        """X and y for forces b and accelerations of the solved rows, of one or several columns.

        wanted: None: those that keep the constraints closed, -gamma.
        """
        wanted = -self.gamma if wanted is None else wanted
        z = solve_inward(self.M, b)
        y = self.A.solve(wanted - self.Y_over_D @ z)  # J M^-1 b is the acceleration without y
        return solve_outward(self.M, z + self.Y.T @ y), y

    def nearest(self, missing: Array) -> tuple[Array, Array]:
        """The shortest x, measured by M, with J x = -missing of the solved rows, and its y."""
        y = self.A.solve(-missing)
        return solve_outward(self.M, self.Y.T @ y), y

    def shared(self, lam: Array) -> Array:
        """Forces of all rows, of least norm, from those of the solved ones."""
        rows, m = self.rows, len(self.all.J)
        names = row_names(self.given, rows)
        others = [row for row in range(m) if row not in rows and row not in self.given.idle]
        if self.dependent:  # there are no others
            parts = dict(zip(rows, least_norm(self.J, lam, names), strict=True))
        elif not others:
            parts = dict(zip(rows, lam, strict=True))
        else:
            K = eliminated_rows(self.M, self.all.J[others])[1]
            cross = K @ self.Y.T  # K M^-1 J^T
            X = self.A.solve(cross.T).T  # rows of the others as sums of solved rows
            one = np.eye(len(rows), dtype=int)
            Z = Proximal(one + X.T @ X, [1.0] * len(rows), names)
            share = Z.solve(lam)
            parts = dict(zip([*rows, *others], [*share, *(X @ share)], strict=True))
        return np.array([parts.get(row, 0) for row in range(m)])


def tree_constrained_acceleration(
    tree: Tree, items: Items, q: Array, dq: Array, tau: Array
) -> Array:
    """ddq alone, (n,)."""
    kkt = Kkt(tree, tree_constraints(tree, items, q, dq))
    return kkt.accelerate(tau - inverse_dynamics(tree, dq, zeros(tree.model.n)))[0]


@quantity(
    "q dq tau -> ddq: n, lam: m, residual: m",
    over="constraints",
    wrenches=True,
    solves=True,
    weighs=True,
    caution="residual = J ddq + gamma is zero up to rounding. Larger entries mean that the "
    "position is singular, or very near: the constraints are then missed by this "
    "acceleration, and lam is damped instead of growing without bound. Small entries do "
    "not prove the opposite.",
    method=False,
)
def constrained_forward_dynamics(
    tree: Tree, items: Items, q: Array, dq: Array, tau: Array
) -> Accelerations:
    """Accelerations and forces of constraints: M ddq + h = tau + J^T lambda, J ddq + gamma = 0.

    Returns:
        ddq: joint accelerations [rad/s^2 or m/s^2].
        lam: forces onto frame_b in axes of frame_a, of least norm [N or N m].
        residual: J ddq + gamma [rad/s^2 or m/s^2; 0 if Phi stays 0].

    Example:
        >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
        >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
        >>> robot.compile("constrained_forward_dynamics")([0.1, -0.2], [1, -2], [0, 0])[1].round(3)
        array([4.419])
    """
    kkt = Kkt(tree, tree_constraints(tree, items, q, dq))
    ddq, lam = kkt.accelerate(tau - inverse_dynamics(tree, dq, zeros(tree.model.n)))
    return Accelerations(ddq, kkt.shared(lam), kkt.all.J @ ddq + kkt.all.gamma)


@quantity(
    "q dq -> dq_after: n, impulse: m, residual: m",
    over="constraints",
    solves=True,
    caution="residual = J dq_after is zero up to rounding, except at singular positions.",
    method=False,
)
def constraint_impulse(tree: Tree, items: Items, q: Array, dq: Array) -> Impulse:
    """Impulse of constraints that close without rebound: M (dq_after - dq) = J^T impulse.

    Returns:
        dq_after: the nearest rates that are allowed [rad/s or m/s].
        impulse: impulses of the equations [N s or N m s].
        residual: J dq_after [rad/s or m/s].

    Example:
        >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
        >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
        >>> robot.compile("constraint_impulse")([0.1, -0.2], [1, 0])[0].round(3)
        array([ 1.616, -3.232])
    """
    # The new rates are those nearest to dq, measured by M, that the constraints allow: no motion
    # that they allow loses energy
    kkt = Kkt(tree, tree_constraints(tree, items, q))
    change, y = kkt.nearest(kkt.J @ dq)
    after = dq + change
    return Impulse(after, kkt.shared(y), kkt.all.J @ after)


def tree_motor_forces(tree: Tree, items: Items, q: Array, dq: Array, ddq: Array) -> Array:
    """tau alone, (n,); it needs no mass matrix."""
    constraints = solvable(tree.model)
    J = tree_constraints(tree, items, q).J
    r = inverse_dynamics(tree, dq, ddq)
    left = _left_by_constraints(constraints, J, r)
    balanced = _balanced(constraints, J, r, left)
    return _of_motors(constraints, [x * balanced for x in left])


def motor_shares(given: Constraints, J: Array, r: Array) -> Array:
    """Forces of the motors that have the same effect as joint forces r, (n,); zero elsewhere.

    J: the Jacobian of all rows, (m, n). The rest of r is carried by the constraints. At a dead
    centre these are the nearest forces that the motors can give.
    """
    return _of_motors(given, _left_by_constraints(given, J, r, damped=True))


def motor_matrix(model: Model, J: Array) -> Array:
    """P, (n, n): P r are the forces of the motors with the same effect as joint forces r.

    J: the Jacobian of all rows, (m, n). Not a number at dead centres and singular positions. Rows
    of joints without a motor are zero.
    """
    check_sufficient(model, "regressor")
    given = solvable(model)
    left = _left_by_constraints(given, J, np.eye(model.n, dtype=int)).T
    columns = [x * _balanced(given, J, np.array([1, *x]), x) for x in left]
    return np.array([_of_motors(given, x) for x in columns]).reshape(left.shape).T


def _left_by_constraints(given: Constraints, J: Array, r: Array, *, damped: bool = False) -> Array:
    """The part of r that the constraints do not carry, (n,)."""
    rows = list(given.kept)
    return r - J[rows].T @ constraint_forces(given, rows, J[rows], r, damped=damped)


def _of_motors(given: Constraints, forces: Iterable[Any]) -> Array:
    motors = set(given.actuated)
    return np.array([x if d in motors else 0 for d, x in enumerate(forces)])


def _balanced(given: Constraints, J: Array, r: Array, left: Array) -> Any:
    """1, or NaN where joints without motors keep a part of r: the motors cannot make the motion.

    Motors that suffice in general do not at a dead centre. Plain floats and exact numbers are not
    judged here: `kinetree.dynamics` raises an error for them.
    """
    u = [d for d in range(len(left)) if d not in given.actuated]
    if not u or not has_floats(J, r) or all(isinstance(x, int | float) for x in r):
        return 1
    total = sum((absolute(x) for x in r), 0)
    most = float_choice(total + given.force_scales[0], IMBALANCE, IMBALANCE_FLOAT32) * total
    sound: Any = 1
    for d in u:
        sound = where(absolute(left[d]) - most, 0, sound)
    return one_or_nan(sound)


def constraint_forces(
    given: Constraints, rows: Sequence[int], J: Array, r: Array, *, damped: bool = False
) -> Array:
    """Lambda of some rows J: J_u^T lambda = r_u, and w tau^2 least where this leaves a choice.

    r: joint forces, (n,), or columns of several, (n, k). u are the joints without motors. Where
    they cannot be balanced, the sum of squares of the imbalance is least. At dead centres and
    singular positions lambda is not a number, or damped towards zero if `damped`.
    """
    n, names, dependent = J.shape[1], row_names(given, rows), given.dependent
    motors = dict(zip(given.actuated, given.weights, strict=True))
    u = [d for d in range(n) if d not in motors]
    weights, rank = force_weights(given, n), None if damped else len(given.basis)
    if given.passive or not u:
        H = Proximal(gram(J, weights), given.force_scales, names, dependent=dependent, rank=rank)
        weighted = J * np.array(weights, dtype=object)
        lam = H.solve(weighted @ r)
        return lam + H.solve(weighted @ (r - J.T @ lam)) if H.rounds else lam
    J_w, J_u = J * np.array([motors.get(d, 0) for d in range(n)], dtype=object), J[:, u]
    if not has_floats(J, r):
        return _exact_forces(J, J_w, u, r)
    stiff = weights[u[0]]
    H = Proximal(
        gram(J, weights), given.force_scales, names, dependent=dependent, rank=rank,
        margin=STIFF_MARGIN,
    )  # fmt: skip
    several = r.shape[1:]
    lam, multiplier = (np.zeros((size, *several), int) for size in (len(J), len(u)))
    for _ in range(MULTIPLIER_STEPS):
        left = r - J.T @ lam
        lam = lam + H.solve(J_w @ left + J_u @ (left[u] * stiff + multiplier))
        multiplier = multiplier + (r - J.T @ lam)[u] * stiff
    return lam


def force_weights(given: Constraints, n: int) -> list[Any]:
    """Weights of the columns of J in H = J diag(weights) J^T, by which lambda is found."""
    motors = dict(zip(given.actuated, given.weights, strict=True))
    if given.passive:
        return [0 if d in motors else 1 for d in range(n)]
    stiff = STIFF * max((float(w) for w in given.weights), default=1.0)
    return [motors.get(d, stiff) for d in range(n)]


def _exact_forces(J: Array, J_w: Array, u: list[int], r: Array) -> Array:
    """Lambda by the equations of the constrained minimum, over exact numbers."""
    m, J_u = len(J), J[:, u]
    H = J_w @ J.T
    top = np.concatenate([H, J_u], axis=1)
    low = np.concatenate([J_u.T, np.zeros((len(u), len(u)), int)], axis=1)
    right = np.concatenate([J_w @ r, r[u]]).reshape(m + len(u), -1)
    return solve_general(np.concatenate([top, low]), right)[0][:m].reshape(m, *r.shape[1:])


@quantity(
    "q dq -> M_r: d d, h_r: d, N: n d",
    over="constraints",
    weighs=True,
    caution="M_r, h_r and N are NaN where dy does not determine all rates, as at a dead centre.",
    method=False,
)
def reduced_dynamics(tree: Tree, items: Items, q: Array, dq: Array) -> Reduced:
    """Equation of motion of the independent rates y': M_r y'' + h_r = N^T tau, dq = N y'.

    Returns:
        M_r: mass matrix N^T M N of the rates [kg m^2, kg m or kg].
        h_r: forces of the independent rates without acceleration [N m or N].
        N: rates of all joints per independent one [NaN at a dead centre].

    Example:
        >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
        >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
        >>> robot.compile("reduced_dynamics")([0.1, -0.2], [1, -2])[2].round(3)
        array([[ 1.],
               [-2.]])
    """
    # J_d N_d = -J_y with the columns of the dependent and independent rates, and J_d nu_d = -gamma.
    # Then M_r = N^T M N and h_r = N^T (M nu + h).
    moving_constraints(tree.model, "reduced_dynamics", CARRIED)
    N, nu, determined = _motion(tree, items, q, dq)
    M, h = mass_matrix(tree), inverse_dynamics(tree, dq, zeros(tree.model.n))
    MN, size = M @ N, N.shape[1]
    half = [[N[:, i] @ MN[:, j] for j in range(i + 1)] for i in range(size)]
    M_r = [[half[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]
    equations = np.array(M_r).reshape(size, size), N.T @ (M @ nu + h), N
    return Reduced(*(_times(x, determined) for x in equations))


def tree_motion(tree: Tree, items: Items, q: Array, dq: Array) -> tuple[Array, Array]:
    """N, (n, d), and nu, (n,), of dq = N y' and ddq = N y'' + nu; NaN at dead centres."""
    N, nu, determined = _motion(tree, items, q, dq)
    return _times(N, determined), _times(nu, determined)


def _motion(tree: Tree, items: Items, q: Array, dq: Array) -> tuple[Array, Array, Any]:
    """N and nu, and 1, or NaN where the independent rates do not determine the others."""
    model = tree.model
    constraints = solvable(model)
    at = tree_constraints(tree, items, q, dq)
    rows, y = list(constraints.kept), list(constraints.independent)
    J, gamma = at.J[rows], at.gamma[rows]
    followers = [d for d in range(model.n) if d not in y]
    right = np.concatenate([-J[:, y], -gamma[:, None]], axis=1)
    solved, determined = solve_general(
        J[:, followers], right, [model.dof_names[d] for d in followers]
    )
    rates = {d: [*unit, 0] for d, unit in zip(y, np.eye(len(y), dtype=int).tolist(), strict=True)}
    rates |= dict(zip(followers, solved.tolist(), strict=True))
    whole = np.array([rates[d] for d in range(model.n)], dtype=object)
    return whole[:, :-1], whole[:, -1], determined


def _times(x: Array, factor: Any) -> Array:
    """All numbers times a factor; exact zeros and ones of the structure stay."""
    entries = [v if isinstance(v, int) else v * factor for v in x.ravel().tolist()]
    return np.array(entries, dtype=object).reshape(x.shape)


def solvable(model: Model) -> Constraints:
    """The constraints of a model that must have some."""
    return constraints_of(model, "constrained dynamics")


def check_sufficient(model: Model, name: str, consequence: str = "", way: str = "") -> None:
    """Raise ModelError if the motors cannot make every motion; name: of a quantity of motors.

    consequence, way: of the message, instead of those of a quantity.
    """
    constraints = constraints_of(model, name)
    if not constraints.sufficient:
        motors = ", ".join(model.dof_names[d] for d in constraints.actuated) or "none"
        consequence = consequence or f"{name} has no answer for most motions"
        way = way or "constrained_inverse_dynamics gives the nearest forces with their residual"
        raise ModelError(
            f"the motors of {model.name!r} ({motors}) cannot make every motion that its "
            f"constraints allow, so {consequence}. robot.constrained({{}}, actuated=[...]) names "
            f"more motors; {way}."
        )


def row_names(given: Constraints, rows: Sequence[int]) -> list[str]:
    """Names of some rows."""
    return [given.row_names[row] for row in rows]


def eliminated_rows(M: Factor, J: Array) -> tuple[Array, Array]:
    """Y = J L^-1, (m, n), and Y D^-1, so that J M^-1 J^T = Y D^-1 Y^T.

    A row has entries for the joints that move its constraint and for their ancestors alone.
    """
    Y, over_D = (np.zeros((len(J), len(M.D)), dtype=object) for _ in range(2))
    for row, line in enumerate(J):
        for d, x in eliminated(M, entries(line)).items():
            Y[row, d], over_D[row, d] = x, x / M.D[d]
    return Y, over_D
