"""simulate: the motion of a robot from its state and everything that acts on it.

`simulate` is the recipe; every stage is a function of values. A run on a GPU takes the same stages
(gpu/rollouts.py), and so do derivatives (sensitivity/sensitivities.py).
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.accuracy import (
    step_error,
    warn_of_energy_rise,
    warn_of_error,
    warn_of_speed,
)
from kinetree.simulate.adaptive.steps import AdaptiveSteps, adaptive_steps
from kinetree.simulate.fixed import FixedSteps, fixed_steps
from kinetree.simulate.options import STEP_LAW, Run, checked
from kinetree.simulate.result import Outcome, recorded
from kinetree.simulate.setup import Setup, read_setup
from kinetree.simulate.tracking import followed_positions, stuck_joints

if TYPE_CHECKING:
    from kinetree.simulate.gpu import GpuTrajectory


def simulate(run: Run) -> "Trajectory | GpuTrajectory":
    """The motion that a run asks for, as `Robot.simulate` describes it."""
    if isinstance(run.target, str) and run.target == "cuda":  # `checked` refuses what is no text
        from kinetree.simulate.gpu import simulated_on_gpu

        return simulated_on_gpu(run)
    run = checked(run)  # options, and labelled arrays in the order of the robot
    setup = read_setup(run)  # states at the start, and everything that acts
    loop = make_loop(run, setup)  # traced and compiled, or remembered
    with run.bar() as bar:
        outcome = loop.run(run, setup, bar)  # steps, until the end or a violation
    if reaches_stop(run, setup, outcome):
        return simulate(replace(run, method=STEP_LAW))
    error = None
    if isinstance(loop, FixedSteps):
        error = step_error(run, setup, loop, outcome)
        outcome = replace(outcome, counts={**outcome.counts, "error": error})
    trajectory = motion(run, setup, loop, outcome)
    warn_of_error(run, outcome, error)
    warn_of_energy_rise(run, setup, trajectory)
    warn_of_speed(run, trajectory)
    return trajectory


def reaches_stop(run: Run, setup: Setup, outcome: Outcome) -> bool:
    """Return True if a joint came to its stop by the default method, which does not stop joints.

    Such a run is one of the step law. Rollouts of a batch, which would change each other's method,
    and digital controllers, which are called once a sample, end with an error instead.
    """
    if run.method is not None or run.limits != "stop" or run.stops or setup.batch or setup.sampling:
        return False
    lost, left = np.split(outcome.first[0], [setup.space.size])
    reached = [
        x for x, b in zip(left, run.bounds, strict=True) if b.quantity == "position" and x >= 0
    ]
    return bool(reached) and 0 < min(reached) and not (lost[lost >= 0] < min(reached)).any()


def make_loop(run: Run, setup: Setup) -> FixedSteps | AdaptiveSteps:
    """The compiled loop of the method."""
    return adaptive_steps(run, setup) if run.fixed is None else fixed_steps(run, setup)


def motion(
    run: Run, setup: Setup, loop: FixedSteps | AdaptiveSteps, outcome: Outcome
) -> Trajectory:
    """The record of a run; raise SimulationError if a number or a joint left its limits."""

    def make(t: Array, arrays: dict[str, Any], meta: dict[str, Any]) -> Trajectory:
        for x in arrays.values():
            x.flags.writeable = False  # a Trajectory takes frozen arrays without a copy
        stuck = stuck_joints(setup, t, arrays)  # joints that friction keeps from their goal
        meta = meta if stuck is None else meta | {"stuck": stuck}
        reference = followed_positions(setup, t)
        meta = meta if reference is None else meta | {"reference": reference}
        return Trajectory(t=t, name=run.model.name, model=run.model, meta=meta, **arrays)

    return recorded(run, setup, outcome, loop.system.note, make)
