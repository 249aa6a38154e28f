"""The parameters that the dynamics is linear in, as one vector pi with names.

For each link, in its own frame and about its origin: mass m, first moment h = m com, inertia I.
For each joint: viscous and Coulomb friction in either direction, and armature. For each rotor: its
axial inertia. For each spring: its stiffness, and its preload, stiffness times rest position. For
each motor of coupled joints: those of a joint, over the rate of the motor.
Geometry, gear ratios, gravity and friction functions are not parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.errors import ModelError
from kinetree.model import GearedMotor, Joint, JointSpring, Model
from kinetree.model.friction import with_coefficients
from kinetree.model.joint import is_plain
from kinetree.present.labels import Axis, by_name
from kinetree.spatial import skew

GROUPS = ("link", "joint", "rotor", "spring", "motor")  # kinds of parameters
LINK = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
JOINT = ("viscous+", "viscous-", "coulomb+", "coulomb-", "armature")
SPRING = ("stiffness", "preload")
Driven = TypeVar("Driven", Joint, GearedMotor)
INDEX = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # of the six entries of I


@dataclass(frozen=True)
class ParameterLayout:
    """Places in pi: ten entries of each link, five of each joint, then rotors, springs, motors."""

    links: int

    @property
    def bodies(self) -> int:
        """Number of entries of links, which come first."""
        return len(LINK) * self.links

    def link(self, i: int) -> slice:
        """Entries of a link, in the order of `LINK`."""
        return slice(len(LINK) * i, len(LINK) * (i + 1))

    def joint(self, i: int) -> slice:
        """Entries of a joint, in the order of `JOINT`."""
        first = self.bodies + len(JOINT) * i
        return slice(first, first + len(JOINT))


def motor_entries(model: Model) -> list[slice]:
    """Entries of each motor in pi, which come last, in the order of `JOINT`."""
    size, count = len(JOINT), len(model.motors)
    end = len(parameter_list(model))
    return [slice(end - size * k, end - size * (k - 1)) for k in range(count, 0, -1)]


@dataclass(frozen=True)
class Parameter:
    """One entry of pi: its kind and the link, joint, rotor, spring or motor of it.

    Args:
        kind: name of the parameter, such as "m" or "Izz".
        owner: name of the link, joint, rotor, spring or motor.
        group: "link", "joint", "rotor", "spring" or "motor".
    """

    kind: str
    owner: str
    group: str  # one of GROUPS

    def __str__(self) -> str:
        return f"{self.kind}[{self.owner}]"


def parameter_list(model: Model) -> tuple[Parameter, ...]:
    """Names of the entries of pi in order.

    10 for each link, 5 for each joint, 1 for each rotor, 2 for each spring, 5 for each motor.

    Args:
        model: the robot.
    """
    links = [Parameter(kind, name, "link") for name in model.link_names for kind in LINK]
    joints = [Parameter(kind, joint.name, "joint") for joint in model.joints for kind in JOINT]
    rotors = [Parameter("rotor", model.joints[x.joint].name, "rotor") for x in model.rotors]
    springs = [Parameter(kind, x.name, "spring") for x in model.springs for kind in SPRING]
    motors = [Parameter(kind, x.name, "motor") for x in model.motors for kind in JOINT]
    return (*links, *joints, *rotors, *springs, *motors)


def parameter_axis(model: Model) -> Axis:
    """Return the names along pi, such as "m[upper_arm]", for arrays with names."""
    return Axis(tuple(map(str, parameter_list(model))), "parameter", model.name)


def parameters(model: Model) -> Array:
    """pi of the robot, (p,), SI units, in the order of `parameter_list`.

    Args:
        model: the robot.
    """
    values: list[Any] = []
    for i in model.links:
        m, com = model.m[i], model.com[i]
        c = skew(com)
        I = model.I_com[i] + (c @ c.T) * m
        values += [m, *(com * m), *(I[a, b] for a, b in INDEX)]
    for joint in model.joints:
        values += [*joint.friction.viscous, *joint.friction.coulomb, joint.armature]
    values += [rotor.inertia for rotor in model.rotors]
    for spring in model.springs:
        values += [spring.stiffness, spring.stiffness * spring.rest]
    for motor in model.motors:
        values += [*motor.friction.viscous, *motor.friction.coulomb, motor.inertia]
    return np.array(values)


def with_parameters(model: Model, pi: ArrayLike) -> Model:
    """The same geometry with other parameters, such as identified ones.

    Args:
        model: the robot.
        pi: parameters in the order of `parameter_list`, shape (p,), in their own units.

    Raises:
        ModelError: a link of mass 0 with a first moment has no centre of mass, and a spring of
            stiffness 0 with a preload has no rest position.
    """
    pi = array(by_name(pi, parameter_axis(model), "pi"), (len(parameter_list(model)),), "pi")
    given = iter(pi.tolist())

    def take(names: Sequence[str]) -> list[Any]:
        return [next(given) for _ in names]

    bodies = [_body(take(LINK), name) for name in model.link_names]
    joints = [_driven(joint, "armature", take(JOINT)) for joint in model.joints]
    rotors = [replace(rotor, inertia=next(given)) for rotor in model.rotors]
    springs = [_spring(spring, *take(SPRING)) for spring in model.springs]
    motors = [_driven(motor, "inertia", take(JOINT)) for motor in model.motors]
    return model.replace(
        m=np.array([m for m, _, _ in bodies]),
        com=np.array([com for _, com, _ in bodies]).reshape(-1, 3),
        I_com=np.array([I_com for _, _, I_com in bodies]).reshape(-1, 3, 3),
        joints=tuple(joints),
        rotors=tuple(rotors),
        springs=tuple(springs),
        motors=tuple(motors),
    )


def _driven(part: Driven, inertia: str, x: Sequence[Any]) -> Driven:
    """A joint or motor with other friction and inertia."""
    friction = with_coefficients(part.friction, (x[0], x[1]), (x[2], x[3]))
    return replace(part, friction=friction, **{inertia: x[4]})


def _spring(spring: JointSpring, stiffness: Any, preload: Any) -> JointSpring:
    """The spring with another stiffness and preload; without both, its rest position stays."""
    if not is_plain(stiffness, 0):
        return replace(spring, stiffness=stiffness, rest=preload / stiffness)
    if preload != 0:
        raise ModelError(
            f"spring {spring.name!r} has stiffness 0 but a preload of {preload}, which no rest "
            "position gives; give it stiffness or set the preload to 0."
        )
    return replace(spring, stiffness=stiffness)


def _body(row: Sequence[Any], name: str) -> tuple[Any, Array, Array]:
    m, h = row[0], np.array(row[1:4])
    I: list[list[Any]] = [[0] * 3 for _ in range(3)]
    for (a, b), value in zip(INDEX, row[4:], strict=True):
        I[a][b] = I[b][a] = value
    massless = is_plain(m, 0)
    if massless and any(x != 0 for x in h):
        raise ModelError(
            f"link {name!r} has mass 0 but a first moment {h.tolist()} kg m, which is impossible; "
            "give it mass or set the moment to 0."
        )
    com = h if massless else h / m
    c = skew(com)
    return m, com, np.array(I) - (c @ c.T) * m
