"""What sliders move: one number for every degree of freedom, also where q has a quaternion."""

from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, PRISMATIC, SPHERICAL
from kinetree.model import Model
from kinetree.spatial.so3 import quaternion, quaternion_rotation, rpy
from kinetree.write.angles import roll_pitch_yaw

ANGLES = ("roll", "pitch", "yaw")
PARTS = {SPHERICAL: ANGLES, PLANAR: ("theta", "x", "y"), FREE: (*ANGLES, "x", "y", "z")}
FASTEST = {True: 4.0, False: 2.0}  # rates where the file has no limit, rad/s and m/s
HARDEST = {True: 10.0, False: 5.0}  # accelerations, rad/s^2 and m/s^2


@dataclass(frozen=True)
class Slider:
    """A slider: its label, its range in rad or m (per s, per s^2), and whether it is an angle."""

    name: str
    low: float
    high: float
    angle: bool


def position_sliders(model: Model, extent: float) -> list[Slider]:
    """One slider a degree of freedom; a joint without limits turns half a turn to each side."""
    sliders = []
    for joint in (x for x in model.joints if x.follows is None):
        for part in PARTS.get(joint.type, ("",)):
            angle = joint.type != PRISMATIC if not part else part in (*ANGLES, "theta")
            reach = (pi / 2 if part == "pitch" else pi) if angle else max(extent, 0.1)
            low, high = joint.limits.lower, joint.limits.upper
            low = low if isfinite(low) and not part else min(-reach, high - reach)
            high = high if isfinite(high) and not part else max(reach, low + reach)
            name = f"{joint.name}.{part}" if part else joint.name
            sliders.append(Slider(name, low, high, angle))
    return sliders


def rate_sliders(model: Model) -> list[Slider]:
    """Sliders of dq, within the joints' speed limits."""
    return _symmetric(model, FASTEST, limited=True)


def acceleration_sliders(model: Model) -> list[Slider]:
    """Sliders of ddq."""
    return _symmetric(model, HARDEST, limited=False)


def _symmetric(model: Model, default: dict[bool, float], limited: bool) -> list[Slider]:
    sliders = []
    own = [joint for joint in model.joints if joint.follows is None]
    names = iter(model.dof_names)
    for joint in own:
        for _ in joint.dofs:
            name = next(names)
            part = name.rpartition(".")[2][:1]
            angle = joint.type != PRISMATIC if joint.screw is not None else part == "w"
            limit = joint.limits.velocity
            most = limit if limited and isfinite(limit) and limit > 0 else default[angle]
            sliders.append(Slider(name, -most, most, angle))
    return sliders


def positions(model: Model, values: Array) -> Array:
    """q, (nq,), of slider values, (n,)."""
    q: list[float] = []
    k = 0
    for joint in (x for x in model.joints if x.follows is None):
        own = values[k : k + len(joint.dofs)]
        k += len(joint.dofs)
        if joint.type in (SPHERICAL, FREE):
            q += [*quaternion(np.asarray(rpy(*own[:3]), float)), *own[3:]]
        else:
            q += [*own]
    return np.array(q, float)


def slider_values(model: Model, q: Array) -> Array:
    """Slider values, (n,), of q, (nq,)."""
    values: list[float] = []
    for joint in (x for x in model.joints if x.follows is None):
        own = q[list(joint.coords)]
        if joint.type in (SPHERICAL, FREE):
            R = np.asarray(quaternion_rotation(own[:4]), float)
            values += [*roll_pitch_yaw(R), *own[4:]]
        else:
            values += [*own]
    return np.array(values, float)
