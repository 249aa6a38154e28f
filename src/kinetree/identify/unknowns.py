"""What is to be found: a choice S of the robot's parameters, pi = S x + what stays as it is."""

import dataclasses
from functools import cached_property

import numpy as np

from kinetree.algorithms import parameter_list, parameters
from kinetree.algorithms.natural_units import NaturalUnits, natural_units, parameter_units
from kinetree.algorithms.parameters import with_parameters
from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.errors import InputError
from kinetree.identify.suspicions import least_motion
from kinetree.model import Joint, JointFriction, Model
from kinetree.motion.bounds import bounds_of, positions
from kinetree.robot import Robot

FRICTION = ("symmetric", "directional", "known")
Column = tuple[str, str, list[int]]  # name, unit, places in pi
LINK_UNITS = {"m": "kg", "h": "kg m", "I": "kg m^2"}


@dataclasses.dataclass(frozen=True, eq=False)
class Unknowns:
    """The unknowns x of a robot, ten a link first, then those of joints and rotors.

    names: "Izz[upper]", "coulomb[elbow]"; units of each; S: (P, p), from x into the robot's whole
    parameter vector; fixed: (P,), what that vector has besides.
    """

    robot: Robot
    names: tuple[str, ...]
    units: tuple[str, ...]
    S: Array
    fixed: Array

    @cached_property
    def natural(self) -> NaturalUnits:
        """The robot's own length, time and mass."""
        return natural_units(self.robot.model)

    @cached_property
    def scale(self) -> Array:
        """What one is in each unknown, in the robot's own units, (p,)."""
        return parameter_units(self.robot.model, self.natural)[self.S.argmax(axis=0)]

    @property
    def links(self) -> int:
        """Bodies, whose unknowns come first."""
        return len(self.robot.model.links)

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Y, (T, n, p): joint forces are Y x + `known`."""
        return self.robot.regressor(q, dq, ddq) @ self.S

    def at_rest(self, q: Array) -> Array:
        """Places of the friction and armature of joints that stand still in q, (T, nq).

        Their rates are noise, and the sign of noise is no direction that friction opposes.
        """
        model, bounds = self.robot.model, bounds_of(self.robot.model)
        still = (bounds.coords >= 0) & (
            np.ptp(positions(bounds, q), axis=0) < least_motion(self.natural)
        )
        rows = [
            10 * self.links + 5 * i + k
            for i, joint in enumerate(model.joints)
            if joint.type in SCREW_TYPES and still[joint.dofs[0]]
            for k in range(5)
        ]
        return np.flatnonzero(self.S[rows].any(axis=0))

    def known(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Joint forces that no unknown has a part in, (T, n)."""
        tau = self.robot.regressor(q, dq, ddq) @ self.fixed
        joints = self.robot.model.joints
        if any(joint.friction.function is not None for joint in joints):
            only = [
                dataclasses.replace(x, friction=JointFriction(function=x.friction.function))
                for x in joints
            ]
            tau = tau + Robot(self.robot.model.replace(joints=tuple(only))).friction_forces(dq)
        return tau

    def values(self, model: Model) -> Array:
        """What a robot of this structure has for the unknowns, (p,)."""
        count = self.S.sum(axis=0)
        return self.S.T @ np.asarray(parameters(model), float) / count

    def model(self, x: Array) -> Model:
        """The robot with these unknowns."""
        return with_parameters(self.robot.model, self.fixed + self.S @ x)


def unknowns(robot: Robot, friction: str = "symmetric", armature: bool = True) -> Unknowns:
    """What to look for in a recording.

    Args:
        robot: gives geometry, gear ratios, gravity, and values of what is not looked for.
        friction: "symmetric" (a viscous and a Coulomb coefficient a joint), "directional" (one of
            each for dq > 0 and for dq < 0, which also takes up offsets of the sensors), "known".
        armature: whether inertias of armatures and rotors are unknown.
    """
    if friction not in FRICTION:
        raise InputError(f"friction is {friction!r}; expected one of {', '.join(FRICTION)}.")
    model = robot.model
    listed = parameter_list(model)
    columns: list[Column] = []
    for k, x in enumerate(listed):
        if x.group == "link":
            columns.append((str(x), LINK_UNITS[x.kind[0]], [k]))
    driven = {rotor.joint for rotor in model.rotors}
    for i, joint in enumerate(model.joints):
        if joint.type in SCREW_TYPES:
            first = 10 * len(model.links) + 5 * i
            columns += _of_joint(joint, first, friction, armature and i not in driven)
    if armature:
        columns += [(str(x), "kg m^2", [k]) for k, x in enumerate(listed) if x.group == "rotor"]
    S = np.zeros((len(listed), len(columns)))
    for j, (_, _, rows) in enumerate(columns):
        S[rows, j] = 1
    fixed = np.where(S.any(axis=1), 0.0, np.asarray(parameters(model), float))
    return Unknowns(robot, tuple(x[0] for x in columns), tuple(x[1] for x in columns), S, fixed)


def _of_joint(joint: Joint, first: int, friction: str, armature: bool) -> list[Column]:
    """Name, unit and places in pi of a joint's unknowns; `first` is the place of viscous+."""
    name, sliding = joint.name, joint.type == PRISMATIC
    force, speed = ("N", "N s/m") if sliding else ("N m", "N m s/rad")
    found: list[Column] = []
    if friction == "symmetric":
        found.append((f"viscous[{name}]", speed, [first, first + 1]))
        found.append((f"coulomb[{name}]", force, [first + 2, first + 3]))
    elif friction == "directional":
        found += [(f"viscous{s}[{name}]", speed, [first + k]) for k, s in enumerate("+-")]
        found += [(f"coulomb{s}[{name}]", force, [first + 2 + k]) for k, s in enumerate("+-")]
    if armature:  # a rotor of the joint would be told by the same forces
        found.append((f"armature[{name}]", "kg" if sliding else "kg m^2", [first + 4]))
    return found
