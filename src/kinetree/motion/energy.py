"""The energy balance of a motion: energy, work of the joint forces, and friction losses."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.engine.kernels.memo import kernel
from kinetree.model import HasModel, Model
from kinetree.motion.curve.splines import cubic_spline
from kinetree.motion.inputs import model_for
from kinetree.motion.record import Record


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """Energies over time, (T, ...), J: kinetic + potential = start + work - losses + defect.

    work: of the joint forces since the start. losses: to joint friction since the start.
    The defect is what the samples do not explain: integration errors, external wrenches, and held
    forces that change between the samples.

    Args:
        t: times, shape (T,), s.
        kinetic: kinetic energy, shape (T, ...), J.
        potential: potential energy, shape (T, ...), J.
        work: work of the joint forces since the start, shape (T, ...), J.
        losses: energy lost to joint friction since the start, shape (T, ...), J.
    """

    t: Array
    kinetic: Array
    potential: Array
    work: Array
    losses: Array

    @property
    def total(self) -> Array:
        """Kinetic and potential energy, (T, ...)."""
        return self.kinetic + self.potential

    @property
    def defect(self) -> Array:
        """Total energy less its start, work and losses, (T, ...)."""
        return self.total - self.total[:1] - self.work + self.losses

    def __repr__(self) -> str:
        return (
            f"EnergyBalance(work {np.max(np.abs(self.work)):.6g} J, peak kinetic "
            f"{np.max(self.kinetic):.6g} J, defect {np.max(np.abs(self.defect)):.2g} J)"
        )


@typed
def energy_balance(trajectory: Record, robot: Model | HasModel | None = None) -> EnergyBalance:
    """Energies of the motion, with tau of the trajectory, or of inverse dynamics without one.

    Work and losses are integrals of the spline through the power at the samples, exact to h^4 of
    a smooth motion. Forces that are held from sample to sample, `meta["tau_held"]`, do the work
    tau_k (q_k+1 - q_k). robot: None is the robot that the trajectory was made with.

    Args:
        trajectory: a motion, or a batch.
        robot: the robot; None: the one that the trajectory was made with.
    """
    model = model_for(trajectory, robot, "the energy")
    q, dq = trajectory.q, trajectory.dq
    tau = joint_forces(trajectory, model)
    friction = kernel(model, "friction_forces")(dq)
    return EnergyBalance(
        trajectory.t,
        kernel(model, "kinetic_energy")(q, dq),
        kernel(model, "potential_energy")(q),
        work_of(tau, trajectory, model),
        integral(trajectory.t, np.sum(friction * dq, axis=-1)),
    )


def work_of(tau: Array, trajectory: Record, model: Model) -> Array:
    """Work of joint forces since the start, (T, ...)."""
    t, q, dq = trajectory.t, trajectory.q, trajectory.dq
    if not trajectory.meta.get("tau_held"):
        return integral(t, np.sum(tau * dq, axis=-1))
    moved = np.diff(integral(t, dq), axis=0)
    for joint in model.joints:
        if len(joint.coords) == 1 and joint.follows is None:
            moved[..., joint.dofs[0]] = np.diff(q[..., joint.coords[0]], axis=0)
    parts = np.sum(tau[:-1] * moved, axis=-1)
    return np.concatenate([np.zeros((1, *parts.shape[1:])), np.cumsum(parts, axis=0)])


def joint_forces(trajectory: Record, model: Model) -> Array:
    """tau of the trajectory, or of inverse dynamics if it has none, (T, ..., n)."""
    if trajectory.tau is not None:
        return trajectory.tau
    return kernel(model, "inverse_dynamics")(trajectory.q, trajectory.dq, trajectory.ddq)


def integral(t: Array, x: Array) -> Array:
    """Running integral along the first axis, 0 at the start, of the spline through the samples."""
    if len(t) < 2:
        return np.zeros_like(x)
    return cubic_spline(t, x).antiderivative()(t)
