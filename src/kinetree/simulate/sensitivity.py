"""sensitivities: how a simulated motion changes with its initial state, forces and parameters.

The steps that `simulate` takes are differentiated themselves, not the differential equation: what
comes out is exact for the numbers that come out of the simulation, whatever dt.
"""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.compilable import check_model
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.inputs import Setup, grid, read_setup
from kinetree.simulate.integrators import ADAPTIVE, METHODS, find_method
from kinetree.simulate.loop import FixedSteps
from kinetree.simulate.sensitivity_inputs import Input, complete, find_inputs, read_names
from kinetree.simulate.sensitivity_record import Sensitivities
from kinetree.simulate.sensitivity_run import StepRun
from kinetree.simulate.simulate import FIXED_STEP, fixed_steps, simulate
from kinetree.simulate.trajectory import Trajectory
from kinetree.simulate.watch import bounds

MOST = 2**28  # numbers, 2 GiB
_ready: "weakref.WeakKeyDictionary[FixedSteps, dict[Any, StepRun]]" = weakref.WeakKeyDictionary()


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
) -> Sensitivities:
    """The motion from q0 and dq0, with its derivatives.

    Args:
        model: the robot.
        q0, dq0, duration, dt, tau, F_ext, controller, parameters, limits: as in `simulate`; leading
            axes are a batch of rollouts.
        method: "rk4", "semi_implicit_euler" or "euler".
        wrt: what to differentiate by, some of
            "q0" (along tangent vectors) and "dq0", (n,);
            "tau" and "F_ext": the constant, (n,) or (links, 6), zeros where none is given; or the
            values of a `signal`, (N, n) or (N, links, 6);
            "mass", "com", "inertia", "gravity", "friction": as in `Robot.compile(free=...)`;
            "parameters": pi of `Robot.parameters`, (p,).
        events: refused, since times at which something happens change with the motion.

    Returns:
        A record of the steps: `by(name)` is the derivative of every state, `gradient` and `cost`
        go backward for one number.

    Raises:
        InputError: what has no derivative: adaptive steps, joints that dry friction holds or
            stops, laws that cannot be traced, forces that are functions.
    """
    check_model(model)
    way, names = find_method(method), read_names(wrt)
    dt = FIXED_STEP if dt is None else dt
    if events:
        raise InputError(
            "events end or mark motions at times that change with them, and sensitivities are "
            "those of states at fixed times; leave events out."
        )
    if way is None:
        raise InputError(
            f"method is {ADAPTIVE!r}, whose steps depend on the motion and are not differentiated; "
            f"choose one of {', '.join(METHODS)}."
        )
    given = complete(model, names, tau, F_ext, parameters)
    acting: dict[str, Any] = {"tau": given.tau, "F_ext": given.F_ext, "controller": controller}
    acting["parameters"] = given.parameters
    setup = read_setup(model, q0, dq0, **acting)
    forces = given.tau, given.F_ext, controller
    watched = () if limits == "ignore" else tuple(bounds(model))
    steps = fixed_steps(model, setup, forces, way, watched)
    times = grid(duration, dt)
    stages = times[:-1, None] + np.diff(times)[:, None] * np.array(way.times)
    ends = np.array(way.times) == 1
    inputs = find_inputs(model, names, given, setup.feed, stages, ends)
    check_size(inputs, setup, steps, len(times))
    run = run_of(steps, setup, inputs)
    motion = simulate(
        model, q0, dq0, duration=duration, dt=dt, method=method, limits=limits, **acting
    )
    A, B = run.all(states(motion, setup), setup, times, inputs)
    return Sensitivities(motion, model, inputs, A, B)


def run_of(steps: FixedSteps, setup: Setup, inputs: Sequence[Input]) -> StepRun:
    """What was compiled for these inputs of the same loop before, or is compiled now."""
    known = _ready.setdefault(steps, {})
    key = tuple((x.name, x.weights is None) for x in inputs)
    if key not in known:
        known[key] = StepRun(steps, setup, inputs)
    return known[key]


def states(motion: Trajectory, setup: Setup) -> Array:
    """All states x, (T, B, x)."""
    parts = [motion.q, motion.dq]
    parts += [motion.meta["controller_state"]] if setup.extra else []
    return np.concatenate(parts, -1).reshape(len(motion), len(setup.x0), -1)


def check_size(inputs: Sequence[Input], setup: Setup, steps: FixedSteps, times: int) -> None:
    """Refuse what does not fit into memory before the work begins."""
    N, stages = steps.space.rates, len(steps.method.stages)
    columns = N + sum(x.size * (stages if x.weights is not None else 1) for x in inputs)
    count = times * len(setup.x0) * N * columns
    if count > MOST:
        raise InputError(
            f"the slopes of {times} states of {len(setup.x0)} rollouts are {count:.3g} numbers, "
            f"more than the {MOST:.3g} that are kept at most. Take fewer rollouts, inputs or steps "
            "at a time."
        )
