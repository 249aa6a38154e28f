"""Robots with other gravity, payloads, friction, springs, drives, motors, actuators, contacts.

Every function takes a model or a robot and returns one of the same kind. It edits the records of
the description and builds them; constraints stay, since they depend on the geometry alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.records import mapping
from kinetree.core.text import look_up
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description.actuators import Actuator
from kinetree.files.description.collisions import DEFAULT_FRICTION
from kinetree.files.description.contacts import Contact, Contacts, Ground, Plane
from kinetree.files.description.drive import Drive
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import FREE
from kinetree.files.description.records import Body, Motor, Spring
from kinetree.model.build import build_model
from kinetree.model.contacts import chosen_contacts
from kinetree.model.model import WORLD, HasModel, Model, edit, free_fall, model_of
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import BodyParts, check_physical, compose, move_body

Record = TypeVar("Record")
FRICTION = "Friction(...), of all joints alike, or {name: Friction(...)}"


def edited(model: Model, **changes: Any) -> Model:
    """The model of the description with some fields changed."""
    built = build_model(replace(model.description, constrained=None, **changes), unphysical="allow")
    found = tuple(x for x in model.warnings if x.source == "constraints")
    return built.replace(constraints=model.constraints, warnings=(*built.warnings, *found))


def changed_by_name(
    kind: str, own: Mapping[str, Record], changes: Mapping[str, Record | None], example: str
) -> dict[str, Record]:
    """Records with some added or replaced by name; None removes one.

    Args:
        kind: what they are, such as "spring", for messages.
        own: those of the robot.
        changes: records by name.
        example: what the error for changes that are no mapping expects.
    """
    for name, record in mapping(changes, f"{kind}s", f"them by name, {example}").items():
        if record is None:
            look_up(own, name, f"the {kind} to remove")
    merged = {**own, **changes}
    return {name: record for name, record in merged.items() if record is not None}


@edit
def with_gravity(model: Model, gravity: ArrayLike) -> Model:
    """The same robot under another gravity.

    Args:
        model: the robot.
        gravity: acceleration of free fall in {s}, shape (3,), m/s^2.
    """
    return model.replace(gravity=free_fall(gravity))


@edit
def with_payload(
    model: Model,
    m: Scalar,
    com: ArrayLike = (0, 0, 0),
    I_com: ArrayLike | None = None,
    frame: str | None = None,
) -> Model:
    """The same robot with a body fixed to a frame.

    Args:
        model: the robot.
        m: mass of the body, kg.
        com: centre of mass in the frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2;
            None: a point mass.
        frame: name of a frame of the robot; None: the tool.
    """
    body = _payload(model, m, com, I_com, frame)
    link = model.names[model.frame(frame).link]
    links = tuple(
        replace(x, bodies=(*x.bodies, Body(*body))) if x.name == link else x
        for x in model.description.links
    )
    return edited(model, links=links)


def _payload(
    model: Model, m: Any, com: Any, I_com: Any, frame: str | None, k: tuple[int, ...] = ()
) -> BodyParts:
    """A body that is fixed to a frame, checked, in the axes of the link of the frame."""
    name = f"payload{list(k) if k else ''} on {model.frame_name(frame)!r}"
    body = check_physical(m, com, np.zeros((3, 3), int) if I_com is None else I_com, name)
    return move_body(*body, model.frame(frame).T_if)


def payload_parameters(
    robot: Model | HasModel,
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
        robot: a Robot or a Model.
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
        >>> data = kt.simulate.payload_parameters(robot, [0.0, 1.0, 2.0], com=(0, 0, 0.06))
        >>> gravity = robot.compile("gravity_forces", free=list(data))
        >>> gravity(robot.neutral(), *data.values()).shape
        (3, 7)
    """
    model = model_of(robot)
    link = model.frame(frame).link
    if link == WORLD:
        raise InputError(
            f"payload on {model.frame_name(frame)!r} is fixed to the base; expected a frame on a "
            f"link that moves ({', '.join(model.link_names)})."
        )
    given = [np.asarray(x) for x in (m, com, np.zeros((3, 3)) if I_com is None else I_com)]
    leading = [x.shape[: x.ndim - k] for k, x in enumerate(given)]
    try:
        batch = np.broadcast_shapes(*leading)
    except ValueError as problem:
        raise ShapeError(f"payloads have leading axes {leading}: {problem}") from None
    payloads = [np.broadcast_to(x, (*batch, *(3,) * k)) for k, x in enumerate(given)]
    own = (model.m, model.com, model.I_com)
    found = [np.array(np.broadcast_to(x, (*batch, *x.shape)), float) for x in own]
    for k in np.ndindex(batch):
        body = _payload(model, *(x[k] for x in payloads), frame=frame, k=k)
        loaded = compose((model.m[link], model.com[link], model.I_com[link]), body)
        for x, value in zip(found, loaded, strict=True):
            x[(*k, link)] = value
    return dict(zip(("mass", "com", "inertia"), found, strict=True))


def _with_joint_parts(model: Model, part: str, changes: Mapping[str, Any], example: str) -> Model:
    """The robot with other friction or drives of some joints, by name."""
    own = {joint.name: joint for joint in model.joints}  # mimic joints can have friction too
    for name in mapping(changes, part, example):
        look_up(own, name, f"a joint in {part}")
    joints = tuple(
        replace(x, **{part: changes[x.name]}) if x.name in changes else x
        for x in model.description.joints
    )
    return edited(model, joints=joints)


