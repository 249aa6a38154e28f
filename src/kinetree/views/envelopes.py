"""Torque envelopes: what holding still and moving at full speed ask of every joint, over q."""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE
from kinetree.errors import InputError
from kinetree.motion.bounds import Bounds, bounds_of
from kinetree.robot import Robot

SEED = 8


@dataclass(frozen=True, eq=False)
class Envelopes:
    """Ranges (2, n) of joint forces, lowest and highest, over random positions.

    held: gravity alone. moving: every joint at its speed limit, no acceleration, friction included;
    None where no joint has a speed limit. driven: joints that a motor moves, by their index in dq.
    tool: positions of the tool, (N, 3). tau: the holding forces, (N, n).
    """

    bounds: Bounds
    driven: tuple[int, ...]
    held: Array
    moving: Array | None
    tool: Array
    tau: Array

    @property
    def load(self) -> Array | None:
        """Largest share of a joint's effort limit at each position, (N,); None without limits."""
        own = [k for k in self.driven if np.isfinite(self.bounds.effort[k])]
        if not own:
            return None
        return np.max(np.abs(self.tau[:, own]) / self.bounds.effort[own], axis=1)


def envelopes(robot: Robot, samples: int = 2000) -> Envelopes:
    """Envelopes over random positions within the limits; a free base stays where it is."""
    if samples < 1:
        raise InputError(f"samples is {samples}; expected 1 or more random positions.")
    model, rng = robot.model, np.random.default_rng(SEED)
    q = np.array([robot.random(rng) for _ in range(samples)])
    bounds, floating = bounds_of(model), []
    for joint in model.joints:
        if joint.type == FREE:
            q[:, list(joint.coords)] = robot.neutral()[list(joint.coords)]
            floating += joint.dofs
    tau = without_rounding(robot.gravity_forces(q))
    moving = None
    if np.isfinite(bounds.velocity).any():
        speed = np.where(np.isfinite(bounds.velocity), bounds.velocity, 0.0)
        dq = rng.choice([-1.0, 1.0], tau.shape) * speed
        forces = without_rounding(robot.inverse_dynamics(q, dq, np.zeros_like(dq)))
        moving = np.array([forces.min(axis=0), forces.max(axis=0)])
    return Envelopes(
        bounds=bounds,
        driven=tuple(k for k in range(model.n) if k not in floating),
        held=np.array([tau.min(axis=0), tau.max(axis=0)]),
        moving=moving,
        tool=robot.pose(q)[:, :3, 3],
        tau=tau,
    )


def without_rounding(tau: Array) -> Array:
    """Forces (N, n) with zeros where only rounding of the largest ones is left."""
    return np.where(np.abs(tau) < 1e-12 * np.abs(tau).max(initial=0.0), 0.0, tau)
