"""simulate: the motion of a robot from its state and from what acts on it."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.progress import Progress
from kinetree.errors import InputError
from kinetree.kernels.compile import check_model
from kinetree.model import Model
from kinetree.simulate.core.adaptive import AdaptiveSteps
from kinetree.simulate.core.fixed_steps import (
    ADAPTIVE,
    FixedSteps,
    Method,
    Outcome,
    find_method,
    with_stop,
)
from kinetree.simulate.core.forces import check_steady, python_note
from kinetree.simulate.core.limits import Bound, Violation, bounds, violations
from kinetree.simulate.core.outcome import conclude, hold_lost, recorded
from kinetree.simulate.core.setup import Setup, grid, known_controller, positive, read_setup
from kinetree.simulate.core.state import StateSpace
from kinetree.simulate.core.system import make_system
from kinetree.simulate.friction.stiction import rubbing
from kinetree.trajectory import Trajectory

LIMITS = ("stop", "record", "ignore")
STEP = {ADAPTIVE: 0.01}  # s: the default of dt, for the adaptive method the spacing of the results
FIXED_STEP = 0.001

_ready: OrderedDict[Any, Any] = OrderedDict()  # what was compiled, the latest last
KEPT = 32


def simulate(
    model: Model,
    q0: Any,
    dq0: Any = None,
    *,
    duration: float,
    dt: float | None = None,
    method: str = ADAPTIVE,
    tau: Any = None,
    F_ext: Any = None,
    controller: Any = None,
    parameters: Mapping[str, Any] | None = None,
    every: int = 1,
    limits: str = "stop",
    events: Any = (),
    rtol: float = 1e-8,
    atol: float = 1e-10,
    max_step: float | None = None,
    progress: bool | None = None,
    target: str = "cpu",
) -> Any:
    """The motion from q0 and dq0 over `duration` seconds.

    Args:
        model: the robot.
        q0, dq0: initial state, (..., nq), (..., n); leading axes are a batch of rollouts, which
            every other argument may have too. dq0 is 0 where left out.
        duration: of the motion, s.
        dt: s, 0.001 where left out; for "dop853" the spacing of the results, 0.01.
        method: "dop853" (adaptive, of order 8), "rk4", "semi_implicit_euler" or "euler".
        tau: joint forces: an array (..., n), `kinetree.simulate.signal(t, values, kind)`, a
            function of t, or one of (t, q, dq). They add to those of the controller.
        F_ext: wrenches onto the links, (..., links, 6), given in the same ways.
        controller: one of `kinetree.controllers`, or a function law(t, q, dq) that returns tau.
        parameters: data of the robot that differ between rollouts, such as {"mass": (..., links)};
            names and shapes as in `Robot.compile(free=...)`.
        every: record every so many steps, and the last one.
        limits: "stop" raises a SimulationError where a joint leaves its limits, "record" goes on
            and lists the violations in `meta["violations"]`, "ignore" does not look.
        events: functions g(t, q, dq) whose zeros are found ("dop853" alone); see `events.py`.
        rtol, atol: relative and absolute error allowed in a step of "dop853".
        max_step: s, the longest step of "dop853"; a 25th of the duration where left out, a 100th
            where forces come from Python. Steps also end where `where(t > c, ...)`, a signal or a
            planned motion switches.
        progress: a bar on the error stream; None shows it on a terminal where the run takes long.
        target: "cpu", or "cuda" for fixed steps on an NVIDIA GPU: arrays may be CuPy's, numbers
            are of the type of q0, and the result is a `GpuTrajectory`.

    Returns:
        t (T,), q (T, ..., nq), dq, ddq, tau (T, ..., n). `meta` says how: method, steps, note (why
        a law could not be compiled), violations, controller_state (T, ..., m), events.

    Raises:
        SimulationError: a state is not finite, or a joint left its limits; the message says which
            joint and when, and `trajectory` of the error is the motion until then.
    """
    check_model(model)
    way = find_method(method)
    times = grid(duration, STEP.get(method, FIXED_STEP) if dt is None else dt)
    check_limits(limits)
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise InputError(f"every is {every!r}; expected a whole number of steps, 1 or more.")
    if way is not None and events:
        raise InputError(f"events are found by {ADAPTIVE!r} alone; method is {method!r}.")
    if way is not None and max_step is not None:
        raise InputError(
            f"max_step is for {ADAPTIVE!r}, which chooses its steps; method {method!r} takes steps "
            "of dt."
        )
    bound = () if limits == "ignore" else tuple(bounds(model))
    if target != "cpu":
        from kinetree.simulate.gpu.rollouts import simulate_on_gpu

        acting = (tau, F_ext, controller)
        fixed = on_target(target, way)
        return simulate_on_gpu(
            model, q0, dq0, acting, parameters, fixed, times, int(every), bound, limits, progress
        )
    setup = read_setup(model, q0, dq0, tau, F_ext, controller, parameters)
    with Progress("simulating", float(times[-1]), progress) as bar:
        if way is None:
            tolerances = positive(rtol, "rtol", ""), positive(atol, "atol", "")
            adaptive = adaptive_steps(model, setup, bound)
            longest = None if max_step is None else positive(max_step, "max_step", "s")
            outcome, extra, times = adaptive.run(setup, times, tolerances, events, bar, longest)
            _, kept = record_rows(len(outcome.records["q"]), int(every))
            outcome = outcome.thinned(kept)
            note = adaptive.system.note
        else:
            steps = fixed_steps(model, setup, way, bound)
            rows, kept = record_rows(len(times), int(every))
            stop = limits == "stop"
            outcome = steps.run(setup.x0, setup.external, setup.batch, times, rows, bar, stop)
            extra, note = {"steps": len(times) - 1}, steps.system.note
    meta = described(method, setup, note, extra)
    return finish(model, setup, outcome, times, kept, bound, limits, meta)


def check_limits(limits: Any) -> None:
    """What is done about limits is one of three things."""
    if limits not in LIMITS:
        raise InputError(f"limits is {limits!r}; expected one of {', '.join(LIMITS)}.")


def described(method: str, setup: Setup, note: str | None, extra: dict[str, Any]) -> dict[str, Any]:
    """How a motion was found, for its `meta`."""
    meta = {"method": method, "controller": known_controller(setup.actors.controller), **extra}
    note = note or python_note(setup.actors.verdict)
    return meta | {"note": note, "compiled": note is None}


def on_target(target: str, method: Method | None) -> Method:
    """The method for a GPU, where it can be had there."""
    if target != "cuda":
        raise InputError(f"target is {target!r}; expected 'cpu' or 'cuda'.")
    if method is None:
        raise InputError(
            f"method {ADAPTIVE!r} chooses its steps one by one, which target 'cuda' does not; take "
            "method='rk4', 'semi_implicit_euler' or 'euler'."
        )
    return method


def record_rows(count: int, every: int) -> tuple[Array, Array]:
    """Which evaluation goes to which row of the records, and the evaluations that are kept."""
    kept = np.unique([*range(0, count, every), count - 1])
    rows = np.full(count, -1)
    rows[kept] = np.arange(len(kept))
    return rows, kept


def finish(
    model: Model,
    setup: Setup,
    outcome: Outcome,
    times: Array,
    kept: Array,
    bound: Sequence[Bound],
    limits: str,
    meta: dict[str, Any],
) -> Trajectory:
    """The record, or the error that says when, where and why it ended."""
    space, batch = StateSpace(model, setup.extra), setup.batch
    noted = violations(space, bound, times, outcome.first, outcome.amount, batch)

    def hold(lost: Sequence[Violation]) -> None:
        hold_lost(outcome, len(kept), lost, batch)

    def record(count: int) -> Trajectory:
        found, more = recorded(outcome, count, batch, meta)
        if "tau" not in found:
            source = setup.actors.tau
            constant = np.zeros(model.n) if source is None else source.constant
            assert constant is not None
            found["tau"] = np.broadcast_to(constant, (count, *batch, model.n))
        for x in found.values():
            x.flags.writeable = False  # a frozen array is taken as it is
        return Trajectory(t=times[kept[:count]], name=model.name, model=model, meta=more, **found)

    return conclude(outcome, noted, times[kept], batch, limits, meta, hold, record)


def fixed_steps(model: Model, setup: Setup, method: Method, bound: Sequence[Bound]) -> FixedSteps:
    """The compiled loop for a robot with all that acts on it."""

    def make() -> FixedSteps:
        space = StateSpace(model, setup.extra, rubbing(model, setup.actors.parameters))
        system = make_system(space, setup.actors, with_stop(setup.external, space))
        return FixedSteps(system, method, bound, constant)

    forces = setup.actors.tau
    constant = setup.actors.controller is None and (forces is None or forces.constant is not None)
    check_steady(setup.actors.verdict, method.name, len(method.stages))
    return remembered(setup, (method.name, bool(bound)), make)


def adaptive_steps(model: Model, setup: Setup, bound: Sequence[Bound]) -> AdaptiveSteps:
    """The adaptive method's system, ready to run."""

    def make() -> AdaptiveSteps:
        return AdaptiveSteps(StateSpace(model, setup.extra), setup.actors, setup.external, bound)

    check_steady(setup.actors.verdict, ADAPTIVE, None)
    return remembered(setup, (ADAPTIVE, bool(bound)), make)


def remembered(setup: Setup, rest: tuple[Any, ...], make: Any) -> Any:
    """The loop that was made before for the same robot, laws and shapes, or is made now.

    Laws count by what they compute (laws.py). A loop that calls Python is not kept: it has the
    user's functions in it.
    """
    verdict = setup.actors.verdict
    if verdict is None or verdict.key is None:
        return make()
    shapes = [(name, shape) for name, (_, shape) in setup.external.constants.items()]
    shapes += [(name, source.shapes) for name, source in setup.external.sampled.items()]
    key = verdict.key, setup.extra, tuple(shapes), setup.actors.parameters, rest
    found = _ready.get(key)
    if found is None:
        found = make()
        system = getattr(found, "system", None)
        if system is not None and system.graph is None:
            return found
    _ready[key] = found
    _ready.move_to_end(key)
    while len(_ready) > KEPT:
        _ready.popitem(last=False)
    return found
