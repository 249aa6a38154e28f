"""Unknowns x of an identification: the robot's parameters are pi = S x + fixed.

Friction laws with shapes have unknowns besides pi: their sizes, which are linear unknowns with
columns of their own, and at the end of x their shapes, on which those columns depend. Offsets of
torque sensors are no part of pi either: the last linear unknowns, each with a column of ones.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.core.records import mapped
from kinetree.dynamics import parameter_list, parameters
from kinetree.dynamics.joints.motors import with_motor_friction
from kinetree.dynamics.natural_units import NaturalUnits, natural_units, parameter_units
from kinetree.dynamics.parameters import JOINT, ParameterLayout, motor_entries, with_parameters
from kinetree.errors import InputError, NameLookupError
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.identify.checks import BLOCK, least_motion
from kinetree.identify.laws import (
    SIZES,
    FrictionChoice,
    FrictionChoices,
    Law,
    chosen_laws,
    curve,
    described,
    laws_of,
    reference,
    shape_units,
    with_law,
)
from kinetree.identify.loops import forces_at_motors, motor_dofs
from kinetree.model import GearedMotor, Joint, Model
from kinetree.model.bounds import bounds_of, positions
from kinetree.model.elements import spring_units
from kinetree.model.friction import beyond_coefficients, has_more_laws
from kinetree.robot import Robot

Column = tuple[str, str, list[int]]  # name, unit, indices in pi
LINK_UNITS = {"m": "kg", "h": "kg m", "I": "kg m^2"}
OFFSET = "tau_offset"  # "offset" alone is a shape of sigmoid friction, a rate
COULOMB = JOINT.index("coulomb+")  # among the parameters of a joint
DRIVE = ("viscous", "coulomb", "armature")  # unknowns of a drive that acts in motion alone
SIGNED = ("preload", OFFSET)  # unknowns that may be negative whatever the bodies are


@dataclasses.dataclass(frozen=True, eq=False)
class Unknowns:
    """The unknowns x of a robot: ten a link, those of joints, rotors and springs, offsets, shapes.

    Args:
        robot: the robot.
        names: names such as "Izz[upper]" or "coulomb[elbow]".
        units: unit of each.
        S: selection, shape (P, p), from x into the robot's whole parameter vector, dimensionless.
        fixed: the known part of that vector, shape (P,), in the units of the parameters.
        laws: friction laws with shapes that are sought.
        shapes: values of the shapes at which columns are computed, shape (s,), each in its unit;
            they are the last s entries of x.
        offset: degrees of freedom whose measured forces have an unknown offset, in rising order;
            the offsets are the last linear unknowns. They belong to the sensors, not to the robot.
    """

    robot: Robot
    names: tuple[str, ...]
    units: tuple[str, ...]
    S: Array
    fixed: Array
    laws: tuple[Law, ...] = ()
    shapes: Array = dataclasses.field(default_factory=lambda: np.zeros(0))
    offset: tuple[int, ...] = ()

    @cached_property
    def natural(self) -> NaturalUnits:
        """The robot's own length, time and mass."""
        return natural_units(self.robot.model)

    @cached_property
    def scale(self) -> Array:
        """The robot's own unit of each unknown, (p,)."""
        own = parameter_units(self.robot.model, self.natural)
        found = own[self.S.argmax(axis=0)]
        found[self.offset_places] = self.natural.forces[list(self.offset)]
        for law, at in zip(self.laws, self.places, strict=True):
            found[self.names.index(law.size)] = own[self.layout.joint(law.index)][COULOMB]
            found[at] = shape_units(law, self.natural)
        return found

    @property
    def p(self) -> int:
        """Number of linear unknowns, which come before the shapes."""
        return len(self.names) - len(self.shapes)

    @cached_property
    def places(self) -> tuple[Array, ...]:
        """Indices in x of the shapes of each law."""
        counts = np.cumsum([0, *(len(law.shapes) for law in self.laws)])
        return tuple(self.p + np.arange(a, b) for a, b in pairwise(counts.tolist()))

    @property
    def offset_places(self) -> Array:
        """Indices in x of the offsets of sensors."""
        return np.arange(self.p - len(self.offset), self.p)

    @property
    def signed(self) -> Array:
        """Which unknowns may be negative whatever the bodies are, (p,): preloads and offsets."""
        return np.array([name.partition("[")[0] in SIGNED for name in self.names], bool)

    @property
    def sums(self) -> tuple[tuple[int, int], ...]:
        """Indices (static, Coulomb) of friction whose first part is never the smaller one."""
        joints = [law.joint for law in self.laws if law.kind == "stribeck"]
        return tuple(
            (self.names.index(f"static[{x}]"), self.names.index(f"coulomb[{x}]")) for x in joints
        )

    @property
    def layout(self) -> ParameterLayout:
        """Places in pi; the entries of links are also the first unknowns."""
        return ParameterLayout(len(self.robot.model.links))

    def at(self, shapes: Array) -> "Unknowns":
        """The same unknowns with columns at other shapes.

        Args:
            shapes: values, shape (s,), each in its unit.
        """
        return dataclasses.replace(self, shapes=np.array(shapes, float))

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Y, (T, n, p): joint forces are Y x + `known`; the columns of shapes are zero.

        Args:
            q: joint positions, shape (T, nq), rad or m.
            dq: joint rates, shape (T, n), rad/s or m/s.
            ddq: joint accelerations, shape (T, n), rad/s^2 or m/s^2.
        """
        Y = self.plain(q, dq, ddq)
        for law, at in zip(self.laws, self.places, strict=True):
            f = law.ratio * curve(law, law.ratio * dq[..., law.dof], self.shapes[at - self.p])
            for name, sign in law.parts.items():
                Y[..., law.dof, self.names.index(name)] += sign * f
        return Y

    def plain(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Y, (T, n, p), without the columns of laws with shapes.

        Args:
            q, dq, ddq: as in `regressor`.
        """
        given = self.robot.regressor(q, dq, ddq)
        first = self.S.argmax(axis=0)
        Y = np.take(given.reshape(-1, given.shape[-1]), first, axis=1)  # Y S, where S has ones
        Y = Y.reshape(*given.shape[:-1], len(first))
        Y[..., ~self.S.any(axis=0)] = 0
        more = self.S.copy()
        more[first, np.arange(len(first))] = 0
        for row, column in np.argwhere(more):
            Y[..., column] += given[..., row]
        Y[..., list(self.offset), self.offset_places] = 1
        return Y

    def sensor_offsets(self, x: Array) -> Array:
        """Measured less true joint forces, (n,), of values of the unknowns.

        Args:
            x: values of the unknowns, shape (p,), in `units`.
        """
        found = np.zeros(self.robot.n)
        found[list(self.offset)] = x[self.offset_places]
        return found

    def linear_forces(self, q: Array, dq: Array, ddq: Array, x: Array) -> Array:
        """Y x, (T, n), of `regressor`, block by block.

        Args:
            q, dq, ddq: as in `regressor`.
            x: values of the unknowns, shape (p,), in `units`.
        """
        return in_blocks(lambda *s: self.regressor(*s)[..., : self.p] @ x[: self.p], q, dq, ddq)

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
        drives = [x for x in model.joints if x.type in SCREW_TYPES]
        names = {x.name for x in (*drives, *model.motors) if all(still[d] for d in x.dofs)}
        split = [name.rstrip("]").partition("[") for name in self.names]
        return np.flatnonzero([x.rstrip("+-") in DRIVE and own in names for x, _, own in split])

    def known(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Joint forces that do not depend on the unknowns, (T, n).

        Args:
            q, dq, ddq: as in `regressor`.
        """
        friction = self._beyond(q, dq)
        if not self.fixed.any():
            return np.zeros(np.shape(dq)) + friction
        return in_blocks(lambda *x: self.robot.regressor(*x) @ self.fixed, q, dq, ddq) + friction

    def _beyond(self, q: Array, dq: Array) -> Array | float:
        """Friction of the description that is kept as it is, (T, n)."""
        joints, sought = self.robot.model.joints, {law.index: law.kind for law in self.laws}
        kept = [
            _without(x.friction, sought.get(i)) if has_more_laws(x.friction) else Friction()
            for i, x in enumerate(joints)
        ]
        model = with_motor_friction(self.robot.model, beyond_coefficients)
        if not any(has_more_laws(x) for x in (*kept, *(x.friction for x in model.motors))):
            return 0.0
        only = [
            dataclasses.replace(x, friction=own, drive=None)
            for x, own in zip(joints, kept, strict=True)
        ]
        kept_friction = Robot(model.replace(joints=tuple(only))).friction_forces(dq)
        return forces_at_motors(self.robot, q, kept_friction)

    def values(self, model: Model) -> Array:
        """Values of the unknowns in a robot of this structure, (p,); shapes that it lacks are 0.

        Args:
            model: a robot of the same structure.
        """
        count = np.maximum(self.S.sum(axis=0), 1)
        found = self.S.T @ np.asarray(parameters(model), float) / count
        for law, at in zip(self.laws, self.places, strict=True):
            size, shapes = described(law, model.joints[law.index].friction)
            found[self.names.index(law.size)] = size or 0
            found[at] = 0 if shapes is None else shapes
        return found

    def lacks(self, model: Model) -> Array:
        """Which unknowns are shapes of laws that a robot does not have, (p,).

        Args:
            model: a robot of the same structure.
        """
        found = np.zeros(len(self.names), bool)
        for law, at in zip(self.laws, self.places, strict=True):
            found[at] = described(law, model.joints[law.index].friction)[1] is None
        return found

    def model(self, x: Array) -> Model:
        """The robot with these values of the unknowns; offsets of sensors are not included.

        Args:
            x: values of the unknowns, shape (p,), in `units`; shapes are those of `shapes`.
        """
        x = np.concatenate([x[: self.p], self.shapes])
        found = with_parameters(self.robot.model, self.fixed + self.S @ x)
        joints = [
            dataclasses.replace(joint, friction=mapped(joint.friction, lambda x, _: float(x)))
            for joint in found.joints
        ]
        for law, at in zip(self.laws, self.places, strict=True):
            size, joint = float(x[self.names.index(law.size)]), joints[law.index]
            own = with_law(law, joint.friction, size, x[at].tolist())
            joints[law.index] = dataclasses.replace(joint, friction=own)
        return found.replace(joints=tuple(joints))


def in_blocks(of: Callable[[Array, Array, Array], Array], q: Array, dq: Array, ddq: Array) -> Array:
    """A quantity of q, dq and ddq of every sample, (T, n), in blocks, which bounds the memory."""
    if q.ndim != 2 or len(q) <= BLOCK:
        return of(q, dq, ddq)
    parts = [slice(k, k + BLOCK) for k in range(0, len(q), BLOCK)]
    return np.concatenate([of(q[own], dq[own], ddq[own]) for own in parts])


def _without(friction: Friction, sought: str | None) -> Friction:
    """The part of described friction that is no coefficient and not sought.

    Static friction less Coulomb friction stays as described where only the second is sought.
    """
    rest = beyond_coefficients(friction)
    return rest if sought is None else dataclasses.replace(rest, **{sought: None})


@typed
def unknowns(
    robot: Robot,
    friction: FrictionChoices = "symmetric",
    armature: bool = True,
    springs: bool = True,
    offsets: bool | Mapping[str, bool] = False,
) -> Unknowns:
    """The unknowns to find in a recording.

    Args:
        robot: gives geometry, gear ratios, gravity, and the values of known parameters.
        friction: "symmetric" (one viscous and one Coulomb coefficient for each joint),
            "directional" (one of each for dq > 0 and for dq < 0, which also absorbs offsets of the
            sensors), "known", or a law with shapes: "stribeck" (viscous, Coulomb and static
            friction, and the Stribeck speed) or "sigmoid" (viscous friction, and size, steepness
            and offset of a sigmoid); or {joint: choice}, "symmetric" for joints left out. Motors of
            coupled joints are "symmetric", or as all joints are if those are "directional" or
            "known".
        armature: True if inertias of armatures and rotors are unknown.
        springs: True if stiffness and preload (stiffness times rest position) of the robot's
            springs are unknown.
        offsets: True if each measured joint force may have a constant offset; or {joint: bool},
            False for joints left out. With directional friction, and with a spring of unknown
            preload, an offset cannot be told from theirs: base parameters have their sum.
    """
    model = robot.model
    given = chosen_laws(model, friction)
    choices: dict[str, FrictionChoice] = {n: x for n, x in given.items() if x != "auto"}
    if open_joints := [name for name in given if name not in choices]:
        raise InputError(
            f"friction of {', '.join(open_joints)} is 'auto', which `identify` chooses from a "
            "recording; expected a law."
        )
    listed, layout = parameter_list(model), ParameterLayout(len(model.links))
    columns: list[Column] = [
        (str(x), LINK_UNITS[x.kind[0]], [k]) for k, x in enumerate(listed) if x.group == "link"
    ]
    driven, motors = {rotor.joint for rotor in model.rotors}, motor_dofs(model)
    for i, joint in enumerate(model.joints):
        if joint.type in SCREW_TYPES:
            first = layout.joint(i).start
            turned = armature and i not in driven and joint.dofs[0] in motors
            columns += _of_joint(joint, first, choices[joint.name], turned)
    choice = friction if friction in ("known", "directional") else "symmetric"
    for motor, place in zip(model.motors, motor_entries(model), strict=True):
        columns += _of_joint(motor, place.start, choice, armature)
    if armature:
        columns += [(str(x), "kg m^2", [k]) for k, x in enumerate(listed) if x.group == "rotor"]
    if springs:
        units = {x.name: spring_units(x, model.joints) for x in model.springs}
        columns += [
            (str(x), units[x.owner][x.kind == "preload"], [k])
            for k, x in enumerate(listed)
            if x.group == "spring"
        ]
    offset = offset_joints(model, offsets)
    columns += [(f"{OFFSET}[{x.name}]", _force_unit(x), []) for x in offset]
    laws = laws_of(model, choices)
    columns += [(*shape, []) for law in laws for shape in law.shapes]
    S = np.zeros((len(listed), len(columns)))
    for j, (_, _, rows) in enumerate(columns):
        S[rows, j] = 1
    fixed = np.where(S.any(axis=1), 0.0, np.asarray(parameters(model), float))
    for law in laws:
        if law.kind == "sigmoid":  # a smooth law in the place of Coulomb friction
            fixed[layout.joint(law.index)][COULOMB : COULOMB + 2] = 0
    units_of = natural_units(model)
    start = [reference(law, units_of) for law in laws]
    return Unknowns(
        robot, tuple(x[0] for x in columns), tuple(x[1] for x in columns), S, fixed, laws,
        np.concatenate(start) if start else np.zeros(0), tuple(x.dofs[0] for x in offset),
    )  # fmt: skip


def offset_joints(model: Model, offsets: bool | Mapping[str, bool]) -> list[Joint]:
    """Joints whose measured force may have an offset, in the order of degrees of freedom."""
    motors = motor_dofs(model)
    own = {
        x.name: x
        for x in model.joints
        if x.type in SCREW_TYPES and x.follows is None and x.dofs[0] in motors
    }
    given = offsets if isinstance(offsets, Mapping) else dict.fromkeys(own, offsets)
    for name in given:
        if name not in own:
            raise NameLookupError(
                f"offsets names the joint {name!r}; {model.name!r} has measured joint forces at "
                f"{', '.join(own)}."
            )
    return sorted((x for x in own.values() if given.get(x.name)), key=lambda x: x.dofs[0])


def _force_unit(joint: Joint) -> str:
    return "N" if joint.type == PRISMATIC else "N m"


def _of_joint(
    joint: Joint | GearedMotor, first: int, friction: FrictionChoice, armature: bool
) -> list[Column]:
    """Name, unit and indices in pi of a joint's unknowns; `first` is the index of viscous+."""
    name, sliding = joint.name, isinstance(joint, Joint) and joint.type == PRISMATIC
    force, speed = "N" if sliding else "N m", "N s/m" if sliding else "N m s/rad"
    found: list[Column] = []
    if friction in ("symmetric", "stribeck", "sigmoid"):
        found.append((f"viscous[{name}]", speed, [first, first + 1]))
    if friction in ("symmetric", "stribeck"):
        found.append((f"coulomb[{name}]", force, [first + 2, first + 3]))
    if friction in SIZES:
        found.append((f"{SIZES[friction]}[{name}]", force, []))
    if friction == "directional":
        found += [(f"viscous{s}[{name}]", speed, [first + k]) for k, s in enumerate("+-")]
        found += [(f"coulomb{s}[{name}]", force, [first + 2 + k]) for k, s in enumerate("+-")]
    if armature:  # a rotor of the joint would have the same effect
        found.append((f"armature[{name}]", "kg" if sliding else "kg m^2", [first + 4]))
    return found
