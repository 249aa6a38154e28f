"""Laws of mechanics, agreement of algorithms, and kernels, each as an error at one state.

A law is a function of a `Case`, a random state of a robot with the quantities that many checks
need. It returns a `Measured`: its error relative to the size of the terms that were added, not of
their sum (terms that cancel leave their rounding error), and the limit that rounding, or the
truncation of differences, explains. `CHECKS` is the table of the laws; `carry_out` takes one over
all states.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike
from kinetree.dynamics.joints.friction import frictionless
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.quantities import DECLARED
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.errors import SingularityError
from kinetree.model import JointSpring, Model
from kinetree.model.inputs import per_link
from kinetree.robot import Robot
from kinetree.spatial import skew as skew_matrix
from kinetree.spatial import unskew
from kinetree.testing.report import FAILED, PASSED, SKIPPED, CheckLine

EPS = float(np.finfo(float).eps)
LAWS, AGREEMENT, KERNEL_GROUP = "laws", "agreement", "kernels"
OPERATIONS = 4  # rounding errors that a link may add to a result, in norm; one is typical
DIFFERENCES = 60  # truncation and rounding of a difference of order six, in units of eps^(6/7)
STEP = EPS ** (1 / 7)  # of differences: truncation h^6 equals rounding eps / h
Value = TypeVar("Value", float, Array)


def size(x: ArrayLike) -> float:
    """Norm of all entries; infinite unless they are all finite."""
    x = np.asarray(x, float)
    return float(np.linalg.norm(x)) if np.isfinite(x).all() else np.inf


@dataclass(frozen=True, eq=False)
class Case:
    """State number `index` of a robot: a motion, and a wrench onto every link."""

    robot: Robot
    index: int
    q: Array
    dq: Array
    ddq: Array
    F_ext: Array

    @property
    def model(self) -> Model:
        """The robot's data."""
        return self.robot.model

    @cached_property
    def M(self) -> Array:
        """Mass matrix by composite bodies, (n, n)."""
        return dynamics.mass_matrix(self.model, self.q)

    @cached_property
    def J(self) -> Array:
        """Body Jacobians of all links, (links, 6, n)."""
        return dynamics.link_jacobians(self.model, self.q)

    @cached_property
    def springs(self) -> Springs:
        """The springs at q."""
        return Springs(self.model, self.q)

    @cached_property
    def tau(self) -> Array:
        """Joint forces of the motion under the wrenches, (n,)."""
        return dynamics.inverse_dynamics(self.model, self.q, self.dq, self.ddq, self.F_ext)

    @cached_property
    def tau_alone(self) -> Array:
        """Joint forces of the motion without wrenches, (n,)."""
        return dynamics.inverse_dynamics(self.model, self.q, self.dq, self.ddq)

    @cached_property
    def friction(self) -> Array:
        """Friction of the motion, (n,)."""
        return dynamics.friction_forces(self.model, self.dq)

    @cached_property
    def scatter(self) -> float:
        """Largest change of ddq if every term at every joint were rounded with eps = 1.

        Size of |M^-1| (|M ddq| + |C dq| + |g| + |springs| + |friction| + |J^T F|), each term by its
        own joint: the light joints at the end of a heavy robot have small terms. Raises an error
        that names the joint if M is singular.
        """
        model, q, dq = self.model, self.q, self.dq
        rest = np.zeros(model.n)
        dynamics.forward_dynamics(model, q, rest, rest)
        terms = np.abs(self.M) @ np.abs(self.ddq) + self.joint_weights + self.joint_pushes
        terms = terms + np.abs(dynamics.coriolis_matrix(model, q, dq)) @ np.abs(dq)
        terms = terms + np.abs(self.friction) + self.joint_springs
        return size(np.abs(np.linalg.inv(self.M)) @ terms)

    @cached_property
    def joint_weights(self) -> Array:
        """Terms of g, (n,): each link's weight times its lever at each joint, N m or N."""
        f = np.abs(self.model.m) * np.linalg.norm(self.model.gravity[3:])
        J, com = self.J, self.model.com
        levers = [J[i][3:] - skew_matrix(com[i]) @ J[i][:3] for i in self.model.links]
        return f @ np.linalg.norm(levers, axis=1)

    @cached_property
    def joint_springs(self) -> Array:
        """Terms of the forces of springs, (n,): each with its position and rest apart."""
        terms = np.zeros(self.model.n)
        for x in self.model.springs:
            pull = self.springs.state(x)
            for d, arm in pull.arms.items():
                terms[d] += float(x.stiffness) * self._reach(x) * abs(float(arm))
        return terms

    def _reach(self, x: JointSpring) -> float:
        """Size of the terms of the extension of a spring, rad or m."""
        far = np.abs(np.array(x.arms, float)) @ np.abs(self.q[list(x.coords)])
        if x.points:
            far = float(self.springs.state(x).x)
        return float(far) + abs(float(x.rest))

    @cached_property
    def spring_energy(self) -> float:
        """Size of the terms of the energy in the springs, J."""
        energy = 0.0
        for x in self.model.springs:
            energy += float(x.stiffness) * self._reach(x) ** 2 / 2
        return energy

    @property
    def weights(self) -> float:
        """Size of the terms of g."""
        return size(self.joint_weights)

    @cached_property
    def heights(self) -> float:
        """Size of the terms of the potential energy, J, springs included."""
        T = dynamics.forward_kinematics(self.model, self.q)
        x = [T[i][:3, :3] @ self.model.com[i] + T[i][:3, 3] for i in self.model.links]
        far = np.array([np.linalg.norm(x_i) for x_i in x])
        g = float(np.linalg.norm(self.model.gravity[3:]))
        m, com, _ = self.model.base
        weight = float(np.abs(self.model.m) @ far + abs(float(m)) * np.linalg.norm(com)) * g
        return weight + self.spring_energy

    @cached_property
    def forces(self) -> float:
        """Size of the terms of tau without wrenches: of motion, gravity, friction and springs."""
        rate = size(self.dq)
        moving = size(self.M) * (size(self.ddq) + rate * (self.turning + rate))
        still = self.weights + size(self.joint_springs)
        return moving + still + size(self.friction)

    @cached_property
    def joint_pushes(self) -> Array:
        """Terms of J^T F_ext, (n,)."""
        parts = [np.abs(self.J[i]).T @ np.abs(self.F_ext[i]) for i in self.model.links]
        return np.sum(parts, axis=0)

    @property
    def pushes(self) -> float:
        """Size of the terms of J^T F_ext."""
        return size(self.joint_pushes)

    @cached_property
    def turning(self) -> float:
        """Upper bound of the angular speed of any link, rad/s: the sum along its path."""
        return self.turning_at(self.dq)

    def turning_at(self, dq: Array) -> float:
        """`turning` for other rates."""
        model, own = self.model, per_link(self.model, dq)
        turn = [float(np.linalg.norm((model.A[i] @ own[i])[:3])) for i in model.links]
        return max((sum(turn[j] for j in model.path(i)) for i in model.links), default=0.0)


