"""Motions that have no derivative: joints that dry friction holds or stops, runaway rollouts."""

from collections.abc import Collection, Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.stepping import check_stepping
from kinetree.dynamics.dry_friction import dry_dofs, dry_friction
from kinetree.dynamics.parameters import JOINT, ParameterLayout
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.core.integration import AcceptedSteps
from kinetree.simulate.core.run import ADAPTIVE
from kinetree.simulate.friction.modes import DryFriction
from kinetree.simulate.sensitivity.inputs import PARAMETERS, Input
from kinetree.simulate.tuning import MAX_SLOPES, REPEATED_STEP, SLIDING_ROUNDING


def check_size(states: int, rollouts: int, N: int, columns: int) -> None:
    """Raise InputError before the work begins if the result would not fit into memory."""
    count = states * rollouts * N * columns
    if count > MAX_SLOPES:
        raise InputError(
            f"the slopes of {states} states of {rollouts} rollouts are {count:.3g} numbers, "
            f"more than the {MAX_SLOPES:.3g} that are kept at most. Take fewer rollouts, inputs or "
            "steps at a time."
        )


def check_tied(model: Model, method: str, names: Collection[str]) -> None:
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
    dry = dry_dofs(model) if model.contacts is None and method != ADAPTIVE else ()
    if model.constraints is not None and dry:
        raise InputError(
            f"joint {model.dof_names[dry[0]]!r} has dry friction and {model.name!r} constraints, "
            f"with which fixed steps have no derivatives. Take method={ADAPTIVE!r}, or "
            "kt.friction.Friction(sigmoid=...)."
        )


def coulomb_joints(model: Model, friction: Array | None) -> Array:
    """Degrees of freedom that have dry friction, (S or 1, n); friction: (S, links, 4)."""
    if friction is None:
        dry = dry_friction(model)
        return np.array([[d in dry for d in range(model.n)]])
    lasting = [x for x in model.joints if x.friction.stribeck is not None]
    static = {d for joint in lasting for d in joint.dofs}
    rubs = np.zeros((len(friction), model.n), bool)
    for i, joint in enumerate(model.joints):
        for d in joint.dofs:
            rubs[:, d] |= (friction[:, i, 2:] != 0).any(-1) | (d in static)
    return rubs


def check_sliding(model: Model, dry: Array, t: Array, dq: Array, tau: Array, smooth: Array) -> None:
    """Raise InputError if friction holds or stops a joint.

    Args:
        model: the robot.
        dry: joints with Coulomb friction, (S or 1, n).
        t: (S,); dq: (S, n); tau: joint forces that acted, (S, n).
        smooth: those that the same accelerations would need if all joints slid, (S, n).
    """
    size = 1 + np.abs(tau).max(-1, keepdims=True, initial=0)
    bad = dry & ((dq == 0) | (np.abs(tau - smooth) > SLIDING_ROUNDING * size))
    if bad.any():
        row, d = (int(k) for k in np.argwhere(bad)[0])
        raise _at_rest(model, d, f"at t = {t[row]:.6g} s")


def check_modes(model: Model, steps: AcceptedSteps, dry: DryFriction) -> None:
    """Raise InputError if dry friction holds a joint in an adaptive step, or ends one."""
    dofs, dq = dry.dofs, steps.x[:, model.nq : model.nq + model.n]
    coulomb = (dry.plus != 0) | (dry.minus != 0)
    leaves = (dq[:, dofs] == 0) & coulomb[steps.rollout]
    bad = (steps.modes == 0) | leaves | steps.cut[:, None]
    if bad.any():
        i = int(np.argmax(bad.any(-1)))
        slowest = np.abs(dq[i, dofs]) + np.where(bad[i], 0, np.inf)
        more = ' Where "friction" is only asked for, method="rk4" passes through rest.'
        raise _at_rest(model, dofs[np.argmin(slowest)], f"after t = {steps.t[i]:.6g} s", more)


def _at_rest(model: Model, dof: int, when: str, more: str = "") -> InputError:
    """The error of a joint that friction holds or stops."""
    return InputError(
        f"joint {model.dof_names[dof]!r} stands still or is stopped by its Coulomb friction "
        f"{when}, where its motion has no derivative. Start with dq0 that is not 0, end before it "
        f"rests, or take the Coulomb friction out of the robot.{more}"
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


def check_complete(steps: AcceptedSteps, batch: tuple[int, ...], count: int, results: int) -> None:
    """Raise InputError for rollouts whose adaptive steps ended before the last result."""
    reached, due = np.zeros(count), np.ones(count, int)
    np.maximum.at(reached, steps.rollout, steps.t + steps.h)
    np.maximum.at(due, steps.rollout, steps.due)
    lost = np.flatnonzero(due < results)
    if len(lost):
        row = int(lost[np.argmin(reached[lost])])
        raise InputError(_ran_away(row, batch, reached[row]) + " Leave the rollout out.")


def _ran_away(row: int, batch: tuple[int, ...], t: float) -> str:
    where = [int(k) for k in np.unravel_index(row, batch)] if batch else []
    return (
        f"rollout {where} is not finite after t = {t:.6g} s, where the simulation lets it stand "
        "still; a motion that ran away has no derivatives."
    )
