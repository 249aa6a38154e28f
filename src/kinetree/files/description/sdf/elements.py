"""Links and joints of an SDF model as records: masses, shapes, axes, limits, friction, springs.

SDF gives a link without <inertial> a mass of 1 kg and unit moments of inertia. These defaults are
part of the format and are used, with a warning that names the links.

A joint has a frame of its own, by default that of its child. At zero the links stand as their poses
in the file have them. `universal` and `revolute2` are two revolute joints in a row, the first axis
fixed in the parent and the second in the child; they are called JOINT/axis and JOINT/axis2, with a
massless link CHILD/JOINT between them. A ball joint turns about the origin of the joint's frame.
"""

import math
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.files.description import joints as kinds
from kinetree.files.description import records
from kinetree.files.description.axes import check_axes
from kinetree.files.description.collisions import CollisionShape
from kinetree.files.description.element import MOMENTS, Part, Surface, read_collisions
from kinetree.files.description.findings import Findings
from kinetree.files.description.friction import Friction
from kinetree.files.description.sdf import format
from kinetree.files.description.sdf.format import SDF, WORLD, part_of, read_pose
from kinetree.files.description.sdf.frames import JOINT, Frame, between, body_of
from kinetree.files.description.xml import show
from kinetree.spatial.se3 import inverse

SURFACE = (("surface", "friction", "ode", "mu"), ("surface", "bounce", "restitution_coefficient"))


def read_link(frame: Frame, findings: Findings) -> records.LinkDescription:
    """A link and the body of its <inertial>."""
    link = Part(frame.element, f"link {show(frame.name)}", findings, SDF)
    if not format.flag_of(link, "gravity", True):
        link.warn_together("<gravity>false</gravity> is not honoured: gravity acts on every link.")
    if format.flag_of(link, "kinematic"):
        link.warn_together("<kinematic>true</kinematic> is not honoured.")
    decays = [part_of(x, link.owner, findings) for x in frame.element.all("velocity_decay")]
    if any(x.number("linear", 0) or x.number("angular", 0) for x in decays):
        link.warn_together("<velocity_decay> is not honoured.")
    return records.LinkDescription(frame.name, (_body(link, frame),), frame.element.where)


def _body(link: Part, frame: Frame) -> records.Body:
    """Mass, centre and inertia about the centre, turned into the axes of the link."""
    inertial = link.child("inertial")
    if inertial is None:
        link.warn_together("no <inertial>: 1 kg and unit moments of inertia by the rules of SDF.")
        return records.Body(1.0, np.zeros(3), np.eye(3))
    if format.flag_attribute(inertial, "auto"):
        text = "<inertial auto='true'> takes the mass from the shapes, which is not supported"
        raise inertial.fault(f"{text}; write <mass>, <pose> and <inertia> instead.")
    T, relative_to = read_pose(inertial)
    if relative_to and np.any(np.eye(4) != _place_of(inertial, frame, relative_to)):
        text = f"<pose> of <inertial> is relative to {show(relative_to)}; expected in the link"
        raise inertial.fault(f"{text}, since programs disagree.")
    if not inertial.has("mass"):
        inertial.warn_together("no <mass>: 1 kg by the rules of SDF.")
    m, inertia = inertial.mass(1.0), inertial.child("inertia")
    if inertial.has("fluid_added_mass"):
        inertial.warn_together("<fluid_added_mass> is not honoured.")
    if inertia is None:
        inertial.warn_together("no <inertia>: unit moments of inertia by the rules of SDF.")
        return records.Body(m, T[:3, 3], np.eye(3))
    if absent := [tag for tag in MOMENTS if not inertia.has(tag)]:
        inertia.warn_together(f"no <{'>, <'.join(absent)}>: 1 kg m^2 by the rules of SDF.")
    for tag in MOMENTS:
        if (moment := inertia.number(tag, 1.0)) < 0:
            raise inertia.fault(f"<{tag}> is {moment:g}; expected >= 0 kg m^2.")
    return inertia.body(m, T, 1.0)


