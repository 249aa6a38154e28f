"""Links and joints of an SDF model as records: masses, meshes, axes, limits, friction, springs.

SDF gives a link without <inertial> a mass of 1 kg and unit moments of inertia. These defaults are
part of the format and are used, with a warning that names the links.

A joint has a frame of its own, by default that of its child. At zero the links stand as their poses
in the file have them. `universal` and `revolute2` are two revolute joints in a row, the first axis
fixed in the parent and the second in the child; they are called JOINT/axis and JOINT/axis2, with a
massless link CHILD/JOINT between them. A ball joint turns about the origin of the joint's frame.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.errors import ParseError
from kinetree.files.description.axes import check_axes
from kinetree.files.description.collisions import SIZES, UNREADABLE, CollisionShape
from kinetree.files.description.findings import Findings
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import (
    FIXED,
    HELICAL,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    joint_screw,
)
from kinetree.files.description.records import (
    Body,
    JointDescription,
    Limits,
    LinkDescription,
    Mesh,
    Mimic,
    Spring,
)
from kinetree.files.description.sdf.frames import JOINT, Frame, between, body_of, lookup
from kinetree.files.description.sdf.parts import (
    INERTIA,
    WORLD,
    child_of,
    flag_attribute,
    flag_of,
    limit_of,
    number_of,
    numbers_in,
    part_of,
    read_pose,
    text_of,
)
from kinetree.files.description.urdf.parts import Part, checked_range, friction_of
from kinetree.files.description.xml import Element, clip, show
from kinetree.spatial.inertia import symmetric
from kinetree.spatial.se3 import inverse

DEFAULTS = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # of ixx, iyy, izz, ixy, ixz, iyz


def read_link(frame: Frame, findings: Findings) -> LinkDescription:
    """A link and the body of its <inertial>."""
    link = Part(frame.element, f"link {show(frame.name)}", findings)
    if not flag_of(link, "gravity", True):
        link.warn_together("<gravity>false</gravity> is not honoured: gravity acts on every link.")
    if flag_of(link, "kinematic"):
        link.warn_together("<kinematic>true</kinematic> is not honoured.")
    decays = [part_of(x, link.owner, findings) for x in frame.element.all("velocity_decay")]
    if any(number_of(x, "linear", 0) or number_of(x, "angular", 0) for x in decays):
        link.warn_together("<velocity_decay> is not honoured.")
    return LinkDescription(frame.name, (_body(link, frame),), frame.element.where)


def _body(link: Part, frame: Frame) -> Body:
    """Mass, centre and inertia about the centre, turned into the axes of the link."""
    inertial = child_of(link, "inertial")
    if inertial is None:
        link.warn_together("no <inertial>: 1 kg and unit moments of inertia by the rules of SDF.")
        return Body(1.0, np.zeros(3), np.eye(3))
    if flag_attribute(inertial, "auto"):
        raise inertial.fault(
            "<inertial auto='true'> takes the mass from the shapes of the link, which is not "
            "supported; write <mass>, <pose> and <inertia> instead."
        )
    T, relative_to = read_pose(child_of(inertial, "pose"))
    if relative_to:
        what = "relative_to of <pose>"
        base = lookup(frame.scope, relative_to, inertial.element, link.owner, what)
        if np.any(np.eye(4) != between(frame, base)):
            raise inertial.fault(
                f"<pose> of <inertial> is relative to {show(relative_to)}, which is not where the "
                "link is; expected it in the frame of the link, without relative_to, since "
                "programs disagree about its meaning."
            )
    if child_of(inertial, "mass") is None:
        inertial.warn_together("no <mass>: 1 kg by the rules of SDF.")
    m = number_of(inertial, "mass", 1.0)
    if m < 0:
        raise inertial.fault(f"mass is {m:g} kg, less than zero; correct the <mass>.")
    if inertial.element.all("fluid_added_mass"):
        inertial.warn_together("<fluid_added_mass> is not honoured.")
    R, p = T[:3, :3], T[:3, 3]
    I = _inertia_matrix(inertial)
    is_turned = bool(np.any(np.eye(3) != R))
    return Body(m, p, symmetric(times(R, I, R.T)) if is_turned else I)


def _inertia_matrix(inertial: Part) -> Array:
    """The inertia about the centre, in the axes of the pose of <inertial>."""
    inertia = child_of(inertial, "inertia")
    if inertia is None:
        inertial.warn_together("no <inertia>: unit moments of inertia by the rules of SDF.")
        return np.eye(3)
    absent = [tag for tag in INERTIA[:3] if not inertia.element.all(tag)]
    if absent:
        inertia.warn_together(f"no <{'>, <'.join(absent)}>: 1 kg m^2 by the rules of SDF.")
    pairs = zip(INERTIA, DEFAULTS, strict=True)
    xx, yy, zz, xy, xz, yz = (number_of(inertia, tag, default) for tag, default in pairs)
    for tag, moment in zip(INERTIA, (xx, yy, zz), strict=False):
        if moment < 0:
            raise inertia.fault(f"<{tag}> is {moment:g} kg m^2, less than zero; correct it.")
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_meshes(frame: Frame, findings: Findings) -> list[Mesh]:
    """Mesh files of a link, for viewers; one that cannot be read is noted and skipped."""
    meshes: list[Mesh] = []
    for shape in frame.element.children:
        if shape.tag not in ("visual", "collision"):
            continue
        for mesh in (m for geometry in shape.all("geometry") for m in geometry.all("mesh")):
            try:
                T = shape_pose(shape, frame)
                part = Part(mesh, f"{shape.tag} of link {show(frame.name)}", Findings())
                x, y, z = numbers_in(part, "scale", 3, (1.0, 1.0, 1.0))
                path = text_of(part, "uri")
            except ParseError as error:
                findings.note(mesh, f"a mesh is skipped, dynamics do not need it: {error}")
                continue
            if path:
                meshes.append(Mesh(frame.name, path, T, (x, y, z), shape.tag))
    return meshes


def read_collisions(frame: Frame) -> Iterator[CollisionShape]:
    """The <collision> shapes of a link, with friction and restitution of their <surface>."""
    for shape in frame.element.all("collision"):
        part = Part(shape, f"collision of link {show(frame.name)}", Findings())
        label = shape.attributes.get("name", "")
        try:
            T, mu = shape_pose(shape, frame), _surface(part, ("friction", "ode", "mu"))
            bounce = _surface(part, ("bounce", "restitution_coefficient"))
            for geometry in (x for y in shape.all("geometry") for x in y.children):
                inner = replace(part, element=geometry)
                counts = SIZES.get(geometry.tag, {"scale": 3} if geometry.tag == "mesh" else {})
                default = (1.0, 1.0, 1.0) if geometry.tag == "mesh" else None
                listed = [numbers_in(inner, x, count, default) for x, count in counts.items()]
                size = tuple(abs(x) for numbers in listed for x in numbers)
                path = "".join(x.text.strip() for x in geometry.all("uri"))
                yield CollisionShape(label, frame.name, geometry.tag, T, size, mu, bounce, path)
        except ParseError:
            yield CollisionShape(label, frame.name, UNREADABLE, np.eye(4))


def _surface(shape: Part, tags: tuple[str, ...]) -> float | None:
    """A number in the <surface> of a collision; None if the file does not have it."""
    inside = [shape.element]
    for tag in ("surface", *tags):
        inside = [x for element in inside for x in element.all(tag)]
    return shape.parse(inside[0].value, 1, f"<{tags[-1]}>")[0] if inside else None


def shape_pose(shape: Element, frame: Frame) -> Array:
    """Pose of a <visual> or <collision> in its link."""
    part = Part(shape, f"{shape.tag} of link {show(frame.name)}", Findings())
    T, relative_to = read_pose(child_of(part, "pose"))
    if not relative_to:
        return T
    base = lookup(frame.scope, relative_to, shape, part.owner, "relative_to of <pose>")
    return times(between(frame, base), T)


TYPES = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "screw": HELICAL,
    "ball": SPHERICAL,
    "universal": REVOLUTE,
    "revolute2": REVOLUTE,
    "fixed": FIXED,
}
TWO_AXES = ("universal", "revolute2")
REFUSED = {
    "gearbox": "a gearbox couples two joints and is no joint of a tree; use two revolute joints "
    "and <mimic> (SDF 1.11)",
}


@dataclass(frozen=True)
class JointParts:
    """The records of one joint: several where a joint has more than one axis."""

    joints: tuple[JointDescription, ...]
    links: tuple[LinkDescription, ...] = ()
    springs: dict[str, Spring] = field(default_factory=dict)  # by the names of the joints


def read_joint(frame: Frame, world: Frame, findings: Findings) -> JointParts:
    """The records of a joint; `world` is the frame of the world."""
    joint = Part(frame.element, frame.label, findings)
    word = _type(joint)
    parent, child = _ends(joint, frame, world)
    T_pc, T_cj = between(parent, child), between(child, frame)
    name, where = frame.name, frame.element.where
    used = {"fixed": 0}.get(word, 2 if word in TWO_AXES else 1)
    for tag in ("axis", "axis2")[used:]:
        if frame.element.all(tag):
            joint.count(f"<{tag}> of a {word} joint has no effect")
    whole = JointDescription(
        name=name, type=FIXED, parent=parent.name, child=child.name, M_pc=T_pc, where=where
    )
    if word == "fixed":
        return JointParts((whole,))
    if word == "ball":
        axis = child_of(joint, "axis")
        damping = Friction() if axis is None else _ball_damping(axis)
        return _ball(replace(whole, type=SPHERICAL, friction=damping), T_cj)
    if word not in TWO_AXES:
        springs = _springs({name: child_of(joint, "axis")})
        return JointParts((_axis(whole, joint, "axis", word, frame, T_cj),), (), springs)
    middle = f"{child.name}/{name}"
    first = replace(whole, name=f"{name}/axis", child=middle)
    second = replace(whole, name=f"{name}/axis2", parent=middle, M_pc=np.eye(4))
    joint.note(
        f"a {word} joint is read as two revolute joints, {show(first.name)} and "
        f"{show(second.name)}."
    )
    joints = (
        _axis(first, joint, "axis", word, frame, T_cj),
        _axis(second, joint, "axis2", word, frame, T_cj),
    )
    check_axes(joints)
    return JointParts(
        joints,
        (LinkDescription(middle, where=where),),
        _springs({x.name: child_of(joint, x.name[len(name) + 1 :]) for x in (first, second)}),
    )


def _type(joint: Part) -> str:
    word = joint.element.attributes.get("type")
    if word in REFUSED:
        raise joint.fault(f"type is {show(word)}: {REFUSED[word]}.")
    return joint.choice("type", TYPES)


def _ends(joint: Part, frame: Frame, world: Frame) -> tuple[Frame, Frame]:
    """The links, or the world, that parent and child are fixed to."""
    name = text_of(joint, "parent")
    if not name:
        raise joint.fault("<parent> is missing; expected the name of a link, a frame or 'world'.")
    if name == WORLD:
        parent = world
    else:
        parent = body_of(lookup(frame.scope, name, frame.element, joint.owner, "<parent>"))
    child = body_of(frame)
    if child is world:
        raise joint.fault(
            f"<child> {show(frame.attached_to)} is fixed to the world; expected a link."
        )
    if parent is child:
        raise joint.fault(
            f"<parent> {show(name)} and <child> {show(frame.attached_to)} are the same link; "
            "expected two different ones."
        )
    return parent, child


def _ball(whole: JointDescription, T_cj: Array) -> JointParts:
    """A spherical joint about the origin of the joint's frame."""
    if bool(np.all(np.eye(4) == T_cj)):
        return JointParts((whole,))
    hub = f"{whole.child}/{whole.name}"  # a massless link at the frame of the joint
    rigid = replace(
        whole,
        name=f"{whole.name}/fixed",
        type=FIXED,
        parent=hub,
        M_pc=inverse(T_cj),
        friction=Friction(),
    )
    return JointParts(
        (replace(whole, child=hub, M_pc=times(whole.M_pc, T_cj)), rigid),
        (LinkDescription(hub, where=whole.where),),
    )


