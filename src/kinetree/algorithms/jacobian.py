"""Jacobians of links and frames, in body or space coordinates, and their time derivatives."""

from typing import Any

import numpy as np

from kinetree.algorithms.forward_kinematics import pose
from kinetree.algorithms.inputs import joint_vector
from kinetree.arrays import Array
from kinetree.model import WORLD, Model
from kinetree.spatial import Ad, ad, exp_se3, inverse


def link_jacobians(model: Model, q: Any) -> Array:
    """Body Jacobians of all links, (n, 6, n): V_i = J_i dq, the blocks of J(q) = L(q) A.

    J_i = Ad_ip J_p, and A_i in column i.
    """
    return _recur(model, joint_vector(model, q, "q"), np.zeros(model.n, int))[0]


def link_jacobian_rates(model: Model, q: Any, dq: Any) -> tuple[Array, Array]:
    """J_i and dJ_i/dt of all links, each (n, 6, n).

    dJ_i = Ad_ip dJ_p - ad(A_i dq_i) Ad_ip J_p.
    """
    return _recur(model, joint_vector(model, q, "q"), joint_vector(model, dq, "dq"))


def _recur(model: Model, q: Array, dq: Array) -> tuple[Array, Array]:
    J = {WORLD: np.zeros((6, model.n), int)}
    dJ = {WORLD: J[WORLD]}
    for i in model.links:
        p, A = model.parent[i], model.A[i]
        Ad_ip = Ad(exp_se3(A, -q[i]) @ model.M_ip[i])
        carried = Ad_ip @ J[p]
        J[i] = carried + np.outer(A, np.eye(model.n, dtype=int)[i])
        dJ[i] = Ad_ip @ dJ[p] - ad(A * dq[i]) @ carried
    shape = (model.n, 6, model.n)
    return tuple(np.array([x[i] for i in model.links]).reshape(shape) for x in (J, dJ))  # type: ignore[return-value]


def body_jacobian(model: Model, q: Any, frame: str | None = None) -> Array:
    """J_b of a frame (the tool when None), (6, n): its twist V_b = J_b dq in its own axes."""
    place = model.frame(frame)
    if place.link == WORLD:
        return np.zeros((6, model.n))
    return Ad(inverse(place.T_if)) @ link_jacobians(model, q)[place.link]


def space_jacobian(model: Model, q: Any, frame: str | None = None) -> Array:
    """J_s of a frame (the tool when None), (6, n): the same twist written in {s}."""
    return Ad(pose(model, q, frame)) @ body_jacobian(model, q, frame)


def body_jacobian_rate(model: Model, q: Any, dq: Any, frame: str | None = None) -> Array:
    """d J_b / dt, (6, n)."""
    place = model.frame(frame)
    if place.link == WORLD:
        return np.zeros((6, model.n))
    return Ad(inverse(place.T_if)) @ link_jacobian_rates(model, q, dq)[1][place.link]


def space_jacobian_rate(model: Model, q: Any, dq: Any, frame: str | None = None) -> Array:
    """d J_s / dt, (6, n): Ad_sb (dJ_b + ad(V_b) J_b)."""
    J, dJ = body_jacobian(model, q, frame), body_jacobian_rate(model, q, dq, frame)
    V_b = J @ joint_vector(model, dq, "dq")
    return Ad(pose(model, q, frame)) @ (dJ + ad(V_b) @ J)
