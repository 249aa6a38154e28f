"""Natural units of a robot: its own length, time and mass.

Whether a number is small depends on its unit. Thresholds in metres, seconds and kilograms would
treat a robot that is described in millimetres and grams differently. In units of the robot's own
length, its time of fall over that length and its own mass, they do not.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.parameters import JOINT, LINK
from kinetree.files.description.joints import PRISMATIC
from kinetree.model import WORLD, Model
from kinetree.model.units import METRE, kinds

DEGREE = {"m": 0, "h": 1, "I": 2}  # powers of length in the parameters of a link


@dataclass(frozen=True, eq=False)
class NaturalUnits:
    """length, time, mass: the natural units, in units of the description.

    sliding: which rates are speeds along an axis, (n,). positions: the same for q, (nq,), where
    quaternions count as angles.
    """

    length: float
    time: float
    mass: float
    sliding: Array
    positions: Array

    @property
    def rates(self) -> Array:
        """Unit of each entry of dq, (n,)."""
        return np.where(self.sliding, self.length, 1.0) / self.time

    @property
    def forces(self) -> Array:
        """Unit of each entry of tau, (n,)."""
        return self.levers * (self.mass * self.length / self.time**2)

    @property
    def levers(self) -> Array:
        """Lever from force to joint force, (n,): the length for turning joints, else 1."""
        return np.where(self.sliding, 1.0, self.length)


def natural_units(model: Model) -> NaturalUnits:
    """The units of a robot of numbers.

    Its length is the largest distance between joints, or of an axis from the origin of its link; of
    a robot without any, the largest distance of a centre of mass; if that is zero too, 1. Its time
    is that in which a body falls half its length; without gravity 1. Its mass is that of all links,
    or 1 if they have none.
    """
    m, com, gravity = (np.asarray(x, float) for x in (model.m, model.com, model.gravity))
    spread = float(np.linalg.norm(com, axis=-1).max(initial=0))
    length = max(_distances(model), default=0.0) or spread or 1.0
    g, mass = float(np.linalg.norm(gravity)), float(m.sum())
    sliding, positions = (np.array(kinds(model, x)) == METRE for x in ("dq", "q"))
    time = (length / g) ** 0.5 if g > 0 else 1.0
    return NaturalUnits(length, time, mass if mass > 0 else 1.0, sliding, positions)


def parameter_units(model: Model, units: NaturalUnits) -> Array:
    """Unit of each entry of pi, (p,), in the order of `parameter_list`."""
    m, l, t = units.mass, units.length, units.time
    of_links = [m * l ** DEGREE[kind[0]] for kind in LINK]
    entries = of_links * len(model.links)
    for joint in model.joints:
        force = m * l / t**2 * (1.0 if joint.type == PRISMATIC else l)
        rate = (l if joint.type == PRISMATIC else 1.0) / t
        of_joint = {"viscous": force / rate, "coulomb": force, "armature": force * t / rate}
        entries += [of_joint[kind.rstrip("+-")] for kind in JOINT]
    entries += [m * l * l] * len(model.rotors)
    for spring in model.springs:
        pairs = zip(spring.coords, spring.arms, strict=True)
        reach = [abs(float(arm)) * (l if units.positions[k] else 1.0) for k, arm in pairs]
        reach = [l] if spring.points else reach
        x, energy = max(reach) or 1.0, m * l * l / t**2
        entries += [energy / (x * x), energy / x]
    of_motor = {"viscous": m * l * l / t, "coulomb": m * l * l / t**2, "armature": m * l * l}
    entries += [of_motor[kind.rstrip("+-")] for kind in JOINT] * len(model.motors)
    return np.array(entries)


def _distances(model: Model) -> list[float]:
    """Distances of joints from those before them, and of axes from the origins of their links."""
    carried = [i for i in model.links if model.parent[i] != WORLD]  # the base is anywhere
    screws = [x.screw for x in model.joints if x.screw is not None and x.type != PRISMATIC]
    offsets = [model.M_pi[i][:3, 3] for i in carried] + [S[3:] for S in screws]  # pitch included
    return [float(np.linalg.norm(np.asarray(x, float))) for x in offsets]