def _ball_damping(axis: Part) -> Friction:
    """Damping of a ball joint: the moment damping * omega against its turning, about every axis."""
    axis.count("<xyz> of a ball joint has no effect")
    friction = _friction(axis)
    lost = {
        "<friction>": friction.coulomb != 0,
        "<spring_stiffness>": bool(_springs({"": axis})),
        "<limit>": _limits(axis, "ball") != Limits(),
    }
    for word, is_there in lost.items():
        if is_there:
            axis.warn_together(f"{word} of a ball joint is not honoured.")
    return Friction(friction.viscous)


def _axis(
    whole: JointDescription, joint: Part, tag: str, word: str, frame: Frame, T_cj: Array
) -> JointDescription:
    """The joint with the screw axis, friction and limits of one of its axes."""
    axis = child_of(joint, tag)
    if axis is None:
        raise joint.fault(f"a {word} joint needs <{tag}>; add it with its <xyz>.")
    kind = TYPES[word]
    direction = times(T_cj[:3, :3], _direction(axis, frame))
    pitch = _pitch(joint) if kind == HELICAL else 0
    return replace(
        whole,
        type=kind,
        A=joint_screw(kind, direction, pitch, T_cj[:3, 3], whole.name),
        mimic=_mimic(axis, frame),
        friction=_friction(axis),
        limits=_limits(axis, word),
    )


