"""Equations of motion of a mechanism in its independent coordinates, in closed form.

The rows J of the constraints (redundant ones left out) have columns J_y of the independent rates dy
and J_d of the dependent ones. With D = det(J_d), all rates are dq = N dy,

    N = P / D,    P_y = D (unit matrix),    P_d = -adj(J_d) J_y

and the accelerations are ddq = N ddy + nu. gamma and c are quadratic in the rates, so that rates
P dy, which are polynomials, give D^2 gamma and D^2 c, and nu = Q / D^3 with Q_d = -adj(J_d) gamma:

    M_r = P^T M P / D^2,    c_r = P^T (M Q + D c) / D^4,    g_r = P^T g / D

Linear equations of a loop are in the axes of its first frame, which turn. On the constraints their
difference of positions is zero in any axes, so that the reduction takes axes that are fixed in {s},
where expressions are shorter: for a four-bar D = L2 L3 sin(theta1 + theta2 - theta3).

All products are polynomials of the ring; a factor of D that divides a numerator is cancelled. The
dependent coordinates stay in the results as symbols: the constraints Phi(q) = 0 determine them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import Constrained, tree_constraints
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError, ModelError
from kinetree.model import WORLD, Model
from kinetree.model.constraints import Closure, Constraints
from kinetree.model.inputs import zeros
from kinetree.spatial import pose
from kinetree.symbols.present import Presenter
from kinetree.symbols.quotients import cofactors, determinant_factors, quotient
from kinetree.symbols.read import product, weightless
from kinetree.symbols.ring import Expression


class ReducedForms:
    """Constraints as polynomials, and the reduced equations as SymPy expressions.

    `given` has the equations as the robot has them, `closures` those in fixed axes.

    Args:
        presenter: writes polynomials as expressions.
        model: the tree of the robot, with polynomials.
        given: its constraints, with polynomials.
        q: joint positions, polynomials, (nq,).
        dq: joint rates, polynomials, (n,).
        M: mass matrix of the tree, polynomials, (n, n).
    """

    def __init__(
        self, presenter: Presenter, model: Model, given: Constraints, q: Array, dq: Array, M: Array
    ) -> None:
        self._presenter, self._model, self._given = presenter, model, given
        self._q, self._M = q, M
        self._rows = list(given.basis)
        self._tree: Tree = book_tree(model, q)
        self.names = [given.row_names[row] for row in self._rows]
        self.y = list(given.independent)
        rest = [d for d in range(model.n) if d not in self.y]
        self.given = self._constraints(dq, fixed=False)
        still = self._constraints(None, fixed=True)
        self.closures, self._J = still.Phi, still.J
        self._adjugate, self._D = cofactors(self._J[:, rest])
        self._P = self._rates(rest)
        self._dy = np.array([dq[d] for d in self.y], object)
        self._rest = rest

    def N(self) -> list[list[Expression]]:
        """Rates of all joints by the independent ones, (n, d)."""
        return self._quotients(self._P, 1)

    def M_r(self) -> list[list[Expression]]:
        """N^T M N, (d, d)."""
        return self._quotients(self._P.T @ self._M @ self._P, 2)

    def c_r(self) -> list[list[Expression]]:
        """N^T (M nu + c), (d, 1), with dq = N dy."""
        rates = self._P @ self._dy
        bent = self._adjugate @ self._constraints(rates, fixed=True).gamma
        Q = np.zeros(self._model.n, object)
        Q[self._rest] = -bent
        tree = weightless(self._model)
        c = dynamics.inverse_dynamics(tree, self._q, rates, zeros(self._model.n))
        numerator = self._P.T @ (self._M @ Q + self._D * np.asarray(c, object))
        return self._quotients(numerator[:, None], 4)

    def g_r(self) -> list[list[Expression]]:
        """N^T g, (d, 1)."""
        rest = zeros(self._model.n)
        g = np.asarray(dynamics.inverse_dynamics(self._model, self._q, rest, rest), object)
        return self._quotients((self._P.T @ g)[:, None], 1)

    def _constraints(self, dq: Array | None, *, fixed: bool) -> Constrained:
        """The independent equations; raise ModelError for one that is not a polynomial.

        fixed: in axes that are fixed in {s} where that is the same on the constraints.
        """
        equations: list[Constrained] = []
        for item in self._given.items:
            axes = self._fixed_axes(item) if fixed and isinstance(item, Closure) else None
            try:
                rows = tree_constraints(self._tree, [item], self._q, dq)
                if axes is not None and isinstance(item, Closure):
                    rows = self._in_axes(item, axes, rows, dq)
                equations.append(rows)
            except InputError as problem:
                raise ModelError(
                    f"constraint {item.name!r} of {self._model.name!r} has no closed form here: "
                    f"{problem} Closed forms exist for loops of kind 'point', for those of kind "
                    "'axis' and 'plane' whose axes stay parallel, as in planar mechanisms, for "
                    "couplings, and for rods whose length is a number. Replace a pose loop by one "
                    "of kind 'point', and a coupling that keeps the angle."
                ) from problem
        parts = zip(*((x.Phi, x.J, x.gamma) for x in equations), strict=True)
        Phi, J, gamma = (np.concatenate([np.asarray(x, object) for x in part]) for part in parts)
        return Constrained(Phi[self._rows], J[self._rows], gamma[self._rows])

    def _fixed_axes(self, item: Closure) -> Array | None:
        """Axes of frame_a at q = 0, (4, 4), if its turn mixes kept equations only; else None."""
        if item.kind not in ("point", "axis") or item.link_a == WORLD:
            return None
        home, k = item.T_a[:3, :3], item.link_a
        while k != WORLD:
            home, k = self._model.M_pi[k][:3, :3] @ home, self._model.parent[k]
        axes = pose(home, zeros(3))
        turned = replace(item, link_b=item.link_a, T_b=item.T_a, link_a=WORLD, T_a=axes)
        R = self._rotation(turned)
        for k, name in enumerate(item.row_names[-3:]):
            others = [j for j in range(3) if j != k]
            apart = R[k, k] == 1 and all(R[k, j] == 0 and R[j, k] == 0 for j in others)
            if name not in self.names and not apart:
                return None
        return axes

    def _rotation(self, item: Closure) -> Array:
        """R of frame_b in the axes of frame_a, where frame_a is fixed in {s}."""
        columns: list[Array] = []
        for e in np.eye(3, dtype=int):
            ends = [
                replace(item, kind="point", T_b=pose(np.eye(3, dtype=int), item.T_b[:3, :3] @ x))
                for x in (e, 0 * e)
            ]
            end, origin = (tree_constraints(self._tree, [x], self._q).Phi for x in ends)
            columns.append(end - origin)
        return np.array(columns, object).T

    def _in_axes(
        self, item: Closure, axes: Array, turning: Constrained, dq: Array | None
    ) -> Constrained:
        """The equations with their linear rows, the last three, in fixed axes."""
        sides = [
            replace(item, kind="point", link_a=WORLD, T_a=axes, link_b=link, T_b=T)
            for link, T in ((item.link_a, item.T_a), (item.link_b, item.T_b))
        ]
        a, b = (tree_constraints(self._tree, [x], self._q, dq) for x in sides)

        def rows(before: Array, x: Array, y: Array) -> Array:
            return np.concatenate([np.asarray(before, object)[:-3], np.asarray(y - x, object)])

        return Constrained(
            rows(turning.Phi, a.Phi, b.Phi),
            rows(turning.J, a.J, b.J),
            rows(turning.gamma, a.gamma, b.gamma),
        )

    def _rates(self, rest: Sequence[int]) -> Array:
        """P, (n, d)."""
        P = np.zeros((self._model.n, len(self.y)), object)
        P[list(rest)] = -(self._adjugate @ self._J[:, self.y])
        P[self.y] = np.eye(len(self.y), dtype=int).astype(object) * self._D
        return P

    def _quotients(self, numerators: Array, power: int) -> list[list[Expression]]:
        """Entries divided by D^power."""
        factors = determinant_factors(self._J[:, self._rest])
        same = product(factors) == self._D  # the factors leave the sign of D open
        sign = 1 if same or power % 2 == 0 else -1
        return [
            [quotient(self._presenter, x * sign, factors * power) for x in row]
            for row in np.asarray(numerators, object)
        ]
