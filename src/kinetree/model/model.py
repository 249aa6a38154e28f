"""Model: the frozen data of a robot, the one input of every algorithm, and its changed copies."""

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, frozen
from kinetree.core.records import PLAIN, number_fields, retyped
from kinetree.core.text import counted, listing, look_up
from kinetree.errors import InputError, argument, visible
from kinetree.files.description.collisions import Collisions
from kinetree.files.description.constraints import Constrained
from kinetree.files.description.contacts import Contacts
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    LinkDescription,
    Mimic,
    Note,
    RobotDescription,
    Rotor,
)
from kinetree.model.constraints import Constraints
from kinetree.model.contacts import check_places
from kinetree.model.elements import GearedMotor, JointActuator, JointSpring, motor_matrix
from kinetree.model.joint import Joint, JointRotor, coordinate_names, rate_names
from kinetree.present.tables import Table
from kinetree.spatial.inertia import BodyParts, Moments, moments_of, spatial_inertia
from kinetree.spatial.se3 import inverse

ELEMENTS = ("springs", "actuators", "motors")
KEPT = ("name", "type", "friction", "armature", "limits", "drive", "actuation")  # of a joint
WORLD = -1  # the number of the base in `parent` and in frames


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
        return len(self.dof_names)

    @cached_property
    def nq(self) -> int:
        """Coordinates: the length of q, n or more (a quaternion has four for three)."""
        return len(self.coordinate_names)

    @property
    def links(self) -> range:
        """Links from the base outward: every parent before its children."""
        return range(len(self.joints))

    @cached_property
    def A(self) -> tuple[Array, ...]:
        """Twist of link i in {i} for unit rates of its joint, each (6, k)."""
        return tuple(joint.A for joint in self.joints)

    @cached_property
    def leaders(self) -> tuple[Joint, ...]:
        """The joints that move by themselves, in the order of q and dq."""
        return tuple(joint for joint in self.joints if joint.follows is None)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of `leaders`."""
        return tuple(joint.name for joint in self.leaders)

    @property
    def joint_types(self) -> tuple[str, ...]:
        """The types of `leaders`."""
        return tuple(joint.type for joint in self.leaders)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return tuple(name for joint in self.leaders for name in coordinate_names(joint))

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """Names of the entries of dq, ddq and tau."""
        return tuple(name for joint in self.leaders for name in rate_names(joint))

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
        parts = [self.base, *zip(self.m, self.com, self.I_com, strict=True)]
        bodies = zip(names.values(), parts, strict=True)
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
            **{x: {y.name: y.record for y in getattr(self, x)} for x in ELEMENTS},
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
            **{field: getattr(joint, field) for field in KEPT},
            parent=self.names[self.parent[i]],
            child=self.link_names[i],
            M_pc=self.M_pi[i],
            A=joint.screw,
            offset=0 if follows else joint.offset,
            mimic=None if follows is None else Mimic(follows, joint.scale, joint.offset),
            rotor=rotor,
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
        return look_up(self.frames, self.frame_name(name), f"frame of {self.name!r}")

    def joint(self, name: str) -> Joint:
        """The joint of that name.

        Args:
            name: name of the joint.
        """
        return look_up({x.name: x for x in self.joints}, name, f"joint of {self.name!r}")

    @property
    def motor_matrix(self) -> Array:
        """N, (k, n): rates of the motors over those of the joints; tau = N^T of their forces."""
        return motor_matrix(self.motors, self.n)

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
        rows: list[tuple[Any, ...]] = []
        for x, link, m in parts:
            kind = x.type if x.follows is None else f"{x.type}, follows {x.follows}"
            rows.append((x.name, kind, link, m, *dataclasses.astuple(x.limits)))
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


Thing = TypeVar("Thing", bound="Model | HasModel")
Given = ParamSpec("Given")
Result = TypeVar("Result")


def edit(
    change: Callable[Concatenate[Model, Given], Model],
) -> Callable[Concatenate[Thing, Given], Thing]:
    """Let a function that returns a changed model take a robot, too, and return a robot."""

    @wraps(change)
    def call(model: Thing, *args: Given.args, **options: Given.kwargs) -> Thing:
        changed: Any = change(model_of(model), *args, **options)
        return changed if isinstance(model, Model) else cast("Any", model)._with_model(changed)

    return call


def for_robots(
    function: Callable[Concatenate[Model, Given], Result],
) -> "Callable[Concatenate[Model | HasModel, Given], Result]":
    """Let a function of a model take a robot, too."""

    @wraps(function)
    def call(model: Model | HasModel, *args: Given.args, **options: Given.kwargs) -> Result:
        return function(model_of(model), *args, **options)

    return call


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