def _direction(axis: Part, frame: Frame) -> Array:
    """The axis in the frame of the joint."""
    xyz = child_of(axis, "xyz")
    if xyz is None:
        axis.warn_together("no <xyz>: 0 0 1 by the rules of SDF.")
        return np.array([0.0, 0.0, 1.0])
    text = xyz.element.value
    entries = xyz.parse(text, 3, f"<xyz>{clip(text)}</xyz>")
    direction = np.array(xyz.unit(entries, "the axis"))
    name = xyz.element.attributes.get("expressed_in", "").strip()
    if not name:
        return direction
    other = lookup(frame.scope, name, xyz.element, axis.owner, "expressed_in of <xyz>")
    return times(between(frame, other)[:3, :3], direction)


def _pitch(joint: Part) -> float:
    """Pitch of a screw joint, m/rad, positive for a right-handed thread.

    <screw_thread_pitch> is in m per turn. The older <thread_pitch> is in rad/m and positive for a
    left-handed thread; it counts where it stands alone, and must not contradict the other.
    """
    radians_per_metre = number_of(joint, "thread_pitch", 1.0)
    if radians_per_metre == 0:
        raise joint.fault("<thread_pitch> is 0 rad/m; expected another number.")
    is_old = child_of(joint, "thread_pitch") is not None
    if child_of(joint, "screw_thread_pitch") is not None:
        pitch = number_of(joint, "screw_thread_pitch", 1.0) / (2 * math.pi)
        if is_old and not math.isclose(pitch, -1 / radians_per_metre, rel_tol=1e-4):
            raise joint.fault(
                f"<screw_thread_pitch> is {2 * math.pi * pitch:g} m per turn, and <thread_pitch> "
                f"{radians_per_metre:g} rad/m is {-2 * math.pi / radians_per_metre:g}; remove the "
                "one that is wrong."
            )
    elif is_old:
        joint.note(
            f"<thread_pitch> {radians_per_metre:g} rad/m is positive for a left-handed thread: "
            f"{-1 / radians_per_metre:g} m/rad along the axis."
        )
        pitch = -1 / radians_per_metre
    else:
        joint.warn("no <screw_thread_pitch>: 1 m per turn by the rules of SDF.")
        pitch = 1 / (2 * math.pi)
    if pitch == 0:
        raise joint.fault("<screw_thread_pitch> is 0; use a revolute joint.")
    return pitch


