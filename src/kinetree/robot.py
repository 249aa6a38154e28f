"""Robot: the front door. It holds a model and computes its quantities with compiled kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

from kinetree import algorithms
from kinetree.algorithms import Ellipsoid, Recursion, TaskSpace
from kinetree.algorithms.base_parameters import GROUPS
from kinetree.base.arrays import Array, ArrayLike
from kinetree.description import Friction
from kinetree.kernels.memo import Compiled, frame_kernel
from kinetree.model import Model, build_model, model_of
from kinetree.model.inputs import TipWrench, Wrenches, frame_wrenches
from kinetree.scalars import Scalar

if TYPE_CHECKING:
    from kinetree.algorithms.derivatives import Linearization, TaskSpaceDerivatives
    from kinetree.backends.cuda.kernel import CudaKernel
    from kinetree.backends.kernel import Kernel
    from kinetree.description.tables import JointOptions
    from kinetree.explain import Explanation
    from kinetree.kernels import signatures
    from kinetree.kernels.signatures import KernelOptions
    from kinetree.report import Report
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
Unphysical = Literal["error", "warn", "allow"]
Losses = Literal["warn", "error", "allow"]
Axes = Literal["body", "space"]
Part = Literal["linear", "angular"]
Formulation = Literal["screw", "closed", "link", "space"]


class Robot:
    """A robot: its frozen `model` and the quantities of its dynamics.

    Quantities are kernels compiled for this robot: they broadcast over leading axes, take `out=`,
    and accept one state as well as a million. `kinetree.algorithms` has the textbook form.
    """

    inverse_dynamics: Compiled[signatures.InverseDynamicsKernel] = Compiled("inverse_dynamics")
    forward_dynamics: Compiled[signatures.ForwardDynamicsKernel] = Compiled("forward_dynamics")
    mass_matrix: Compiled[signatures.PositionKernel] = Compiled("mass_matrix")
    mass_matrix_rate: Compiled[signatures.VelocityKernel] = Compiled("mass_matrix_rate")
    coriolis_matrix: Compiled[signatures.VelocityKernel] = Compiled("coriolis_matrix")
    coriolis_forces: Compiled[signatures.VelocityKernel] = Compiled("coriolis_forces")
    gravity_forces: Compiled[signatures.PositionKernel] = Compiled("gravity_forces")
    bias_forces: Compiled[signatures.LoadedVelocityKernel] = Compiled("bias_forces")
    friction_forces: Compiled[signatures.RateKernel] = Compiled("friction_forces")
    kinetic_energy: Compiled[signatures.VelocityKernel] = Compiled("kinetic_energy")
    potential_energy: Compiled[signatures.PositionKernel] = Compiled("potential_energy")
    center_of_mass: Compiled[signatures.PositionKernel] = Compiled("center_of_mass")
    momentum: Compiled[signatures.VelocityKernel] = Compiled("momentum")
    centroidal_momentum: Compiled[signatures.VelocityKernel] = Compiled("centroidal_momentum")
    link_poses: Compiled[signatures.PositionKernel] = Compiled("link_poses")
    inverse_dynamics_derivatives: Compiled[signatures.InverseDerivativesKernel] = Compiled(
        "inverse_dynamics_derivatives"
    )
    forward_dynamics_derivatives: Compiled[signatures.ForwardDerivativesKernel] = Compiled(
        "forward_dynamics_derivatives"
    )
    regressor: Compiled[signatures.MotionKernel] = Compiled("regressor")
    energy_regressor: Compiled[signatures.EnergyRegressorKernel] = Compiled("energy_regressor")
    momentum_regressor: Compiled[signatures.VelocityKernel] = Compiled("momentum_regressor")

    def __init__(self, model: Model, report: Report | None = None) -> None:
        self.model = model_of(model)
        self.report = report

    @classmethod
    def from_screws(
        cls,
        S: ArrayLike,
        M: ArrayLike,
        G: ArrayLike,
        *,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Robot:
        """Build a robot from screw axes S and home poses M in {s}, and spatial inertias G.

        Arguments as in `kinetree.description.describe_screws`.
        """
        from kinetree.description.tables.screws import describe_screws

        found = describe_screws(S, M, G, parent=parent, **options)
        return cls(build_model(found, unphysical=unphysical))

    @classmethod
    def from_transforms(
        cls,
        M: ArrayLike,
        G: ArrayLike,
        *,
        S: ArrayLike | None = None,
        A: ArrayLike | None = None,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Robot:
        """Build a robot from poses M of each link in its parent's frame, and spatial inertias G.

        Arguments as in `kinetree.description.describe_transforms`.
        """
        from kinetree.description.tables.screws import describe_transforms

        found = describe_transforms(M, G, S=S, A=A, parent=parent, **options)
        return cls(build_model(found, unphysical=unphysical))

    @classmethod
    def from_dh(
        cls,
        table: ArrayLike,
        *,
        m: ArrayLike,
        com: ArrayLike,
        I_com: ArrayLike,
        convention: Literal["standard", "modified"] = "standard",
        types: str | Sequence[str] = "revolute",
        tool: ArrayLike | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Robot:
        """Build a robot from a Denavit-Hartenberg table; see `kinetree.description.describe_dh`."""
        from kinetree.description.tables.dh import describe_dh

        found = describe_dh(
            table, m=m, com=com, I_com=I_com, convention=convention, types=types, tool=tool,
            **options,
        )  # fmt: skip
        return cls(build_model(found, unphysical=unphysical))

    @classmethod
    def from_points(
        cls,
        P: ArrayLike,
        C: ArrayLike,
        k: ArrayLike,
        *,
        m: ArrayLike,
        I_com: ArrayLike,
        types: str | Sequence[str] = "revolute",
        pitch: ArrayLike = 0,
        R: ArrayLike | None = None,
        parent: Sequence[int] | None = None,
        unphysical: Unphysical = "error",
        **options: Unpack[JointOptions],
    ) -> Robot:
        """Build a robot from joint points P, mass centres C and axes k at q = 0, in {s}.

        Arguments as in `kinetree.description.describe_points`.
        """
        from kinetree.description.tables.points import describe_points

        found = describe_points(
            P, C, k, m=m, I_com=I_com, types=types, pitch=pitch, R=R, parent=parent, **options
        )
        return cls(build_model(found, unphysical=unphysical))

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return self.model.n

    @property
    def parameters(self) -> Array:
        """Pi, (p,): what `regressor` is multiplied with; see `algorithms.parameter_list`."""
        return algorithms.parameters(self.model)

    def base_parameters(
        self, *, groups: Sequence[str] = GROUPS, seed: int = 0
    ) -> algorithms.BaseParameters:
        """Find the parameter combinations that determine tau; see `algorithms.base_parameters`."""
        return algorithms.base_parameters(self.model, groups=groups, seed=seed)

    @overload
    def compile(
        self, quantity: str, *, target: Cpu = ..., **options: Unpack[KernelOptions]
    ) -> Kernel: ...
    @overload
    def compile(
        self, quantity: str, *, target: Cuda, **options: Unpack[KernelOptions]
    ) -> CudaKernel: ...
    def compile(
        self,
        quantity: str,
        *,
        frame: str | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        target: Cpu | Cuda = "cpu",
    ) -> Kernel | CudaKernel:
        """Compile a quantity for this robot; see `kinetree.kernels.compile.compile_kernel`.

        Args:
            quantity: the name, such as "inverse_dynamics" or "pose".
            frame: the frame of a pose or Jacobian; the tool when None.
            wrenches: whether F_ext, (links, 6), is a further argument.
            free: robot data that become further arguments: some of "mass", "com", "inertia",
                "gravity", "friction".
            target: cpu, or "cuda" for a kernel that takes and returns CuPy arrays.
        """
        from kinetree.kernels.compile import compile_kernel

        return compile_kernel(
            self.model, quantity, frame=frame, wrenches=wrenches, free=free, target=target
        )

    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        target: Cpu = ...,
        **options: Unpack[KernelOptions],
    ) -> Kernel: ...
    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        target: Cuda,
        **options: Unpack[KernelOptions],
    ) -> CudaKernel: ...
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = "q",
        *,
        frame: str | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        target: Cpu | Cuda = "cpu",
    ) -> Kernel | CudaKernel:
        """Compile d quantity/d arguments; q is moved along tangents of `integrate`.

        Args:
            quantity: the name, as in `compile`.
            wrt: the arguments to differentiate by, names of free data included.
            frame, wrenches, free, target: as in `compile`.

        Returns:
            A kernel with a result for each argument of `wrt`, shape (*quantity, *argument).
        """
        from kinetree.kernels.compile import compile_derivative

        return compile_derivative(
            self.model, quantity, wrt, frame=frame, wrenches=wrenches, free=free, target=target
        )

    def pose(self, q: ArrayLike, frame: str | None = None) -> Array:
        """T_sb of a frame, the tool when None, (..., 4, 4)."""
        return frame_kernel(self.model, "pose", frame)(q)

    def body_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array:
        """J_b of a frame, (..., 6, n): its twist in its own axes is J_b dq."""
        return frame_kernel(self.model, "body_jacobian", frame)(q)

    def space_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array:
        """J_s of a frame, (..., 6, n): its twist in {s} is J_s dq."""
        return frame_kernel(self.model, "space_jacobian", frame)(q)

    def body_jacobian_rate(self, q: ArrayLike, dq: ArrayLike, frame: str | None = None) -> Array:
        """dJ_b/dt, (..., 6, n)."""
        return frame_kernel(self.model, "body_jacobian_rate", frame)(q, dq)

    def space_jacobian_rate(self, q: ArrayLike, dq: ArrayLike, frame: str | None = None) -> Array:
        """dJ_s/dt, (..., 6, n)."""
        return frame_kernel(self.model, "space_jacobian_rate", frame)(q, dq)

    def task_space(
        self,
        q: ArrayLike,
        dq: ArrayLike | None = None,
        *,
        V: ArrayLike | None = None,
        frame: str | None = None,
        expressed: Axes = "body",
        rows: Sequence[int] | None = None,
        damping: float = 0,
        tolerance: float = 1e-6,
    ) -> TaskSpace:
        """Lambda, eta, the null space and more at one state; see `algorithms.task_space`."""
        return algorithms.task_space(
            self.model, q, dq, V=V, frame=frame, expressed=expressed, rows=rows, damping=damping,
            tolerance=tolerance,
        )  # fmt: skip

    def task_space_derivatives(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        *,
        frame: str | None = None,
        expressed: Axes = "body",
        rows: Sequence[int] | None = None,
    ) -> TaskSpaceDerivatives:
        """Derivatives of J, Lambda and eta, for any leading axes; see `kernels.task_space`."""
        from kinetree.kernels.task_space import task_space_derivatives

        return task_space_derivatives(
            self.model, q, dq, frame=frame, expressed=expressed, rows=rows
        )

    def mass_ellipsoid(
        self, q: ArrayLike, frame: str | None = None, *, part: Part = "linear"
    ) -> Ellipsoid:
        """Effective masses at a frame; see `kinetree.algorithms.mass_ellipsoid`."""
        return algorithms.mass_ellipsoid(self.model, q, frame, part=part)

    def force_ellipsoid(
        self, q: ArrayLike, frame: str | None = None, *, part: Part = "linear"
    ) -> Ellipsoid:
        """Forces that joint forces of unit norm balance; see `algorithms.force_ellipsoid`."""
        return algorithms.force_ellipsoid(self.model, q, frame, part=part)

    def linearize(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike,
        F_ext: ArrayLike | None = None,
        *,
        dt: float | None = None,
    ) -> Linearization:
        """A (..., 2n, 2n) and B (..., 2n, n) of small deviations from a motion.

        The system is dx/dt = A x + B u, or x' = A x + B u after dt seconds where dt is given.
        """
        from kinetree.algorithms.derivatives.forward_dynamics import assemble

        loads = () if F_ext is None else (F_ext,)
        blocks = self.forward_dynamics_derivatives(q, dq, tau, *loads)
        batch = blocks[0].shape[:-1]
        system = assemble(self.model, np.broadcast_to(np.asarray(dq, float), batch), *blocks)
        return system if dt is None else system.discrete(dt)

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

    def neutral(self) -> Array:
        """The position in which every joint stands at zero, (nq,)."""
        return algorithms.neutral(self.model)

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """A random position within the limits, (nq,); `rng` is a generator or a seed."""
        return algorithms.random(self.model, np.random.default_rng(rng))

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The position reached from q, (nq,), along a tangent vector v, (n,)."""
        return algorithms.integrate(self.model, q, v)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The tangent vector, (n,), that leads from q0 to q1."""
        return algorithms.difference(self.model, q0, q1)

    def wrenches(self, onto: Mapping[str, ArrayLike]) -> Array:
        """F_ext, (links, 6), of wrenches (6,) from the world onto named frames, in these frames."""
        return frame_wrenches(self.model, onto)

    def newton_euler(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        F_ext: Wrenches = None,
        *,
        F_tip: TipWrench = None,
        V_base: ArrayLike | None = None,
        dV_base: ArrayLike | None = None,
        formulation: Formulation = "screw",
    ) -> Recursion:
        """Inverse dynamics with every intermediate; see `kinetree.algorithms.newton_euler`."""
        return algorithms.newton_euler(
            self.model, q, dq, ddq, F_ext, F_tip=F_tip, V_base=V_base, dV_base=dV_base,
            formulation=formulation,
        )  # fmt: skip

    def explain(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        F_ext: Wrenches = None,
        *,
        F_tip: TipWrench = None,
        V_base: ArrayLike | None = None,
        dV_base: ArrayLike | None = None,
        formulation: Formulation = "screw",
    ) -> Explanation:
        """Inverse dynamics with the parts of every intermediate; see `kinetree.explain.explain`."""
        from kinetree.explain import explain

        return explain(
            self.model, q, dq, ddq, F_ext, F_tip=F_tip, V_base=V_base, dV_base=dV_base,
            formulation=formulation,
        )  # fmt: skip

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot under another gravity, 3-vector in {s}, m/s^2."""
        return Robot(self.model.with_gravity(gravity))

    def with_payload(
        self,
        m: Scalar,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Robot:
        """The same robot with a body fixed to a frame, the tool when None."""
        return Robot(self.model.with_payload(m, com, I_com, frame))

    def with_friction(self, friction: Mapping[str, Friction]) -> Robot:
        """The same robot with other friction at some joints: {name: kt.Friction(...)}."""
        return Robot(self.model.with_friction(friction))

    def lock(self, values: Mapping[str, ArrayLike]) -> Robot:
        """The robot with joints fixed at given positions; see `kinetree.model.reshape.lock`."""
        from kinetree.model import reshape

        return Robot(reshape.lock(self.model, values))

    def subtree(self, link: str) -> Robot:
        """The robot from a link outward; see `kinetree.model.reshape.subtree`."""
        from kinetree.model import reshape

        return Robot(reshape.subtree(self.model, link))

    def with_tool(
        self,
        name: str,
        at: ArrayLike = (0, 0, 0),
        frame: str | None = None,
        *,
        m: Scalar | None = None,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
    ) -> Robot:
        """Add a tool frame, and a body there if m is given; see `kinetree.model.reshape`."""
        from kinetree.model import reshape

        return Robot(reshape.with_tool(self.model, name, at, frame, m, com, I_com))

    def attach(self, other: Robot, frame: str | None = None, prefix: str = "") -> Robot:
        """Join two robots, the other's base on a frame; see `kinetree.model.reshape.attach`."""
        from kinetree.model import reshape

        return Robot(reshape.attach(self.model, model_of(other), frame, prefix))

    def to_urdf(self, *, losses: Losses = "warn", infinity: float = 1e30) -> str:
        """The robot as URDF text; see `kinetree.write.to_urdf`."""
        from kinetree.write import to_urdf

        return to_urdf(self.model, losses=losses, infinity=infinity)

    def to_mjcf(self, *, losses: Losses = "warn") -> str:
        """The robot as MJCF text; see `kinetree.write.to_mjcf`."""
        from kinetree.write import to_mjcf

        return to_mjcf(self.model, losses=losses)

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self.model, self.report)  # kernels are made again where they are needed

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, joints: {', '.join(self.model.joint_names)})"
