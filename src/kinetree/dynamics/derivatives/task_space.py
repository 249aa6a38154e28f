"""Derivatives of task-space dynamics, F = Lambda dV + eta, by q and dq.

The columns of a frame's Jacobian are screws c_a. Moving along joint b turns and shifts those that
it carries, d c_a/d b = w_ab ad(c_a) c_b, with weights w: in the frame's own axes 1 where b lies
beyond a, in {s} -1 where it does not. With e = dJ/dt dq, and J_bar = M^-1 J^T Lambda,

    d Lambda = J_bar^T dM J_bar - Lambda dJ J_bar - (Lambda dJ J_bar)^T
    d J_bar  = M^-1 (dJ^T Lambda + J^T d Lambda - dM J_bar)
    d eta    = d J_bar^T h + J_bar^T dh - d Lambda e - Lambda de
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from kinetree.dynamics.frames import frame_motions, point_columns
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.task_space import task_space_at_state
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree, placed_tree, weightless
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.documented import documented
from kinetree.model.inputs import coordinates, rates, zeros
from kinetree.model.quantity import check_expressed, task_rows
from kinetree.spatial import cross
from kinetree.spatial.matrices import factor, solve

SIDES = ("body", "space")  # axes that slopes exist for


@dataclass(frozen=True, eq=False)
class TaskSpaceDerivatives:
    """Derivatives of k task coordinates; q is moved along tangent vectors.

    Args:
        dJ_dq: d J/d q, shape (..., k, n, n), the last axis counts q; units of J per rad or m.
        dLambda_dq: d Lambda/d q, shape (..., k, k, n), units of Lambda per rad or m.
        deta_dq: d eta/d q, shape (..., k, n), N m/rad or the like.
        deta_dv: d eta/d dq, shape (..., k, n), N m s/rad or the like.
    """

    dJ_dq: Array
    dLambda_dq: Array
    deta_dq: Array
    deta_dv: Array


@documented
def task_space_derivatives(
    model: Model,
    q: StateLike,
    dq: StateLike,
    *,
    frame: str | None = None,
    expressed: str = "body",
    rows: Sequence[int] | None = None,
) -> TaskSpaceDerivatives:
    """Partial derivatives of J, Lambda(q) and eta(q, dq); arguments as in `task_space`.

    Args:
        expressed: "body" or "space": the axes and reference point of twist and wrench.
        rows: which of the six coordinates (three angular, three linear) make the task; None: all.

    Raises:
        InputError: more rows than the robot has degrees of freedom: the subspace to which Lambda
            belongs would change with q.
        SingularityError: J has lost rank.
    """
    q, dq = coordinates(model, q), rates(model, dq, "dq")
    check_expressed(expressed, SIDES)
    # raises an error where J is singular
    task_space_at_state(model, q, dq, frame=frame, expressed=expressed, rows=rows)
    chosen = check_rows(model, rows)
    terms = tree_terms(book_tree(model, q), dq)
    return TaskSpaceDerivatives(*task_slopes(model, terms, q, dq, frame, expressed, chosen))


def check_rows(model: Model, rows: Sequence[int] | None) -> list[int]:
    """The rows of a task, at most as many as the robot has degrees of freedom."""
    chosen = task_rows(rows)
    if len(chosen) > model.n:
        raise InputError(
            f"the task has {len(chosen)} rows but {model.name!r} only {model.n} degrees of "
            f"freedom; choose {model.n} rows at most, such as rows=(3, 4, 5)."
        )
    return chosen


class Terms(NamedTuple):
    """M, h = c + g + springs + friction, and slopes: dM/dq (n, n, n), dh/dq and dh/d dq (n, n)."""

    M: Array
    h: Array
    dM_dq: Array
    dh_dq: Array
    dh_dv: Array


def tree_terms(tree: Tree, dq: Array) -> Terms:
    """The terms of a tree, over any scalars."""
    rest = zeros(tree.model.n)
    slopes = inverse_dynamics_derivatives(tree, dq, rest)
    M, h = mass_matrix(tree), inverse_dynamics(tree, dq, rest)
    return Terms(M, h, mass_matrix_slopes(weightless(tree)), *slopes)


def task_slopes(
    model: Model,
    terms: Terms,
    q: Array,
    dq: Array,
    frame: str | None,
    expressed: str,
    rows: Sequence[int],
) -> tuple[Array, Array, Array, Array]:
    """dJ/dq, dLambda/dq, deta/dq and deta/d dq over any scalars, where J has full rank."""
    n, k, chosen = model.n, len(rows), list(rows)
    moving = screws(model, q, frame, expressed)
    J = (moving[0] @ moving[2])[chosen]
    dJ, e, de_dq, de_dv = (x[chosen] for x in jacobian_slopes(*moving, dq, expressed))
    M, h, dM, dh_dq, dh_dv = factor_mass_matrix(model, terms.M), *terms[1:]
    Minv_Jt = solve(M, J.T)
    names = [f"row {row} of the task" for row in chosen]
    L = solve(factor(J @ Minv_Jt, names), np.eye(k, dtype=int))
    J_bar = Minv_Jt @ L
    half = [L @ (dJ[:, :, j] @ J_bar) for j in range(n)]
    dL = [J_bar.T @ (dM[:, :, j] @ J_bar) - half[j] - half[j].T for j in range(n)]
    a = solve(M, h)  # h^T d J_bar is a^T (dJ^T Lambda + J^T d Lambda - dM J_bar)
    moved = [L @ (dJ[:, :, j] @ a) - J_bar.T @ (dM[:, :, j] @ a) for j in range(n)]
    turned = [moved[j] + dL[j] @ (J @ a - e) for j in range(n)]
    deta_dq = np.array(turned).T + J_bar.T @ dh_dq - L @ de_dq
    return dJ, np.stack(dL, -1), deta_dq, J_bar.T @ dh_dv - L @ de_dv


def jacobian_slopes(
    c: Array, order: Array, S: Array, dq: Array, expressed: str
) -> tuple[Array, Array, Array, Array]:
    """dJ/dq, (6, n, n), e = dJ/dt dq, (6,), and its slopes by q and dq, each (6, n).

    c, order, S: from `screws`.
    """
    beyond = (order[None, :] > order[:, None]).astype(int)  # a, b: whether b lies beyond a
    w = beyond if expressed == "body" else beyond - 1
    G = bracket(c[:, :, None], c[:, None, :]) * w  # d c_a/d b
    v = S @ dq
    dJ = (G @ S).swapaxes(1, 2) @ S
    e = (G @ v) @ v
    other = (c * v) @ w.T  # of each a: what is carried, w_ab v_b c_b
    turned = ((G * v[:, None]).swapaxes(1, 2) @ w.T).swapaxes(1, 2)  # w_ab v_b d c_b
    turning = bracket(G, other[:, :, None]) + bracket(c[:, :, None], turned)
    by_q = np.array([v @ part for part in turning]) @ S
    by_dq = (G @ v + v @ G) @ S
    return dJ.swapaxes(1, 2), e, by_q, by_dq


def bracket(x: Array, y: Array) -> Array:
    """ad(x) y of twists along the first axis."""
    turn, shift = cross(x[:3], y[:3]), cross(x[:3], y[3:]) + cross(x[3:], y[:3])
    return np.concatenate([turn, shift])


def screws(model: Model, q: Array, frame: str | None, expressed: str) -> tuple[Array, Array, Array]:
    """Twists of the frame for unit rates of each joint on its way, (6, m).

    Also the place of their joints on the way, (m,), and S, (m, n), from dq to rates of the screws.
    """
    tree, place = placed_tree(model, q), model.frame(frame)
    way = tree.path_inward(place.link)[::-1]
    frames = frame_motions(tree, None, way)
    R, point = np.eye(3, dtype=int), zeros(3)
    if expressed == "body":
        here = frames[place.link].at(place.T_if[:3, 3])
        R, point = here.R @ place.T_if[:3, :3], here.p
    twists, order, dofs = [], [], []
    for number, j in enumerate(way):
        for d, w, v in point_columns(tree, frames, [j], point):
            twists.append(np.concatenate([R.T @ w, R.T @ v]))
            order.append(number)
            dofs.append(d)
    return np.array(twists).reshape(-1, 6).T, np.array(order, int), np.eye(model.n, dtype=int)[dofs]


def mass_matrix_slopes(tree: Tree) -> Array:
    """dM/dq, (n, n, n), the last axis counts q: M e_j is inverse dynamics at rest, weightless."""
    n = tree.model.n
    columns = [inverse_dynamics_derivatives(tree, zeros(n), row)[0] for row in np.eye(n, dtype=int)]
    return np.array(columns).transpose(1, 0, 2)
