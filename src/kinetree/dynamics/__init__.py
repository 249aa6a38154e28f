"""One quantity per file: pure functions of (model, q, ...) over any kind of scalar.

The dynamics is written over a Tree (tree.py), the robot at one position. The book's own
forms are in `textbook`, forces of joints in `joints`; their public functions have this import path
too.
"""

import sys
from types import ModuleType

from kinetree.core.later import later
from kinetree.dynamics.quantities import DECLARED

# public functions beside the quantities, by file
OTHERS = {
    "coriolis_matrix": "christoffel_symbols",
    "derivatives.forward_dynamics": "Linearization linearize",
    "ellipsoids": "Ellipsoid force_ellipsoid mass_ellipsoid",
    "energy": "total_mass",
    "forward_dynamics": "forward_dynamics_by_articulated_bodies",
    "joints.configuration": "difference integrate neutral random start_position",
    "joints.springs": "spring_energy",
    "joints.tangents": "tangent_map",
    "kinematics": "forward_kinematics link_jacobians",
    "parameters": "Parameter parameter_list parameters with_parameters",
    "step_law": "step",
    "task_space": "TaskSpace",
    "textbook.closed": "ClosedForm closed_form",
    "textbook.jacobians": "gravity_forces_by_wrenches mass_matrix_by_jacobians",
    "textbook.newton_euler": "FORMULATIONS forward_dynamics_by_inverse_dynamics "
    "mass_matrix_by_inverse_dynamics newton_euler",
    "textbook.recursion": "Recursion",
    "textbook.screw": "body_acceleration body_wrench",
}
__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *(name for names in OTHERS.values() for name in names.split()),
    *DECLARED,
]
__getattr__ = later(__name__, OTHERS, dict.fromkeys(DECLARED, "plain"))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Functions(ModuleType):
    """The class of this module: `mass_matrix` is the function, never the file of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Functions
