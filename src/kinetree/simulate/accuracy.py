"""The accuracy of a motion: the error of fixed steps, and energy that rises where nothing acts.

Step doubling: the motion is computed again with steps of 2 dt. If the error of a method of order p
is C dt^p, the difference of both motions is (2^p - 1) times the error of the finer one. Of a batch,
the rollout that ends fastest is judged. There is no estimate where steps of 2 dt are another
motion: contacts, digital controllers, delays, and on a GPU.

Energy: only errors of the steps let the energy of a passive run rise.
"""

from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.progress import Progress
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import argument, warn
from kinetree.model.bounds import bounds_of
from kinetree.model.units import kinds
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.fixed import FixedSteps
from kinetree.simulate.inputs import Input
from kinetree.simulate.options import Run
from kinetree.simulate.result import Outcome
from kinetree.simulate.setup import Setup

JUDGED_STEPS = 8  # of a run: fewer have no range to compare with
LARGE_ERROR = 1e-4  # of the range of the motion: a larger error is a warning
SMALL_ERROR = 1e-10  # rad or m: smaller errors are not reported

FAST = 50  # times the limit of velocity; limp arms that fall reach a few times theirs
RISE = 0.05  # of the energy at the start above the lowest potential energy reached
ENERGY_ROUNDING = 1e-9  # of the energies, which may be large beside what moves
ENERGY_STEPS = 50  # a fall from rest by k steps of Euler's method is wrong by 1 / k of its energy
MOMENTS = 64  # evenly spaced over the motion: enough for an energy that keeps rising


def step_error(run: Run, setup: Setup, loop: FixedSteps, outcome: Outcome) -> Array | None:
    """The estimated largest error of each entry of q over the motion, (nq,); None: no estimate."""
    actuation = setup.acting.actuation
    delayed = actuation is not None and bool(
        actuation.drive_delays or any(actuation.control_delays)
    )
    unlike = run.model.contacts is not None or setup.sampling is not None
    steps = len(outcome.times) - 1
    unlike |= bool((outcome.first >= 0).any())  # ended, or beyond a limit
    if unlike or delayed or run.halts or steps < JUDGED_STEPS:
        return None
    row = int(np.argmax(np.nan_to_num(np.abs(outcome.records["dq"][-1]).max(-1))))
    h = float(run.times[1])
    watched = "record" if run.ending else run.limits  # as compiled, without an end
    double = replace(run, dt=2 * h, every=None, limits=watched)
    doubled = loop.run(double, setup, Progress("", 0.0, False), row)
    _, fine, coarse = np.intersect1d(outcome.kept, 2 * doubled.kept, return_indices=True)
    q = outcome.records["q"][fine, row]
    with np.errstate(invalid="ignore"):
        away = np.abs(q - doubled.records["q"][coarse, 0]).max(0)
    error = away / (2**loop.method.order - 1)
    return np.where(np.isfinite(error), error, np.inf)


def warn_of_error(run: Run, outcome: Outcome, error: Array | None) -> None:
    """Warn if the error of a motion without impacts is large beside its range.

    Methods of first order that were asked for by name have such errors by nature, and do not warn.
    """
    expected = run.method is not None and run.fixed is not None and run.fixed.order == 1
    if error is None or expected or _stops(run, outcome):
        return
    units = np.array(kinds(run.model, "q"))
    size = np.ptp(outcome.records["q"], axis=0).max(0)
    size = np.array([size[units == unit].max() for unit in units])
    share = np.where(error > SMALL_ERROR, error / np.maximum(size, SMALL_ERROR), 0.0)
    worst = int(np.argmax(share))
    if share[worst] > LARGE_ERROR:
        unit = f" {units[worst]}" if units[worst] else ""
        warn(
            f"the motion of {run.model.name!r} is off by about {error[worst]:.2g}{unit} in "
            f"{run.model.coordinate_names[worst]!r}, {share[worst]:.2g} of its range, by the "
            f"steps of method {run.method_name!r} with dt = {float(run.times[1]):g} s. Take a "
            "smaller dt, or a method whose steps adapt: 'DOP853', or 'Radau' for stiff forces."
        )


def _stops(run: Run, outcome: Outcome) -> bool:
    """Return True if dry friction brings a joint to rest, where errors are those of a stop."""
    dofs = list(dry_dofs(run.model, tuple(run.parameters or ())))
    return bool((outcome.records["dq"][..., dofs] == 0).any()) if dofs else False


def warn_of_energy_rise(run: Run, setup: Setup, motion: Trajectory) -> None:
    """Warn if the energy of a passive run, or of a rollout of a batch, rises by more than RISE."""
    if len(run.times) <= ENERGY_STEPS or not is_passive(run, setup):
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


def warn_of_speed(run: Run, motion: Trajectory) -> None:
    """Warn if a joint is far beyond its speed, as where steps are too long for stiff forces.

    The stops of joints keep such a motion finite.
    """
    if run.limits != "stop":
        return
    bounds = bounds_of(run.model)
    fastest = np.abs(motion.dq).max(axis=tuple(range(motion.dq.ndim - 1)))
    share = np.divide(
        fastest, bounds.velocity, out=np.zeros(run.model.n), where=bounds.velocity > 0
    )
    worst = int(np.argmax(share)) if share.size else 0
    if share.size and share[worst] > FAST:
        warn(
            f"{bounds.names[worst]!r} reaches {share[worst]:.0f} times its velocity limit with "
            f"method {run.method_name!r}: the steps may be too long for the forces that act. Take "
            f"a smaller dt, or {argument('method', 'implicit')} for stiff controllers."
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
        rounding = ENERGY_ROUNDING * np.max(kinetic + abs(potential), 0)
        gain = np.max(energy, 0) - energy[0] - rounding
        scale = energy[0] - np.min(potential, 0) + rounding
        return np.where(gain > 0, gain / scale, 0)