def random_cases(robot: Robot, states: int, seed: int) -> list[Case]:
    """States within the limits; wrenches that would accelerate each link by about 10 m/s^2."""
    rng = np.random.default_rng(seed)
    model = robot.model
    cases: list[Case] = []
    for k in range(states):
        q = dynamics.random(model, rng)
        dq, ddq = rng.normal(size=(2, model.n))
        push = rng.normal(size=(len(model.links), 6)) * 10
        F_ext = np.array([G @ x for G, x in zip(model.G, push, strict=True)]).reshape(-1, 6)
        cases.append(Case(robot, k, q, dq, ddq, F_ext))
    return cases


class NotApplicable(Exception):
    """The law does not apply to this robot; the message is the reason."""


@dataclass(frozen=True)
class Measured:
    """An error relative to the compared terms, its limit, and the origin of the limit."""

    error: float
    limit: float
    origin: str


@dataclass(frozen=True)
class Check:
    """A law of `group`, measured at one state; `inverts` is True if it needs an inverse of M."""

    group: str
    law: str
    measure: Callable[[Case], Measured]
    inverts: bool = False


def ratio(error: ArrayLike, scale: float) -> float:
    """Size of the error over the scale; 0 / 0 is 0."""
    length = size(error)
    if length == 0:
        return 0.0
    return length / scale if scale > 0 else float("inf")


def rounding(case: Case, error: ArrayLike, scale: float) -> Measured:
    """An error that only rounding may cause; `scale` is the size of the terms."""
    links = len(case.model.links)
    limit = OPERATIONS * (links + 4) * EPS
    return Measured(ratio(error, scale), limit, f"rounding over {links} links")


def differences(error: ArrayLike, scale: float) -> Measured:
    """An error that also contains the truncation of differences of order six."""
    limit = DIFFERENCES * EPS ** (6 / 7)
    return Measured(ratio(error, scale), limit, "differences of order 6: eps^(6/7)")


