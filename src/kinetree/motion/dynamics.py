"""The robot as motion sees it: a model and its compiled quantities."""

from functools import lru_cache
from typing import Any, Protocol

from kinetree.description.joints import SCREW_TYPES
from kinetree.errors import InputError
from kinetree.kernels.compile import compile_kernel
from kinetree.kernels.quantities import QUANTITIES
from kinetree.model import HasModel, Model, model_of
from kinetree.trajectory import Trajectory


class Dynamics(Protocol):
    """What motion asks of a robot; `kinetree.Robot` has it all."""

    @property
    def model(self) -> Model: ...  # noqa: D102
    @property
    def inverse_dynamics(self) -> Any: ...  # noqa: D102
    @property
    def gravity_forces(self) -> Any: ...  # noqa: D102
    @property
    def coriolis_forces(self) -> Any: ...  # noqa: D102
    @property
    def friction_forces(self) -> Any: ...  # noqa: D102
    @property
    def mass_matrix(self) -> Any: ...  # noqa: D102
    @property
    def kinetic_energy(self) -> Any: ...  # noqa: D102
    @property
    def potential_energy(self) -> Any: ...  # noqa: D102
    @property
    def link_poses(self) -> Any: ...  # noqa: D102


class ModelDynamics:
    """The kernels of a model, each compiled when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        if name not in QUANTITIES:
            raise AttributeError(f"there is no quantity {name!r}.")
        kernel = compile_kernel(self.model, name)
        self.__dict__[name] = kernel
        return kernel


@lru_cache(maxsize=8)
def of_model(model: Model) -> ModelDynamics:
    """The kernels of a model; asked twice, they are the same ones."""
    return ModelDynamics(model)


def robot_of(trajectory: Trajectory, robot: Any, purpose: str) -> Dynamics:
    """The robot given, or else the one that the trajectory remembers."""
    if not isinstance(trajectory, Trajectory):
        raise InputError(
            f"{purpose} needs a Trajectory and got {trajectory!r:.60}; kinetree.motion plans them, "
            "kinetree.motion.read_csv(path, robot) reads them, and those of a GPU have .cpu()."
        )
    if robot is None and trajectory.model is None:
        raise InputError(
            f"{purpose} of trajectory {trajectory.name!r} needs a robot, and the trajectory "
            "remembers none; pass robot=..."
        )
    robot = trajectory.model if robot is None else robot
    found: Any = of_model(robot) if isinstance(robot, Model) else robot
    if not isinstance(getattr(found, "model", None), Model):
        raise InputError(
            f"{purpose} needs a robot and got {robot!r:.60}; pass robot=kt.load(...), or nothing "
            "where the trajectory remembers its robot. The name of a file goes into path=..."
        )
    check_fits(trajectory, found.model)
    return found


def check_fits(trajectory: Trajectory, model: Model) -> None:
    """Refuse a trajectory whose joints are not the robot's, in its order."""
    if trajectory.dof_names != model.dof_names:
        raise InputError(
            f"trajectory {trajectory.name!r} moves {', '.join(trajectory.dof_names)}; "
            f"{model.name!r} has {', '.join(model.dof_names)}. Names and order must agree: make "
            "the trajectory with robot=..., or read its file with robot=..."
        )


def check_single(trajectory: Trajectory, purpose: str) -> None:
    """Refuse a batch where one motion is asked for."""
    if trajectory.batch_shape:
        raise InputError(
            f"{purpose} takes one motion; trajectory {trajectory.name!r} is a batch of shape "
            f"{trajectory.batch_shape}. Choose one with trajectory.rollout(k)."
        )


def check_screws(robot: Model | HasModel, purpose: str) -> Model:
    """The model; refused with joints whose q is no vector: quaternions and planar positions."""
    model = model_of(robot)
    for name, kind in zip(model.joint_names, model.joint_types, strict=True):
        if kind not in SCREW_TYPES:
            raise InputError(
                f"{purpose} takes joints of one degree of freedom; joint {name!r} of "
                f"{model.name!r} is {kind}. Lock it with robot.lock, or cut the rest out with "
                "robot.subtree."
            )
    return model
