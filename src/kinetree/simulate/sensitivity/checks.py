"""Motions that have no derivative: joints that dry friction holds or stops, runaway rollouts."""

from collections.abc import Collection, Sequence

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.dynamics.constraints.stepping import check_stepping
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.parameters import JOINT, ParameterLayout
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.sensitivity.inputs import PARAMETERS, Input
from kinetree.simulate.tuning import MAX_SLOPES, REPEATED_STEP


def check_size(states: int, rollouts: int, N: int, columns: int) -> None:
    """Raise InputError before the work begins if the result would not fit into memory."""
    count = states * rollouts * N * columns
    if count > MAX_SLOPES:
        raise InputError(
            f"the slopes of {states} states of {rollouts} rollouts are {count:.3g} numbers, "
            f"more than the {MAX_SLOPES:.3g} that are kept at most. Take fewer rollouts, inputs or "
            "steps at a time."
        )


def check_tied(model: Model, names: Collection[str]) -> None:
    """Raise InputError if motors, contacts or constraints rule out these derivatives."""
    check_stepping(model, names)
    owner = "contacts" if model.contacts is not None else "motors" if model.motors else None
    if owner is not None and PARAMETERS in names:
        raise InputError(
            f"wrt has 'parameters', which is not available for a robot with {owner}; ask for "
            "'mass', 'com' or 'inertia'."
        )
    if model.contacts is not None and "friction" in names:
        raise InputError(
            f"wrt has 'friction', and {model.name!r} has contacts: joints without dry friction are "
            "at a corner of its law, where motions have no derivative. Compare motions of robots "
            "with other friction, robot.with_friction."
        )
    dry = dry_dofs(model) if model.contacts is None else ()
    if model.constraints is not None and dry:
        raise InputError(
            f"joint {model.dof_names[dry[0]]!r} has dry friction and {model.name!r} constraints, "
            "with which steps have no derivatives. Take kt.friction.Friction(sigmoid=...)."
        )


def check_sliding(model: Model, friction: ArrayLike | None, motion: Trajectory) -> None:
    """Raise InputError if dry friction holds a joint, stops it or turns it around.

    friction: that of the rollouts, (..., links, 4), if it is given; None: that of the robot.
    """
    dofs = list(dry_dofs(model))
    if friction is not None:
        levels = np.asarray(friction, float)[..., 2:].reshape(-1, len(model.joints), 2)
        rubbing = zip(model.joints, (levels != 0).any((0, 2)), strict=True)
        dofs = [d for joint, rubs in rubbing if rubs for d in joint.dofs]
    if model.contacts is not None or not dofs:
        return
    dq = motion.dq[..., dofs].reshape(len(motion), -1, len(dofs))
    rests = dq == 0
    rests[1:] |= dq[1:] * dq[:-1] < 0
    if rests.any():
        row, _, k = (int(x) for x in np.argwhere(rests)[0])
        raise InputError(
            f"joint {model.dof_names[dofs[k]]!r} stands still or is stopped by its Coulomb "
            f"friction at t = {motion.t[row]:.6g} s, where its motion has no derivative. Start "
            "with dq0 that is not 0, end before it rests, or take the Coulomb friction out of the "
            "robot."
        )


def without_slope(model: Model, dq: Array, slopes: Array, constants: Sequence[Input]) -> Array:
    """Slopes, (S, n, c), with NaN where a joint at rest would be given Coulomb friction."""
    at_rest = dq == 0
    if not at_rest.any():
        return slopes
    at, marked, layout = 0, slopes.copy(), ParameterLayout(len(model.links))
    for constant in constants:
        for i, joint in enumerate(model.joints):
            # a joint's friction begins with its coefficients in the order of `JOINT`
            first = {"friction": 4 * i, PARAMETERS: layout.joint(i).start}.get(constant.name)
            if first is not None:
                still = at_rest[:, list(joint.dofs)].any(-1)
                place = at + first + JOINT.index("coulomb+")
                marked[still, :, place : place + 2] = np.nan
        at += constant.size
    return marked


def check_repeated(reached: Array, simulated: Array, times: Array, batch: tuple[int, ...]) -> None:
    """Raise InputError for rollouts that ran away, which a simulation lets stand still instead.

    reached: states after steps that were repeated, (E, B, x). simulated: those of the motion.
    """
    size = 1 + np.abs(simulated)
    wrong = ~(np.abs(reached - simulated) <= REPEATED_STEP * size).all(-1)
    if wrong.any():
        step, b = (int(k) for k in np.argwhere(wrong)[0])
        raise InputError(
            _ran_away(b, batch, times[step]) + " Take a smaller dt, or leave the rollout out."
        )


def _ran_away(row: int, batch: tuple[int, ...], t: float) -> str:
    where = [int(k) for k in np.unravel_index(row, batch)] if batch else []
    return (
        f"rollout {where} is not finite after t = {t:.6g} s, where the simulation lets it stand "
        "still; a motion that ran away has no derivatives."
    )
