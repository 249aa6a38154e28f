"""A warning where the energy of a passive run rises, which only errors of the steps can do."""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import argument, warn
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.inputs import Input
from kinetree.simulate.core.run import Run
from kinetree.simulate.core.setup import Setup

RISE = 0.05  # of the energy at the start above the lowest potential energy reached
ROUNDING = 1e-9  # of the energies, which may be large beside what moves
LEAST_STEPS = 50  # a fall from rest by k steps of Euler's method is wrong by 1 / k of its energy
MOMENTS = 64  # evenly spaced over the motion: enough for an energy that keeps rising


def warn_of_energy_rise(run: Run, setup: Setup, motion: Trajectory) -> None:
    """Warn if the energy of a passive run, or of a rollout of a batch, rises by more than RISE."""
    if len(run.times) <= LEAST_STEPS or not is_passive(run, setup):
        return
    rise = energy_rise(run, motion)
    row = tuple(int(k) for k in np.unravel_index(np.argmax(rise), rise.shape))
    if rise[row] > RISE:
        which = f" in rollout {list(row)}, the worst of {rise.size}," if row else ""
        smaller = f"dt or {argument('method', 'DOP853')}" if run.fixed else "rtol"
        hint = f"Take a smaller {smaller}."
        warn(
            f"the energy of {run.model.name!r} rises by {rise[row]:.0%}{which} with method "
            f"{run.method_name!r}, although nothing acts that could raise it (relative to the "
            f"energy at the start above the lowest potential energy reached). {hint}"
        )


def is_passive(run: Run, setup: Setup) -> bool:
    """Return True if nothing can put energy into a robot, which may have friction and damping."""
    acting, rubbing = setup.acting, (*run.model.joints, *run.model.motors)
    return (
        run.model.contacts is None
        and acting.controller is None
        and all(_is_zero(x) for x in (acting.tau, acting.F_ext, acting.controls))
        and run.activation is run.drive_state is run.friction_state is None
        and all(x.friction.function is x.friction.sigmoid is None for x in rubbing)
    )


def _is_zero(source: Input | None) -> bool:
    return source is None or (source.constant is not None and not np.any(source.constant))


def energy_rise(run: Run, motion: Trajectory) -> Array:
    """The highest energy less that at the start, over that above the lowest potential, (...)."""
    parameters = run.parameters or {}
    rows = np.unique(np.linspace(0, len(motion.t) - 1, MOMENTS).astype(int))
    q, dq, data = motion.q[rows], motion.dq[rows], parameters.values()
    kinetic = kernel(run.model, "kinetic_energy", free=tuple(parameters))(q, dq, *data)
    potential = kernel(run.model, "potential_energy", free=tuple(parameters))(q, *data)
    with np.errstate(all="ignore"):  # energies may exceed the range of numbers
        energy = kinetic + potential
        rounding = ROUNDING * np.max(kinetic + abs(potential), 0)
        gain = np.max(energy, 0) - energy[0] - rounding
        scale = energy[0] - np.min(potential, 0) + rounding
        return np.where(gain > 0, gain / scale, 0)
