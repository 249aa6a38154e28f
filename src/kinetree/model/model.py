"""Model: the frozen data of a robot, the one input of every algorithm, and its changed copies."""

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, frozen
from kinetree.core.records import PLAIN, number_fields, retyped
from kinetree.core.text import counted, listing
from kinetree.errors import InputError, NameLookupError, ShapeError, argument, visible
from kinetree.files.description.actuators import Actuator
from kinetree.files.description.constraints import Constrained
from kinetree.files.description.drive import Drive
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import FREE
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    LinkDescription,
    Mimic,
    Motor,
    Note,
    RobotDescription,
    Rotor,
    Spring,
)
from kinetree.model.actuators import JointActuator, build_actuator
from kinetree.model.constraints import Constraints
from kinetree.model.contacts import Collisions, Contacts, check_places
from kinetree.model.friction import (
    JointFriction,
    joint_friction,
    with_efficiency,
    without_efficiency,
)
from kinetree.model.joint import (
    Joint,
    changed_by_name,
    changed_drives,
    coordinate_names,
    limit_cells,
    rate_names,
    type_words,
)
from kinetree.model.motors import GearedMotor, build_motor, motor_matrix
from kinetree.model.springs import JointSpring, build_spring
from kinetree.present.tables import Table
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import (
    BodyParts,
    Moments,
    check_physical,
    compose,
    moments_of,
    move_body,
    spatial_inertia,
)
from kinetree.spatial.se3 import inverse

WORLD = -1  # the number of the base in `parent` and in frames
BODY = ("m", "com", "I_com")


