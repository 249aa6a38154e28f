"""Unknowns x of an identification: the robot's parameters are pi = S x + fixed."""

import dataclasses
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from kinetree.algorithms import parameter_list, parameters
from kinetree.algorithms.natural_units import NaturalUnits, natural_units, parameter_units
from kinetree.algorithms.parameters import with_parameters
from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.errors import InputError
from kinetree.identify.checks import least_motion
from kinetree.model import Joint, JointFriction, Model
from kinetree.model.bounds import bounds_of, positions
from kinetree.model.springs import spring_units
from kinetree.robot import Robot

FrictionChoice = Literal["symmetric", "directional", "known"]
FRICTION: tuple[FrictionChoice, ...] = get_args(FrictionChoice)
Column = tuple[str, str, list[int]]  # name, unit, indices in pi
LINK_UNITS = {"m": "kg", "h": "kg m", "I": "kg m^2"}


@dataclasses.dataclass(frozen=True, eq=False)
class Unknowns:
    """The unknowns x of a robot, ten a link first, then those of joints and rotors.

    Args:
        robot: the robot.
        names: names such as "Izz[upper]" or "coulomb[elbow]".
        units: unit of each.
        S: selection, shape (P, p), from x into the robot's whole parameter vector, dimensionless.
        fixed: the known part of that vector, shape (P,), in the units of the parameters.
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
        """The robot's own unit of each unknown, (p,)."""
        return parameter_units(self.robot.model, self.natural)[self.S.argmax(axis=0)]

    @property
    def signed(self) -> Array:
        """Which unknowns may be negative whatever the bodies are, (p,): preloads of springs."""
        return np.array([name.startswith("preload[") for name in self.names], bool)

    @property
    def links(self) -> int:
        """Number of bodies, whose unknowns come first."""
        return len(self.robot.model.links)

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Y, (T, n, p): joint forces are Y x + `known`.

        Args:
            q: joint positions, shape (T, nq), rad or m.
            dq: joint rates, shape (T, n), rad/s or m/s.
            ddq: joint accelerations, shape (T, n), rad/s^2 or m/s^2.
        """
        return self.robot.regressor(q, dq, ddq) @ self.S

    def at_rest(self, q: Array) -> Array:
        """Indices of the friction and armature of joints that stand still in q, (T, nq).

        Their rates are noise, and friction does not oppose the sign of noise.

        Args:
            q: joint positions, shape (T, nq), rad or m.
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
        """Joint forces that do not depend on the unknowns, (T, n).

        Args:
            q: joint positions, shape (T, nq), rad or m.
            dq: joint rates, shape (T, n), rad/s or m/s.
            ddq: joint accelerations, shape (T, n), rad/s^2 or m/s^2.
        """
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
        """Values of the unknowns in a robot of this structure, (p,).

        Args:
            model: a robot of the same structure.
        """
        count = self.S.sum(axis=0)
        return self.S.T @ np.asarray(parameters(model), float) / count

    def model(self, x: Array) -> Model:
        """The robot with these values of the unknowns.

        Args:
            x: values of the unknowns, shape (p,), in `units`.
        """
        return with_parameters(self.robot.model, self.fixed + self.S @ x)


def unknowns(
    robot: Robot,
    friction: FrictionChoice = "symmetric",
    armature: bool = True,
    springs: bool = True,
) -> Unknowns:
    """The unknowns to find in a recording.

    Args:
        robot: gives geometry, gear ratios, gravity, and the values of known parameters.
        friction: "symmetric" (one viscous and one Coulomb coefficient for each joint),
            "directional" (one of each for dq > 0 and for dq < 0, which also absorbs offsets of the
            sensors), or "known".
        armature: True if inertias of armatures and rotors are unknown.
        springs: True if stiffness and preload (stiffness times rest position) of the robot's
            springs are unknown.
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
    if springs:
        units = {x.name: spring_units(x, model.joints) for x in model.springs}
        columns += [
            (str(x), units[x.owner][x.kind == "preload"], [k])
            for k, x in enumerate(listed)
            if x.group == "spring"
        ]
    S = np.zeros((len(listed), len(columns)))
    for j, (_, _, rows) in enumerate(columns):
        S[rows, j] = 1
    fixed = np.where(S.any(axis=1), 0.0, np.asarray(parameters(model), float))
    return Unknowns(robot, tuple(x[0] for x in columns), tuple(x[1] for x in columns), S, fixed)


def _of_joint(joint: Joint, first: int, friction: FrictionChoice, armature: bool) -> list[Column]:
    """Name, unit and indices in pi of a joint's unknowns; `first` is the index of viscous+."""
    name, sliding = joint.name, joint.type == PRISMATIC
    force, speed = ("N", "N s/m") if sliding else ("N m", "N m s/rad")
    found: list[Column] = []
    if friction == "symmetric":
        found.append((f"viscous[{name}]", speed, [first, first + 1]))
        found.append((f"coulomb[{name}]", force, [first + 2, first + 3]))
    elif friction == "directional":
        found += [(f"viscous{s}[{name}]", speed, [first + k]) for k, s in enumerate("+-")]
        found += [(f"coulomb{s}[{name}]", force, [first + 2 + k]) for k, s in enumerate("+-")]
    if armature:  # a rotor of the joint would have the same effect
        found.append((f"armature[{name}]", "kg" if sliding else "kg m^2", [first + 4]))
    return found
