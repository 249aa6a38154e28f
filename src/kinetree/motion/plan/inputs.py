"""Arguments and results that all planners share: joint vectors, times, names."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike, array
from kinetree.core.containers import refuse_labels
from kinetree.core.text import counted
from kinetree.errors import InputError, ShapeError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.constrain import without_constraints
from kinetree.motion.curve.pieces import Motion, Pieces, smooth_pieces
from kinetree.motion.inputs import check_screws, sample_times
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Axis, own_axis, vector_by_name


def joint_vector(value: StateLike, n: int, name: str, names: Sequence[str] = ()) -> Array:
    """`value` as (n,) finite floats; one number is repeated for all joints.

    Labelled values are aligned with the names, and refused if there are none.
    """
    plain: Any = vector_by_name(value, Axis(tuple(names)), name) if names else value
    refuse_labels(plain, name, "a plain array, or robot=... or joint_names=... beside it")
    if np.asarray(plain).ndim == 0:
        plain = np.full(n, array(plain, (), name), float)
    x = array(plain, (None,), name)
    if len(x) != n:
        which = f" ({', '.join(names)})" if names else ""
        raise ShapeError(f"{name} has {counted(len(x), 'entry')}; expected {n}{which}.")
    return x.astype(float)


def names_of(
    robot: Model | HasModel | None,
    joint_names: Sequence[str],
    purpose: str,
    **given: StateLike,
) -> tuple[str, ...]:
    """Names of the joints: those of the robot, or given, or of the first labelled argument."""
    names = tuple(joint_names or ())
    if robot is not None:
        model = check_screws(robot, purpose)
        if names not in ((), model.joint_names):
            raise InputError(
                f"joint_names are {', '.join(names)} but {model.name!r} has "
                f"{', '.join(model.joint_names)}; give joint_names or robot, not both."
            )
        return model.joint_names
    if names:
        return names
    axes = (own_axis(value, name) for name, value in given.items())
    return next((axis.names for axis in axes if axis is not None), ())


def ends(
    q0: StateLike, q1: StateLike, robot: Model | HasModel | None, joint_names: Sequence[str]
) -> tuple[Array, Array, tuple[str, ...]]:
    """Start and end, (n,) each, checked against each other and the robot; and the joint names."""
    names = names_of(robot, joint_names, "an interpolation of q", q0=q0, q1=q1)
    n = len(names) or np.asarray(q0).size
    return joint_vector(q0, n, "q0", names), joint_vector(q1, n, "q1", names), names


def between_knots(knots: Array, dt: float) -> Array:
    """The knots, and uniform times between neighbouring ones, no further apart than `dt`."""
    parts = [a + sample_times(b - a, dt)[:-1] for a, b in pairwise(knots)]
    return np.append(np.concatenate(parts), knots[-1])


def planned(
    t: Array,
    motion: Motion,
    robot: Model | HasModel | None,
    joint_names: tuple[str, ...],
    name: str,
    pieces: Pieces | None = None,
) -> Trajectory:
    """Trajectory of q, dq and ddq at times t, with the joint names of the robot or the caller.

    pieces: the polynomials of the motion; None for a motion that is smooth between its samples.
    """
    q, dq, ddq = motion
    model = None if robot is None else model_of(robot)
    if model is not None:
        without_constraints(model, "A planned motion")
    made = Trajectory(t=t, q=q, dq=dq, ddq=ddq, joint_names=joint_names, name=name, model=model)
    if pieces is None:
        pieces = smooth_pieces(made.t, made.q, made.dq, made.ddq)
    return made.replace(pieces=pieces)
