"""Robot: the front door. It holds a model and hands out what can be computed of it, compiled."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from kinetree import algorithms
from kinetree.algorithms import Ellipsoid, Recursion, TaskSpace
from kinetree.base.arrays import Array
from kinetree.description import describe_dh, describe_points, describe_screws, describe_transforms
from kinetree.kernels.memo import Compiled, kernel
from kinetree.model import Model, build_model, model_of, reshape
from kinetree.model.inputs import frame_wrenches

if TYPE_CHECKING:
    from kinetree.algorithms.derivatives import Linearization, TaskSpaceDerivatives
    from kinetree.backends.cuda import CudaKernel
    from kinetree.backends.kernel import Kernel
    from kinetree.description import Friction
    from kinetree.explain import Explanation
    from kinetree.samples.limits.report import LimitReport
    from kinetree.simulate.gpu.rollouts import GpuTrajectory
    from kinetree.simulate.sensitivity.result import Sensitivities
    from kinetree.trajectory import Trajectory

Cpu = Literal["cpu"]
Cuda = Literal["cuda"]


class Robot:
    """A robot: its frozen `model` and the quantities of its dynamics.

    Quantities are kernels compiled for this robot: they broadcast over leading axes, take `out=`,
    and accept one state as well as a million. `kinetree.algorithms` has the textbook form.
    """

    inverse_dynamics = Compiled("inverse_dynamics")
    forward_dynamics = Compiled("forward_dynamics")
    mass_matrix = Compiled("mass_matrix")
    mass_matrix_rate = Compiled("mass_matrix_rate")
    coriolis_matrix = Compiled("coriolis_matrix")
    coriolis_forces = Compiled("coriolis_forces")
    gravity_forces = Compiled("gravity_forces")
    bias_forces = Compiled("bias_forces")
    friction_forces = Compiled("friction_forces")
    kinetic_energy = Compiled("kinetic_energy")
    potential_energy = Compiled("potential_energy")
    center_of_mass = Compiled("center_of_mass")
    momentum = Compiled("momentum")
    centroidal_momentum = Compiled("centroidal_momentum")
    link_poses = Compiled("link_poses")
    inverse_dynamics_derivatives = Compiled("inverse_dynamics_derivatives")
    forward_dynamics_derivatives = Compiled("forward_dynamics_derivatives")
    regressor = Compiled("regressor")
    energy_regressor = Compiled("energy_regressor")
    momentum_regressor = Compiled("momentum_regressor")

    def __init__(self, model: Model, report: Any = None) -> None:
        self.model = model_of(model)
        self.report = report

    @classmethod
    def from_screws(
        cls, S: Any, M: Any, G: Any, *, unphysical: str = "error", **rest: Any
    ) -> "Robot":
        """From screw axes and home poses in {s}; see `kinetree.description.describe_screws`."""
        return cls(build_model(describe_screws(S, M, G, **rest), unphysical=unphysical))

    @classmethod
    def from_transforms(cls, M: Any, G: Any, *, unphysical: str = "error", **rest: Any) -> "Robot":
        """From parent-to-child poses; see `kinetree.description.describe_transforms`."""
        return cls(build_model(describe_transforms(M, G, **rest), unphysical=unphysical))

    @classmethod
    def from_dh(cls, table: Any, *, unphysical: str = "error", **rest: Any) -> "Robot":
        """From a Denavit-Hartenberg table; see `kinetree.description.describe_dh`."""
        return cls(build_model(describe_dh(table, **rest), unphysical=unphysical))

    @classmethod
    def from_points(
        cls, P: Any, C: Any, k: Any, *, unphysical: str = "error", **rest: Any
    ) -> "Robot":
        """From points and axes at q = 0; see `kinetree.description.describe_points`."""
        return cls(build_model(describe_points(P, C, k, **rest), unphysical=unphysical))

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

    def base_parameters(self, **options: Any) -> algorithms.BaseParameters:
        """Which combinations of parameters joint forces tell; see `algorithms.base_parameters`."""
        return algorithms.base_parameters(self.model, **options)

    @overload
    def compile(
        self,
        quantity: str,
        *,
        frame: str | None = ...,
        wrenches: bool = ...,
        free: Sequence[str] = ...,
        target: Cpu = ...,
    ) -> "Kernel": ...
    @overload
    def compile(
        self,
        quantity: str,
        *,
        frame: str | None = ...,
        wrenches: bool = ...,
        free: Sequence[str] = ...,
        target: Cuda,
    ) -> "CudaKernel": ...
    @overload
    def compile(
        self,
        quantity: str,
        *,
        frame: str | None = ...,
        wrenches: bool = ...,
        free: Sequence[str] = ...,
        target: str,
    ) -> "Kernel | CudaKernel": ...
    def compile(
        self,
        quantity: str,
        *,
        frame: str | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        target: str = "cpu",
    ) -> "Kernel | CudaKernel":
        """A kernel of a quantity, compiled for this robot; see `kernels.compile.compile_kernel`.

        Args:
            quantity: the name, such as "inverse_dynamics" or "pose".
            frame: the frame of a pose or Jacobian; the tool when None.
            wrenches: whether F_ext, (links, 6), is a further argument.
            free: robot data that become further arguments: some of "mass", "com", "inertia",
                "gravity", "friction".
            target: "cpu", or "cuda" for a kernel that takes and returns CuPy arrays.
        """
        from kinetree.kernels.compile import compile_kernel

        options = {"frame": frame, "wrenches": wrenches, "free": free, "target": target}
        return compile_kernel(self.model, quantity, **options)

    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        frame: str | None = ...,
        wrenches: bool = ...,
        free: Sequence[str] = ...,
        target: Cpu = ...,
    ) -> "Kernel": ...
    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        frame: str | None = ...,
        wrenches: bool = ...,
        free: Sequence[str] = ...,
        target: Cuda,
    ) -> "CudaKernel": ...
    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        frame: str | None = ...,
        wrenches: bool = ...,
        free: Sequence[str] = ...,
        target: str,
    ) -> "Kernel | CudaKernel": ...
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = "q",
        *,
        frame: str | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        target: str = "cpu",
    ) -> "Kernel | CudaKernel":
        """A kernel of d quantity/d arguments; q is moved along tangents of `integrate`.

        Args:
            quantity: the name, as in `compile`.
            wrt: the arguments to differentiate by, names of free data included.
            frame, wrenches, free, target: as in `compile`.

        Returns:
            A kernel with a result for each argument of `wrt`, shape (*quantity, *argument).
        """
        from kinetree.kernels.compile import compile_derivative

        options = {"frame": frame, "wrenches": wrenches, "free": free, "target": target}
        return compile_derivative(self.model, quantity, wrt, **options)

    def pose(self, q: Any, frame: str | None = None) -> Array:
        """T_sb of a frame, the tool when None, (..., 4, 4)."""
        return self._of_frame("pose", frame)(q)

    def body_jacobian(self, q: Any, frame: str | None = None) -> Array:
        """J_b of a frame, (..., 6, n): its twist in its own axes is J_b dq."""
        return self._of_frame("body_jacobian", frame)(q)

    def space_jacobian(self, q: Any, frame: str | None = None) -> Array:
        """J_s of a frame, (..., 6, n): its twist in {s} is J_s dq."""
        return self._of_frame("space_jacobian", frame)(q)

    def body_jacobian_rate(self, q: Any, dq: Any, frame: str | None = None) -> Array:
        """dJ_b/dt, (..., 6, n)."""
        return self._of_frame("body_jacobian_rate", frame)(q, dq)

    def space_jacobian_rate(self, q: Any, dq: Any, frame: str | None = None) -> Array:
        """dJ_s/dt, (..., 6, n)."""
        return self._of_frame("space_jacobian_rate", frame)(q, dq)

    def task_space(self, q: Any, dq: Any = None, **options: Any) -> TaskSpace:
        """Lambda, eta and the rest at one state; see `kinetree.algorithms.task_space`."""
        return algorithms.task_space(self.model, q, dq, **options)

    def task_space_derivatives(self, q: Any, dq: Any, **options: Any) -> "TaskSpaceDerivatives":
        """Slopes of J, Lambda, eta, any leading axes; see `kinetree.kernels.task_space`."""
        from kinetree.kernels.task_space import task_space_derivatives

        return task_space_derivatives(self.model, q, dq, **options)

    def mass_ellipsoid(
        self, q: Any, frame: str | None = None, *, part: str = "linear"
    ) -> Ellipsoid:
        """Effective masses at a frame; see `kinetree.algorithms.mass_ellipsoid`."""
        return algorithms.mass_ellipsoid(self.model, q, frame, part=part)

    def force_ellipsoid(
        self, q: Any, frame: str | None = None, *, part: str = "linear"
    ) -> Ellipsoid:
        """Forces held by joint forces of unit norm; see `kinetree.algorithms.force_ellipsoid`."""
        return algorithms.force_ellipsoid(self.model, q, frame, part=part)

    def linearize(
        self, q: Any, dq: Any, tau: Any, *loads: Any, dt: float | None = None
    ) -> "Linearization":
        """A (..., 2n, 2n), B (..., 2n, n) of small deviations from a motion; discrete for a dt."""
        from kinetree.algorithms.derivatives.linearize import assemble

        blocks = self.forward_dynamics_derivatives(q, dq, tau, *loads)
        batch = blocks[0].shape[:-1]
        system = assemble(self.model, np.broadcast_to(np.asarray(dq, float), batch), *blocks)
        return system if dt is None else system.discrete(dt)

    @overload
    def simulate(
        self, q0: Any, dq0: Any = None, *, target: Cpu = ..., **options: Any
    ) -> "Trajectory": ...
    @overload
    def simulate(
        self, q0: Any, dq0: Any = None, *, target: Cuda, **options: Any
    ) -> "GpuTrajectory": ...
    @overload
    def simulate(
        self, q0: Any, dq0: Any = None, *, target: str, **options: Any
    ) -> "Trajectory | GpuTrajectory": ...
    def simulate(self, q0: Any, dq0: Any = None, **options: Any) -> Any:
        """The motion from a state, forces and a controller; see `kinetree.simulate.simulation`."""
        from kinetree.simulate.simulation import simulate

        return simulate(self.model, q0, dq0, **options)

    def sensitivities(self, q0: Any, dq0: Any = None, **options: Any) -> "Sensitivities":
        """A simulated motion with its derivatives; see `kinetree.simulate.sensitivities`."""
        from kinetree.simulate.sensitivity.sensitivities import sensitivities

        return sensitivities(self.model, q0, dq0, **options)

    def check(self, trajectory: "Trajectory", **options: Any) -> "LimitReport":
        """Loads of a trajectory against the limits; see `kinetree.motion.check_limits`."""
        from kinetree.samples.limits.check import check_limits

        return check_limits(self, trajectory, **options)

    def inverse_kinematics(self, T: Any, q0: Any = None, **options: Any) -> Array:
        """q that brings a frame to a pose; see `kinetree.motion.inverse_kinematics`."""
        from kinetree.motion.inverse_kinematics import inverse_kinematics

        return inverse_kinematics(self, T, q0, **options)

    def neutral(self) -> Array:
        """The position in which every joint stands at zero, (nq,)."""
        return algorithms.neutral(self.model)

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """A random position within the limits, (nq,); `rng` is a generator or a seed."""
        return algorithms.random(self.model, np.random.default_rng(rng))

    def integrate(self, q: Any, v: Any) -> Array:
        """The position reached from q, (nq,), along a tangent vector v, (n,)."""
        return algorithms.integrate(self.model, q, v)

    def difference(self, q0: Any, q1: Any) -> Array:
        """The tangent vector, (n,), that leads from q0 to q1."""
        return algorithms.difference(self.model, q0, q1)

    def wrenches(self, onto: Mapping[str, Any]) -> Array:
        """F_ext, (links, 6), of wrenches (6,) from the world onto named frames, in these frames."""
        return frame_wrenches(self.model, onto)

    def newton_euler(self, q: Any, dq: Any, ddq: Any, *args: Any, **options: Any) -> Recursion:
        """Inverse dynamics with every intermediate; see `kinetree.algorithms.newton_euler`."""
        return algorithms.newton_euler(self.model, q, dq, ddq, *args, **options)

    def explain(self, q: Any, dq: Any, ddq: Any, *args: Any, **options: Any) -> "Explanation":
        """Inverse dynamics with the parts of every intermediate; see `kinetree.explain.explain`."""
        from kinetree.explain import explain

        return explain(self.model, q, dq, ddq, *args, **options)

    def with_gravity(self, gravity: Any) -> "Robot":
        """The same robot under another gravity, 3-vector in {s}, m/s^2."""
        return Robot(self.model.with_gravity(gravity))

    def with_payload(
        self, m: Any, com: Any = (0, 0, 0), I_com: Any = None, frame: str | None = None
    ) -> "Robot":
        """The same robot with a body fixed to a frame, the tool when None."""
        return Robot(self.model.with_payload(m, com, I_com, frame))

    def with_friction(self, friction: "Mapping[str, Friction]") -> "Robot":
        """The same robot with other friction at some joints: {name: kt.Friction(...)}."""
        return Robot(self.model.with_friction(friction))

    def lock(self, values: Mapping[str, Any]) -> "Robot":
        """The robot with joints held at given positions; see `kinetree.model.reshape.lock`."""
        return Robot(reshape.lock(self.model, values))

    def subtree(self, link: str) -> "Robot":
        """The robot from a link outward; see `kinetree.model.reshape.subtree`."""
        return Robot(reshape.subtree(self.model, link))

    def with_tool(
        self, name: str, at: Any = (0, 0, 0), frame: str | None = None, **body: Any
    ) -> "Robot":
        """The robot with a new tool, with m, com and I_com if it weighs anything; see `reshape`."""
        return Robot(reshape.with_tool(self.model, name, at, frame, **body))

    def attach(self, other: "Robot", frame: str | None = None, prefix: str = "") -> "Robot":
        """Two robots as one, the other's base on a frame; see `kinetree.model.reshape.attach`."""
        return Robot(reshape.attach(self.model, model_of(other), frame, prefix))

    def to_urdf(self, **options: Any) -> str:
        """The robot as URDF text; see `kinetree.write.to_urdf`."""
        from kinetree.write import to_urdf

        return to_urdf(self.model, **options)

    def to_mjcf(self, **options: Any) -> str:
        """The robot as MJCF text; see `kinetree.write.to_mjcf`."""
        from kinetree.write import to_mjcf

        return to_mjcf(self.model, **options)

    def _of_frame(self, quantity: str, frame: str | None) -> "Kernel":
        return kernel(self.model, quantity, frame=frame)

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self.model, self.report)  # kernels are made again where they are needed

    def _repr_html_(self) -> str:
        return self.model._repr_html_()

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, joints: {', '.join(self.model.joint_names)})"
