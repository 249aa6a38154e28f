"""A trajectory as columns with names, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import model_of
from kinetree.motion.dynamics import check_single
from kinetree.motion.splines import cubic_spline
from kinetree.simulate.core.state import plain
from kinetree.trajectory import Trajectory

QUANTITIES = ("q", "dq", "ddq", "tau")


def columns_of(trajectory: Trajectory, purpose: str) -> list[tuple[tuple[str, str], Array]]:
    """((quantity, name), values (T,)) in the order q, dq, ddq, tau."""
    check_single(trajectory, purpose)
    found = []
    for quantity in QUANTITIES:
        x = getattr(trajectory, quantity)
        names = trajectory.coordinate_names if quantity == "q" else trajectory.dof_names
        if x is not None:
            found += [((quantity, name), x[:, k]) for k, name in enumerate(names)]
    return found


def from_columns(
    t: Array, columns: Mapping[tuple[str, str], Array], robot: Any, name: str, where: str
) -> Trajectory:
    """The trajectory of columns in any order; `where` begins every complaint.

    Names are those of the robot, in its order, or else those of the columns of q. Rates and
    accelerations that are not there are taken from the spline through q or dq.
    """
    model = None if robot is None else model_of(robot)
    named = tuple(joint for quantity, joint in columns if quantity == "q")
    if not named:
        raise InputError(f"{where}: no column of q; expected q:<joint> for every joint.")
    names = {"q": named if model is None else model.coordinate_names}
    for quantity in QUANTITIES[1:]:
        names[quantity] = named if model is None else model.dof_names
    _check_names(columns, names, where, "the file" if model is None else f"{model.name!r}")
    found: dict[str, Array | None] = {}
    for quantity in QUANTITIES:
        given = [columns.get((quantity, joint)) for joint in names[quantity]]
        found[quantity] = None if given[0] is None else np.stack(given, axis=1)  # type: ignore[arg-type]
    q, dq, ddq = _derivatives(t, found, where, model is not None and not plain(model))
    return Trajectory(
        t=t, q=q, dq=dq, ddq=ddq, tau=found["tau"], model=model, name=name,
        joint_names=named if model is None else (),
    )  # fmt: skip


def _check_names(
    columns: Mapping[tuple[str, str], Array],
    names: Mapping[str, tuple[str, ...]],
    where: str,
    owner: str,
) -> None:
    for quantity, joint in columns:
        if joint not in names[quantity]:
            raise InputError(
                f"{where}: unknown joint {joint!r} in a column of {quantity}; {owner} has "
                f"{', '.join(names[quantity])}."
            )
    for quantity in QUANTITIES:
        there = [joint for joint in names[quantity] if (quantity, joint) in columns]
        missing = [joint for joint in names[quantity] if joint not in there]
        if missing and (there or quantity == "q"):
            raise InputError(
                f"{where}: {quantity} of {', '.join(missing)} is missing; expected a column "
                f"'{quantity}:{missing[0]}' for every joint of {owner}."
            )


def _derivatives(
    t: Array, found: Mapping[str, Array | None], where: str, curved: bool
) -> tuple[Array, Array, Array]:
    """q, dq and ddq; what is missing is the derivative of the spline through what is there."""
    q, dq, ddq = found["q"], found["dq"], found["ddq"]
    assert q is not None
    if dq is None and curved:
        raise InputError(
            f"{where}: no rates dq, but quaternions or planar positions in q; rates of such joints "
            "are no derivative of q. Add the columns of dq."
        )
    if dq is not None and ddq is not None:
        return q, dq, ddq
    if len(t) < 2:
        raise InputError(f"{where}: one sample alone has no rates; add dq and ddq, or samples.")
    if dq is None:
        _, dq, bend = cubic_spline(t, q)(t)
        return q, dq, bend if ddq is None else ddq
    return q, dq, cubic_spline(t, dq)(t)[1]