def _place_of(part: Part, frame: Frame, relative_to: str) -> Array:
    """Pose in a link of the frame that a <pose> in it is relative to."""
    what = "relative_to of <pose>"
    return between(frame, frame.lookup(relative_to, what, part.element))


def link_shapes(frame: Frame, findings: Findings) -> list[CollisionShape]:
    """Collision shapes of a link, with friction and restitution of <surface>."""

    def surface(shape: Part) -> Surface:
        mu, bounce = (_in_surface(shape, tags) for tags in SURFACE)
        return mu, bounce

    link = Part(frame.element, "", findings, SDF)
    return read_collisions(link, frame.name, partial(shape_pose, frame=frame), surface)


def _in_surface(shape: Part, tags: tuple[str, ...]) -> float | None:
    """A number in the <surface> of a collision; None if the file does not have it."""
    inside = [shape]
    for tag in tags:
        inside = [x for part in inside for x in part.all(tag)]
    return inside[0].own_numbers(1)[0] if inside else None


def shape_pose(shape: Part, frame: Frame) -> Array:
    """Pose of a <visual> or <collision> in its link."""
    T, relative_to = read_pose(shape)
    return times(_place_of(shape, frame, relative_to), T) if relative_to else T


# joints

TYPES = {
    "revolute": kinds.REVOLUTE,
    "continuous": kinds.REVOLUTE,
    "prismatic": kinds.PRISMATIC,
    "screw": kinds.HELICAL,
    "ball": kinds.SPHERICAL,
    "universal": kinds.REVOLUTE,
    "revolute2": kinds.REVOLUTE,
    "fixed": kinds.FIXED,
}
TWO_AXES = ("universal", "revolute2")


@dataclass(frozen=True)
class JointParts:
    """The records of one joint, several where it has more than one axis; springs by joint."""

    joints: tuple[records.JointDescription, ...]
    links: tuple[records.LinkDescription, ...] = ()
    springs: dict[str, records.Spring] = field(default_factory=dict[str, records.Spring])


def read_joint(frame: Frame, world: Frame, findings: Findings) -> JointParts:
    """The records of a joint; `world` is the frame of the world."""
    joint = Part(frame.element, frame.label, findings, SDF)
    if frame.element.attributes.get("type") == "gearbox":
        raise joint.fault("type is 'gearbox'; expected two revolute joints and <mimic> (SDF 1.11).")
    word = joint.choice("type", TYPES)
    parent, child = _ends(joint, frame, world)
    T_pc, T_cj = between(parent, child), between(child, frame)
    name, where = frame.name, frame.element.where
    used = {"fixed": 0}.get(word, 2 if word in TWO_AXES else 1)
    for tag in ("axis", "axis2")[used:]:
        if joint.has(tag):
            joint.count(f"<{tag}> of a {word} joint has no effect")
    whole = records.JointDescription(
        name=name, type=kinds.FIXED, parent=parent.name, child=child.name, M_pc=T_pc, where=where
    )
    if word == "fixed":
        return JointParts((whole,))
    if word == "ball":
        axis = joint.child("axis")
        damping = Friction() if axis is None else _ball_damping(axis)
        return _ball(replace(whole, type=kinds.SPHERICAL, friction=damping), T_cj)
    if word not in TWO_AXES:
        whole, springs = _axis(whole, joint, "axis", word, frame, T_cj)
        return JointParts((whole,), (), springs)
    middle = f"{child.name}/{name}"
    first = replace(whole, name=f"{name}/axis", child=middle)
    second = replace(whole, name=f"{name}/axis2", parent=middle, M_pc=np.eye(4))
    names = f"{show(first.name)} and {show(second.name)}"
    joint.note(f"a {word} joint is read as two revolute joints, {names}.")
    first, springs = _axis(first, joint, "axis", word, frame, T_cj)
    second, others = _axis(second, joint, "axis2", word, frame, T_cj)
    check_axes((first, second))
    links = (records.LinkDescription(middle, where=where),)
    return JointParts((first, second), links, springs | others)