@edit
def with_friction(model: Model, friction: Friction | Mapping[str, Friction]) -> Model:
    """The same robot with other friction at all joints, or at some.

    Args:
        model: the robot.
        friction: Friction(...), of every joint but free ones and those that follow another; or
            {joint name: Friction(...)}. Coefficients in N m s/rad or N s/m, and N m or N.
    """
    if isinstance(friction, Friction):
        rubbing = (x.name for x in model.leaders if x.type != FREE)
        friction = dict.fromkeys(rubbing, friction)
    return _with_joint_parts(model, "friction", friction, FRICTION)


@edit
def with_drives(model: Model, drives: Mapping[str, Drive | None]) -> Model:
    """The same robot with drives added, replaced by joint, or removed (None).

    Args:
        model: the robot.
        drives: {joint name: kt.joints.Drive(...)}, joints of one degree of freedom that move by
            themselves; speeds in rad/s or m/s, forces in N m or N, times in s.

    Example:
        >>> motor = kt.joints.Drive(curve=[(0, 80), (3, 80), (6, 0)], efficiency=0.9)
        >>> arm = kt.robots.planar_2r().with_drives({"joint1": motor})
        >>> arm.model.joint("joint1").drive.curve
        ((0.0, 80.0), (3.0, 80.0), (6.0, 0.0))
    """
    return _with_joint_parts(model, "drive", drives, "{name: Drive(...)}")


def _with_named(model: Model, kind: str, changes: Mapping[str, Any], example: str) -> Model:
    """The robot with some springs, actuators or motors added, replaced or removed by name."""
    own = getattr(model.description, f"{kind}s")
    return edited(model, **{f"{kind}s": changed_by_name(kind, own, changes, example)})


@edit
def with_springs(model: Model, springs: Mapping[str, Spring | None]) -> Model:
    """The same robot with springs added, replaced by name, or removed (None).

    Args:
        model: the robot.
        springs: by name. A spring that lists no joints belongs to the joint of its name; one
            between joints lists them with their coefficients; see `kt.joints.Spring`.

    Example:
        >>> arm = kt.robots.planar_2r().with_springs({"joint2": kt.joints.Spring(50, rest=0.5)})
        >>> arm.spring_forces([0, 0])
        array([  0., -25.])
    """
    return _with_named(model, "spring", springs, "{joint name: Spring(...)}")


@edit
def with_actuators(model: Model, actuators: Mapping[str, Actuator | None]) -> Model:
    """The same robot with actuators added, replaced by name, or removed (None).

    Actuators act where controls are given: `simulate(controls=...)`, `step(controls=...)`.

    Args:
        model: the robot.
        actuators: by name, such as {"servo": kt.joints.Actuator.position("knee", 100)}.

    Example:
        >>> servo = kt.joints.Actuator.position("joint2", kp=50, kd=5)
        >>> arm = kt.robots.planar_2r().with_actuators({"elbow": servo})
        >>> arm.model.actuator_names
        ('elbow',)
    """
    return _with_named(model, "actuator", actuators, "{name: Actuator.position('knee', kp=100)}")


@edit
def with_motors(model: Model, motors: Mapping[str, Motor | None]) -> Model:
    """The same robot with motors of coupled joints added, replaced by name, or removed (None).

    Args:
        model: the robot.
        motors: by name, {"motor6": Motor({"joint5": 1, "joint6": 1}, inertia=0.02)}.
    """
    return _with_named(model, "motor", motors, "{name: Motor({'joint5': 1, 'joint6': 1})}")


@edit
def with_contacts(
    model: Model,
    feet: Sequence[str | Contact] | None,
    ground: Ground | None = None,
    *,
    friction: Scalar | None = None,
    restitution: Scalar = 0,
    compliance: Scalar | None = None,
) -> Model:
    """The same robot with points that may touch the ground, in place of those it had.

    `step` and `simulate` then have contacts: no penetration, Coulomb friction and impacts.
    Links do not touch each other, and meshes have no contacts.

    Args:
        model: the robot.
        feet: names of links, whose collision shapes count, or of collision shapes: spheres,
            boxes (their corners), capsules and cylinders (their rims); or records
            `kt.contacts.ContactPoint` and `ContactRim`. None: no contacts.
        ground: `Plane`, `Boxes` or `HeightField` of `kt.contacts`; None: that of the robot's
            file, or the plane z = 0. Rims touch planes alone, spheres no height field.
        friction: coefficient of friction of all feet that are no records; None: that of the
            robot's file, and 1 for shapes without.
        restitution: share of the normal velocity that an impact returns, 0 to 1,
            dimensionless.
        compliance: depth of a contact for a unit of normal force, m/N; None: rigid contacts.
            It has no damping: how high a robot rebounds depends on dt (docs/contacts.md).

    Example:
        >>> tip = kt.contacts.ContactPoint("tip", "tool", radius=0.02)
        >>> arm = kt.robots.panda().with_contacts([tip], friction=0.6)
        >>> arm.model.contacts.names
        ('tip',)
    """
    if feet is None:
        return model.replace(contacts=None)
    points = chosen_contacts(model.collisions, feet, model.frames, friction)
    changed = model.collisions.changed
    if changed and (ground is None or (friction is None and any(isinstance(x, str) for x in feet))):
        raise ModelError(
            f"ground and friction of the file of {model.name!r} cannot be those of contacts: "
            f"{'; '.join(changed[:6])}. Give both: robot.with_contacts(feet, ground, friction=...)."
        )
    contacts = Contacts(
        points,
        (model.collisions.ground or Plane()) if ground is None else ground,
        DEFAULT_FRICTION if friction is None else friction,
        restitution,
        compliance,
    )
    return model.replace(contacts=contacts)
