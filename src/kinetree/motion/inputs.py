"""Checks of arguments that functions of sampled motions share: numbers, times, and the robot."""

from math import ceil, isfinite
from typing import SupportsFloat

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import HasModel, Model, model_of
from kinetree.motion.record import Record

MOST_SAMPLES = 10_000_000


def positive(value: SupportsFloat, name: str, unit: str = "") -> float:
    """`value` as a float; InputError unless it is finite and above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        of = unit and f" of {unit}"
        raise InputError(f"{name} is {value!r}; expected a number{of}.") from None
    if not (isfinite(number) and number > 0):
        shown = f"{number:g} {unit}".rstrip()
        raise InputError(f"{name} is {shown}; expected a finite number above 0.")
    return number


def sample_times(duration: SupportsFloat, dt: SupportsFloat) -> Array:
    """Uniform times from 0 to `duration`, s, both included, no further apart than `dt`."""
    duration, dt = positive(duration, "duration", "s"), positive(dt, "dt", "s")
    steps = max(1, ceil(duration / dt * (1 - 1e-12)))  # 0.3 / 0.1 is 3 steps, not 4
    if steps > MOST_SAMPLES:
        raise InputError(
            f"dt = {dt:g} s cuts {duration:g} s into {steps} samples; at most {MOST_SAMPLES} are "
            "made. Choose a longer dt."
        )
    return np.linspace(0, duration, steps + 1)


def model_for(record: Record, robot: Model | HasModel | None, purpose: str) -> Model:
    """Model of the given robot, or else of the one that the record was made with.

    Args:
        record: one motion or a batch.
        robot: None takes `record.model`.
        purpose: beginning of the messages, such as "a plot".

    Raises:
        InputError: there is no robot, or its joints are not those of the record.
    """
    model = record.model if robot is None else getattr(robot, "model", robot)
    if not isinstance(model, Model):
        raise InputError(
            f"{purpose} of trajectory {record.name!r} needs a robot and got {robot!r:.60}; pass "
            "robot=kt.load(...), or nothing if the trajectory was made with a robot."
        )
    if record.dof_names != model.dof_names:
        raise InputError(_differ(record, model))
    return model


def check_order(record: Record, model: Model, purpose: str) -> None:
    """Raise InputError if the record has joints of the model, but not the same in the same order.

    A record with other names alone, such as the joint_1, joint_2 of plain arrays, is taken by
    position.
    """
    moved, names = record.dof_names, model.dof_names
    if moved != names and set(moved) & set(names):
        raise InputError(f"{purpose}: {_differ(record, model)}")


def _differ(record: Record, model: Model) -> str:
    return (
        f"trajectory {record.name!r} moves {', '.join(record.dof_names)}; {model.name!r} has "
        f"{', '.join(model.dof_names)}. Names and order must agree: make the trajectory with "
        "robot=..., or read its file with robot=..."
    )


def check_single(record: Record, purpose: str) -> None:
    """Raise InputError if the record is a batch of motions."""
    if record.batch_shape:
        raise InputError(
            f"{purpose} takes one motion; trajectory {record.name!r} is a batch of shape "
            f"{record.batch_shape}. Choose one with trajectory.rollout(k)."
        )


def check_screws(robot: Model | HasModel, purpose: str) -> Model:
    """Model of a robot whose joints have one degree of freedom each, so that q is a vector.

    Raises:
        InputError: a joint is spherical, planar or free.
    """
    model = model_of(robot)
    for name, kind in zip(model.joint_names, model.joint_types, strict=True):
        if kind not in SCREW_TYPES:
            raise InputError(
                f"{purpose} takes joints of one degree of freedom; joint {name!r} of "
                f"{model.name!r} is {kind}. Lock it with robot.lock, or cut the rest out with "
                "robot.subtree."
            )
    return model
