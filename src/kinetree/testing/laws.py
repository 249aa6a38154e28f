"""Laws of mechanics that every robot satisfies, whatever its numbers."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.joints.friction import load_friction_forces
from kinetree.algorithms.textbook.newton_euler import factor_mass_matrix
from kinetree.base.arrays import Array
from kinetree.errors import SingularityError
from kinetree.spatial import unskew
from kinetree.testing.case import EPS, Case, size
from kinetree.testing.check import (
    Check,
    Measured,
    NotApplicable,
    differences,
    inverting,
    ratio,
    rounding,
)

GROUP = "laws"
STEP = EPS ** (1 / 7)  # of differences: truncation h^6 equals rounding eps / h
Value = TypeVar("Value", float, Array)


def derivative(f: Callable[[float], Value], rate: float = 1.0) -> Value:
    """f'(0) by central differences of order six.

    rate: how fast f changes, in 1 / unit of its argument; a rate below 1 counts as 1.
    """
    h = STEP / max(rate, 1.0)
    near, middle, far = ((f(k * h) - f(-k * h)) for k in (1, 2, 3))
    return (45 * near - 9 * middle + far) / (60 * h)


def symmetric(case: Case) -> Measured:
    """M = M^T, by composite bodies and by Jacobians (the former mirrors its blocks by design)."""
    M = algorithms.mass_matrix_by_jacobians(case.model, case.q)
    error = max(size(M - M.T), size(case.M - case.M.T))
    return rounding(case, error, size(M))


def positive_definite(case: Case) -> Measured:
    """The smallest eigenvalue of M, its diagonal scaled to 1, is positive."""
    M = (case.M + case.M.T) / 2
    n = len(M)
    limit = 8 * n * EPS
    d = np.sqrt(np.maximum(np.diag(M), 0))
    d = np.where(d > 0, d, 1)
    smallest = float(np.linalg.eigvalsh(M / np.outer(d, d))[0])
    if smallest >= -limit:
        try:
            factor_mass_matrix(case.model, case.M)
        except SingularityError as error:
            raise NotApplicable(f"M is singular: {error}") from None
    return Measured(max(-smallest, 0.0), limit, f"rounding of the eigenvalues of {n} rows")


def skew(case: Case) -> Measured:
    """N = dM/dt - 2 C is skew-symmetric."""
    dM = algorithms.mass_matrix_rate(case.model, case.q, case.dq)
    N = dM - 2 * algorithms.coriolis_matrix(case.model, case.q, case.dq)
    return rounding(case, N + N.T, size(case.M) * (case.turning + size(case.dq)))


def mass_matrix_rate(case: Case) -> Measured:
    """dM/dt in closed form is the derivative of M along dq."""

    def M(t: float) -> Array:
        return algorithms.mass_matrix(
            case.model, algorithms.integrate(case.model, case.q, case.dq * t)
        )

    rate = 2 * case.turning + size(case.dq)
    error = algorithms.mass_matrix_rate(case.model, case.q, case.dq) - derivative(M, rate)
    return differences(error, size(case.M) * max(rate, 1))


def gravity_gradient(case: Case) -> Measured:
    """g and springs are the gradient of the potential energy along every degree of freedom."""
    gradient: list[float] = []
    for e in np.eye(case.model.n):

        def U(t: float, e: Array = e) -> float:
            return algorithms.potential_energy(
                case.model, algorithms.integrate(case.model, case.q, e * t)
            )

        gradient.append(derivative(U, case.turning_at(e)))
    error = algorithms.gravity_forces(case.model, case.q) - np.array(gradient)
    error = error + algorithms.spring_forces(case.model, case.q)
    return differences(error, case.weights + size(case.joint_springs) + case.heights)


def gravity_both_ways(case: Case) -> Measured:
    """An upward acceleration of the base and weights on all links give the same forces."""
    error = algorithms.gravity_forces(case.model, case.q)
    error = error - algorithms.gravity_forces_by_wrenches(case.model, case.q)
    return rounding(case, error, case.weights)


def power(case: Case) -> Measured:
    """Power in = rate of energy + power lost in friction - power of the wrenches."""
    model, q, dq, ddq = case.model, case.q, case.dq, case.ddq

    def energy(t: float) -> float:
        q_t, dq_t = algorithms.integrate(model, q, dq * t), dq + ddq * t
        return algorithms.kinetic_energy(model, q_t, dq_t) + algorithms.potential_energy(model, q_t)

    rate = 2 * case.turning + size(dq) + size(ddq)
    friction = case.friction * dq
    brought = sum(case.F_ext[i] @ case.J[i] @ dq for i in model.links)
    error = case.tau @ dq - derivative(energy, rate) - friction.sum() + brought
    stored = (size(case.M) * size(dq) ** 2 + case.heights) * max(rate, 1)
    return differences(error, stored + (case.forces + case.pushes) * size(dq))


def kinetic_energy(case: Case) -> Measured:
    """The energies of all links add up to dq^T M dq / 2."""
    error = algorithms.kinetic_energy(case.model, case.q, case.dq)
    error = error - case.dq @ case.M @ case.dq / 2
    return rounding(case, error, float(np.abs(case.dq) @ np.abs(case.M) @ np.abs(case.dq)) / 2)


def sum_of_terms(case: Case) -> Measured:
    """The recursion gives M ddq + C dq + g + springs + friction - J^T F_ext."""
    model, q, dq = case.model, case.q, case.dq
    tau = case.M @ case.ddq + algorithms.coriolis_matrix(model, q, dq) @ dq
    tau = tau + algorithms.gravity_forces(model, q)
    tau = tau + algorithms.spring_forces(model, q)
    tau = tau - sum(case.J[i].T @ case.F_ext[i] for i in model.links)
    tau = tau + algorithms.friction_forces(model, dq) + load_friction_forces(model, dq, tau)
    return rounding(case, case.tau - tau, case.forces + case.pushes)


def undone(case: Case) -> Measured:
    """Forward dynamics returns the accelerations that inverse dynamics was given."""
    ddq = algorithms.forward_dynamics(case.model, case.q, case.dq, case.tau, case.F_ext)
    return inverting(case, ddq - case.ddq)


def jacobian(case: Case) -> Measured:
    """J_b of the tool is the twist that differences of its pose give, column by column."""
    model, q = case.model, case.q
    T_sb = algorithms.pose(model, q)
    R_bs = T_sb[:3, :3].T
    J = algorithms.body_jacobian(model, q)
    worst, scale = 0.0, size(J) + size(T_sb[:3, 3])
    for k, e in enumerate(np.eye(model.n)):

        def pose(t: float, e: Array = e) -> Array:
            return algorithms.pose(model, algorithms.integrate(model, q, e * t))

        rate = max(case.turning_at(e), 1)
        dT = R_bs @ derivative(pose, rate)[:3]
        twist = np.concatenate([unskew((dT[:, :3] - dT[:, :3].T) / 2), dT[:, 3]])
        worst = max(worst, ratio(J[:, k] - twist, scale * rate))
    return differences(worst, 1.0)


LAWS = [
    Check(GROUP, "M is symmetric", symmetric),
    Check(GROUP, "M is positive definite", positive_definite),
    Check(GROUP, "dM/dt is the derivative of M", mass_matrix_rate),
    Check(GROUP, "dM/dt - 2 C is skew-symmetric", skew),
    Check(GROUP, "g + springs is the gradient of the potential energy", gravity_gradient),
    Check(GROUP, "g is the same by acceleration and by weights", gravity_both_ways),
    Check(GROUP, "kinetic energy is dq M dq / 2", kinetic_energy),
    Check(GROUP, "power in = rate of energy + friction - wrenches", power),
    Check(GROUP, "tau = M ddq + C dq + g + springs + friction - J^T F", sum_of_terms),
    Check(GROUP, "forward dynamics undoes inverse dynamics", undone, inverts=True),
    Check(GROUP, "J_b of the tool is the derivative of its pose", jacobian),
]
