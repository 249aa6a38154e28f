"""Motion of a robot: simulation and its derivatives, limits, inverse kinematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Unpack, overload

from kinetree.base.arrays import Array, ArrayLike
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.samples.limits.report import LimitReport
    from kinetree.simulate.core.controller import Controller
    from kinetree.simulate.core.events import Events
    from kinetree.simulate.core.sources import ForceInput
    from kinetree.simulate.gpu.rollouts import GpuTrajectory
    from kinetree.simulate.sensitivity.result import Sensitivities
    from kinetree.simulate.simulation import Law, LimitsChoice, MethodName, SimulationOptions
    from kinetree.trajectory import Trajectory

Cpu = Literal["cpu"]
Cuda = Literal["cuda"]


class Motion(RobotCore):
    """Motion of a robot."""

    @overload
    def simulate(
        self,
        q0: ArrayLike,
        dq0: ArrayLike | None = ...,
        *,
        target: Cpu = ...,
        **options: Unpack[SimulationOptions],
    ) -> Trajectory: ...
    @overload
    def simulate(
        self,
        q0: ArrayLike,
        dq0: ArrayLike | None = ...,
        *,
        target: Cuda,
        **options: Unpack[SimulationOptions],
    ) -> GpuTrajectory: ...
    def simulate(
        self,
        q0: ArrayLike,
        dq0: ArrayLike | None = None,
        *,
        duration: float,
        dt: float | None = None,
        method: MethodName = "dop853",
        tau: ForceInput | None = None,
        F_ext: ForceInput | None = None,
        controller: Controller | Law | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        every: int = 1,
        limits: LimitsChoice = "stop",
        events: Events = (),
        rtol: float = 1e-8,
        atol: float = 1e-10,
        max_step: float | None = None,
        progress: bool | None = None,
        target: Cpu | Cuda = "cpu",
    ) -> Trajectory | GpuTrajectory:
        """Compute a motion under forces and a controller; see `kinetree.simulate.simulate`."""
        from kinetree.simulate.simulation import simulate

        return simulate(
            self.model, q0, dq0, duration=duration, dt=dt, method=method, tau=tau, F_ext=F_ext,
            controller=controller, parameters=parameters, every=every, limits=limits,
            events=events, rtol=rtol, atol=atol, max_step=max_step, progress=progress,
            target=target,
        )  # fmt: skip

    def sensitivities(
        self,
        q0: ArrayLike,
        dq0: ArrayLike | None = None,
        *,
        duration: float,
        dt: float | None = None,
        method: MethodName = "rk4",
        wrt: str | Sequence[str] = ("q0", "dq0"),
        tau: ForceInput | None = None,
        F_ext: ForceInput | None = None,
        controller: Controller | Law | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        limits: LimitsChoice = "stop",
        events: Events = (),
        rtol: float = 1e-8,
        atol: float = 1e-10,
        max_step: float | None = None,
    ) -> Sensitivities:
        """Compute a motion and its derivatives; see `kinetree.simulate.sensitivities`."""
        from kinetree.simulate.sensitivity.sensitivities import sensitivities

        return sensitivities(
            self.model, q0, dq0, duration=duration, dt=dt, method=method, wrt=wrt, tau=tau,
            F_ext=F_ext, controller=controller, parameters=parameters, limits=limits,
            events=events, rtol=rtol, atol=atol, max_step=max_step,
        )  # fmt: skip

    def check(
        self,
        trajectory: Trajectory,
        *,
        effort: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        tolerance: float = 1e-6,
    ) -> LimitReport:
        """Compare a trajectory with the limits; see `kinetree.motion.check_limits`."""
        from kinetree.samples.limits.check import check_limits

        return check_limits(self, trajectory, effort=effort, velocity=velocity, tolerance=tolerance)

    def inverse_kinematics(
        self,
        T: ArrayLike,
        q0: ArrayLike | None = None,
        *,
        frame: str | None = None,
        part: Literal["pose", "position"] = "pose",
        tolerance: float = 1e-10,
        iterations: int = 200,
        restarts: int = 30,
        seed: int = 0,
    ) -> Array:
        """Find q that brings a frame to a pose; see `kinetree.motion.inverse_kinematics`."""
        from kinetree.motion.inverse_kinematics import inverse_kinematics

        return inverse_kinematics(
            self, T, q0, frame=frame, part=part, tolerance=tolerance, iterations=iterations,
            restarts=restarts, seed=seed,
        )  # fmt: skip