def inverting(case: Case, error: ArrayLike) -> Measured:
    """An error of accelerations, in which M^-1 magnifies the rounding of the joint forces."""
    plain = rounding(case, error, size(case.ddq))
    limit = plain.limit * case.scatter / size(case.ddq)
    return Measured(plain.error, limit, "rounding through M^-1")


def derivative(f: Callable[[float], Value], rate: float = 1.0) -> Value:
    """f'(0) by central differences of order six.

    rate: how fast f changes, in 1 / unit of its argument; a rate below 1 counts as 1.
    """
    h = STEP / max(rate, 1.0)
    near, middle, far = ((f(k * h) - f(-k * h)) for k in (1, 2, 3))
    return (45 * near - 9 * middle + far) / (60 * h)


def symmetric(case: Case) -> Measured:
    """M = M^T, by composite bodies and by Jacobians (the former mirrors its blocks by design)."""
    M = dynamics.mass_matrix_by_jacobians(case.model, case.q)
    return rounding(case, max(size(M - M.T), size(case.M - case.M.T)), size(M))


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
    dM = dynamics.mass_matrix_rate(case.model, case.q, case.dq)
    N = dM - 2 * dynamics.coriolis_matrix(case.model, case.q, case.dq)
    return rounding(case, N + N.T, size(case.M) * (case.turning + size(case.dq)))


def mass_matrix_rate(case: Case) -> Measured:
    """dM/dt in closed form is the derivative of M along dq."""

    def M(t: float) -> Array:
        q_t = dynamics.integrate(case.model, case.q, case.dq * t)
        return dynamics.mass_matrix(case.model, q_t)

    rate = 2 * case.turning + size(case.dq)
    error = dynamics.mass_matrix_rate(case.model, case.q, case.dq) - derivative(M, rate)
    return differences(error, size(case.M) * max(rate, 1))


def gravity_gradient(case: Case) -> Measured:
    """g and springs are the gradient of the potential energy along every degree of freedom."""

    def U(t: float, e: Array) -> float:
        q_t = dynamics.integrate(case.model, case.q, e * t)
        return dynamics.potential_energy(case.model, q_t)

    axes = np.eye(case.model.n)
    gradient = np.array([derivative(partial(U, e=e), case.turning_at(e)) for e in axes])
    g = dynamics.gravity_forces(case.model, case.q)
    error = g - gradient + dynamics.spring_forces(case.model, case.q)
    return differences(error, case.weights + size(case.joint_springs) + case.heights)


def gravity_both_ways(case: Case) -> Measured:
    """An upward acceleration of the base and weights on all links give the same forces."""
    g = dynamics.gravity_forces(case.model, case.q)
    by_weights = dynamics.gravity_forces_by_wrenches(case.model, case.q)
    return rounding(case, g - by_weights, case.weights)


def power(case: Case) -> Measured:
    """Power in = rate of energy + power lost in friction - power of the wrenches."""
    model, q, dq, ddq = case.model, case.q, case.dq, case.ddq

    def energy(t: float) -> float:
        q_t, dq_t = dynamics.integrate(model, q, dq * t), dq + ddq * t
        return dynamics.kinetic_energy(model, q_t, dq_t) + dynamics.potential_energy(model, q_t)

    rate = 2 * case.turning + size(dq) + size(ddq)
    friction = case.friction * dq
    pushed = sum(case.F_ext[i] @ case.J[i] @ dq for i in model.links)
    error = case.tau @ dq - derivative(energy, rate) - friction.sum() + pushed
    stored = (size(case.M) * size(dq) ** 2 + case.heights) * max(rate, 1)
    return differences(error, stored + (case.forces + case.pushes) * size(dq))


def kinetic_energy(case: Case) -> Measured:
    """The energies of all links add up to dq^T M dq / 2."""
    by_links = dynamics.kinetic_energy(case.model, case.q, case.dq)
    scale = float(np.abs(case.dq) @ np.abs(case.M) @ np.abs(case.dq)) / 2
    return rounding(case, by_links - case.dq @ case.M @ case.dq / 2, scale)


def sum_of_terms(case: Case) -> Measured:
    """The recursion gives M ddq + C dq + g + springs + friction - J^T F_ext."""
    model, q, dq = case.model, case.q, case.dq
    tau = case.M @ case.ddq + dynamics.coriolis_matrix(model, q, dq) @ dq
    tau = tau + dynamics.gravity_forces(model, q)
    tau = tau + dynamics.spring_forces(model, q)
    tau = tau - sum(case.J[i].T @ case.F_ext[i] for i in model.links)
    tau = tau + dynamics.friction_forces(model, dq)
    return rounding(case, case.tau - tau, case.forces + case.pushes)


