"""LQR: the linear feedback of least quadratic cost, continuous and discrete.

The gains follow from the solution P of the algebraic Riccati equation, by SciPy.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.core.options import numbers
from kinetree.errors import InputError
from kinetree.model.contacts import check_no_contacts
from kinetree.robot import Robot

UNSTABLE = (
    "no feedback of these inputs makes the system stable at a least cost; expected a pair (A, B) "
    "whose unstable motions the inputs reach, and weights that see them."
)


@dataclass(frozen=True, eq=False)
class Regulator:
    """The feedback u = -K x and its cost x P x / 2.

    Args:
        K: gains, (m, n), units of u over those of x.
        P: solution of the Riccati equation, (n, n), units of the cost.
        poles: eigenvalues of the closed loop, (n,), 1/s; dimensionless if discrete.
    """

    K: Array
    P: Array
    poles: Array


def lqr(
    A: ArrayLike,
    B: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    N: ArrayLike | None = None,
    *,
    discrete: bool = False,
) -> Regulator:
    """Feedback of least cost for x' = A x + B u, or for x[k + 1] = A x[k] + B u[k].

    Args:
        A: (n, n), 1/s, or dimensionless if discrete.
        B: (n, m), units of x over those of u, 1/s.
        Q: weights of the states, (n, n), positive semidefinite, units of the cost.
        R: weights of the inputs, (m, m), positive definite, units of the cost.
        N: weights of x^T N u, (n, m), units of the cost, which is the integral or the sum of
            x Q x + 2 x N u + u R u; None: zero.
        discrete: x[k + 1] = A x[k] + B u[k], and a sum in place of the integral.

    Raises:
        InputError: the weights have no minimum, or no feedback makes the loop stable.
    """
    A, B, Q, R, N = _checked(A, B, Q, R, N)
    try:
        K, P = _gains(A, B, Q, R, N, discrete)
    except np.linalg.LinAlgError as problem:
        raise InputError(UNSTABLE) from problem
    poles = np.linalg.eigvals(A - B @ K)
    if not ((np.abs(poles) < 1) if discrete else (np.real(poles) < 0)).all():
        raise InputError(UNSTABLE)
    return Regulator(K, (P + P.T) / 2, poles)


def _gains(A: Array, B: Array, Q: Array, R: Array, N: Array, discrete: bool) -> tuple[Array, Array]:
    """K and P of least cost."""
    from scipy.linalg import solve_continuous_are, solve_discrete_are  # takes 0.1 s

    if discrete:
        P = solve_discrete_are(A, B, Q, R, s=N)
        return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A + N.T), P
    P = solve_continuous_are(A, B, Q, R, s=N)
    return np.linalg.solve(R, B.T @ P + N.T), P


def sampled(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, dt: float
) -> tuple[Array, Array, Array, Array, Array]:
    """The discrete problem of a continuous one whose inputs are held for dt.

    Args:
        A, B, Q, R: as in `lqr`.
        dt: time, s.

    Returns:
        A, B, Q, R and N of x[k + 1] = A x[k] + B u[k] with the same cost, for `lqr(discrete=True)`.
    """
    A, B, Q, R, _ = _checked(A, B, Q, R, None)
    if not (np.isfinite(dt) and dt > 0):
        raise InputError(f"dt is {dt!r}; expected a time > 0, in s.")
    n, m = B.shape
    motion = np.zeros((n + m, n + m))
    motion[:n] = np.concatenate([A, B], axis=1)
    weight = np.zeros((n + m, n + m))
    weight[:n, :n], weight[n:, n:] = Q, R
    # the integral of exp(M^T t) W exp(M t) stands in the exponential of [-M^T, W; 0, M]
    both = np.block([[-motion.T, weight], [np.zeros_like(motion), motion]]) * dt
    from scipy.linalg import expm

    exp = expm(both)
    step, integral = exp[n + m :, n + m :], exp[n + m :, n + m :].T @ exp[: n + m, n + m :]
    integral = (integral + integral.T) / 2
    return step[:n, :n], step[:n, n:], integral[:n, :n], integral[n:, n:], integral[:n, n:]


def regulate(
    robot: Robot,
    q: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    *,
    dq: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    dt: float | None = None,
) -> Regulator:
    """LQR of small deviations (dq, d dq) of a robot from a state at rest or from a motion.

    Args:
        robot: the robot.
        q: position, (nq,), rad or m.
        Q: weights of the deviations of q and dq, (2n, 2n), units of the cost.
        R: weights of the joint forces, (n, n), units of the cost.
        dq: rates, (n,), rad/s or m/s; None: at rest.
        tau: joint forces, (n,), N m or N; None: those that hold the state.
        dt: the forces are held for so long, s, with the cost of the continuous problem; None:
            continuous feedback.
    """
    check_no_contacts(robot.model, "regulate")
    rates = np.zeros(robot.n) if dq is None else np.asarray(dq, float)
    forces = robot.inverse_dynamics(q, rates, np.zeros(robot.n)) if tau is None else tau
    system = robot.linearize(np.asarray(q, float), rates, np.asarray(forces, float))
    if dt is None:
        return lqr(system.A, system.B, Q, R)
    A, B, Qd, Rd, N = sampled(system.A, system.B, Q, R, dt)
    return lqr(A, B, Qd, Rd, N, discrete=True)


def _checked(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, N: ArrayLike | None
) -> tuple[Array, Array, Array, Array, Array]:
    """The matrices as numbers of fitting shapes."""
    named = {"A": A, "B": B, "Q": Q, "R": R}
    a, b, q, r = (np.array(numbers(x, key, "a matrix of numbers")) for key, x in named.items())
    b = b[:, None] if b.ndim == 1 else b
    n, m = b.shape if b.ndim == 2 else (len(np.atleast_2d(a)), 0)
    shapes = {"A": (n, n), "B": (n, m), "Q": (n, n), "R": (m, m), "N": (n, m)}
    values = *map(np.atleast_2d, (a, b, q, r)), np.zeros((n, m)) if N is None else N
    A, B, Q, R, N = (array(x, shapes[key], key) for key, x in zip(shapes, values, strict=True))
    for name, x, least in (("Q", Q, -1e-10), ("R", R, 1e-14)):
        size = float(np.abs(x).max(initial=0)) or 1.0
        if np.abs(x - x.T).max(initial=0) > 1e-10 * size:
            raise InputError(f"{name} is not symmetric; expected a symmetric matrix.")
        if np.linalg.eigvalsh(x).min(initial=np.inf) < least * size:
            word = "positive definite" if name == "R" else "positive semidefinite"
            raise InputError(f"{name} is not {word}, so there is no least cost.")
    return A, B, Q, R, N
