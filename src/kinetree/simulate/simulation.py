"""simulate: the motion of a robot from its state and everything that acts on it.

`simulated` is the recipe; every stage is a function of values. A run on a GPU takes the same stages
(gpu/rollouts.py), and so do derivatives (sensitivity/sensitivities.py).
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from kinetree.core.arrays import Array, StateLike
from kinetree.model import HasModel, Model, model_of
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.adaptive import AdaptiveSteps, adaptive_steps
from kinetree.simulate.core.ending import recorded
from kinetree.simulate.core.energy_rise import warn_of_energy_rise
from kinetree.simulate.core.fixed_steps import FixedSteps, fixed_steps
from kinetree.simulate.core.followed import followed_positions
from kinetree.simulate.core.outcome import Outcome
from kinetree.simulate.core.run import Run, SimulationOptions, checked, run_signature
from kinetree.simulate.core.setup import Setup, read_setup
from kinetree.simulate.core.step_error import step_error, warn_of_error
from kinetree.simulate.core.stuck import stuck_joints
from kinetree.simulate.core.verification import verify_laws

if TYPE_CHECKING:
    from kinetree.simulate.gpu.rollouts import GpuTrajectory


@overload
def simulate(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Literal["cpu"] = ...,
    **options: Unpack[SimulationOptions],
) -> Trajectory: ...
@overload
def simulate(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Literal["cuda"],
    **options: Unpack[SimulationOptions],
) -> "GpuTrajectory": ...
@overload
def simulate(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Literal["cpu", "cuda"],
    **options: Unpack[SimulationOptions],
) -> "Trajectory | GpuTrajectory": ...
def simulate(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = None,
    *,
    target: Literal["cpu", "cuda"] = "cpu",
    **options: Unpack[SimulationOptions],
) -> "Trajectory | GpuTrajectory":
    """Compute a motion of a robot from q0 and dq0 over `duration` seconds.

    Args:
        robot: a Robot or a Model.
        q0, dq0, duration, method, limits, target, progress: as in `Robot.simulate`.
        dt, every, closure_time: of fixed steps, as in `Robot.simulate`.
        record, rtol, atol, max_step, breaks, events: of adaptive methods, as in `Robot.simulate`.
        tau, F_ext, controller, parameters: as in `Robot.simulate`.
        controls, activation, drive_state, friction_state: as in `Robot.simulate`.

    Returns:
        t (T,), q (T, ..., nq), dq, ddq, tau (T, ..., n). `meta` describes the run: method, steps,
        error (of fixed steps: the estimated largest error of each entry of q, (nq,), or None),
        note (why a law could not be compiled), violations, controller_state (T, ..., m), events;
        controls and activation {actuator: (T, ...)}, command (T, ..., n), the joint forces before
        the drives, and drive_state; friction_state {joint: (T, ...)}, deflections of bristles, rad
        or m; of a robot with constraints constraint_forces {constraint:
        (T, ..., rows)}, lambda of its equations, and closure (T, ...), the largest entry of Phi;
        contact_forces and contact_points {contact: (T, ..., 3)}, N and m in {s}, contact_gaps, m,
        and contact_modes {contact: (T, ...)}, contact_residual (T, ...); contact_forces are means
        from each record to the next;
        stuck, of a controller that follows joint positions: the joints that friction keeps away
        from its goal, () if there are none; print them to read why; reference, of one that follows
        joint positions: {"t": (K,), "q": (K, nq)} of up to 256 samples, which plots draw.

    Raises:
        SimulationError: a state is not finite, a joint left its limits, or constraints could not
            be closed; the message names the joint or the constraint and the time, and `trajectory`
            of the error is the motion until then.
    """
    run = Run(model=model_of(robot), q0=q0, dq0=dq0, target=target, **options)
    if isinstance(target, str) and target == "cuda":  # `checked` refuses what is no text
        from kinetree.simulate.gpu.rollouts import simulated_on_gpu

        return simulated_on_gpu(run)
    return simulated(run)


simulate.__signature__ = run_signature("robot")  # type: ignore[attr-defined]


def simulated(run: Run) -> Trajectory:
    """The motion that a run asks for."""
    run = checked(run)  # options, and labelled arrays in the order of the robot
    setup = read_setup(run)  # states at the start, and everything that acts
    loop = make_loop(run, setup)  # traced and compiled, or remembered
    with run.bar() as bar:
        outcome = loop.run(run, setup, bar)  # steps, until the end or a violation
    error = None
    if isinstance(loop, FixedSteps):
        error = step_error(run, setup, loop, outcome)
        outcome = replace(outcome, counts={**outcome.counts, "error": error})
    trajectory = motion(run, setup, loop, outcome)
    warn_of_error(run, outcome, error)
    warn_of_energy_rise(run, setup, trajectory)
    return trajectory


def make_loop(run: Run, setup: Setup) -> FixedSteps | AdaptiveSteps:
    """The compiled loop of the method."""
    return adaptive_steps(run, setup) if run.fixed is None else fixed_steps(run, setup)


def motion(
    run: Run, setup: Setup, loop: FixedSteps | AdaptiveSteps, outcome: Outcome
) -> Trajectory:
    """The record of a run; raise SimulationError if a number or a joint left its limits."""
    verify_laws(setup, outcome)  # they still give what was compiled

    def make(t: Array, arrays: dict[str, Any], meta: dict[str, Any]) -> Trajectory:
        for x in arrays.values():
            x.flags.writeable = False  # a Trajectory takes frozen arrays without a copy
        stuck = stuck_joints(setup, t, arrays)  # joints that friction keeps from their goal
        meta = meta if stuck is None else meta | {"stuck": stuck}
        reference = followed_positions(setup, t)
        meta = meta if reference is None else meta | {"reference": reference}
        return Trajectory(t=t, name=run.model.name, model=run.model, meta=meta, **arrays)

    return recorded(run, setup, outcome, loop.system.note, make)