def undone(case: Case) -> Measured:
    """Forward dynamics returns the accelerations that inverse dynamics was given."""
    ddq = dynamics.forward_dynamics(case.model, case.q, case.dq, case.tau, case.F_ext)
    return inverting(case, ddq - case.ddq)


def jacobian(case: Case) -> Measured:
    """J_b of the tool is the twist that differences of its pose give, column by column."""
    model, q = case.model, case.q

    def pose(t: float, e: Array) -> Array:
        return dynamics.pose(model, dynamics.integrate(model, q, e * t))

    T_sb = dynamics.pose(model, q)
    J = dynamics.body_jacobian(model, q)
    worst, scale = 0.0, size(J) + size(T_sb[:3, 3])
    for k, e in enumerate(np.eye(model.n)):
        rate = max(case.turning_at(e), 1)
        dT = T_sb[:3, :3].T @ derivative(partial(pose, e=e), rate)[:3]
        twist = np.concatenate([unskew((dT[:, :3] - dT[:, :3].T) / 2), dT[:, 3]])
        worst = max(worst, ratio(J[:, k] - twist, scale * rate))
    return differences(worst, 1.0)


def retraction(case: Case) -> Measured:
    """The difference from q to q moved by a step is the step."""
    step = case.dq / max(size(case.dq), 1)  # below half a turn
    moved = dynamics.integrate(case.model, case.q, step)
    found = dynamics.difference(case.model, case.q, moved)
    return rounding(case, found - step, size(step) + size(case.q))


def linear(case: Case) -> Measured:
    """Y times the parameters is tau, apart from friction that has no parameters in pi."""
    model = frictionless(case.model)
    Y, pi = dynamics.regressor(model, case.q, case.dq, case.ddq), dynamics.parameters(model)
    tau = dynamics.inverse_dynamics(model, case.q, case.dq, case.ddq)
    return rounding(case, Y @ pi - tau, size(np.abs(Y) @ np.abs(pi)))


def slope_of_tau(case: Case) -> Measured:
    """d tau/d q, under wrenches, is the derivative of tau along every degree of freedom."""
    model = frictionless(case.model)
    rest = case.dq, case.ddq, case.F_ext

    def tau(t: float, e: Array) -> Array:
        q_t = dynamics.integrate(model, case.q, e * t)
        return dynamics.inverse_dynamics(model, q_t, *rest)

    axes = np.eye(model.n)
    rates = [2 * max(case.turning_at(e), 1) for e in axes]
    slopes = [derivative(partial(tau, e=e), r) for e, r in zip(axes, rates, strict=True)]
    found = dynamics.inverse_dynamics_derivatives(model, case.q, *rest)[0]
    scale = case.forces + case.pushes + case.heights
    return differences(found - np.transpose(slopes), scale * max(rates, default=1))


def formulation(case: Case, name: str) -> Measured:
    """Compare tau of a formulation of the book with that of the Tree, under wrenches."""
    tau = dynamics.inverse_dynamics(
        case.model, case.q, case.dq, case.ddq, case.F_ext, formulation=name
    )
    return rounding(case, tau - case.tau, case.forces + case.pushes)


def other_mass_matrix(case: Case, way: str) -> Measured:
    """Compare M of another algorithm with that of composite bodies."""
    other = getattr(dynamics, f"mass_matrix_by_{way.lower().replace(' ', '_')}")
    return rounding(case, other(case.model, case.q) - case.M, size(case.M))


def other_accelerations(case: Case, way: str) -> Measured:
    """Compare ddq of another algorithm with that of composite bodies."""
    follower = next((joint.name for joint in case.model.joints if joint.follows is not None), None)
    if follower is not None and way == "articulated bodies":
        raise NotApplicable(
            f"joint {follower!r} follows another, which this algorithm does not support"
        )
    state = case.model, case.q, case.dq, case.tau, case.F_ext
    other = getattr(dynamics, f"forward_dynamics_by_{way.replace(' ', '_')}")
    return inverting(case, other(*state) - dynamics.forward_dynamics(*state))


