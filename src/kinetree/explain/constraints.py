"""Forces of constraints in an explanation: the motors carry the tree less J^T lambda.

The recursion is that of the tree, whose joint forces are r = M ddq + h. The constraints carry
J^T lambda of them, and the motors the rest: tau = r - J^T lambda.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, is_numeric, known
from kinetree.explain.node import named
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.constraints import Closure, Constraints
from kinetree.model.inputs import Motion, TipWrench, Wrenches, zeros
from kinetree.model.units import units
from kinetree.scalars import Scalar

OPEN = 1e-8  # rad or m: errors of constraints that are reported, as those of a start of `simulate`


@dataclass(frozen=True, eq=False)
class Carried:
    """Forces of the constraints of a robot: at the joints by constraint, and of every equation.

    Args:
        joints: -J^T lambda of each constraint by its name, (n,) each; they add up to the share
            `constraints`.
        forces: lambda by the name of its equation, N m or N, as in
            `kt.constraints.inverse_dynamics`.
        units: units of these forces, by the same names.
        open: a sentence on a position that does not satisfy the constraints, or empty.
    """

    joints: Mapping[str, Array]
    forces: Mapping[str, Scalar]
    units: Mapping[str, str] = field(default_factory=dict[str, str])
    open: str = ""

    def __getitem__(self, name: str) -> Array:
        return named(self.joints, name, "constraint")

    def map(self, function: Callable[[Any], Any]) -> "Carried":
        """The same with `function` applied to every number or symbol."""
        joints = {name: mapped(x, function) for name, x in self.joints.items()}
        forces = {name: function(x) for name, x in self.forces.items()}
        return replace(self, joints=joints, forces=forces)


def mapped(x: Array, function: Callable[[Any], Any]) -> Array:
    """An array with `function` applied to every entry."""
    flat = np.empty(np.size(x), object)
    flat[:] = [function(entry) for entry in np.ravel(x)]
    return np.array(flat.tolist() if is_numeric(x) else flat).reshape(np.shape(x))


def carried_forces(
    model: Model, x: Motion, F_ext: Wrenches, F_tip: TipWrench
) -> tuple[Array, Carried]:
    """Forces of the motors, (n,), and those of the constraints, for a motion that they allow.

    Raises:
        InputError: the constraints forbid the motion, or the motors cannot make it.
    """
    constraints = constraints_of(model, "explain")
    found = dynamics.constrained_inverse_dynamics(model, x.q, x.dq, x.ddq, F_ext, F_tip=F_tip)
    J = dynamics.constraint_jacobian(model, x.q)
    joints: dict[str, Array] = {}
    start = 0
    for item in constraints.items:
        rows = range(start, start + len(item.row_names))
        start = rows.stop
        # explain: constraints
        joints[item.name] = -sum((J[row] * found.lam[row] for row in rows), zeros(model.n))
    forces = dict(zip(constraints.row_names, found.lam, strict=True))
    return found.tau, Carried(
        joints, forces, _units(model, constraints), _opened(model, constraints, x.q)
    )


def _units(model: Model, constraints: Constraints) -> dict[str, str]:
    """Units of lambda by equation."""
    found: dict[str, str] = {}
    for item in constraints.items:
        for name in item.row_names:
            turns = name.rpartition(".")[2].startswith("angular_")
            own = ("N m" if turns else "N") if isinstance(item, Closure) else ""
            found[name] = own or units(model, "tau")[item.terms[0].dof]  # type: ignore[union-attr]
    return found


def _opened(model: Model, constraints: Constraints, q: Any) -> str:
    """A sentence if the position does not satisfy the constraints; empty for symbols."""
    Phi = known(np.asarray(dynamics.constraint_errors(model, q)))
    if Phi is None or not np.size(Phi):
        return ""
    sizes = np.abs(np.asarray(Phi, float))
    row = int(np.argmax(sizes))
    if sizes[row] <= OPEN:
        return ""
    return (
        f"The position does not satisfy the constraints: {constraints.row_names[row]} of "
        f"constraint {constraints.owner(row)} is open by {sizes[row]:.3g} (rad or m), and the "
        "forces are those of a mechanism that is open by as much."
    )
