"""The index of quantities. Each of them is declared beside its algorithm.

A new quantity is a new file with its function of a Tree and its declaration, and its name here.
"""

from kinetree.algorithms.bias_forces_rate import BIAS_FORCES_RATE
from kinetree.algorithms.centroidal import (
    CENTER_OF_MASS_JACOBIAN,
    CENTROIDAL_MOMENTUM_MATRIX,
    CENTROIDAL_MOMENTUM_MATRIX_RATE,
)
from kinetree.algorithms.constraints.quantities import (
    CONSTRAINED_FORWARD_DYNAMICS,
    CONSTRAINED_INVERSE_DYNAMICS,
    CONSTRAINT_BIAS,
    CONSTRAINT_ERRORS,
    CONSTRAINT_IMPULSE,
    CONSTRAINT_JACOBIAN,
    REDUCED_DYNAMICS,
)
from kinetree.algorithms.coriolis_matrix import CORIOLIS_FORCES, CORIOLIS_MATRIX, MASS_MATRIX_RATE
from kinetree.algorithms.derivatives.forward_dynamics import FORWARD_DYNAMICS_DERIVATIVES
from kinetree.algorithms.derivatives.inverse_dynamics import INVERSE_DYNAMICS_DERIVATIVES
from kinetree.algorithms.energy import (
    CENTER_OF_MASS,
    CENTROIDAL_MOMENTUM,
    KINETIC_ENERGY,
    MOMENTUM,
    POTENTIAL_ENERGY,
)
from kinetree.algorithms.forward_dynamics import FORWARD_DYNAMICS
from kinetree.algorithms.frame_motion import FRAME_ACCELERATION, FRAME_VELOCITY
from kinetree.algorithms.inverse_dynamics import BIAS_FORCES, GRAVITY_FORCES, INVERSE_DYNAMICS
from kinetree.algorithms.joints.friction import FRICTION_FORCES
from kinetree.algorithms.joints.springs import SPRING_FORCES
from kinetree.algorithms.kinematics import (
    BODY_JACOBIAN,
    BODY_JACOBIAN_RATE,
    LINK_POSES,
    POSE,
    SPACE_JACOBIAN,
    SPACE_JACOBIAN_RATE,
)
from kinetree.algorithms.mass_matrix import INVERSE_MASS_MATRIX, MASS_MATRIX
from kinetree.algorithms.momentum_balance import MOMENTUM_BALANCE, TRANSPOSED_CORIOLIS_FORCES
from kinetree.algorithms.regressor import (
    ENERGY_REGRESSOR,
    MOMENTUM_REGRESSOR,
    REFERENCE_REGRESSOR,
    REGRESSOR,
)
from kinetree.algorithms.task_space import TASK_SPACE
from kinetree.model.quantity import Quantity


def table(*declared: Quantity) -> dict[str, Quantity]:
    """Declarations by name."""
    return {quantity.name: quantity for quantity in declared}


# with one result for each joint, link or frame
QUANTITIES = table(
    INVERSE_DYNAMICS,
    FORWARD_DYNAMICS,
    MASS_MATRIX,
    BIAS_FORCES,
    GRAVITY_FORCES,
    CORIOLIS_FORCES,
    CORIOLIS_MATRIX,
    MASS_MATRIX_RATE,
    KINETIC_ENERGY,
    POTENTIAL_ENERGY,
    CENTER_OF_MASS,
    MOMENTUM,
    CENTROIDAL_MOMENTUM,
    FRICTION_FORCES,
    SPRING_FORCES,
    LINK_POSES,
    POSE,
    BODY_JACOBIAN,
    SPACE_JACOBIAN,
    BODY_JACOBIAN_RATE,
    SPACE_JACOBIAN_RATE,
)
# derived from the dynamics: several results, or parameters instead of joints
DERIVED = table(
    INVERSE_DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS_DERIVATIVES,
    REGRESSOR,
    ENERGY_REGRESSOR,
    MOMENTUM_REGRESSOR,
)
# balances for observers, which compare them over time
BALANCES = table(
    MOMENTUM_BALANCE,
)
# terms of task-space and whole-body control; k counts the rows of a task
WHOLE_BODY = table(
    INVERSE_MASS_MATRIX,
    BIAS_FORCES_RATE,
    TRANSPOSED_CORIOLIS_FORCES,
    CENTER_OF_MASS_JACOBIAN,
    CENTROIDAL_MOMENTUM_MATRIX,
    CENTROIDAL_MOMENTUM_MATRIX_RATE,
    REFERENCE_REGRESSOR,
    FRAME_VELOCITY,
    FRAME_ACCELERATION,
    TASK_SPACE,
)
# of robots with constraints; m counts equations, d degrees of freedom
CONSTRAINED = table(
    CONSTRAINT_ERRORS,
    CONSTRAINT_JACOBIAN,
    CONSTRAINT_BIAS,
    CONSTRAINED_FORWARD_DYNAMICS,
    CONSTRAINED_INVERSE_DYNAMICS,
    CONSTRAINT_IMPULSE,
    REDUCED_DYNAMICS,
)
DECLARED = QUANTITIES | DERIVED | BALANCES | WHOLE_BODY | CONSTRAINED