CHECKS = [
    Check(LAWS, "M is symmetric", symmetric),
    Check(LAWS, "M is positive definite", positive_definite),
    Check(LAWS, "dM/dt is the derivative of M", mass_matrix_rate),
    Check(LAWS, "dM/dt - 2 C is skew-symmetric", skew),
    Check(LAWS, "g + springs is the gradient of the potential energy", gravity_gradient),
    Check(LAWS, "g is the same by acceleration and by weights", gravity_both_ways),
    Check(LAWS, "kinetic energy is dq M dq / 2", kinetic_energy),
    Check(LAWS, "power in = rate of energy + friction - wrenches", power),
    Check(LAWS, "tau = M ddq + C dq + g + springs + friction - J^T F", sum_of_terms),
    Check(LAWS, "forward dynamics undoes inverse dynamics", undone, inverts=True),
    Check(LAWS, "J_b of the tool is the derivative of its pose", jacobian),
    Check(LAWS, "difference undoes integrate", retraction),
    Check(LAWS, "tau is linear in the parameters", linear),
    Check(LAWS, "d tau/d q is the derivative of tau", slope_of_tau),
    *(
        Check(AGREEMENT, f"tau: {name} formulation = Tree", partial(formulation, name=name))
        for name in dynamics.FORMULATIONS
    ),
    *(
        Check(AGREEMENT, f"M: {way} = composite bodies", partial(other_mass_matrix, way=way))
        for way in ("Jacobians", "inverse dynamics")
    ),
    *(
        Check(
            AGREEMENT, f"ddq: {way} = composite bodies", partial(other_accelerations, way=way), True
        )
        for way in ("inverse dynamics", "articulated bodies")
    ),
]


# kernels that are compared, with the size of their terms; None: it inverts M
KERNELS: dict[str, Callable[[Case], float] | None] = {
    "inverse_dynamics": lambda case: case.forces,
    "inverse_dynamics with F_ext": lambda case: case.forces + case.pushes,
    "forward_dynamics": None,
    "mass_matrix": lambda case: size(case.M),
    "coriolis_matrix": lambda case: size(case.M) * (case.turning + size(case.dq)),
    "gravity_forces": lambda case: case.weights,
    "bias_forces": lambda case: case.forces,
    "spring_forces": lambda case: size(case.joint_springs),
    "body_jacobian": lambda case: size(dynamics.body_jacobian(case.model, case.q)),
    "space_jacobian": lambda case: size(dynamics.space_jacobian(case.model, case.q)),
    "kinetic_energy": lambda case: size(case.M) * size(case.dq) ** 2,
    "potential_energy": lambda case: case.heights,
}


def kernel_checks(robot: Robot, cases: Sequence[Case], names: Sequence[str]) -> list[Check]:
    """One check for each kernel of KERNELS in `names`."""
    batches: dict[str, Array] = {}

    def measure(case: Case, name: str) -> Measured:
        """Compare a kernel, called for one state and for all, with the direct evaluation."""
        quantity, _, wrenches = name.partition(" with ")
        inputs = (*DECLARED[quantity].inputs, *wrenches.split())
        columns = [[x.tau_alone if y == "tau" else getattr(x, y) for x in cases] for y in inputs]
        arguments = [column[case.index] for column in columns]
        direct = getattr(dynamics, quantity)(case.model, *arguments)
        alone = robot.compile(quantity)(*arguments)
        if np.shape(alone) != np.shape(direct):
            raise TypeError(f"the kernel gave shape {np.shape(alone)}, expected {np.shape(direct)}")
        if name not in batches:
            batches[name] = robot.compile(quantity)(*map(np.array, columns))
        error = max(size(alone - direct), size(batches[name][case.index] - direct))
        scale = KERNELS[name]
        return inverting(case, error) if scale is None else rounding(case, error, scale(case))

    return [
        Check(KERNEL_GROUP, f"robot.{name}", partial(measure, name=name), KERNELS[name] is None)
        for name in names
    ]


def carry_out(check: Check, cases: Sequence[Case], factor: float) -> CheckLine:
    """The line of a check: its worst state, or the reason why it was skipped or failed."""
    line = partial(CheckLine, check.group, check.law)
    worst, worst_line = -1.0, line(SKIPPED, reason="no states")
    try:
        for case in cases:
            measured = check.measure(case)
            limit = measured.limit * factor
            share = 0.0 if measured.error == 0 else measured.error / max(limit, 1e-300)
            if share > worst:
                status = PASSED if measured.error <= limit else FAILED
                worst_line = line(status, measured.error, limit, measured.origin, case.index)
                worst = share
    except NotApplicable as reason:
        return line(SKIPPED, reason=str(reason))
    except SingularityError as error:
        return line(SKIPPED if check.inverts else FAILED, reason=str(error))
    except Exception as error:  # a check that cannot be carried out is a finding, not a crash
        return line(FAILED, reason=f"raised {type(error).__name__}: {error}")
    return worst_line
