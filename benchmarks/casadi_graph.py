"""Dynamics of a Pinocchio model over CasADi symbols: the graph that a careful user writes down.

Newton-Euler, composite bodies and a sparse factorisation in 3-vectors, apart from kinetree's
algorithms; equal subexpressions are shared.
"""

from types import SimpleNamespace
from typing import Any

import casadi
import numpy as np
import pinocchio as pin
from casadi import DM, SX, cross, dot


def function_of(model: Any, quantity: str) -> Any:
    """The function "f" of q, and of dq and ddq or tau, in Pinocchio's order of joints."""
    n = model.nv
    q, dq, last = (SX.sym(letter, n) for letter in ("q", "dq", "x"))
    links, g = links_of(model, q), model.gravity.linear
    arguments = [q] if quantity == "mass_matrix" else [q, dq, last]
    if quantity == "mass_matrix":
        found = [casadi.densify(mass_matrix(links))]
    elif quantity == "inverse_dynamics":
        found = [newton_euler(links, g, dq, last)]
    elif quantity == "forward_dynamics":
        h = newton_euler(links, g, dq, SX.zeros(n))
        found = [solve_tree(mass_matrix(links), last - h)]
    else:
        tau = newton_euler(links, g, dq, last)
        found = [casadi.densify(casadi.jacobian(tau, x)) for x in (q, dq)]
    return casadi.Function("f", arguments, casadi.cse(found))


def links_of(model: Any, q: Any) -> list[SimpleNamespace]:
    """Links with revolute or prismatic joints: constants, and the rotation R and origin o."""
    data, links = model.createData(), []
    for j in range(1, model.njoints):
        S = pin.computeJointJacobian(model, data, pin.neutral(model), j)[:, j - 1]
        turns, M, Y = bool(S[3:].any()), model.jointPlacements[j], model.inertias[j]
        a, x = sparse(S[3:] if turns else S[:3]), q[j - 1]
        R, o = sparse(M.rotation), SX(sparse(M.translation))
        if turns:
            around = a @ a.T
            R = R @ (around + casadi.cos(x) * (DM.eye(3) - around) + casadi.sin(x) * skew(a))
        else:
            o = o + R @ a * x
        c = pin.skew(Y.lever)
        links.append(SimpleNamespace(
            parent=model.parents[j] - 1, turns=turns, a=a, R=SX(R), o=o, m=Y.mass,
            h=SX(DM(Y.mass * Y.lever)), I=SX(DM(Y.inertia - Y.mass * c @ c)),
        ))  # fmt: skip
    return links


def sparse(x: Any) -> Any:
    """Constants without the zeros and the rounding errors of right angles."""
    return casadi.sparsify(DM(np.where(abs(x) < 1e-11, 0.0, x)))


def skew(x: Any) -> Any:
    """The matrix of a cross product, without zeros."""
    return casadi.sparsify(casadi.skew(x))


def newton_euler(links: list[Any], gravity: Any, dq: Any, ddq: Any) -> Any:
    """Joint forces."""
    w, dw, a, W, tau = [], [], [], [], [None] * len(links)
    f, moment = [], []
    for i, k in enumerate(links):
        p, Rt, rate = k.parent, k.R.T, k.a * dq[i]
        root = p < 0
        w_p = SX(3, 1) if root else Rt @ w[p]
        turned = SX(3, 1) if root else Rt @ dw[p]
        lifted = Rt @ (SX(DM(-gravity)) if root else a[p] + W[p] @ k.o)
        w.append(w_p + rate if k.turns else w_p)
        dw.append(turned + k.a * ddq[i] + cross(w_p, rate) if k.turns else turned)
        a.append(lifted if k.turns else lifted + k.a * ddq[i] + 2 * cross(w_p, rate))
        W.append(skew(dw[i]) + symmetric(w[i] @ w[i].T) - dot(w[i], w[i]) * SX.eye(3))
        f.append(k.m * a[i] + W[i] @ k.h)
        moment.append(k.I @ dw[i] + cross(w[i], k.I @ w[i]) + cross(k.h, a[i]))
    for i, k in reversed(list(enumerate(links))):
        tau[i] = dot(k.a, moment[i] if k.turns else f[i])
        if k.parent >= 0:
            force = k.R @ f[i]
            f[k.parent] += force
            moment[k.parent] += k.R @ moment[i] + cross(k.o, force)
    return casadi.vertcat(*tau)


def symmetric(x: Any) -> Any:
    """Of a symmetric matrix, each entry once."""
    return casadi.tril2symm(casadi.tril(x))


def mass_matrix(links: list[Any]) -> Any:
    """Composite bodies: mass m, first moment h and inertia I about the origin of each link."""
    m, h, I = ([getattr(k, name) for k in links] for name in ("m", "h", "I"))
    M = SX(len(links), len(links))
    for i, k in reversed(list(enumerate(links))):
        f = cross(k.a, h[i]) if k.turns else k.a * m[i]
        moment = I[i] @ k.a if k.turns else cross(h[i], k.a)
        j = i
        while j >= 0:
            x = links[j]
            M[i, j] = M[j, i] = dot(x.a, moment if x.turns else f)
            f = x.R @ f
            moment, j = x.R @ moment + cross(x.o, f), x.parent
        p = k.parent
        if p >= 0:
            moved = k.R @ h[i]
            both = m[i] * k.o + moved
            shift = (dot(k.o, both) + dot(k.o, moved)) * SX.eye(3) - both @ k.o.T - k.o @ moved.T
            m[p], h[p] = m[p] + m[i], h[p] + both
            I[p] = I[p] + symmetric(k.R @ I[i] @ k.R.T + shift)
    return M


def solve_tree(M: Any, b: Any) -> Any:
    """M^-1 b by L D L^T from the leaves on, where the zeros of a tree stay zeros."""
    back = list(reversed(range(b.numel())))
    D, LT, p = casadi.ldl(M[back, back], False)
    return casadi.ldl_solve(b[back], D, LT, p)[back]
