"""Case: a random state of a robot, quantities that many checks need, and sizes of terms.

An error is measured against the size of the terms that were added, not of their sum: terms that
cancel leave their rounding error.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.joints.friction import frictionless, load_friction_forces
from kinetree.base.arrays import Array, ArrayLike
from kinetree.model import Model
from kinetree.model.inputs import per_link
from kinetree.robot import Robot
from kinetree.spatial import skew

EPS = float(np.finfo(float).eps)


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
        return algorithms.mass_matrix(self.model, self.q)

    @cached_property
    def J(self) -> Array:
        """Body Jacobians of all links, (links, 6, n)."""
        return algorithms.link_jacobians(self.model, self.q)

    @cached_property
    def tau(self) -> Array:
        """Joint forces of the motion under the wrenches, (n,)."""
        return algorithms.inverse_dynamics(self.model, self.q, self.dq, self.ddq, self.F_ext)

    @cached_property
    def tau_alone(self) -> Array:
        """Joint forces of the motion without wrenches, (n,)."""
        return algorithms.inverse_dynamics(self.model, self.q, self.dq, self.ddq)

    @cached_property
    def friction(self) -> Array:
        """Friction of the motion under the wrenches, load friction included, (n,)."""
        model, state = self.model, (self.q, self.dq, self.ddq)
        load = algorithms.inverse_dynamics(frictionless(model), *state, self.F_ext)
        more = load_friction_forces(model, self.dq, load)
        return algorithms.friction_forces(model, self.dq) + more

    @cached_property
    def scatter(self) -> float:
        """Largest change of ddq if every term at every joint were rounded with eps = 1.

        Size of |M^-1| (|M ddq| + |C dq| + |g| + |springs| + |friction| + |J^T F|), each term by its
        own joint: the light joints at the end of a heavy robot have small terms. Raises an error
        that names the joint if M is singular.
        """
        model, q, dq = self.model, self.q, self.dq
        rest = np.zeros(model.n)
        algorithms.forward_dynamics(model, q, rest, rest)
        terms = np.abs(self.M) @ np.abs(self.ddq) + self.joint_weights + self.joint_pushes
        terms = terms + np.abs(algorithms.coriolis_matrix(model, q, dq)) @ np.abs(dq)
        terms = terms + np.abs(self.friction) + self.joint_springs
        return size(np.abs(np.linalg.inv(self.M)) @ terms)

    @cached_property
    def condition(self) -> float:
        """cond(M) in the 2-norm."""
        return float(np.linalg.cond(self.M))

    @cached_property
    def joint_weights(self) -> Array:
        """Terms of g, (n,): each link's weight times its lever at each joint, N m or N."""
        f = np.abs(self.model.m) * np.linalg.norm(self.model.gravity[3:])
        J, com = self.J, self.model.com
        levers = [J[i][3:] - skew(com[i]) @ J[i][:3] for i in self.model.links]
        return f @ np.linalg.norm(levers, axis=1)

    @cached_property
    def joint_springs(self) -> Array:
        """Terms of the forces of springs, (n,): each with its position and rest apart."""
        terms = np.zeros(self.model.n)
        for x in self.model.springs:
            arms = np.abs(np.array(x.arms, float))
            far = arms @ np.abs(self.q[list(x.coords)]) + abs(float(x.rest))
            terms[list(x.dofs)] += float(x.stiffness) * far * arms
        return terms

    @cached_property
    def spring_energy(self) -> float:
        """Size of the terms of the energy in the springs, J."""
        energy = 0.0
        for x in self.model.springs:
            far = float(np.abs(np.array(x.arms, float)) @ np.abs(self.q[list(x.coords)]))
            energy += float(x.stiffness) * (far + abs(float(x.rest))) ** 2 / 2
        return energy

    @property
    def weights(self) -> float:
        """Size of the terms of g."""
        return size(self.joint_weights)

    @cached_property
    def heights(self) -> float:
        """Size of the terms of the potential energy, J, springs included."""
        T = algorithms.forward_kinematics(self.model, self.q)
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
        q = algorithms.random(model, rng)
        dq, ddq = rng.normal(size=(2, model.n))
        push = rng.normal(size=(len(model.links), 6)) * 10
        F_ext = np.array([G @ x for G, x in zip(model.G, push, strict=True)]).reshape(-1, 6)
        cases.append(Case(robot, k, q, dq, ddq, F_ext))
    return cases
