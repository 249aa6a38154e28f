"""Kernels of inverse dynamics with contacts, and the record that `Robot` returns of them.

The kernel of the quantity "contact_inverse_dynamics" has the motors that the robot has by default.
Other motors, and a weight of the joint forces, make further kernels.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any
from warnings import warn

import numpy as np

from kinetree.core.arrays import ArrayLike, StateLike
from kinetree.dynamics.constraints.quantities import check_honoured
from kinetree.dynamics.contacts.inverse import (
    NAME,
    GroundForces,
    checked_effort,
    contact_maker,
    ground_forces,
    motors_of,
    touching_mask,
)
from kinetree.dynamics.forward_dynamics import check_inertia
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernels.compile import variant
from kinetree.engine.kernels.memo import kernel, remembered
from kinetree.engine.kernels.ports import argument_port
from kinetree.errors import KinetreeWarning
from kinetree.model import Model
from kinetree.model.contacts import contacts_of_model
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.present.labels import Alignment


def contact_inverse_dynamics(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: ArrayLike | None = None,
    *,
    contacts: Sequence[str] | ArrayLike | None = None,
    actuated: Sequence[str] | None = None,
    effort: float = 0,
) -> GroundForces:
    """Joint forces and contact forces of motions, of any leading axes, from a kernel.

    Arguments as in `dynamics.contact_inverse_dynamics`, which looks at one state.
    """
    check_honoured(model, DECLARED[NAME])
    contacts_of_model(model, NAME)
    motors, weight = motors_of(model, actuated), checked_effort(model, actuated, effort)
    axis = dof_axis(model)
    arguments = (q, coordinate_axis(model), "q"), (dq, axis, "dq"), (ddq, axis, "ddq")
    motion = Alignment(arguments).values
    more = () if F_ext is None else (F_ext,)
    if weight is None and motors == motors_of(model):
        compiled: Any = kernel(model, NAME)
    else:
        key = NAME, motors, weight is not None, F_ext is not None
        compiled = remembered(model, key, partial(_compiled, model, *key[1:]))
        more = more if weight is None else (*more, weight)
    mask = touching_mask(model, contacts)
    state = (*motion, F_ext, mask, actuated, effort)
    forces = ground_forces(model, state, compiled(*motion, mask, *more))
    if type(forces.tau) is np.ndarray and forces.tau.ndim == 1 and (text := forces.verdict()):
        warn(text, KinetreeWarning, stacklevel=3)
    return forces


def _compiled(model: Model, motors: tuple[int, ...], effort: bool, wrenches: bool) -> Any:
    """The kernel of other motors, or with the weight of the joint forces as last argument."""
    quantity = DECLARED[NAME]
    loads = ["F_ext"] if wrenches else []
    ports = [argument_port(model, x) for x in (*quantity.inputs, *loads)]
    ports += [Port("effort", ())] if effort else []

    def make() -> Any:
        check_inertia(model)
        return contact_maker(motors, effort=effort)(model, True, None)

    doc = f"{quantity.formula} of {model.name}"
    return variant(model, NAME, (motors,), make, ports, quantity.outputs, doc)