def _ends(joint: Part, frame: Frame, world: Frame) -> tuple[Frame, Frame]:
    """The links, or the world, that parent and child are fixed to."""
    name = joint.text("parent")
    if not name:
        raise joint.fault("<parent> is missing; expected the name of a link, a frame or 'world'.")
    parent = world
    if name != WORLD:
        parent = body_of(frame.lookup(name, "<parent>"))
    child, given = body_of(frame), f"<child> {show(frame.attached_to)}"
    if child is world:
        raise joint.fault(f"{given} is fixed to the world; expected a link.")
    if parent is child:
        raise joint.fault(f"<parent> {show(name)} and {given} are one link; expected two.")
    return parent, child


def _ball(whole: records.JointDescription, T_cj: Array) -> JointParts:
    """A spherical joint about the origin of the joint's frame, on a massless link there."""
    if bool(np.all(np.eye(4) == T_cj)):
        return JointParts((whole,))
    hub, name, where = f"{whole.child}/{whole.name}", f"{whole.name}/fixed", whole.where
    rigid = records.JointDescription(
        name=name, type=kinds.FIXED, parent=hub, child=whole.child, M_pc=inverse(T_cj), where=where
    )
    ball = replace(whole, child=hub, M_pc=times(whole.M_pc, T_cj))
    return JointParts((ball, rigid), (records.LinkDescription(hub, where=where),))


def _ball_damping(axis: Part) -> Friction:
    """Damping of a ball joint: the moment damping * omega against its turning, about every axis."""
    axis.count("<xyz> of a ball joint has no effect")
    friction, spring = _forces(axis)
    lost = {
        "<friction>": friction.coulomb != 0,
        "<spring_stiffness>": spring is not None,
        "<limit>": _limits(axis, "ball") != records.Limits(),
    }
    for word, is_there in lost.items():
        if is_there:
            axis.warn_together(f"{word} of a ball joint is not honoured.")
    return Friction(friction.viscous)


def _axis(
    whole: records.JointDescription, joint: Part, tag: str, word: str, frame: Frame, T_cj: Array
) -> tuple[records.JointDescription, dict[str, records.Spring]]:
    """The joint with the screw axis, friction and limits of one of its axes, and its spring."""
    axis = joint.child(tag)
    if axis is None:
        raise joint.fault(f"a {word} joint needs <{tag}>; add it with its <xyz>.")
    kind = TYPES[word]
    direction = times(T_cj[:3, :3], _direction(axis, frame))
    pitch = _pitch(joint) if kind == kinds.HELICAL else 0
    friction, spring = _forces(axis)
    made = replace(
        whole,
        type=kind,
        A=kinds.joint_screw(kind, direction, pitch, T_cj[:3, 3], whole.name),
        mimic=_mimic(axis, frame),
        friction=friction,
        limits=_limits(axis, word),
    )
    return made, {} if spring is None else {whole.name: spring}


def _direction(axis: Part, frame: Frame) -> Array:
    """The axis in the frame of the joint."""
    xyz = axis.child("xyz")
    if xyz is None:
        axis.warn_together("no <xyz>: 0 0 1 by the rules of SDF.")
        return np.array([0.0, 0.0, 1.0])
    direction = np.array(xyz.unit(xyz.own_numbers(3), "the axis"))
    name = xyz.element.attributes.get("expressed_in", "").strip()
    if not name:
        return direction
    other = frame.lookup(name, "expressed_in of <xyz>", xyz.element)
    return times(between(frame, other)[:3, :3], direction)


