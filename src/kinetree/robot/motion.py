"""Motion of a robot: steps, simulation and its derivatives, limits, inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast, overload

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.model.documented import documented_like
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.engine.kernels.signatures import Beside, Labelled, Named, Tensor
    from kinetree.motion.limits.report import LimitReport
    from kinetree.motion.trajectory import Trajectory
    from kinetree.simulate.core.controller import Controller
    from kinetree.simulate.core.events import Events
    from kinetree.simulate.core.inputs import ForceInput
    from kinetree.simulate.core.run import (
        FixedMethod,
        Law,
        LimitsChoice,
        MethodName,
        SimulationOptions,
    )
    from kinetree.simulate.gpu.rollouts import GpuTrajectory
    from kinetree.simulate.sensitivity.result import Sensitivities

Cpu = Literal["cpu"]
Cuda = Literal["cuda"]
StepMethod = Literal[
    "semi_implicit_euler", "time_stepping", "implicit", "implicitfast", "rk4", "euler"
]


Function = TypeVar("Function", bound="Callable[..., Any]")


def _by_kernel(like: Function) -> Function:
    """Let the first call make the kernel of a step; later calls find it in the instance."""

    @wraps(like)
    def step(self: Motion, *arguments: Any, **options: Any) -> Any:
        from kinetree.robot.step import make_step

        kernel: Any = make_step(self, self.step)
        self.__dict__["step"] = kernel
        return kernel(*arguments, **options)

    return cast("Function", step)


class Motion(RobotCore):
    """Motion of a robot."""

    @overload
    def step(
        self,
        q: Tensor,
        dq: Tensor | Beside,
        tau: Tensor | Beside | None,
        dt: Tensor | float,
        F_ext: Tensor | Beside | None = None,
        *,
        method: StepMethod = ...,
        kp: Tensor | Beside | None = None,
        kd: Tensor | Beside | None = None,
        controls: Tensor | Beside | None = None,
        activation: None = None,
        out: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def step(
        self,
        q: Named,
        dq: Beside,
        tau: Beside | None,
        dt: Array | float,
        F_ext: ArrayLike | None = None,
        *,
        method: StepMethod = ...,
        kp: Beside | None = None,
        kd: Beside | None = None,
        controls: Beside | None = None,
        activation: None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]: ...
    @overload
    def step(
        self,
        q: Labelled,
        dq: Labelled | Beside,
        tau: Labelled | Beside | None,
        dt: ArrayLike,
        F_ext: ArrayLike | None = None,
        *,
        method: StepMethod = ...,
        kp: Labelled | Beside | None = None,
        kd: Labelled | Beside | None = None,
        controls: Labelled | Beside | None = None,
        activation: None = None,
    ) -> tuple[Labelled, Labelled]: ...
    @overload
    def step(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike | None,
        dt: ArrayLike,
        F_ext: ArrayLike | None = None,
        *,
        method: StepMethod = ...,
        kp: ArrayLike | None = None,
        kd: ArrayLike | None = None,
        controls: ArrayLike | None = None,
        activation: None = None,
        out: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]: ...
    @overload
    def step(
        self,
        q: object,
        dq: object,
        tau: object,
        dt: object,
        F_ext: object = None,
        *,
        method: StepMethod = ...,
        controls: object,
        activation: object,
        out: tuple[Array, Array, Array] | None = None,
    ) -> tuple[Any, Any, Any]: ...
    @overload
    def step(
        self,
        q: object,
        dq: object,
        *,
        dt: object,
        F_ext: object = None,
        method: StepMethod = ...,
        controls: object,
        activation: object = None,
        out: tuple[Array, ...] | None = None,
    ) -> tuple[Any, ...]: ...
    @_by_kernel
    def step(
        self,
        q: object,
        dq: object,
        tau: object = None,
        dt: object = None,
        F_ext: object = None,
        *,
        method: StepMethod = "semi_implicit_euler",
        kp: object = None,
        kd: object = None,
        controls: object = None,
        activation: object = None,
        out: object = None,
    ) -> Any:
        """Joint positions and rates after one step of the time dt.

        The step is that of `simulate` with the same method, to the last bit. Forces are constant
        in the step; Coulomb friction stops and holds joints. A robot with constraints must begin
        on them (errors below 1e-8 rad or m, or 1e-4 in float32; otherwise the results are NaN), and
        the end of its step is projected onto them.

        Args:
            q: joint positions, shape (..., nq), rad or m; quaternions of length 1.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: joint forces, shape (..., n), N m or N; None: no forces but those of actuators.
            dt: length of the step, shape (...), s, positive.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            method: "semi_implicit_euler" (q moves with the new dq), "implicit" (the same with the
                friction and the springs of the end of the step: stable for damping and stiffness of
                any size), "implicitfast" (with the friction of the end of the step alone, as in
                MuJoCo), "rk4" (of order 4) or "euler" (q moves with the old dq).
            kp: -d tau/d q of each joint, shape (..., n), N m/rad or N/m; None: 0. With it
                "implicit" takes the tau of the end of the step, so that stiff servos are stable.
            kd: -d tau/d dq of each joint, shape (..., n), N m s/rad or N s/m, for "implicit" and
                "implicitfast"; None: 0.
            controls: controls of the actuators, shape (..., u), in the order of
                `robot.model.actuator_names`; None: actuators do not act. Their forces add to tau,
                and implicit methods take their slopes into account.
            activation: activations of the actuators that have a state, shape (..., a), in the order
                of `robot.model.activation_names`; None: no actuator has one.
            out: arrays for the results; None: new arrays.

        Returns:
            q_next: joint positions after the step, shape (..., nq), rad or m.
            dq_next: joint rates after the step, shape (..., n), rad/s or m/s.
            activation_next: activations after the step, shape (..., a), if activations are given.

        Arrays, lists and tensors follow `robot.coordinate_names` (q) and `robot.dof_names` (the
        others); a dict, a pandas Series or DataFrame or a polars DataFrame is aligned by these
        names, and results are labelled alike. Leading axes broadcast. In shapes, n
        is `robot.n`, nq is `robot.nq`, l the number of moving links, ... any leading axes.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> q, dq = robot.step([0.1, 0.2], [1, 0], [0, 0], 0.01)
            >>> q.round(6)
            array([0.108442, 0.202853])
        """

    @overload
    def simulate(
        self,
        q0: StateLike,
        dq0: StateLike | None = ...,
        *,
        target: Cpu = ...,
        **options: Unpack[SimulationOptions],
    ) -> Trajectory: ...
    @overload
    def simulate(
        self,
        q0: StateLike,
        dq0: StateLike | None = ...,
        *,
        target: Cuda,
        **options: Unpack[SimulationOptions],
    ) -> GpuTrajectory: ...
    def simulate(
        self,
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
        closure_time: float | None = None,
        progress: bool | None = None,
        target: Cpu | Cuda = "cpu",
    ) -> Trajectory | GpuTrajectory:
        """Compute a motion from a state, under forces and a controller.

        Args:
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
                SimulationError if a joint leaves any limit. "record" lists violations, "ignore"
                does not look.
            closure_time: in which errors of constraints decay with fixed steps, s; None: every
                state is projected onto the constraints.
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
            those above 1e-8 are logged; of joints that reached a stop stop_forces {joint: (T,
            ...)}, N m or N; of robots with stops or dry friction residual (T, ...), logged, too;
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
        from kinetree.simulate.core.run import Run
        from kinetree.simulate.simulation import simulate as simulated

        run = Run(
            model=self.model, q0=q0, dq0=dq0, duration=duration, method=method, dt=dt, every=every,
            record=record, rtol=rtol, atol=atol, max_step=max_step, breaks=breaks, events=events,
            tau=tau, F_ext=F_ext, controller=controller, parameters=parameters, controls=controls,
            activation=activation, drive_state=drive_state, friction_state=friction_state,
            limits=limits, closure_time=closure_time, progress=progress, target=target,
        )  # fmt: skip
        return simulated(run)

    @documented_like(simulate)
    def sensitivities(
        self,
        q0: StateLike,
        dq0: StateLike | None = None,
        *,
        duration: float,
        dt: float | None = None,
        method: FixedMethod | None = None,
        wrt: str | Sequence[str] = ("q0", "dq0"),
        tau: ForceInput | None = None,
        F_ext: ForceInput | None = None,
        controller: Controller | Law | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        limits: LimitsChoice = "stop",
    ) -> Sensitivities:
        """Compute a motion and its derivatives by initial states, forces or robot data.

        Args:
            dt: length of a step, s; None: 0.001.
            method: of fixed steps, "rk4", "semi_implicit_euler", "implicit", "implicitfast" or
                "euler"; None: as in `simulate`.
            wrt: inputs to differentiate by: some of "q0", "dq0", "tau", "F_ext", "mass", "com",
                "inertia", "gravity", "friction", "springs", "parameters"; of contacts, which need
                a compliance, "contact_friction", "restitution", "ground".

        Returns:
            A record of the steps: `by(name)` is the derivative of every state; `gradient` and
            `cost` go backward for one number.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> found = robot.sensitivities([0.1, 0.2], duration=0.01, wrt="q0", limits="ignore")
        """
        from kinetree.simulate.sensitivity.sensitivities import sensitivities

        return sensitivities(
            self.model, q0, dq0, duration=duration, dt=dt, method=method, wrt=wrt, tau=tau,
            F_ext=F_ext, controller=controller, parameters=parameters, limits=limits,
        )  # fmt: skip

    def check(
        self,
        trajectory: Trajectory,
        *,
        effort: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        tolerance: float = 1e-6,
    ) -> LimitReport:
        """Compare a trajectory with the limits of position, rate and force, also between samples.

        Args:
            trajectory: a motion, from `simulate`, `kt.motion` or a file.
            effort: limits of joint force instead of the robot's own, a number or shape (n,), N m or
                N; None: those of the robot.
            velocity: limits of rate instead of the robot's own, a number or shape (n,), rad/s or
                m/s; None: those of the robot.
            tolerance: share of a limit by which it may be exceeded, dimensionless.

        Returns:
            A LimitReport: peaks, means, power and energy of every joint, and the violations.
        """
        from kinetree.motion.limits.check import check_limits

        return check_limits(self, trajectory, effort=effort, velocity=velocity, tolerance=tolerance)

    def inverse_kinematics(
        self,
        T: ArrayLike,
        q0: StateLike | None = None,
        *,
        frame: str | None = None,
        part: Literal["pose", "position"] = "pose",
        tolerance: float = 1e-10,
        iterations: int = 200,
        restarts: int = 30,
        seed: int = 0,
    ) -> Array:
        """Find q within the limits that brings a frame to a pose.

        Args:
            T: pose to reach in {s}, shape (4, 4), position in m.
            q0: position to start from, shape (nq,), rad or m; None: the neutral position.
            frame: name of the frame to move; None: the tool.
            part: "pose", or "position" to leave the orientation free.
            tolerance: error to reach, rad and m together.
            iterations: largest number of steps from one start.
            restarts: number of random starts after the first.
            seed: seed of the random starts.

        Returns:
            q: shape (nq,), rad or m.

        Raises:
            InputError: the pose is not reached; the message has the distance that remained.

        Example:
            >>> robot = kt.robots.ur5e()
            >>> q = robot.inverse_kinematics(robot.pose([0, -1, 1, 0, 0.5, 0]))
        """
        from kinetree.motion.plan.inverse_kinematics import inverse_kinematics

        return inverse_kinematics(
            self, T, q0, frame=frame, part=part, tolerance=tolerance, iterations=iterations,
            restarts=restarts, seed=seed,
        )  # fmt: skip
