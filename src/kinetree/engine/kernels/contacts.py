"""Kernels of inverse dynamics with contacts, and the record that `Robot` returns of them.

The kernel of the quantity "contact_inverse_dynamics" has the motors that the robot has by default.
Other motors make further kernels.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any
from warnings import warn

import numpy as np

from kinetree.core.arrays import ArrayLike, StateLike
from kinetree.dynamics.constraints.quantities import check_honoured
from kinetree.dynamics.contacts.inverse import (
    ARGUMENTS,
    NAME,
    GroundForces,
    contact_maker,
    motors_of,
    touching_mask,
)
from kinetree.dynamics.forward_dynamics import check_inertia
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.compile import variant
from kinetree.engine.kernels.memo import kernel, remembered
from kinetree.engine.kernels.ports import argument_port
from kinetree.errors import KinetreeWarning
from kinetree.model import HasModel, Model, model_of
from kinetree.model.contacts import contacts_of_model
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.present.labels import Alignment


def contact_inverse_dynamics(
    robot: Model | HasModel,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: ArrayLike | None = None,
    *,
    contacts: Sequence[str] | ArrayLike | None = None,
    actuated: Sequence[str] | None = None,
) -> GroundForces:
    """Joint forces and contact forces of a motion, within the friction cones.

    tau + J^T f = M ddq + h - residual, with tau = 0 in rows without a motor. First the residual
    is made smallest, weighted by the inverse of the block of M of these rows; then
    |f|^2. A motion that is not feasible has a residual, and `excess` names the
    contacts and by how much; for one state a warning does. Leading axes are states.

    Args:
        robot: a Robot or a Model.
        q: joint positions, shape (..., nq), rad or m.
        dq: joint rates, shape (..., n), rad/s or m/s.
        ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
        F_ext: wrenches onto the links in their frames, shape (..., l, 6), N m and N; None: no
            wrench.
        contacts: names of the contacts that touch, or 1 and 0 for each, shape (..., c),
            dimensionless; None: all of the robot.
        actuated: names of the degrees of freedom with a motor; None: those that actuators move,
            or without actuators all but free joints.

    Returns:
        A record with tau (..., n), forces (..., c, 3) in {s}, residual, shortfall, excess
        (..., c), optimality and `feasible`.

    Example:
        >>> block = kt.Builder("block").link("world").link("block", 6.0, I_com=np.eye(3))
        >>> robot = block.joint("base", "free", "world", "block").build()
        >>> robot = robot.with_contacts([kt.contacts.ContactPoint("foot", "block")])
        >>> kt.contacts.inverse_dynamics(robot, robot.neutral(), [0] * 6, [0] * 6).forces.round(3)
        array([[ 0.  ,  0.  , 58.86]])
    """
    model = model_of(robot)
    check_honoured(model, DECLARED[NAME])
    contacts_of_model(model, NAME)
    axis = dof_axis(model)
    arguments = (q, coordinate_axis(model), "q"), (dq, axis, "dq"), (ddq, axis, "ddq")
    motion = Alignment(arguments).values
    compiled: Any = kernel(model, NAME) if actuated is None else None
    if actuated is not None:
        key = NAME, motors_of(model, actuated), F_ext is not None
        compiled = remembered(model, key, partial(_compiled, model, *key[1:]))
    more = () if F_ext is None else (F_ext,)
    mask = touching_mask(model, contacts)
    state = dict(zip(ARGUMENTS, (*motion, F_ext, mask, actuated), strict=True))
    forces = GroundForces(model, state, *compiled(*motion, mask, *more))
    if type(forces.tau) is np.ndarray and forces.tau.ndim == 1 and (text := forces.verdict()):
        warn(text, KinetreeWarning, stacklevel=3)
    return forces


def _compiled(model: Model, motors: tuple[int, ...], wrenches: bool) -> Any:
    """The kernel of other motors."""
    quantity = DECLARED[NAME]
    loads = ["F_ext"] if wrenches else []
    ports = [argument_port(model, x) for x in (*quantity.inputs, *loads)]

    def make() -> Any:
        check_inertia(model)
        return contact_maker(motors)(model, True, None)

    doc = f"{quantity.title} Robot {model.name!r}."
    return variant(model, NAME, (motors,), make, ports, quantity.outputs, doc)
