"""Derivatives of task-space dynamics, F = Lambda dV + eta, by q and dq.

The columns of a frame's Jacobian are screws c_a. Moving along joint b turns and shifts those that
it carries, d c_a/d b = w_ab ad(c_a) c_b, with weights w: in the frame's own axes 1 where b lies
beyond a, in {s} -1 where it does not. With e = dJ/dt dq, and J_bar = M^-1 J^T Lambda,

    d Lambda = J_bar^T dM J_bar - Lambda dJ J_bar - (Lambda dJ J_bar)^T
    d J_bar  = M^-1 (dJ^T Lambda + J^T d Lambda - dM J_bar)
    d eta    = d(J_bar^T h) - d(Lambda e)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from kinetree.algorithms.drives import frictionless
from kinetree.algorithms.forward_kinematics import forward_kinematics, pose
from kinetree.algorithms.gravity_forces import bias_forces
from kinetree.algorithms.inputs import coordinates, rates
from kinetree.algorithms.mass_matrix import mass_matrix
from kinetree.algorithms.task_space import task_space
from kinetree.arrays import Array
from kinetree.errors import InputError
from kinetree.model import WORLD, Model
from kinetree.spatial import Ad, ad, inverse

BRACKET = np.array([ad(e) for e in np.eye(6)]).transpose(1, 0, 2)  # ad(x) y = BRACKET x y


@dataclass(frozen=True, eq=False)
class TaskSpaceDerivatives:
    """Slopes of k task coordinates, q along tangent vectors.

    dJ_dq: (k, n, n), the last axis counts q. dLambda_dq: (k, k, n). deta_dq, deta_dv: (k, n), by q
    and by dq.
    """

    dJ_dq: Array
    dLambda_dq: Array
    deta_dq: Array
    deta_dv: Array


def task_space_derivatives(
    model: Model,
    q: Any,
    dq: Any,
    *,
    frame: str | None = None,
    expressed: str = "body",
    rows: Sequence[int] | None = None,
) -> TaskSpaceDerivatives:
    """Partial derivatives of J, Lambda(q) and eta(q, dq); arguments as in `task_space`.

    Raises:
        InputError: more rows than the robot has degrees of freedom: Lambda then belongs to a
            subspace that turns.
        SingularityError: J has lost rank.
    """
    task = task_space(model, q, dq, frame=frame, expressed=expressed, rows=rows)
    q, dq = np.asarray(coordinates(model, q), float), np.asarray(rates(model, dq, "dq"), float)
    k, n = task.J.shape
    if k > n:
        raise InputError(
            f"the task has {k} rows but {model.name!r} only {n} degrees of freedom; choose "
            f"{n} rows at most, such as rows=(3, 4, 5)."
        )
    chosen = list(range(6)) if rows is None else list(rows)
    dJ, e, de_dq, de_dv = (x[chosen] for x in jacobian_slopes(model, q, dq, frame, expressed))
    M, dM = np.asarray(mass_matrix(model, q), float), mass_matrix_slopes(model, q)
    h = np.asarray(bias_forces(model, q, dq), float)
    dh_dq, dh_dv = inverse_dynamics_derivatives(model, q, dq, np.zeros(n))
    L, J_bar = task.Lambda, task.J_bar
    half = np.einsum("ab,bij,ic->acj", L, dJ, J_bar)
    dL = np.einsum("ia,ijk,jb->abk", J_bar, dM, J_bar) - half - half.swapaxes(0, 1)
    right = np.einsum("bik,ba->iak", dJ, L) + np.einsum("bi,bak->iak", task.J, dL)
    right = right - np.einsum("ijk,ja->iak", dM, J_bar)
    dJ_bar = np.linalg.solve(M, right.reshape(n, -1)).reshape(n, k, n)
    deta_dq = np.einsum("iak,i->ak", dJ_bar, h) + J_bar.T @ dh_dq
    deta_dq = deta_dq - np.einsum("abk,b->ak", dL, e) - L @ de_dq
    return TaskSpaceDerivatives(dJ, dL, deta_dq, J_bar.T @ dh_dv - L @ de_dv)


def jacobian_slopes(
    model: Model, q: Array, dq: Array, frame: str | None, expressed: str
) -> tuple[Array, Array, Array, Array]:
    """dJ/dq, (6, n, n), e = dJ/dt dq, (6,), and its slopes by q and dq, each (6, n)."""
    c, order, S = screws(model, q, frame, expressed)
    beyond = order[None, :] > order[:, None]  # a, b: whether b lies beyond a
    w = beyond.astype(float) if expressed == "body" else beyond - 1.0
    G = w * np.einsum("ijk,ja,kb->iab", BRACKET, c, c)  # d c_a/d b
    v = S @ dq
    first = np.einsum("ijk,jac,kb->iabc", BRACKET, G, c)
    second = np.einsum("ijk,ja,kbc->iabc", BRACKET, c, G)
    turning = np.einsum("ab,iabc,a,b->ic", w, first + second, v, v)
    dJ = np.einsum("iab,aj,bk->ijk", G, S, S)
    e = np.einsum("iab,a,b->i", G, v, v)
    return dJ, e, turning @ S, np.einsum("iab,b->ia", G + G.swapaxes(1, 2), v) @ S


def screws(model: Model, q: Array, frame: str | None, expressed: str) -> tuple[Array, Array, Array]:
    """Twists of the frame for unit rates of each joint on its way, (6, m).

    Also the place of their joints on the way, (m,), and S, (m, n), from dq to rates of the screws.
    """
    place = model.frame(frame)
    poses, found, order, dofs = forward_kinematics(model, q), [], [], []
    seen_from = inverse(pose(model, q, frame)) if expressed == "body" else np.eye(4)
    for number, i in enumerate(model.path(place.link) if place.link != WORLD else ()):
        columns = Ad(seen_from @ poses[i]) @ model.A[i]
        found += list(np.asarray(columns, float).T)
        order += [number] * columns.shape[1]
        dofs += list(model.joints[i].dofs)
    return np.array(found).reshape(-1, 6).T, np.array(order), np.eye(model.n)[dofs]


def mass_matrix_slopes(model: Model, q: Array) -> Array:
    """dM/dq, (n, n, n), the last axis counts q: M e_j is inverse dynamics at rest, weightless."""
    still, rest = frictionless(model).with_gravity(np.zeros(3)), np.zeros(model.n)
    columns = [inverse_dynamics_derivatives(still, q, rest, e)[0] for e in np.eye(model.n)]
    return np.array(columns, float).transpose(1, 0, 2)
