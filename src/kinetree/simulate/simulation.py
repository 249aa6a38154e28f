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
    """Compute a motion from a state, under forces and a controller.

    Args:
        robot: a Robot or a Model.
        q0: positions at the start, shape (..., nq), rad or m; leading axes are a batch of
            rollouts.
        dq0: rates at the start, shape (..., n), rad/s or m/s; None: at rest.
        duration: length of the motion, s.
        method: fixed steps by "rk4", "semi_implicit_euler", "implicit" (stable for any damping
            and stiffness), "implicitfast" (for any damping) or "euler"; steps that adapt to
            `rtol` and `atol` by "DOP853" (order 8), "LSODA" (changes by itself to stiff
            forces), "Radau" or "BDF" (stiff forces) of SciPy, which loop in Python over the
            rollouts of a batch. None: "rk4", and "semi_implicit_euler" for robots with contacts
            or dry friction.
        dt: length of a fixed step, s; None: 0.001.
        every: record every so many fixed steps, and the last one; None: 1.
        record: spacing of the results of an adaptive method, s; None: 0.01.
        rtol: relative error allowed in an adaptive step, dimensionless; None: 1e-8.
        atol: absolute error allowed in an adaptive step, rad, m, rad/s or m/s; None: 1e-10.
        max_step: longest adaptive step, s; None: a 25th of the duration, or a 100th with forces
            from Python.
        breaks: times at which forces jump, shape (k,), s, where adaptive steps end; samples of
            signals and switches of time in compiled laws are found without. None: none.
        events: functions g(t, q, dq) whose zeros are found by adaptive methods; see
            `kt.simulate.event`.
        tau: joint forces, N m or N: an array of shape (..., n), `kt.simulate.signal(t,
            values)`, or a function of t or of (t, q, dq); None: no forces.
        F_ext: wrenches onto the links in their frames, shape (..., l, 6), N m and N, given in
            the same ways; None: no wrench.
        controller: one of `kt.controllers`, or a function law(t, q, dq) that returns tau; None:
            no controller.
        parameters: robot data that differ between rollouts, such as {"mass": array of shape
            (..., l), kg}; names and shapes as `free` of `compile`. `payload_parameters` gives
            those of payloads. None: those of the robot.
        controls: controls of the actuators, shape (..., u) in the order of
            `robot.model.actuator_names`, in their units, given in the same ways as tau; None:
            actuators do not act. Their forces add to tau.
        activation: activations of the actuators at the start, shape (..., a) in the order of
            `robot.model.activation_names`, in their units, clamped to their ranges; None: 0.
        drive_state: delayed commands and lagged forces at the start, shape (..., k), in the
            units of control or force: the last entry of `meta["drive_state"]` of the run
            before; None: 0.
        friction_state: deflections of the bristles of joints whose friction has presliding, at
            the start, shape (..., k), rad or m, in the order of `meta["friction_state"]`;
            None: 0.
        limits: "stop" raises SimulationError if a joint leaves its limits, "record" lists
            violations in the result's `meta`, "ignore" does not look.
        closure_time: in which errors of constraints decay with fixed steps, s; None: every
            state is projected onto the constraints.
        progress: whether to show a bar on the error stream; None: on a terminal, in long runs.
        target: "cpu", or "cuda" for fixed steps on an NVIDIA GPU.

    Returns:
        A Trajectory, or a GpuTrajectory for "cuda":
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

    Example:
        >>> robot = kt.robots.planar_2r()
        >>> robot.simulate([0.1, 0.2], duration=0.5, limits="ignore").q.shape
        (501, 2)
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

    def make(t: Array, arrays: dict[str, Any], meta: dict[str, Any]) -> Trajectory:
        for x in arrays.values():
            x.flags.writeable = False  # a Trajectory takes frozen arrays without a copy
        stuck = stuck_joints(setup, t, arrays)  # joints that friction keeps from their goal
        meta = meta if stuck is None else meta | {"stuck": stuck}
        reference = followed_positions(setup, t)
        meta = meta if reference is None else meta | {"reference": reference}
        return Trajectory(t=t, name=run.model.name, model=run.model, meta=meta, **arrays)

    return recorded(run, setup, outcome, loop.system.note, make)
