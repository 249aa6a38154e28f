"""The index of quantities. Each of them is declared beside its algorithm.

A new quantity is a new file with its function of a Tree and its declaration, and its line here. The
declaration of `mass_matrix` is called MASS_MATRIX; its file is imported when it is first needed.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

from kinetree.model.quantity import Quantity


class Index(Mapping[str, Quantity]):
    """Declarations by name, each imported when it is first looked up.

    Args:
        files: of each quantity, the file below `kinetree.dynamics`.
    """

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def __getitem__(self, name: str) -> Quantity:
        module = import_module(f"kinetree.dynamics.{self.files[name]}")
        return getattr(module, name.upper())

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


# with one result for each joint, link or frame
QUANTITIES = Index(
    {
        "inverse_dynamics": "inverse_dynamics",
        "forward_dynamics": "forward_dynamics",
        "mass_matrix": "mass_matrix",
        "bias_forces": "inverse_dynamics",
        "gravity_forces": "inverse_dynamics",
        "coriolis_forces": "coriolis_matrix",
        "coriolis_matrix": "coriolis_matrix",
        "mass_matrix_rate": "coriolis_matrix",
        "kinetic_energy": "energy",
        "potential_energy": "energy",
        "center_of_mass": "energy",
        "momentum": "energy",
        "centroidal_momentum": "energy",
        "friction_forces": "joints.friction",
        "spring_forces": "joints.springs",
        "link_poses": "kinematics",
        "pose": "kinematics",
        "body_jacobian": "kinematics",
        "space_jacobian": "kinematics",
        "body_jacobian_rate": "kinematics",
        "space_jacobian_rate": "kinematics",
    }
)
# derived from the dynamics: several results, or parameters instead of joints
DERIVED = Index(
    {
        "inverse_dynamics_derivatives": "derivatives.inverse_dynamics",
        "forward_dynamics_derivatives": "derivatives.forward_dynamics",
        "regressor": "regressor",
        "energy_regressor": "regressor",
        "momentum_regressor": "regressor",
    }
)
# balances for observers, which compare them over time
BALANCES = Index(
    {
        "momentum_balance": "momentum_balance",
    }
)
# terms of task-space and whole-body control; k counts the rows of a task
WHOLE_BODY = Index(
    {
        "inverse_mass_matrix": "mass_matrix",
        "bias_forces_rate": "bias_forces_rate",
        "transposed_coriolis_forces": "momentum_balance",
        "center_of_mass_jacobian": "centroidal",
        "centroidal_momentum_matrix": "centroidal",
        "centroidal_momentum_matrix_rate": "centroidal",
        "reference_regressor": "regressor",
        "frame_velocity": "frame_motion",
        "frame_acceleration": "frame_motion",
        "task_space": "task_space",
    }
)
# of robots with constraints; m counts equations, d degrees of freedom
CONSTRAINED = Index(
    {
        "constraint_errors": "constraints.quantities",
        "constraint_jacobian": "constraints.quantities",
        "constraint_bias": "constraints.quantities",
        "constrained_forward_dynamics": "constraints.quantities",
        "constrained_inverse_dynamics": "constraints.quantities",
        "constraint_impulse": "constraints.quantities",
        "reduced_dynamics": "constraints.quantities",
    }
)
# of robots with contacts; c counts contacts
TOUCHING = Index(
    {
        "contact_inverse_dynamics": "contacts.inverse",
        "contact_points": "contacts.ground",
    }
)
GROUPS = (QUANTITIES, DERIVED, BALANCES, WHOLE_BODY, CONSTRAINED, TOUCHING)
DECLARED = Index({name: file for group in GROUPS for name, file in group.files.items()})
# kernels whose method of Robot is written by hand, with further arguments
NO_ATTRIBUTE = ("contact_inverse_dynamics", "momentum_balance", "task_space")
