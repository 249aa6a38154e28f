"""Arguments and results that all planners share: joint vectors, times, names."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kinetree.base.arrays import Array, ArrayLike, array
from kinetree.base.tables import counted
from kinetree.errors import InputError, ShapeError
from kinetree.model import HasModel, Model, model_of
from kinetree.samples.between import Interpolant, Motion
from kinetree.samples.inputs import check_screws, sample_times
from kinetree.samples.pieces import Pieces
from kinetree.trajectory import Trajectory


def joint_vector(value: ArrayLike, n: int, name: str, names: Sequence[str] = ()) -> Array:
    """`value` as (n,) finite floats; one number is repeated for all joints."""
    if np.asarray(value).ndim == 0:
        value = np.full(n, array(value, (), name), float)
    x = array(value, (None,), name)
    if len(x) != n:
        which = f" ({', '.join(names)})" if names else ""
        raise ShapeError(f"{name} has {counted(len(x), 'entry')}; expected {n}{which}.")
    return x.astype(float)


def ends(q0: ArrayLike, q1: ArrayLike, robot: Model | HasModel | None) -> tuple[Array, Array]:
    """Start and end, (n,) each, checked against each other and against the robot, if given."""
    names: Sequence[str] = ()
    if robot is not None:
        names = check_screws(robot, "an interpolation of q").joint_names
    n = len(names) or np.asarray(q0).size
    return joint_vector(q0, n, "q0", names), joint_vector(q1, n, "q1", names)


def between_knots(knots: Array, dt: float) -> Array:
    """The knots, and uniform times between neighbouring ones, no further apart than `dt`."""
    parts = [a + sample_times(b - a, dt)[:-1] for a, b in pairwise(knots)]
    return np.append(np.concatenate(parts), knots[-1])


def planned(
    t: Array,
    motion: Motion,
    robot: Model | HasModel | None,
    joint_names: Sequence[str],
    name: str,
    pieces: Pieces | None = None,
) -> Trajectory:
    """Trajectory of q, dq and ddq at times t, with the joint names of the robot or the caller.

    pieces: the polynomials of the motion; None for a motion that is smooth between its samples.
    """
    q, dq, ddq = motion
    model = None if robot is None else model_of(robot)
    names = tuple(joint_names or ())
    if model is not None and names and names != model.joint_names:
        raise InputError(
            f"joint_names are {', '.join(names)} but {model.name!r} has "
            f"{', '.join(model.joint_names)}; give joint_names or robot, not both."
        )
    made = Trajectory(t=t, q=q, dq=dq, ddq=ddq, joint_names=names, name=name, model=model)
    if pieces is None:
        pieces = Interpolant(made.t, made.q, made.dq, made.ddq, smooth=True)
    return made.replace(pieces=pieces)