@dataclass(frozen=True, eq=False)
class JointRotor:
    """A rotor of joint `joint` on link `link`, spinning at ratio * dq[dof] about s in {link}.

    gear: the same ratio to the rate of the joint itself, which may follow another joint.
    """

    joint: int
    dof: int
    link: int
    inertia: Scalar
    ratio: Scalar
    s: Array
    gear: Scalar = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", frozen(self.s))


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed in link `link` (WORLD: in the base) at T_if."""

    link: int
    T_if: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_if", frozen(self.T_if))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Model:
    """A tree of links; link i hangs on joints[i], and parents have smaller numbers.

    `kt.load`, `kt.Builder` and `kinetree.model.build_model` make models. A model never changes.

    Args:
        name: name of the robot.
        joints: the joint of each link.
        link_names: name of each link.
        base_name: name of the base.
        parent: number of each link's parent, -1 for the base.
        M_pi: pose of {i} in its parent's frame at q = 0, shape (l, 4, 4), positions in m.
        m: masses of the links, shape (l,), kg.
        com: centres of mass in {i}, shape (l, 3), m.
        I_com: inertias about the centres of mass in the axes of {i}, shape (l, 3, 3), kg m^2.
        gravity: free fall (0, g) in {s}, shape (6,), m/s^2.
        rotors: rotors of motors on the links.
        frames: {frame name: frame}, links and the base included.
        tool: name of the frame that poses and Jacobians are of by default; None: the tree has
            several tips, and a frame has to be named.
        base: (m, com, I_com) of the bodies that are fixed to the world: kg, (3,) in m, (3, 3) in kg
            m^2.
        springs: springs of joints and between joints.
        motors: motors that turn with several joints, with inertia and friction.
        actuators: forces at joints that follow controls; they act where controls are given.
        constraints: closed loops and other constraints, from `Robot.constrained`; None: a tree.
        contacts: points that may touch the ground, from `Robot.with_contacts`; None: no contacts.
        collisions: shapes of a file that contacts can be made of; other results ignore them.
        notes: parts of a file that are read differently from what one may expect.
        warnings: parts of a file that the dynamics cannot honour.
    """

    name: str
    joints: tuple[Joint, ...]
    link_names: tuple[str, ...]
    base_name: str
    parent: tuple[int, ...]
    M_pi: Array
    m: Array
    com: Array
    I_com: Array
    gravity: Array
    rotors: tuple[JointRotor, ...]
    frames: Mapping[str, Frame]
    tool: str | None
    base: BodyParts
    springs: tuple[JointSpring, ...] = ()
    motors: tuple[GearedMotor, ...] = ()
    actuators: tuple[JointActuator, ...] = ()
    constraints: Constraints | None = None
    contacts: Contacts | None = None
    collisions: Collisions = field(default=Collisions(), metadata=PLAIN)
    notes: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        for name in ("M_pi", "m", "com", "I_com", "gravity"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        m, com, I_com = self.base
        object.__setattr__(self, "base", (m, frozen(com), frozen(I_com)))
        object.__setattr__(self, "frames", MappingProxyType(dict(self.frames)))
        if self.contacts is not None:
            check_places(self.contacts, self.frames, self.name)

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "frames": dict(self.frames)}  # a read-only view has no pickle
        state.pop("_memo", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def memo(self) -> dict[Hashable, Any]:
        """Forms that `engine/kernels/memo.py` derives from this model; they are not pickled."""
        known = self.__dict__.get("_memo")
        # setdefault is atomic: all threads get the same one
        return self.__dict__.setdefault("_memo", {}) if known is None else known

    @cached_property
    def n(self) -> int:
        """Degrees of freedom: the length of dq, ddq and tau."""
        return sum(len(joint.dofs) for joint in self.joints if joint.follows is None)

    @cached_property
    def nq(self) -> int:
        """Coordinates: the length of q, n or more (a quaternion has four for three)."""
        return sum(len(joint.coords) for joint in self.joints if joint.follows is None)

    @property
    def links(self) -> range:
        """Links from the base outward: every parent before its children."""
        return range(len(self.joints))

    @cached_property
    def A(self) -> tuple[Array, ...]:
        """Twist of link i in {i} for unit rates of its joint, each (6, k)."""
        return tuple(joint.A for joint in self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that move by themselves, in the order of q and dq."""
        return tuple(joint.name for joint in self.joints if joint.follows is None)

    @property
    def joint_types(self) -> tuple[str, ...]:
        """The types of `joint_names`."""
        return tuple(joint.type for joint in self.joints if joint.follows is None)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        leaders = [joint for joint in self.joints if joint.follows is None]
        return tuple(name for joint in leaders for name in coordinate_names(joint))

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """Names of the entries of dq, ddq and tau."""
        leaders = [joint for joint in self.joints if joint.follows is None]
        return tuple(name for joint in leaders for name in rate_names(joint))

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """The actuators, in the order of controls."""
        return tuple(x.name for x in self.actuators)

    @property
    def activation_names(self) -> tuple[str, ...]:
        """The actuators that have a state of their own, in the order of activations."""
        return tuple(x.name for x in self.actuators if x.has_activation)

    @property
    def names(self) -> dict[int, str]:
        """Names of the moving links by their number, and of the base by WORLD."""
        return {WORLD: self.base_name, **dict(enumerate(self.link_names))}

    @property
    def own_frames(self) -> dict[str, Frame]:
        """The frames besides those of the base and the moving links, by name."""
        links = {self.base_name, *self.link_names}
        return {name: frame for name, frame in self.frames.items() if name not in links}

    @property
    def description(self) -> RobotDescription:
        """The records of the robot, from which `build_model` makes the same model again.

        Every link that moves is one link with one body; links that were merged into others are
        frames. Joints that follow others name the joint at the end of their chain.
        """
        names, held = self.names, self.constraints
        bodies = zip(names.values(), [self.base, *zip(*self._bodies, strict=True)], strict=True)
        motors = () if held is None else tuple(self.dof_names[k] for k in held.actuated)
        return RobotDescription(
            name=self.name,
            links=tuple(LinkDescription(name, (Body(*body),)) for name, body in bodies),
            joints=tuple(map(self._joint_record, self.links)),
            frames=tuple(
                FrameDescription(name, names[frame.link], frame.T_if)
                for name, frame in self.own_frames.items()
            ),
            tool=self.tool,
            gravity=self.gravity[3:],
            springs={x.name: x.record for x in self.springs},
            actuators={x.name: x.record for x in self.actuators},
            motors={x.name: x.record for x in self.motors},
            notes=self.notes,
            warnings=tuple(x for x in self.warnings if x.source == "file"),
            constrained=None if held is None else Constrained(held.given, motors),
            contacts=self.contacts,
            collisions=self.collisions,
        )

    def _joint_record(self, i: int) -> JointDescription:
        joint, rotor = self.joints[i], next((x for x in self.rotors if x.joint == i), None)
        follows = joint.follows
        if rotor is not None:
            rotor = Rotor(rotor.inertia, rotor.gear, rotor.s, self.names[rotor.link])
        return JointDescription(
            name=joint.name,
            type=joint.type,
            parent=self.names[self.parent[i]],
            child=self.link_names[i],
            M_pc=self.M_pi[i],
            A=joint.screw,
            offset=0 if follows else joint.offset,
            mimic=None if follows is None else Mimic(follows, joint.scale, joint.offset),
            friction=without_efficiency(joint.friction, joint.drive).record,
            armature=joint.armature,
            rotor=rotor,
            limits=joint.limits,
            drive=joint.drive,
            actuation=joint.actuation,
        )

    @cached_property
    def children(self) -> dict[int, tuple[int, ...]]:
        """Children of every link, and of WORLD."""
        kids: dict[int, list[int]] = {i: [] for i in (WORLD, *self.links)}
        for i in self.links:
            kids[self.parent[i]].append(i)
        return {i: tuple(c) for i, c in kids.items()}

    @cached_property
    def M_ip(self) -> Array:
        """Pose of the parent's frame in {i} at q = 0, (links, 4, 4)."""
        return frozen(np.array([inverse(M) for M in self.M_pi]).reshape(-1, 4, 4))

    @cached_property
    def G(self) -> Array:
        """Spatial inertia of link i about the origin of {i}, (links, 6, 6)."""
        bodies = zip(self.m, self.com, self.I_com, strict=True)
        return frozen(np.array([spatial_inertia(*body) for body in bodies]).reshape(-1, 6, 6))

    @cached_property
    def moments(self) -> tuple[Moments, ...]:
        """Mass moments of link i about the origin of {i}."""
        bodies = zip(self.m, self.com, self.I_com, strict=True)
        computed = (moments_of(*body) for body in bodies)
        return tuple(Moments(x.m, frozen(x.h), frozen(x.Sigma)) for x in computed)

    def path(self, i: int) -> list[int]:
        """Links from the base to link i, both ends included (empty for WORLD).

        Args:
            i: number of the link; -1 for the base.
        """
        chain = []
        while i != WORLD:
            chain.append(i)
            i = self.parent[i]
        return chain[::-1]

    @property
    def tips(self) -> tuple[str, ...]:
        """The moving links without moving children, by name.

        A link that is fixed to another is part of it: a camera on an arm makes no further tip, and
        two fingers of a gripper are two tips.
        """
        return tuple(name for i, name in enumerate(self.link_names) if not self.children[i])

    def frame_name(self, name: str | None = None) -> str:
        """`name`, or the tool if it is None; raise InputError if there is no tool.

        Args:
            name: name of a frame; None: the tool.
        """
        name = self.tool if name is None else name
        if name is None:
            raise InputError(
                f"no frame is named, and {self.name!r} has no tool but {len(self.tips)} tips: "
                f"{listing(self.tips, 12)}. Name a frame, such as "
                f"{argument('frame', self.tips[0])}, or make a tool with "
                "robot.with_tool(name, at, frame=...)."
            )
        return name

    def frame(self, name: str | None = None) -> Frame:
        """The frame of that name: a link, a tool or a fixed frame; None is the tool.

        Args:
            name: name of a link, a tool or a fixed frame; None: the tool, which a tree with several
                tips has only if it was named.
        """
        try:
            return self.frames[self.frame_name(name)]
        except (KeyError, TypeError):  # TypeError: a list or array, which cannot be a name
            known = ", ".join(self.frames)
            raise NameLookupError(
                f"{self.name!r} has no frame {name!r}; its frames are {known}."
            ) from None

    def joint(self, name: str) -> Joint:
        """The joint of that name.

        Args:
            name: name of the joint.
        """
        for joint in self.joints:
            if joint.name == name:
                return joint
        names = ", ".join(joint.name for joint in self.joints)
        raise NameLookupError(f"{self.name!r} has no joint {name!r}; its joints are {names}.")

    def with_gravity(self, gravity: ArrayLike) -> "Model":
        """Return the same robot under another gravity.

        Args:
            gravity: acceleration of free fall in {s}, shape (3,), m/s^2.
        """
        return self.replace(gravity=free_fall(gravity))

    def with_payload(
        self,
        m: Scalar,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
        frame: str | None = None,
    ) -> "Model":
        """Return the same robot with a body fixed to `frame` (None: the tool).

        Args:
            m: mass of the body, kg.
            com: centre of mass in the frame, shape (3,), m.
            I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2;
                None: a point mass.
            frame: name of a frame of the robot.
        """
        place, name = self.frame(frame), self._payload_name(frame)
        body = check_physical(m, com, np.zeros((3, 3), int) if I_com is None else I_com, name)
        if place.link == WORLD:
            return self.replace(base=compose(self.base, move_body(*body, place.T_if)))
        merged = self._loaded_link(body, place)
        changed = {
            key: np.array([value if k == place.link else x for k, x in enumerate(robot_values)])
            for key, robot_values, value in zip(BODY, self._bodies, merged, strict=True)
        }
        return self.replace(**changed)

    def payload_parameters(
        self,
        m: ArrayLike,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
        frame: str | None = None,
    ) -> dict[str, Array]:
        """Return "mass", "com" and "inertia" of the links with each of many payloads.

        They are what `with_payload` makes of each payload, for `simulate(parameters=...)` and for
        kernels with `free=["mass", "com", "inertia"]`. A payload changes all three: "mass" alone
        would put it at the centre of its link.

        Args:
            m: masses of the payloads, shape (...), kg.
            com: centres of mass in the frame, shape (..., 3), m.
            I_com: inertias about the centres of mass in the axes of the frame, shape (..., 3, 3),
                kg m^2; None: point masses.
            frame: name of a frame of the robot; None: the tool.

        Returns:
            "mass" (..., l), kg; "com" (..., l, 3), m; "inertia" (..., l, 3, 3), kg m^2. Leading
            axes broadcast.

        Example:
            >>> robot = kt.robots.panda()
            >>> data = robot.payload_parameters([0.0, 1.0, 2.0], com=(0, 0, 0.06))
            >>> gravity = robot.compile("gravity_forces", free=list(data))
            >>> gravity(robot.neutral(), *data.values()).shape
            (3, 7)
        """
        place, name = self.frame(frame), self._payload_name(frame)
        if place.link == WORLD:
            raise InputError(
                f"{name} is fixed to the base, which no joint moves; expected a frame on a link "
                f"that moves ({', '.join(self.link_names)})."
            )
        try:
            masses, centres = np.asarray(m), np.asarray(com)
            inertias = np.zeros((3, 3)) if I_com is None else np.asarray(I_com)
            batch = np.broadcast_shapes(masses.shape, centres.shape[:-1], inertias.shape[:-2])
        except ValueError as problem:
            raise ShapeError(
                f"leading axes of m, com and I_com of {name} do not broadcast: "
                f"{str(problem).rstrip('.')}. Expected "
                "such as m (100,), com (3,) and I_com (100, 3, 3)."
            ) from None
        masses = np.broadcast_to(masses, batch)
        centres = np.broadcast_to(centres, (*batch, *centres.shape[-1:]))
        inertias = np.broadcast_to(inertias, (*batch, *inertias.shape[-2:]))
        bodies = [np.empty((*batch, *np.shape(x))) for x in self._bodies]
        for x, robot_values in zip(bodies, self._bodies, strict=True):
            x[...] = robot_values
        for k in np.ndindex(batch):
            body = check_physical(masses[k], centres[k], inertias[k], self._payload_name(frame, k))
            for x, value in zip(bodies, self._loaded_link(body, place), strict=True):
                x[(*k, place.link)] = value
        return dict(zip(("mass", "com", "inertia"), bodies, strict=True))

    @property
    def _bodies(self) -> tuple[Array, Array, Array]:
        """Mass, centre and inertia of every link, in the order of `BODY`."""
        return self.m, self.com, self.I_com

    def _payload_name(self, frame: str | None, k: tuple[int, ...] = ()) -> str:
        return f"payload{list(k) if k else ''} on {self.frame_name(frame)!r}"

    def _loaded_link(self, body: BodyParts, place: Frame) -> BodyParts:
        """The link of a frame together with a body that is fixed to the frame."""
        m, com, I_com = (x[place.link] for x in self._bodies)
        return compose((m, com, I_com), move_body(*body, place.T_if))

    def with_friction(self, friction: Friction | Mapping[str, Friction]) -> "Model":
        """Return the same robot with other friction at all joints, or at some.

        Args:
            friction: Friction(...), of every joint but free ones and those that follow another;
                or {joint name: Friction(...)}. Coefficients in N m s/rad or N s/m, and N m or N.
        """
        names = [joint.name for joint in self.joints]  # mimic joints can have friction too
        if isinstance(friction, Friction):
            rubbing = [x for x in self.joints if x.type != FREE and x.follows is None]
            friction = {joint.name: friction for joint in rubbing}
        if not isinstance(friction, Mapping):
            raise InputError(
                f"friction is {friction!r}; expected Friction(...), of all joints alike, or "
                "{name: Friction(...)}."
            )
        own_names = set(names)
        unknown = [name for name in friction if name not in own_names]
        if unknown:
            raise NameLookupError(
                f"{self.name!r} has no joint {unknown[0]!r} to give friction to; its joints are "
                f"{', '.join(names)}."
            )

        def own(joint: Joint) -> JointFriction:
            checked = joint_friction(friction[joint.name], joint.name, joint.follows)
            return with_efficiency(checked, joint.drive, joint.name)

        joints = [
            dataclasses.replace(joint, friction=own(joint)) if joint.name in friction else joint
            for joint in self.joints
        ]
        return self.replace(joints=tuple(joints))

    def with_springs(self, springs: Mapping[str, Spring | None]) -> "Model":
        """Return the same robot with some springs added, replaced by name, or removed (None).

        Args:
            springs: by name. A spring that lists no joints belongs to the joint of its name:
                {"knee": Spring(20, rest=0.1), "legs": Spring(5, joints={"hip": 1, "knee": -1})}.
        """
        build = partial(build_spring, joints=self.joints, frames=self.frames)
        expected = (
            "{name: Spring(...)}: the name of a joint for the spring of that joint, or a new name "
            "for a spring between joints."
        )
        return self.replace(
            springs=changed_by_name("spring", self.springs, springs, build, expected)
        )

    def with_actuators(self, actuators: Mapping[str, Actuator | None]) -> "Model":
        """Return the same robot with some actuators added, replaced by name, or removed (None).

        Args:
            actuators: by name, {"servo": Actuator.position("knee", kp=100, kd=5)}.
        """
        build = partial(build_actuator, joints=self.joints, frames=self.frames)
        expected = "such as {'servo': Actuator.position('knee', kp=100)}."
        return self.replace(
            actuators=changed_by_name("actuator", self.actuators, actuators, build, expected)
        )

    def with_motors(self, motors: Mapping[str, Motor | None]) -> "Model":
        """Return the same robot with some motors added, replaced by name, or removed (None).

        Args:
            motors: by name, {"motor6": Motor({"joint5": 1, "joint6": 1}, inertia=0.02)}.
        """
        build = partial(build_motor, joints=self.joints)
        expected = "such as {'motor6': Motor({'joint5': 1, 'joint6': 1}, inertia=0.02)}."
        return self.replace(motors=changed_by_name("motor", self.motors, motors, build, expected))

    @property
    def motor_matrix(self) -> Array:
        """N, (k, n): rates of the motors over those of the joints; tau = N^T of their forces."""
        return motor_matrix(self.motors, self.n)

    def with_drives(self, drives: Mapping[str, Drive | None]) -> "Model":
        """Return the same robot with drives at some joints added, replaced, or removed (None).

        Args:
            drives: {joint name: Drive(...)}, joints of one degree of freedom that move by
                themselves; speeds in rad/s or m/s, forces in N m or N, times in s.
        """
        return self.replace(joints=changed_drives(self.joints, drives, self.name))

    def astype(self, scalar: Callable[[Any], Any]) -> "Model":
        """Return the same robot with every number converted, e.g. `model.astype(mpmath.mpf)`.

        Args:
            scalar: type of the numbers, or a function that converts one.
        """
        names = (x for x in number_fields(Model) if x != "contacts")
        changed = {name: retyped(getattr(self, name), scalar) for name in names}
        contacts = None if self.contacts is None else self.contacts.astype(scalar)
        return self.replace(**changed, contacts=contacts)

    def replace(self, **changes: Any) -> "Model":
        """Return a copy with some fields changed.

        Args:
            changes: fields of the model by name, with shapes and units as in `Model`.
        """
        return dataclasses.replace(self, **changes)

    def _repr_html_(self) -> str:
        """HTML table of the joints in the order of q, with the masses of the links they move."""
        head = ("joint", "type", "moves", "mass, kg", "lower", "upper", "speed", "effort")
        parts = zip(self.joints, self.link_names, self.m, strict=True)
        rows = [
            (joint.name, type_words(joint), link, m, *limit_cells(joint))
            for joint, link, m in parts
        ]
        size, warnings = counted(self.n, "degree", "of freedom"), len(self.warnings)
        title = f"{self.name}: {size}, base {self.base_name}, {tool_words(self)}"
        notes = [f"{counted(warnings, 'warning')}: see model.warnings."] if warnings else []
        if self.constraints is not None:
            notes.append(f"Constraints, beyond this tree: {', '.join(self.constraints.given)}.")
        return Table(title, head, rows, text=3, notes=notes).html()

    def __repr__(self) -> str:
        joints = ", ".join(f"{joint.name} ({joint.type})" for joint in self.joints)
        size = counted(self.n, "degree", "of freedom")
        return visible(f"Model({self.name!r}, {size}: {joints})")


class HasModel(Protocol):
    """An object that has a model, as `kinetree.Robot` does."""

    @property
    def model(self) -> Model:
        """The frozen data."""
        ...


def tool_words(model: Model) -> str:
    """The tool, or the tips of a tree without one, in words."""
    return f"tips {listing(model.tips, 5)}" if model.tool is None else f"tool {model.tool!r}"


def model_of(robot: Model | HasModel) -> Model:
    """The model of a robot, or the model itself; anything else raises InputError."""
    model = robot if isinstance(robot, Model) else getattr(robot, "model", None)
    if not isinstance(model, Model):
        raise InputError(
            f"robot is {robot!r:.60}; expected a Robot or a Model. kt.load(path) reads one from a "
            "file, kt.robots has built-in ones."
        )
    return model


def free_fall(gravity: ArrayLike) -> Array:
    """(0, g), shape (6,), of a gravity vector in m/s^2."""
    return np.concatenate([np.zeros(3, int), array(gravity, (3,), "gravity")])
