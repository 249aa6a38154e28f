"""Robot: the front door. It holds a model and computes its quantities with compiled kernels.

The class consists of parts that override nothing: core.py (model, names, positions), quantities.py
(all declared quantities), kernels.py (kernels with options), analysis.py (task space, and one state
in detail), motion.py (over time), construction.py (from tables, changed, as text), constrained.py
(closed loops and other constraints).
"""

from typing import Any

from kinetree.errors import visible
from kinetree.present.display import shown_or
from kinetree.robot.analysis import Analysis
from kinetree.robot.constrained import Constrained
from kinetree.robot.construction import Construction
from kinetree.robot.kernels import Kernels
from kinetree.robot.motion import Motion
from kinetree.robot.quantities import Quantities

__all__ = ["Robot"]


class Robot(Quantities, Kernels, Analysis, Motion, Construction, Constrained):
    """A robot: its frozen `model` and the quantities of its dynamics.

    `kt.load(path)` reads a robot from a file, `kt.robots` has built-in ones, `kt.Builder` and the
    methods `from_...` build one. All numbers are in SI units and radians. Joint vectors follow
    `joint_names`: q (nq,) as in `coordinate_names`; dq, ddq and tau (n,) as in `dof_names`. A dict,
    a pandas Series or DataFrame or a polars DataFrame is aligned by these names, and results are
    labelled alike. In shapes, ... are any leading axes, n is `robot.n`, nq is `robot.nq`, l the
    number of moving links, p the length of `parameters`.

    Quantities are kernels compiled for this robot at their first use: they broadcast over leading
    axes, take `out=`, and accept one state as well as a million. `help(robot.inverse_dynamics)`
    shows the arguments of one. `kinetree.dynamics` has the textbook form.

    Dynamics, from a state: inverse_dynamics, forward_dynamics, mass_matrix, mass_matrix_rate,
        inverse_mass_matrix, coriolis_matrix, coriolis_forces, transposed_coriolis_forces,
        gravity_forces, bias_forces, bias_forces_rate, friction_forces, spring_forces.
    Energy and momentum: kinetic_energy, potential_energy, center_of_mass, momentum,
        centroidal_momentum, center_of_mass_jacobian, centroidal_momentum_matrix,
        centroidal_momentum_matrix_rate.
    Kinematics: link_poses, pose, body_jacobian, space_jacobian, body_jacobian_rate,
        space_jacobian_rate, frame_velocity, frame_acceleration, inverse_kinematics.
    Task space: task_space, task_space_derivatives.
    Derivatives: inverse_dynamics_derivatives, forward_dynamics_derivatives, derivative, linearize,
        sensitivities.
    Parameters: parameters, regressor, reference_regressor, energy_regressor, momentum_regressor,
        base_parameters.
    Motion: step, simulate, check, force_limits.
    One state in detail: newton_euler, explain, mass_ellipsoid, force_ellipsoid.
    Positions: neutral, random, integrate, difference.
    Changed robots: with_gravity, with_payload, payload_parameters, with_friction, with_springs,
        with_drives, with_elastic_joint, with_actuators, with_tool, lock, subtree, attach.
    Constraints: constrained, mobility, project, project_rates, project_accelerations,
        constraint_margin, constraint_errors, constraint_jacobian, constraint_bias,
        constrained_forward_dynamics, constrained_inverse_dynamics, constraint_impulse,
        reduced_dynamics.
    Contacts: with_contacts, on_ground, contact_inverse_dynamics.
    Text: to_urdf, to_mjcf.

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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.report)  # kernels are made again where they are needed

    def _repr_html_(self) -> str:
        return shown_or("robot", self, self.model._repr_html_())

    def __repr__(self) -> str:
        return visible(f"Robot({self.name!r}, joints: {', '.join(self.model.joint_names)})")
