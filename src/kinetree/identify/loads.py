"""Known payloads: bodies of known mass and centre that a robot carries during a recording.

Their joint forces are known, so they are subtracted from the measured ones: what is left are the
forces of the robot alone, and recordings with and without payloads are identified together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.text import counted
from kinetree.dynamics import parameters
from kinetree.errors import InputError
from kinetree.identify.recording import Recording
from kinetree.model.edit import with_payload
from kinetree.robot import Robot


@dataclass(frozen=True, eq=False)
class KnownLoad:
    """A body of known parameters that a robot carries during a recording.

    Args:
        m: mass, kg.
        com: centre of mass in the frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2;
            None: a point mass.
        frame: name of the frame that carries it; None: the tool.
    """

    m: float
    com: ArrayLike = (0.0, 0.0, 0.0)
    I_com: ArrayLike | None = None
    frame: str | None = None


class Body(Protocol):
    """A body on a frame: a `KnownLoad`, or a `Payload` that was identified."""

    @property
    def m(self) -> float: ...  # noqa: D102
    @property
    def com(self) -> ArrayLike: ...  # noqa: D102
    @property
    def I_com(self) -> ArrayLike | None: ...  # noqa: D102
    @property
    def frame(self) -> str | None: ...  # noqa: D102


def known_loads(payloads: Sequence[Body | None] | None, count: int) -> Sequence[Body | None]:
    """The payload of each of `count` recordings; None where the robot carries nothing."""
    loads = [None] * count if payloads is None else payloads
    if len(loads) != count:
        raise InputError(
            f"payloads has {counted(len(loads), 'entry')} for {counted(count, 'recording')}; "
            "expected one for each, None without a payload."
        )
    return loads


def load_forces(robot: Robot, load: Body | None, data: Recording) -> Array:
    """Joint forces that a known payload needs beside the robot without it, (T, n), N m or N."""
    if load is None:
        return np.zeros(data.tau.shape)
    if not (np.isfinite(load.m) and load.m > 0):
        raise InputError(f"the payload has a mass of {load.m} kg; expected a number above 0.")
    loaded = with_payload(robot.model, load.m, load.com, load.I_com, load.frame)
    change = np.asarray(parameters(loaded), float) - np.asarray(parameters(robot.model), float)
    if not change.any():
        raise InputError(
            f"the frame {robot.model.frame_name(load.frame)!r} of {robot.name!r} does not move; a "
            "payload needs a frame on a moving link."
        )
    return robot.regressor(data.q, data.dq, data.ddq) @ change


def unloaded(robot: Robot, load: Body | None, data: Recording) -> Recording:
    """The recording with joint forces of the robot alone, and a note, if it has a payload."""
    if load is None:
        return data
    place = robot.model.frame_name(load.frame)
    note = f"forces of the known payload of {load.m:g} kg on {place!r} are subtracted"
    return replace(data, tau=data.tau - load_forces(robot, load, data)).noted(note)
