"""simulate: the motion of a robot from its state and everything that acts on it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, Unpack, overload

from kinetree.algorithms.constraints.stepping import check_stepping
from kinetree.algorithms.state import StateSpace
from kinetree.base.arrays import Array, ArrayLike, StateLike
from kinetree.base.options import is_one_of
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.actuation import read_actuation
from kinetree.simulate.core.adaptive import adaptive_steps, read_options
from kinetree.simulate.core.controller import Controller
from kinetree.simulate.core.events import Events, read_events
from kinetree.simulate.core.fixed_steps import Method, find_method, fixed_steps
from kinetree.simulate.core.outcome import Outcome, finish
from kinetree.simulate.core.setup import (
    ADAPTIVE,
    Arguments,
    Plan,
    Setup,
    aligned_arguments,
    check_once,
    read_plan,
    read_setup,
)
from kinetree.simulate.core.sources import ForceInput
from kinetree.simulate.core.stuck import stuck_joints

if TYPE_CHECKING:
    from kinetree.simulate.gpu.rollouts import GpuTrajectory


Law: TypeAlias = Callable[..., ArrayLike]  # tau from t, q and dq
MethodName = Literal["dop853", "rk4", "semi_implicit_euler", "implicit", "implicitfast", "euler"]
LimitsChoice = Literal["stop", "record", "ignore"]


class SimulationOptions(TypedDict, total=False):
    """Options of `simulate` that every target has."""

    duration: Required[float]
    dt: float | None
    method: MethodName
    tau: ForceInput | None
    F_ext: ForceInput | None
    controller: Controller | Law | None
    parameters: Mapping[str, ArrayLike] | None
    controls: ForceInput | None
    activation: StateLike | None
    drive_state: ArrayLike | None
    every: int
    limits: LimitsChoice
    events: Events
    rtol: float
    atol: float
    max_step: float | None
    closure_time: float | None
    progress: bool | None


@overload
def simulate(
    model: Model,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Literal["cpu"] = ...,
    **options: Unpack[SimulationOptions],
) -> Trajectory: ...
@overload
def simulate(
    model: Model,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Literal["cuda"],
    **options: Unpack[SimulationOptions],
) -> "GpuTrajectory": ...
@overload
def simulate(
    model: Model,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Literal["cpu", "cuda"],
    **options: Unpack[SimulationOptions],
) -> "Trajectory | GpuTrajectory": ...
def simulate(
    model: Model,
    q0: StateLike,
    dq0: StateLike | None = None,
    *,
    duration: float,
    dt: float | None = None,
    method: MethodName = ADAPTIVE,
    tau: ForceInput | None = None,
    F_ext: ForceInput | None = None,
    controller: Controller | Law | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    controls: ForceInput | None = None,
    activation: StateLike | None = None,
    drive_state: ArrayLike | None = None,
    every: int = 1,
    limits: LimitsChoice = "stop",
    events: Events = (),
    rtol: float = 1e-8,
    atol: float = 1e-10,
    max_step: float | None = None,
    closure_time: float | None = None,
    progress: bool | None = None,
    target: Literal["cpu", "cuda"] = "cpu",
) -> "Trajectory | GpuTrajectory":
    """The motion from q0 and dq0 over `duration` seconds.

    Args:
        model: the robot.
        q0: positions at the start, shape (..., nq), rad or m; leading axes are a batch of rollouts,
            which every other argument may have too.
        dq0: rates at the start, shape (..., n), rad/s or m/s; None: at rest.
        duration: of the motion, s.
        dt: s, by default 0.001; for "dop853" the spacing of the results, by default 0.01.
        method: "dop853" (adaptive, of order 8), "rk4", "semi_implicit_euler", "implicit" (stable
            for damping and stiffness of any size), "implicitfast" (for damping) or "euler".
        tau: joint forces, N m or N: an array of shape (..., n), `kinetree.simulate.signal(t,
            values, kind)`, a function of t, or one of (t, q, dq). They add to those of the
            controller.
        F_ext: wrenches onto the links in their frames, shape (..., l, 6), N m and N, given in the
            same ways.
        controller: one of `kinetree.controllers`, or a function law(t, q, dq) that returns tau.
        parameters: data of the robot that differ between rollouts, such as {"mass": (..., links)};
            names and shapes as in `Robot.compile(free=...)`.
        controls: controls of the actuators, shape (..., u) in the order of `model.actuator_names`,
            in their units, given in the same ways as tau; None: actuators do not act. Their forces
            add to tau.
        activation: activations of the actuators at the start, shape (..., a) in the order of
            `model.activation_names`, in their units, clamped to their ranges; None: 0.
        drive_state: delayed commands and lagged forces at the start, shape (..., k), in the units
            of control or force: the last entry of `meta["drive_state"]` of the run before; None: 0.
        every: record every so many steps, and the last one.
        limits: "stop" raises a SimulationError if a joint leaves its limits, "record" goes on and
            lists the violations in `meta["violations"]`, "ignore" does not look. "stop" is the
            default here, of sensitivities and of the command line: beyond its limits a motion is
            not that of the robot, which has stops there.
        events: functions g(t, q, dq) whose zeros are found ("dop853" only); see `event`.
        rtol: relative error allowed in a step of "dop853", dimensionless.
        atol: absolute error allowed in a step of "dop853", rad, m, rad/s or m/s.
        max_step: s, the longest step of "dop853"; by default a 25th of the duration, a 100th if
            forces come from Python. Steps also end where `where(t > c, ...)`, a signal or a planned
            motion switches.
        closure_time: in which errors of the constraints of a robot decay, s, for fixed steps
            (Baumgarte): Phi'' + 2 Phi'/T + Phi/T^2 = 0. None: every state is projected onto them.
        progress: show a bar on the error stream; None shows it on a terminal if the run takes long.
        target: "cpu", or "cuda" for fixed steps on an NVIDIA GPU: arrays may be CuPy's, numbers are
            of the type of q0, and the result is a `GpuTrajectory`.

    Returns:
        t (T,), q (T, ..., nq), dq, ddq, tau (T, ..., n). `meta` describes the run: method, steps,
        note (why a law could not be compiled), violations, controller_state (T, ..., m), events;
        controls and activation {actuator: (T, ...)}, command (T, ..., n), the joint forces before
        the drives, and drive_state; of a robot with constraints constraint_forces {constraint:
        (T, ..., rows)}, lambda of its equations, and closure (T, ...), the largest entry of Phi;
        stuck, of a controller that follows joint positions: the joints that friction keeps away
        from its goal, () if there are none; print them to read why.

    Raises:
        SimulationError: a state is not finite, a joint left its limits, or constraints could not
            be closed; the message names the joint or the constraint and the time, and `trajectory`
            of the error is the motion until then.
    """
    repeatable = None
    if not is_one_of(target, ("cpu", "cuda")):
        raise InputError(f"target is {target!r:.60}; expected 'cpu' or 'cuda'.")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InputError(
            f"parameters are {parameters!r:.60}; expected values by name, such as "
            "{'mass': (..., links)}."
        )
    if target == "cuda":
        from kinetree.simulate.gpu.rollouts import simulate_again

        laws = F_ext, controller, parameters, controls, activation, drive_state, max_step
        if not any(x is not None for x in (*laws, closure_time)) and not events and not progress:
            repeatable = duration, dt, method, every, limits
            found = simulate_again(model, repeatable, (q0, dq0, tau))
            if found is not None:
                return found
    check_once(model)
    fixed = find_method(method)
    check_stepping(model, parameters or ())
    plan = read_plan(model, method, duration, dt, limits, every, progress, closure_time)
    if fixed is not None:
        check_fixed(fixed, events, max_step)
    arguments = Arguments(
        q0=q0, dq0=dq0, tau=tau, F_ext=F_ext, controller=controller, parameters=parameters,
        controls=controls, activation=activation, drive_state=drive_state,
    )  # fmt: skip
    arguments = aligned_arguments(model, arguments)
    actuation = read_actuation(model, controls is not None, fixed, plan.times)
    if target != "cpu":
        from kinetree.simulate.gpu.rollouts import simulate_on_gpu

        without_constraints(model, "simulate on a GPU", "Simulate on the CPU")
        method_there = _on_gpu(target, fixed)
        return simulate_on_gpu(model, arguments, method_there, plan, actuation, repeatable)
    setup = read_setup(model, arguments, actuation)
    with plan.bar() as bar:
        if fixed is not None:
            steps = fixed_steps(model, setup, fixed, plan)
            outcome, found = steps.run(setup, plan, bar), {"steps": len(plan.times) - 1}
        else:
            steps = adaptive_steps(model, setup, plan)
            options = read_options(setup, rtol, atol, max_step, events)
            outcome, found = steps.run(setup, plan, options, bar)
            outcome = outcome.thinned(plan.every)
    return motion(model, setup, plan, outcome, steps.system.note, found)


def check_fixed(method: Method, events: Events, max_step: float | None = None) -> None:
    """Raise InputError if options of the adaptive method are given for fixed steps."""
    if read_events(events):
        raise InputError(f"events are found by {ADAPTIVE!r} alone; method is {method.name!r}.")
    if max_step is not None:
        raise InputError(
            f"max_step is for {ADAPTIVE!r}, which chooses its steps; method {method.name!r} takes "
            "steps of dt."
        )


def _on_gpu(target: str, method: Method | None) -> Method:
    """Return the method if a GPU can run it."""
    if target != "cuda":
        raise InputError(f"target is {target!r}; expected 'cpu' or 'cuda'.")
    if method is None:
        raise InputError(
            f"method {ADAPTIVE!r} chooses its steps one by one, which target 'cuda' cannot do; "
            "take method='rk4', 'semi_implicit_euler', 'implicit', 'implicitfast' or 'euler'."
        )
    return method


def motion(
    model: Model,
    setup: Setup,
    plan: Plan,
    outcome: Outcome,
    note: str | None,
    found: Mapping[str, Any],
) -> Trajectory:
    """The record of a run; note: why forces come from Python; found: entries for its meta."""

    def make(t: Array, arrays: dict[str, Any], meta: dict[str, Any]) -> Trajectory:
        for x in arrays.values():
            x.flags.writeable = False  # a Trajectory takes frozen arrays without a copy
        judged = setup.acting.F_ext is None and not setup.acting.parameters
        stuck = stuck_joints(model, setup.acting.controller, t, arrays, judged)
        meta = meta if stuck is None else meta | {"stuck": stuck}
        return Trajectory(t=t, name=model.name, model=model, meta=meta, **arrays)

    meta = setup.described(plan.method, note, found)
    return finish(StateSpace(model, setup.extra), setup, plan, outcome, meta, make)
