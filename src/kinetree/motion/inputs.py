"""What the makers of trajectories are given: times, joint vectors, names; checked at the door."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, isfinite
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, array
from kinetree.base.tables import counted
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model, model_of
from kinetree.motion.between import Samples
from kinetree.motion.dynamics import check_screws
from kinetree.trajectory import Trajectory

MOST_SAMPLES = 10_000_000


def positive(value: Any, name: str, unit: str) -> float:
    """`value` as a number above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; expected a number of {unit}.") from None
    if not (isfinite(number) and number > 0):
        raise InputError(f"{name} is {number:g} {unit}; expected a finite number above 0.")
    return number


def sample_times(duration: Any, dt: Any) -> Array:
    """Uniform times from 0 to `duration`, s, both included, no further apart than `dt`."""
    duration, dt = positive(duration, "duration", "s"), positive(dt, "dt", "s")
    steps = max(1, ceil(duration / dt * (1 - 1e-12)))  # 0.3 / 0.1 is 3 steps, not 4
    if steps > MOST_SAMPLES:
        raise InputError(
            f"dt = {dt:g} s cuts {duration:g} s into {steps} samples; at most {MOST_SAMPLES} are "
            "made. Choose a longer dt."
        )
    return np.linspace(0, duration, steps + 1)


def between_knots(knots: Array, dt: Any) -> Array:
    """The knots and uniform times from each to the next, no further apart than `dt`."""
    parts = [a + sample_times(b - a, dt)[:-1] for a, b in pairwise(knots)]
    return np.append(np.concatenate(parts), knots[-1])


def joint_vector(value: Any, n: int, name: str, names: Sequence[str] = ()) -> Array:
    """`value` as (n,) finite floats; one number stands for all joints."""
    if np.ndim(value) == 0:
        value = np.full(n, array(value, (), name), float)
    x = array(value, (None,), name)
    if len(x) != n:
        which = f" ({', '.join(names)})" if names else ""
        raise ShapeError(f"{name} has {counted(len(x), 'entry')}; expected {n}{which}.")
    return x.astype(float)


def ends(q0: Any, q1: Any, robot: Any) -> tuple[Array, Array]:
    """Two positions of the same robot; of the given one, if there is one."""
    names: Sequence[str] = ()
    if robot is not None:
        names = check_screws(robot, "an interpolation of q").joint_names
    n = len(names) or np.size(q0)
    return joint_vector(q0, n, "q0", names), joint_vector(q1, n, "q1", names)


def make(
    t: Array,
    motion: tuple[Array, Array, Array],
    robot: Any,
    joint_names: Any,
    name: str,
    pieces: Any = None,
) -> Trajectory:
    """The trajectory of q, dq and ddq, with the names of the robot or of the caller.

    pieces: the polynomials that the motion consists of; None for one that is smooth.
    """
    q, dq, ddq = motion
    model: Model | None = None if robot is None else model_of(robot)
    names = tuple(joint_names or ())
    if model is not None and names and names != model.joint_names:
        raise InputError(
            f"joint_names are {', '.join(names)} but {model.name!r} has "
            f"{', '.join(model.joint_names)}; give joint_names or robot, not both."
        )
    made = Trajectory(t=t, q=q, dq=dq, ddq=ddq, joint_names=names, name=name, model=model)
    if pieces is None:
        pieces = Samples(made.t, made.q, made.dq, made.ddq, smooth=True)
    return made.replace(pieces=pieces)
