"""The error of fixed steps, estimated by step doubling.

The motion is computed again with steps of 2 dt. If the error of a method of order p is C dt^p, the
difference of both motions is (2^p - 1) times the error of the finer one. Of a batch, the rollout
that ends fastest is judged. There is no estimate where steps of 2 dt are another motion: contacts,
digital controllers, delays, errors of constraints that decay in time, and on a GPU.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.progress import Progress
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.errors import warn
from kinetree.model.units import kinds
from kinetree.simulate.core.fixed_steps import FixedSteps
from kinetree.simulate.core.inputs import Input
from kinetree.simulate.core.outcome import Outcome
from kinetree.simulate.core.run import Run
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.tuning import JUDGED_STEPS, LARGE_ERROR, SMALL_ERROR


def step_error(run: Run, setup: Setup, loop: FixedSteps, outcome: Outcome) -> Array | None:
    """The estimated largest error of each entry of q over the motion, (nq,); None: no estimate."""
    actuation = setup.acting.actuation
    delayed = actuation is not None and bool(
        actuation.drive_delays or any(actuation.control_delays)
    )
    unlike = run.model.contacts is not None or setup.sampling is not None
    steps = len(outcome.times) - 1
    unlike |= bool((outcome.first >= 0).any())  # ended, or beyond a limit
    if unlike or delayed or run.closure_time is not None or run.halts or steps < JUDGED_STEPS:
        return None
    row = int(np.argmax(np.nan_to_num(np.abs(outcome.records["dq"][-1]).max(-1))))
    h = float(run.times[1])
    watched = "record" if run.ends_at_limits else run.limits  # as compiled, without an end
    double = replace(run, dt=2 * h, every=None, limits=watched)
    doubled = loop.run(double, one_rollout(setup, row), Progress("", 0.0, False))
    _, fine, coarse = np.intersect1d(outcome.kept, 2 * doubled.kept, return_indices=True)
    q = outcome.records["q"][fine, row]
    with np.errstate(invalid="ignore"):
        away = np.abs(q - doubled.records["q"][coarse, 0]).max(0)
    error = away / (2**loop.method.order - 1)
    return np.where(np.isfinite(error), error, np.inf)


def one_rollout(setup: Setup, row: int) -> Setup:
    """The setup of one rollout of a batch."""
    batch, external = setup.batch, setup.external
    if not batch:
        return setup

    def alone(x: Input) -> Input:
        (shape,) = x.shapes
        wide = np.broadcast_to(np.asarray(x.constant), (*batch, *shape))
        return Input.of_constant(wide.reshape(-1, *shape)[row], shape)

    def at(x: Input, t: Array, ends: Array) -> list[Array]:
        parts = []
        for part, shape in zip(x.values(t, ends), x.shapes, strict=True):
            wide = np.broadcast_to(part, (len(t), *batch, *shape))
            parts.append(wide.reshape(len(t), -1, *shape)[:, row])
        return parts

    constants = {name: alone(x) for name, x in external.constants.items()}
    sampled = {
        name: replace(source, at=partial(at, source), batch=()) if source.batch else source
        for name, source in external.sampled.items()
    }
    external = replace(external, constants=constants, sampled=sampled)
    return replace(setup, x0=setup.x0[row : row + 1], batch=(), external=external)


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