def _friction(axis: Part) -> Friction:
    """Damping and friction of <dynamics>."""
    dynamics = child_of(axis, "dynamics")
    if dynamics is None:
        return Friction()
    viscous, coulomb = number_of(dynamics, "damping", 0.0), number_of(dynamics, "friction", 0.0)
    return friction_of(dynamics, viscous, coulomb)


def _springs(axes: dict[str, Part | None]) -> dict[str, Spring]:
    """The springs of axes, by the names of their joints; stiffness 0 means none."""
    springs: dict[str, Spring] = {}
    for name, axis in axes.items():
        dynamics = None if axis is None else child_of(axis, "dynamics")
        if dynamics is None:
            continue
        stiffness = number_of(dynamics, "spring_stiffness", 0.0)
        rest = number_of(dynamics, "spring_reference", 0.0)
        if stiffness < 0:
            raise dynamics.fault(
                f"<spring_stiffness> is {stiffness:g}; expected >= 0 (it pulls back)."
            )
        if stiffness > 0:
            springs[name] = Spring(stiffness, rest)
    return springs


def _limits(axis: Part, word: str) -> Limits:
    """Limits; -1 and less for effort and velocity, and 1e16 and more for any, mean none."""
    limit = child_of(axis, "limit")
    if limit is None:
        return Limits()
    lower, upper = limit_of(limit, "lower", -inf), limit_of(limit, "upper", inf)
    rates = {"velocity": inf, "effort": inf}
    for tag in rates:
        value = limit_of(limit, tag, inf)
        if value == 0:
            limit.warn_together(f"{tag} limit 0 is taken as not given: unlimited.")
        rates[tag] = value if value > 0 else inf
    if word == "continuous":
        if lower != -inf or upper != inf:
            limit.note("continuous, so its lower and upper limits are ignored.")
        lower, upper = -inf, inf
    lower, upper = checked_range(limit, TYPES[word], lower, upper)
    return Limits(lower, upper, rates["velocity"], rates["effort"])


