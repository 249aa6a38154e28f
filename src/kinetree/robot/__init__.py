"""Robot: the front door. It holds a model and computes its quantities with compiled kernels.

Quantities are attributes by their declarations (quantities.py). Other methods are functions of a
robot in the module of their subject, METHODS, imported when first used: a method is written once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kinetree.core.text import with_known_arguments
from kinetree.errors import visible
from kinetree.present.display import shown_or
from kinetree.robot.kernels import Kernels
from kinetree.robot.quantities import Quantities
from kinetree.robot.step import Stepping

__all__ = ["Robot"]

METHODS = {
    "dynamics.constraints.mobility": "constrained",
    "dynamics.joints.configuration": "difference integrate",
    "engine.kernels.task_space": "task_space",
    "explain.explanation": "explain",
    "model.edit": "with_actuators with_contacts with_drives with_friction with_gravity with_motors "
    "with_payload with_springs",
    "model.elastic": "with_elastic_joint",
    "model.reshape": "attach lock subtree with_tool",
    "motion.kinematics.solve": "inverse_kinematics",
    "robot.simulation": "simulate",
}


class Method:
    """A method of Robot that is a function of a robot; the first access imports it."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __get__(self, robot: Any, kind: type) -> Any:
        function = getattr(import_module(f"kinetree.{self.module}"), self.name)
        # further accesses are those of any method
        setattr(Robot, self.name, with_known_arguments(function))
        return getattr(kind if robot is None else robot, self.name)


class Robot(Quantities, Kernels, Stepping):
    """A robot: its frozen `model` and the quantities of its dynamics.

    `kt.load(path)` reads a robot from a file, `kt.robots` has built-in ones, `kt.Builder` and the
    methods `from_...` build one. All numbers are in SI units and radians. Joint vectors follow
    `joint_names`: q (nq,) as in `coordinate_names`; dq, ddq and tau (n,) as in `dof_names`. A dict,
    a pandas Series or DataFrame or a polars DataFrame is aligned by these names, and results are
    labelled alike. In shapes, ... are any leading axes, n is `robot.n`, nq is `robot.nq`, l the
    number of moving links, p the length of `parameters`.

    Quantities are kernels compiled for this robot at their first use: they broadcast over leading
    axes, take `out=`, and accept one state as well as a million. `help(robot.inverse_dynamics)`
    shows the arguments of one. `robot.compile(name)` returns any quantity, also those that are no
    attributes, and `kinetree.dynamics` has their textbook form.

    - Dynamics, from a state: inverse_dynamics, forward_dynamics, mass_matrix, inverse_mass_matrix,
      coriolis_matrix, coriolis_forces, gravity_forces, bias_forces, friction_forces, spring_forces
    - Energy and momentum: kinetic_energy, potential_energy, center_of_mass, momentum,
      centroidal_momentum
    - Kinematics: link_poses, pose, body_jacobian, space_jacobian, frame_velocity,
      frame_acceleration, inverse_kinematics
    - Task space: task_space
    - Derivatives: inverse_dynamics_derivatives, forward_dynamics_derivatives, derivative, linearize
    - Parameters: parameters, regressor; `kt.identify`
    - Motion: step, simulate; `kt.motion`, `kt.simulate`
    - One state in detail: explain; `kt.dynamics.newton_euler`
    - Positions: neutral, random, integrate, difference
    - Changed robots: with_gravity, with_payload, with_friction, with_springs, with_drives,
      with_motors, with_actuators, with_elastic_joint, with_tool, with_contacts, constrained, lock,
      subtree, attach
    - Robots with constraints and contacts: `kt.constraints`, `kt.contacts`
    - Robots in other forms: `kt.convert`

    Args:
        model: the frozen data of the robot, from `kinetree.model.build_model` for example.
        report: the report of the file that the robot was read from; None: no file.

    Example:
        >>> robot = kt.robots.ur5e()
        >>> robot.joint_names[:2]
        ('shoulder_pan', 'shoulder_lift')
        >>> robot.mass_matrix(robot.neutral()).shape
        (6, 6)
    """

    if TYPE_CHECKING:  # the functions of METHODS
        from kinetree.dynamics.constraints.mobility import constrained as constrained
        from kinetree.dynamics.joints.configuration import difference as difference
        from kinetree.dynamics.joints.configuration import integrate as integrate
        from kinetree.engine.kernels.task_space import task_space as task_space
        from kinetree.explain.explanation import explain as explain
        from kinetree.model.edit import with_actuators as with_actuators
        from kinetree.model.edit import with_contacts as with_contacts
        from kinetree.model.edit import with_drives as with_drives
        from kinetree.model.edit import with_friction as with_friction
        from kinetree.model.edit import with_gravity as with_gravity
        from kinetree.model.edit import with_motors as with_motors
        from kinetree.model.edit import with_payload as with_payload
        from kinetree.model.edit import with_springs as with_springs
        from kinetree.model.elastic import with_elastic_joint as with_elastic_joint
        from kinetree.model.reshape import attach as attach
        from kinetree.model.reshape import lock as lock
        from kinetree.model.reshape import subtree as subtree
        from kinetree.model.reshape import with_tool as with_tool
        from kinetree.motion.kinematics.solve import inverse_kinematics as inverse_kinematics
        from kinetree.robot.simulation import simulate as simulate

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.report)  # kernels are made again where they are needed

    def _repr_html_(self) -> str:
        return shown_or("robot", self, self.model._repr_html_())

    def __repr__(self) -> str:
        return visible(f"Robot({self.name!r}, joints: {', '.join(self.model.joint_names)})")


for _module, _names in METHODS.items():
    for _name in _names.split():
        setattr(Robot, _name, Method(_module, _name))
