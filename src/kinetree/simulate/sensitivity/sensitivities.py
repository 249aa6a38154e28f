"""sensitivities: how a simulated motion changes with its initial state, forces and parameters.

The steps that `simulate` takes are differentiated themselves, not the differential equation: what
comes out is exact for the numbers that come out of the simulation, whatever dt.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.progress import Progress
from kinetree.errors import InputError
from kinetree.kernels.compile import check_model
from kinetree.model import Model
from kinetree.simulate.core.fixed_steps import ADAPTIVE, Method, Outcome, find_method
from kinetree.simulate.core.limits import Bound, bounds
from kinetree.simulate.core.setup import Setup, grid, positive, read_setup
from kinetree.simulate.sensitivity.adaptive import (
    AdaptiveRun,
    StepLog,
    check_complete,
    check_smooth,
)
from kinetree.simulate.sensitivity.fixed import StepRun
from kinetree.simulate.sensitivity.inputs import Given, Input, complete, find_inputs, read_names
from kinetree.simulate.sensitivity.result import Sensitivities
from kinetree.simulate.simulation import (
    FIXED_STEP,
    STEP,
    adaptive_steps,
    check_limits,
    described,
    finish,
    fixed_steps,
)
from kinetree.trajectory import Trajectory

MOST = 2**28  # numbers, 2 GiB
# of every loop what was compiled for the inputs that were asked for
_ready: "weakref.WeakKeyDictionary[Any, dict[Any, Any]]" = weakref.WeakKeyDictionary()


def sensitivities(
    model: Model,
    q0: Any,
    dq0: Any = None,
    *,
    duration: float,
    dt: float | None = None,
    method: str = "rk4",
    wrt: str | Sequence[str] = ("q0", "dq0"),
    tau: Any = None,
    F_ext: Any = None,
    controller: Any = None,
    parameters: Mapping[str, Any] | None = None,
    limits: str = "stop",
    events: Any = (),
    rtol: float = 1e-8,
    atol: float = 1e-10,
    max_step: float | None = None,
) -> Sensitivities:
    """The motion from q0 and dq0, with its derivatives.

    Args:
        model: the robot.
        q0, dq0, duration, dt, tau, F_ext, controller, parameters, limits, rtol, atol, max_step:
            as in `simulate`; leading axes are a batch of rollouts.
        method: "rk4", "semi_implicit_euler", "euler", or "dop853", whose steps keep the lengths
            that they were taken with.
        wrt: what to differentiate by, some of
            "q0" (along tangent vectors) and "dq0", (n,);
            "tau" and "F_ext": the constant, (n,) or (links, 6), zeros where none is given; or the
            values of a `signal`, (N, n) or (N, links, 6);
            "mass", "com", "inertia", "gravity", "friction": as in `Robot.compile(free=...)`;
            "parameters": pi of `Robot.parameters`, (p,).
        events: as in `simulate`, for "dop853". They are noted, and a terminal one ends the motion;
            derivatives are those of states at given times.

    Returns:
        A record of the steps: `by(name)` is the derivative of every state, `gradient` and `cost`
        go backward for one number.

    Raises:
        InputError: what has no derivative: joints that dry friction holds or stops, laws that
            cannot be traced, forces that are functions.
    """
    check_model(model)
    check_limits(limits)
    way, names = find_method(method), read_names(wrt)
    times = grid(duration, STEP.get(method, FIXED_STEP) if dt is None else dt)
    if way is not None and events:
        raise InputError(f"events are found by {ADAPTIVE!r} alone; method is {method!r}.")
    given = complete(model, names, tau, F_ext, parameters)
    setup = read_setup(model, q0, dq0, given.tau, given.F_ext, controller, given.parameters)
    check_pure(model, setup)
    watched = () if limits == "ignore" else tuple(bounds(model))
    asked = Asked(model, setup, given, names, times, limits, watched)
    if way is not None:
        return of_fixed_steps(asked, way)
    tolerances = positive(rtol, "rtol", ""), positive(atol, "atol", "")
    longest = None if max_step is None else positive(max_step, "max_step", "s")
    return of_adaptive_steps(asked, tolerances, events, longest)


@dataclass(frozen=True, eq=False)
class Asked:
    """The arguments, read: what moves, over which times, and by what it is differentiated."""

    model: Model
    setup: Setup
    given: Given
    names: tuple[str, ...]
    times: Array
    limits: str
    watched: tuple[Bound, ...]

    def inputs(self, stages: Array, ends: Array) -> tuple[Input, ...]:
        """What to differentiate by; stages, (E, S): when rates are evaluated."""
        return find_inputs(self.model, self.names, self.given, self.setup.external, stages, ends)

    def motion(self, outcome: Outcome, method: str, note: str | None, extra: Any) -> Trajectory:
        """The simulation."""
        kept = np.arange(len(outcome.records["q"]))
        meta = described(method, self.setup, note, extra)
        return finish(
            self.model, self.setup, outcome, self.times, kept, self.watched, self.limits, meta
        )


def check_pure(model: Model, setup: Setup) -> None:
    """Refuse laws that are no functions of t, q and dq: they have no derivatives."""
    verdict = setup.actors.verdict
    if verdict is not None and verdict.doubt is not None:
        raise InputError(
            f"the forces on {model.name!r} cannot be differentiated: {verdict.doubt}. Declare what "
            "it remembers as the state of kinetree.controllers.Stateful."
        )


def of_fixed_steps(asked: Asked, way: Method) -> Sensitivities:
    """Every result is a state, from which one step leads to the next."""
    setup, times = asked.setup, asked.times
    steps = fixed_steps(asked.model, setup, way, asked.watched)
    stages = times[:-1, None] + np.diff(times)[:, None] * np.array(way.times)
    inputs = asked.inputs(stages, np.array(way.times) == 1)
    columns = sum(x.size * (len(way.stages) if x.weights is not None else 1) for x in inputs)
    check_size(len(times), len(setup.x0), steps.space.rates, columns)
    run = ready(steps, inputs, lambda: StepRun(steps, setup, inputs))
    with Progress("simulating", float(times[-1]), None) as bar:
        rows, stop = np.arange(len(times)), asked.limits == "stop"
        outcome = steps.run(setup.x0, setup.external, setup.batch, times, rows, bar, stop)
    motion = asked.motion(outcome, way.name, steps.system.note, {"steps": len(times) - 1})
    A, B = run.all(states(motion, setup), setup, times, inputs)
    return Sensitivities(motion, asked.model, inputs, A, B)


def of_adaptive_steps(
    asked: Asked, tolerances: tuple[float, float], events: Any, max_step: float | None
) -> Sensitivities:
    """Results lie inside steps, which every rollout has of its own."""
    model, setup, log = asked.model, asked.setup, StepLog()
    steps = adaptive_steps(model, setup, asked.watched)
    inputs = asked.inputs(np.zeros((0, 1)), np.zeros(1, bool))  # samples follow with the steps
    run = ready(steps, inputs, lambda: AdaptiveRun(steps, setup, inputs))
    count, N, C = len(setup.x0), steps.space.rates, run.flow.columns
    check_size(len(asked.times), count, N, C - N)
    with Progress("simulating", float(asked.times[-1]), None) as bar:
        outcome, extra, _ = steps.run(setup, asked.times, tolerances, events, bar, max_step, log)
    motion = asked.motion(outcome, ADAPTIVE, steps.system.note, extra)
    taken = log.steps(count)
    check_complete(taken, setup.batch, count, len(motion))
    dry = run.rollouts(setup).dry
    if dry is not None:
        check_smooth(model, taken, dry)
    check_size(int(taken.number.max()) + 1 + len(motion), count, N, C - N)
    A, B, inside, weights = run.all(taken, setup, asked.given, motion.t, inputs)
    inputs = tuple(replace(x, weights=weights.get(x.name)) for x in inputs)
    return Sensitivities(motion, model, inputs, A, B, inside)


def ready(steps: Any, inputs: Sequence[Input], make: Callable[[], Any]) -> Any:
    """What was compiled for these inputs of the same loop before, or is compiled now."""
    known = _ready.setdefault(steps, {})
    key = tuple((x.name, x.weights is None) for x in inputs)
    if key not in known:
        known[key] = make()
    return known[key]


def states(motion: Trajectory, setup: Setup) -> Array:
    """All states x, (T, B, x)."""
    parts = [motion.q, motion.dq]
    parts += [motion.meta["controller_state"]] if setup.extra else []
    return np.concatenate(parts, -1).reshape(len(motion), len(setup.x0), -1)


def check_size(states: int, rollouts: int, N: int, columns: int) -> None:
    """Refuse what does not fit into memory before the work begins."""
    count = states * rollouts * N * (N + columns)
    if count > MOST:
        raise InputError(
            f"the slopes of {states} states of {rollouts} rollouts are {count:.3g} numbers, "
            f"more than the {MOST:.3g} that are kept at most. Take fewer rollouts, inputs or steps "
            "at a time."
        )