def _pitch(joint: Part) -> float:
    """Pitch of a screw joint, m/rad, positive for a right-handed thread.

    <screw_thread_pitch> is in m per turn. The older <thread_pitch> is in rad/m and positive for a
    left-handed thread; it counts where it stands alone, and must not contradict the other.
    """
    radians_per_metre = joint.number("thread_pitch", 1.0)
    per_turn = joint.number("screw_thread_pitch", 1.0)
    if radians_per_metre == 0 or per_turn == 0:
        raise joint.fault("<thread_pitch> or <screw_thread_pitch> is 0; expected another number.")
    pitch, old = per_turn / (2 * math.pi), -1 / radians_per_metre
    has_new, has_old = joint.has("screw_thread_pitch"), joint.has("thread_pitch")
    if has_new and has_old and not math.isclose(pitch, old, rel_tol=1e-4):
        text = f"{per_turn:g} m per turn contradicts <thread_pitch> {radians_per_metre:g} rad/m"
        raise joint.fault(f"<screw_thread_pitch> {text}; remove the one that is wrong.")
    if not has_new and not has_old:
        joint.warn("no <screw_thread_pitch>: 1 m per turn by the rules of SDF.")
    return old if has_old and not has_new else pitch


def _forces(axis: Part) -> tuple[Friction, records.Spring | None]:
    """Friction and spring of <dynamics>; stiffness 0 means no spring."""
    dynamics = axis.child("dynamics")
    if dynamics is None:
        return Friction(), None
    stiffness = dynamics.number("spring_stiffness", 0.0)
    rest = dynamics.number("spring_reference", 0.0)
    if stiffness < 0:
        raise dynamics.fault(f"<spring_stiffness> is {stiffness:g}; expected >= 0.")
    return dynamics.friction(), records.Spring(stiffness, rest) if stiffness else None


def _limits(axis: Part, word: str) -> records.Limits:
    """Limits; -1 and less for effort and velocity, and 1e16 and more for any, mean none."""
    limit = axis.child("limit")
    if limit is None:
        return records.Limits()
    lower, upper = format.limit_of(limit, "lower", -inf), format.limit_of(limit, "upper", inf)
    rates = {tag: format.limit_of(limit, tag, inf) for tag in ("velocity", "effort")}
    rates = {tag: limit.rate_limit(tag, x) if x >= 0 else inf for tag, x in rates.items()}
    if word == "continuous":
        if lower != -inf or upper != inf:
            limit.note("continuous, so its lower and upper limits are ignored.")
        lower, upper = -inf, inf
    return records.Limits(*limit.range(TYPES[word], lower, upper), **rates)


def _mimic(axis: Part, frame: Frame) -> records.Mimic | None:
    """The joint that this one follows: q = multiplier * (q of the leader - reference) + offset."""
    mimic = axis.child("mimic")
    if mimic is None:
        return None
    name, word = mimic.name("joint"), mimic.element.attributes.get("axis", "axis").strip()
    if word not in ("axis", "axis2"):
        raise mimic.fault(f"axis of <mimic> is {show(word)}; expected axis or axis2.")
    leader = frame.lookup(name, "joint of <mimic>", mimic.element)
    if leader.kind != JOINT:
        raise mimic.fault(f"<mimic> follows {leader.label}; expected a joint.")
    kind = leader.element.attributes.get("type")
    if kind in ("fixed", "ball") or (word == "axis2" and kind not in TWO_AXES):
        raise mimic.fault(f"<mimic> follows <{word}> of {leader.label}, which is {kind}.")
    multiplier = mimic.number("multiplier")
    offset, reference = mimic.number("offset", 0.0), mimic.number("reference", 0.0)
    if multiplier == 0:
        mimic.warn(f"<mimic> has multiplier 0; the joint is locked at {offset:g}.")
    whole = f"{leader.name}/{word}" if kind in TWO_AXES else leader.name
    return records.Mimic(whole, multiplier, offset - multiplier * reference)