def _mimic(axis: Part, frame: Frame) -> Mimic | None:
    """The joint that this one follows: q = multiplier * (q of the leader - reference) + offset."""
    mimic = child_of(axis, "mimic")
    if mimic is None:
        return None
    name, word = mimic.name("joint"), mimic.element.attributes.get("axis", "axis").strip()
    if word not in ("axis", "axis2"):
        raise mimic.fault(f"axis of <mimic> is {show(word)}; expected axis or axis2.")
    leader = lookup(frame.scope, name, mimic.element, axis.owner, "joint of <mimic>")
    if leader.kind != JOINT:
        raise mimic.fault(f"<mimic> follows {leader.label}; expected a joint.")
    kind = leader.element.attributes.get("type")
    if kind in ("fixed", "ball") or (word == "axis2" and kind not in TWO_AXES):
        raise mimic.fault(f"<mimic> follows <{word}> of {leader.label}, which is {kind}.")
    if child_of(mimic, "multiplier") is None:
        raise mimic.fault("<mimic> has no <multiplier>; add it.")
    multiplier = number_of(mimic, "multiplier", 1.0)
    offset, reference = number_of(mimic, "offset", 0.0), number_of(mimic, "reference", 0.0)
    if multiplier == 0:
        mimic.warn(f"<mimic> has multiplier 0; the joint is locked at {offset:g}.")
    whole = f"{leader.name}/{word}" if kind in TWO_AXES else leader.name
    return Mimic(whole, multiplier, offset - multiplier * reference)
