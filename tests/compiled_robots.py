"""Every quantity that can be compiled: its arguments, its textbook form and the size of its terms.

Errors are norm-wise, relative to the terms that add up: |M ddq| + |c| + |g| + |springs|
+ |b| + |J^T F| for tau.
A sum may cancel to nothing, and no arithmetic can then know its digits. Where the sum runs over
links, the terms are bounded by norms: |J| m |g| for a weight. Forward dynamics solves
M ddq = tau - h, so the errors of both sides, |M| |ddq| + |tau| + |h|, are magnified by |M^-1|.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinetree import dynamics, spatial
from kinetree.dynamics.quantities import DECLARED
from kinetree.model import WORLD, Model, zeros
from robot_states import State, random_state, size


def textbook(model: Model, name: str, given: list[Any], frame: str | None = None) -> Any:
    """The quantity by the algorithms, on numbers of any kind."""
    if name == "bias_forces":  # with or without wrenches
        q, dq, *loads = given
        return dynamics.inverse_dynamics(model, q, dq, zeros(model.n), *loads)
    function = getattr(dynamics, "forward_kinematics" if name == "link_poses" else name)
    return function(model, *given, *([frame] if DECLARED[name].framed else []))


def arguments(name: str, wrenches: bool, x: State) -> list[Any]:
    """The arguments of a quantity from a state."""
    known = {"q": x.q, "dq": x.dq, "ddq": x.ddq, "tau": 10 * x.ddq[::-1]}
    return [*(known[key] for key in DECLARED[name].inputs), *([x.F_ext] if wrenches else [])]


@dataclass(frozen=True, eq=False)
class Terms:
    """A state of a robot and how large the terms of each quantity are there."""

    model: Model
    x: State

    @classmethod
    def at(cls, model: Model, seed: int) -> "Terms":
        return cls(model, random_state(model, seed))

    def of(self, name: str, wrenches: bool = False, frame: str | None = None) -> float:
        """The size of what adds up to the quantity."""
        model, q, dq = self.model, self.x.q, self.x.dq
        push = self.push if wrenches else 0.0
        weights = np.linalg.norm(model.gravity) * model.m
        if name in ("pose", "link_poses", "mass_matrix", "body_jacobian", "space_jacobian"):
            return size(textbook(model, name, [q], frame))
        if name in ("body_jacobian_rate", "space_jacobian_rate"):
            J = textbook(model, name.removesuffix("_rate"), [q], frame)
            return size(J) * size(dq) * max(1.0, size(J))
        if name == "friction_forces":
            return size(dynamics.friction_forces(model, dq))
        if name == "spring_forces":
            return self.pull
        if name == "kinetic_energy":
            return size(dq) ** 2 * size(self.M) / 2
        if name == "potential_energy":
            return self.moment * np.linalg.norm(model.gravity) + self.pull * (1 + size(q))
        if name == "center_of_mass":
            return self.moment / dynamics.total_mass(model)
        if name == "momentum":
            return self.momentum
        if name == "centroidal_momentum":
            return self.momentum * (1 + self.moment / dynamics.total_mass(model))
        if name == "gravity_forces":
            return sum(size(J) * w for J, w in zip(self.J, weights, strict=True))
        if name in ("coriolis_matrix", "mass_matrix_rate"):
            return self.coriolis
        if name == "coriolis_forces":
            return self.coriolis * size(dq)
        if name == "bias_forces":
            return self.bias + push
        if name == "inverse_dynamics":
            return size(self.M @ self.x.ddq) + self.bias + push
        assert name == "forward_dynamics"
        ddq = textbook(model, name, arguments(name, wrenches, self.x))
        tau = arguments(name, wrenches, self.x)[2]
        sides = size(self.M) * size(ddq) + size(tau) + self.bias + push
        return sides * float(np.linalg.norm(np.linalg.inv(self.M), 2))

    @cached_property
    def M(self) -> Any:
        return dynamics.mass_matrix(self.model, self.x.q)

    @cached_property
    def J(self) -> Any:
        return dynamics.link_jacobians(self.model, self.x.q)

    @cached_property
    def bias(self) -> float:
        """|c| + |g| + |springs| + |b|."""
        model, (q, dq, _) = self.model, self.x.motion
        c, g = dynamics.coriolis_forces(model, q, dq), dynamics.gravity_forces(model, q)
        return size(c) + size(g) + self.pull + size(dynamics.friction_forces(model, dq))

    @cached_property
    def pull(self) -> float:
        """Sum over the springs of |k| |a| (|a| |q| + |rest|)."""
        found = 0.0
        for spring in self.model.springs:
            arms, q = size(np.array(spring.arms, float)), size(self.x.q[list(spring.coords)])
            found += spring.stiffness * arms * (arms * q + abs(spring.rest))
        return found

    @cached_property
    def push(self) -> float:
        """|J^T F_ext|."""
        return size(sum(J.T @ F for J, F in zip(self.J, self.x.F_ext, strict=True)))

    @cached_property
    def coriolis(self) -> float:
        """Sum over the links of |J| (|G| |dJ| + |V| |G| |J|), and the same of the rotors."""
        state, links = (self.x.q, self.x.dq), self.model.link_names
        dJ = [dynamics.body_jacobian_rate(self.model, *state, frame=link) for link in links]
        G = [size(G) for G in self.model.G]
        for rotor in self.model.rotors:
            if rotor.link != WORLD:
                G[rotor.link] += abs(rotor.inertia * rotor.ratio)
        links = zip(self.J, dJ, G, strict=True)
        return sum(size(j) * g * (size(d) + size(j @ self.x.dq) * size(j)) for j, d, g in links)

    @cached_property
    def moment(self) -> float:
        """Sum of m |x|, kg m."""
        T_si = dynamics.forward_kinematics(self.model, self.x.q)
        links = zip(self.model.m, T_si, self.model.com, strict=True)
        own = sum(m * (size(T[:3, 3]) + size(com)) for m, T, com in links)
        return own + self.model.base[0] * size(self.model.base[1])

    @cached_property
    def momentum(self) -> float:
        """Sum of |Ad^T| |G| |V|, and the spin of the rotors."""
        T_si, dq = dynamics.forward_kinematics(self.model, self.x.q), self.x.dq
        links = zip(T_si, self.model.G, self.J, strict=True)
        own = sum(
            size(spatial.Ad(spatial.inverse(T))) * size(G) * size(J @ dq) for T, G, J in links
        )
        return own + sum(abs(r.inertia * r.ratio * dq[r.dof]) for r in self.model.rotors)
