"""One quantity per file: pure functions of (model, q, ...) over any kind of scalar.

The dynamics is written over a Tree (tree.py), the robot at one position. The book's own
forms are in `textbook`, forces of joints in `joints`; their public functions have this import path
too.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from kinetree.core.later import later
from kinetree.dynamics.quantities import DECLARED

if TYPE_CHECKING:
    from kinetree.dynamics.base_parameters import (
        BaseParameters,
        base_parameters,
    )
    from kinetree.dynamics.bias_forces_rate import bias_forces_rate
    from kinetree.dynamics.centroidal import (
        center_of_mass_jacobian,
        centroidal_momentum_matrix,
        centroidal_momentum_matrix_rate,
    )
    from kinetree.dynamics.constraints.at_state import (
        constrained_forward_dynamics,
        constrained_forward_dynamics_derivatives,
        constrained_inverse_dynamics,
        constraint_bias,
        constraint_errors,
        constraint_impulse,
        constraint_jacobian,
        project_accelerations,
        project_rates,
        reduced_dynamics,
    )
    from kinetree.dynamics.constraints.mobility import Mobility, constrain, mobility
    from kinetree.dynamics.constraints.projection import project
    from kinetree.dynamics.contacts.inverse import contact_inverse_dynamics
    from kinetree.dynamics.coriolis_matrix import (
        christoffel_symbols,
        coriolis_forces,
        coriolis_matrix,
        mass_matrix_rate,
    )
    from kinetree.dynamics.derivatives import (
        Linearization,
        TaskSpaceDerivatives,
        forward_dynamics_derivatives,
        inverse_dynamics_derivatives,
        linearize,
        tangent_map,
        task_space_derivatives,
    )
    from kinetree.dynamics.ellipsoids import Ellipsoid, force_ellipsoid, mass_ellipsoid
    from kinetree.dynamics.energy import (
        center_of_mass,
        centroidal_momentum,
        kinetic_energy,
        momentum,
        potential_energy,
        total_mass,
    )
    from kinetree.dynamics.forward_dynamics import (
        forward_dynamics,
        forward_dynamics_by_articulated_bodies,
    )
    from kinetree.dynamics.frame_motion import frame_acceleration, frame_velocity
    from kinetree.dynamics.inverse_dynamics import bias_forces, gravity_forces, inverse_dynamics
    from kinetree.dynamics.joints.configuration import difference, integrate, neutral, random
    from kinetree.dynamics.joints.friction import friction_forces
    from kinetree.dynamics.joints.springs import spring_energy, spring_forces, spring_stiffness
    from kinetree.dynamics.kinematics import (
        body_jacobian,
        body_jacobian_rate,
        forward_kinematics,
        link_jacobian_rates,
        link_jacobians,
        pose,
        space_jacobian,
        space_jacobian_rate,
    )
    from kinetree.dynamics.mass_matrix import inverse_mass_matrix, mass_matrix
    from kinetree.dynamics.momentum_balance import momentum_balance, transposed_coriolis_forces
    from kinetree.dynamics.parameters import (
        Parameter,
        parameter_list,
        parameters,
        with_parameters,
    )
    from kinetree.dynamics.regressor import (
        energy_regressor,
        momentum_regressor,
        reference_regressor,
        regressor,
    )
    from kinetree.dynamics.steps import step
    from kinetree.dynamics.task_space import TaskSpace, task_space
    from kinetree.dynamics.textbook.closed import ClosedForm, closed_form
    from kinetree.dynamics.textbook.jacobians import (
        gravity_forces_by_wrenches,
        gravity_wrenches,
        mass_matrix_by_jacobians,
    )
    from kinetree.dynamics.textbook.newton_euler import (
        FORMULATIONS,
        forward_dynamics_by_inverse_dynamics,
        mass_matrix_by_inverse_dynamics,
        newton_euler,
    )
    from kinetree.dynamics.textbook.recursion import Recursion
    from kinetree.dynamics.textbook.screw import body_acceleration, body_wrench

__all__ = [
    "FORMULATIONS",
    "BaseParameters",
    "ClosedForm",
    "Ellipsoid",
    "Linearization",
    "Mobility",
    "Parameter",
    "Recursion",
    "TaskSpace",
    "TaskSpaceDerivatives",
    "base_parameters",
    "bias_forces",
    "bias_forces_rate",
    "body_acceleration",
    "body_jacobian",
    "body_jacobian_rate",
    "body_wrench",
    "center_of_mass",
    "center_of_mass_jacobian",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "christoffel_symbols",
    "closed_form",
    "constrain",
    "constrained_forward_dynamics",
    "constrained_forward_dynamics_derivatives",
    "constrained_inverse_dynamics",
    "constraint_bias",
    "constraint_errors",
    "constraint_impulse",
    "constraint_jacobian",
    "contact_inverse_dynamics",
    "coriolis_forces",
    "coriolis_matrix",
    "difference",
    "energy_regressor",
    "force_ellipsoid",
    "forward_dynamics",
    "forward_dynamics_by_articulated_bodies",
    "forward_dynamics_by_inverse_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "frame_acceleration",
    "frame_velocity",
    "friction_forces",
    "gravity_forces",
    "gravity_forces_by_wrenches",
    "gravity_wrenches",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "kinetic_energy",
    "linearize",
    "link_jacobian_rates",
    "link_jacobians",
    "mass_ellipsoid",
    "mass_matrix",
    "mass_matrix_by_inverse_dynamics",
    "mass_matrix_by_jacobians",
    "mass_matrix_rate",
    "mobility",
    "momentum",
    "momentum_balance",
    "momentum_regressor",
    "neutral",
    "newton_euler",
    "parameter_list",
    "parameters",
    "pose",
    "potential_energy",
    "project",
    "project_accelerations",
    "project_rates",
    "random",
    "reduced_dynamics",
    "reference_regressor",
    "regressor",
    "space_jacobian",
    "space_jacobian_rate",
    "spring_energy",
    "spring_forces",
    "spring_stiffness",
    "step",
    "tangent_map",
    "task_space",
    "task_space_derivatives",
    "total_mass",
    "transposed_coriolis_forces",
    "with_parameters",
]

# names by file, beside those of quantities
__getattr__ = later(
    __name__,
    {
        "base_parameters": "BaseParameters base_parameters",
        "constraints.at_state": "constrained_forward_dynamics "
        "constrained_forward_dynamics_derivatives constrained_inverse_dynamics constraint_bias "
        "constraint_errors constraint_impulse constraint_jacobian "
        "project_accelerations project_rates reduced_dynamics",
        "constraints.mobility": "Mobility constrain mobility",
        "constraints.projection": "project",
        "coriolis_matrix": "christoffel_symbols",
        "derivatives": "Linearization TaskSpaceDerivatives linearize tangent_map "
        "task_space_derivatives",
        "ellipsoids": "Ellipsoid force_ellipsoid mass_ellipsoid",
        "energy": "total_mass",
        "forward_dynamics": "forward_dynamics_by_articulated_bodies",
        "joints.configuration": "difference integrate neutral random",
        "joints.springs": "spring_energy spring_stiffness",
        "kinematics": "forward_kinematics link_jacobian_rates link_jacobians",
        "parameters": "Parameter parameter_list parameters with_parameters",
        "steps": "step",
        "task_space": "TaskSpace",
        "textbook.closed": "ClosedForm closed_form",
        "textbook.jacobians": "gravity_forces_by_wrenches gravity_wrenches "
        "mass_matrix_by_jacobians",
        "textbook.newton_euler": "FORMULATIONS forward_dynamics_by_inverse_dynamics "
        "mass_matrix_by_inverse_dynamics newton_euler",
        "textbook.recursion": "Recursion",
        "textbook.screw": "body_acceleration body_wrench",
    },
    DECLARED.files,
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Functions(ModuleType):
    """The class of this module: `mass_matrix` is the function, never the file of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Functions
