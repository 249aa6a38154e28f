"""Robot.simulate: a motion from a state; its options in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Unpack, overload

from kinetree.core.arrays import ArrayLike, StateLike
from kinetree.model import HasModel, Model, model_of
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.controller import Controller
from kinetree.simulate.events import Events
from kinetree.simulate.inputs import ForceInput
from kinetree.simulate.options import (
    EffortLimits,
    Law,
    LimitsChoice,
    MethodName,
    Run,
    SimulationOptions,
)
from kinetree.simulate.simulation import simulate as simulated

if TYPE_CHECKING:
    from kinetree.simulate.gpu import GpuTrajectory

Cpu = Literal["cpu"]
Cuda = Literal["cuda"]


@overload
def simulate(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Cpu = ...,
    **options: Unpack[SimulationOptions],
) -> Trajectory: ...
@overload
def simulate(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = ...,
    *,
    target: Cuda,
    **options: Unpack[SimulationOptions],
) -> GpuTrajectory: ...
def simulate(
    robot: Model | HasModel,
    q0: StateLike,
    dq0: StateLike | None = None,
    *,
    duration: float,
    method: MethodName | None = None,
    dt: float | None = None,
    every: int | None = None,
    record: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    breaks: ArrayLike | None = None,
    events: Events = (),
    tau: ForceInput | None = None,
    F_ext: ForceInput | None = None,
    controller: Controller | Law | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    controls: ForceInput | None = None,
    activation: StateLike | None = None,
    drive_state: ArrayLike | None = None,
    friction_state: ArrayLike | None = None,
    limits: LimitsChoice = "stop",
    effort_limits: EffortLimits = "watch",
    progress: bool | None = None,
    target: Cpu | Cuda = "cpu",
) -> Trajectory | GpuTrajectory:
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
            rollouts of a batch. None: "rk4", and "time_stepping" for robots with contacts
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
        limits: "stop" stops joints at the limits of their positions with "time_stepping",
            "semi_implicit_euler", "implicit" and "implicitfast", and lists violations of other
            limits in the result's `meta`; with other methods it is "error", which raises
            SimulationError if a joint leaves any limit. "record" lists violations, "ignore" does
            not look.
        effort_limits: "watch" looks at the joint forces as `limits` says, "saturate" clips the
            forces of tau and of a controller to the limits of the joints, as motors do.
        progress: whether to show a bar on the error stream; None: on a terminal, in long runs.
        target: "cpu", or "cuda" for fixed steps on an NVIDIA GPU.

    Returns:
        A Trajectory: t (T,), s; q (T, ..., nq); dq, ddq and tau (T, ..., n). A GpuTrajectory
        for "cuda". `meta` describes the run: method, steps, error (of fixed steps: the
        estimated largest error of each entry of q, (nq,), or None), note (why a law could not
        be compiled), violations, events, controller_state (T, ..., m); controls and activation
        {actuator: (T, ...)}, command (T, ..., n), the joint forces before the drives, and
        drive_state; friction_state {joint: (T, ...)}, deflections of bristles, rad or m; of
        constraints constraint_forces {constraint: (T, ..., rows)} and closure (T, ...), the
        largest error of their equations; of contacts contact_forces, N, the mean until the
        next record, and contact_points, m, both in {s}, contact_gaps, m, contact_modes (0
        open, 1 sticking, 2 slipping) by contact, and contact_residual of each step, of which
        those above 1e-8 are logged; of joints that
        reached a stop stop_forces, N m or N, and of robots with stops or dry friction residual;
        of a controller that follows joint positions stuck, the
        joints that friction keeps from their goal, and reference, {"t": (K,), "q": (K, nq)}.

    Raises:
        SimulationError: a state is not finite, a joint left its limits, or constraints could
            not be closed.

    Example:
        >>> robot = kt.robots.planar_2r()
        >>> robot.simulate([0.1, 0.2], duration=0.5, limits="ignore").q.shape
        (501, 2)
    """
    given = dict(locals())  # all arguments by their names
    return simulated(Run(model=model_of(given.pop("robot")), **given))
