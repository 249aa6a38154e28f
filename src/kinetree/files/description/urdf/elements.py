"""Elements of a URDF -> records: links, joints, transmissions; and checks over all of them.

Limits never change the dynamics, so doubts about them are warnings. A velocity or effort limit of 0
is taken as not given: exporters write 0 where nothing was filled in, and many robot descriptions
use effort="0" for "not known". Four zeros are an empty form: no limit at all. A range of 0 to 0
beside other limits is kept. Each of these is warned about.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.errors import ParseError
from kinetree.files.description.collisions import SIZES, UNREADABLE, CollisionShape
from kinetree.files.description.findings import Findings
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import (
    FIXED,
    FREE,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW_TYPES,
    joint_screw,
)
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    Limits,
    LinkDescription,
    Mesh,
    Mimic,
    Note,
)
from kinetree.files.description.tree import MAX_NAMES, check_file_tree, first_circle, suggestion
from kinetree.files.description.urdf.parts import (
    ZEROS,
    Part,
    checked_range,
    friction_of,
    named_part,
    origin_pose,
    read_origin,
)
from kinetree.files.description.urdf.transmissions import tagged_value
from kinetree.files.description.xml import Element, show
from kinetree.spatial.inertia import symmetric
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import rpy

LARGE_RADIUS = 50.0  # metres; a larger radius of gyration is most likely a mistaken unit
DIAGONAL, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")


def read_link(element: Element, findings: Findings) -> LinkDescription:
    """A link and the body of its <inertial>; a link without one has no body."""
    link = named_part(element, findings)
    inertial = link.child("inertial")
    bodies = () if inertial is None else (_body(inertial),)
    return LinkDescription(element.attributes["name"], bodies, element.where)


def _body(inertial: Part) -> Body:
    """Mass, centre and inertia about the centre, turned into the axes of the link."""
    R, p = read_origin(inertial.only("origin"))
    mass, inertia = inertial.only("mass"), inertial.only("inertia")
    if mass is None:
        inertial.warn("<inertial> has no <mass>; taken as 0 kg.")
    m = 0.0 if mass is None else mass.checked().number("value")
    if m < 0:
        text = f"mass is {m:g} kg, less than zero; no body has that. Correct the <mass>."
        raise inertial.fault(text)
    if inertia is None:
        inertial.warn("<inertial> has no <inertia>; taken as a point mass.")
        return Body(m, p, np.zeros((3, 3)))
    I = _inertia_matrix(inertia.checked())
    moment = float(np.trace(I)) / 2
    if m > 0 and moment > LARGE_RADIUS**2 * m:  # mostly moments in kg mm^2 or g mm^2
        text = f"inertia ({moment:g} kg m^2) is that of a body of {2 * math.sqrt(moment / m):.3g} m"
        inertial.warn(f"{text} for its mass of {m:g} kg; is it in kg m^2?")
    return Body(m, p, I if R is None else symmetric(times(R, I, R.T)))


def _inertia_matrix(inertia: Part) -> Array:
    """The inertia about the centre, in the axes of the inertial's origin."""
    absent = [key for key in PRODUCTS if key not in inertia.element.attributes]
    if absent:
        inertia.warn(f"<inertia> has no {', '.join(absent)}; taken as 0.")
    xx, yy, zz = (inertia.number(key) for key in DIAGONAL)
    xy, xz, yz = (inertia.number(key, 0.0) for key in PRODUCTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_meshes(element: Element, findings: Findings) -> list[Mesh]:
    """Mesh files of a <link>, for viewers; one that cannot be read is noted and skipped."""
    link, meshes = element.attributes["name"], []
    for shape in element.children:
        if shape.tag not in ("visual", "collision"):
            continue
        # findings of its own: dynamics do not depend on the origin of a shape
        part = Part(shape, f"{shape.tag} of link {show(link)}", Findings())
        for mesh in (m for geometry in part.all("geometry") for m in geometry.all("mesh")):
            try:
                T = origin_pose(next(iter(part.all("origin")), None))
                x, y, z = mesh.numbers("scale", 3, (1.0, 1.0, 1.0))
            except ParseError as error:
                text = f"a mesh is skipped, dynamics do not need it: {error}"
                findings.note(mesh.element, text)
                continue
            path = mesh.element.attributes.get("filename", "")
            if path:
                meshes.append(Mesh(link, path, T, (x, y, z), shape.tag))
    return meshes


def read_collisions(root: Element) -> Iterator[CollisionShape]:
    """The <collision> shapes of all links.

    Friction is that of the extensions of Gazebo (<mu1> of a link), PyBullet (<lateral_friction> of
    a link) and Drake (mu_dynamic of a shape).
    """
    of_gazebo = {x.attributes.get("reference"): x.all("mu1") for x in root.all("gazebo")}
    for link in root.all("link"):
        name = link.attributes["name"]
        of_link = [x for y in link.all("contact") for x in y.all("lateral_friction")]
        of_link += of_gazebo.get(name, [])
        for shape in link.all("collision"):
            part = Part(shape, f"collision of link {show(name)}", Findings())
            label = shape.attributes.get("name", "")
            try:
                T = origin_pose(next(iter(part.all("origin")), None))
                inside = [y for x in shape.children for y in x.children]
                own = [x for x in inside if x.tag.rpartition(":")[2] == "mu_dynamic"]
                elements = own or of_link
                mu = tagged_value(part, elements, tuple(x.tag.rpartition(":")[2] for x in elements))
                for geometry in (x for y in part.all("geometry") for x in y.element.children):
                    kind, size, path = shape_size(replace(part, element=geometry))
                    yield CollisionShape(label, name, kind, T, size, mu, path=path)
            except ParseError:
                yield CollisionShape(label, name, UNREADABLE, np.eye(4))


def shape_size(shape: Part) -> tuple[str, tuple[float, ...], str]:
    """Kind, size and mesh file of a geometry, as in `CollisionShape`."""
    kind = shape.element.tag
    if kind == "mesh":
        scale = shape.numbers("scale", 3, (1.0, 1.0, 1.0))
        return kind, scale, shape.element.attributes.get("filename", "")
    numbers = [shape.numbers(name, count) for name, count in SIZES.get(kind, {}).items()]
    return kind, tuple(abs(x) for listed in numbers for x in listed), ""


def read_frame(element: Element, findings: Findings) -> FrameDescription:
    """A <frame> (Drake's addition to URDF): a named frame fixed in a link."""
    frame = named_part(element, findings)
    p, angles = frame.numbers("xyz", 3, ZEROS), frame.numbers("rpy", 3, ZEROS)
    T = pose(rpy(*angles) if any(angles) else np.eye(3), np.array(p))
    return FrameDescription(element.attributes["name"], frame.name("link"), T)


TYPES = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "fixed": FIXED,
    "floating": FREE,
    "planar": PLANAR,
}
DEFAULT_AXIS = (1.0, 0.0, 0.0)
NO_LIMIT = 1e30  # means "no limit" outright; urdfdom needs a number, and float32 can hold this one
LIMITED = ("revolute", "prismatic")
LIMITS = ("lower", "upper", "velocity", "effort")


def read_joint(element: Element, findings: Findings) -> JointDescription:
    """A joint, its screw axis in the child's frame."""
    joint = named_part(element, findings)
    name, word = element.attributes["name"], joint.choice("type", TYPES)
    kind = TYPES[word]
    M_pc = origin_pose(joint.only("origin"))
    for child in element.children:
        if child.tag in ("safety_controller", "calibration"):
            findings.count(child, f"<{child.tag}> of a joint does not affect dynamics")
    return JointDescription(
        name=name,
        type=kind,
        parent=_end(joint, "parent"),
        child=_end(joint, "child"),
        M_pc=M_pc,
        A=joint_screw(kind, _axis(joint, kind), 0, (0, 0, 0), name),
        mimic=_mimic(joint, kind),
        friction=_friction(joint, kind),
        limits=_limits(joint, word),
        where=element.where,
    )


def _end(joint: Part, tag: str) -> str:
    """Name of the parent or child link."""
    ends = joint.all(tag)
    if len(ends) != 1:
        raise joint.fault(f"found {len(ends)} elements <{tag}>; expected one.")
    return ends[0].checked().name("link")


def _axis(joint: Part, kind: str) -> tuple[float, ...]:
    """Unit axis of a revolute or prismatic joint; joints of other types do not use it."""
    axis = joint.only("axis")
    if kind in (FIXED, FREE):
        return DEFAULT_AXIS
    if axis is None:
        if kind in SCREW_TYPES:
            joint.note("no <axis>; the default 1 0 0 is used.")
        return DEFAULT_AXIS
    entries = axis.checked().numbers("xyz", 3)
    if kind == PLANAR:
        if entries[:2] != (0, 0):
            text = f"axis {show(axis.element.attributes['xyz'])} of a planar joint is not used"
            axis.warn(f"{text}; it moves in the xy-plane of its own frame.")
        return DEFAULT_AXIS
    return axis.unit(entries, "axis")


def _friction(joint: Part, kind: str) -> Friction:
    """Damping and friction of <dynamics>, which only joints with one coordinate can have."""
    dynamics = joint.child("dynamics")
    if dynamics is None:
        return Friction()
    viscous, coulomb = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    if kind == FIXED:
        if viscous or coulomb:
            dynamics.count("<dynamics> of a fixed joint has no effect: nothing moves")
        return Friction()
    friction = friction_of(dynamics, viscous, coulomb)
    if kind in SCREW_TYPES:
        return friction
    if viscous or coulomb:
        dynamics.warn(f"<dynamics> of a {kind} joint is not used.")
    return Friction()


def _mimic(joint: Part, kind: str) -> Mimic | None:
    """The joint that this one follows; `structure.follow` checks that it exists."""
    mimic = joint.child("mimic")
    if mimic is None:
        return None
    leader = mimic.name("joint")
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if kind == FIXED:
        mimic.warn_together("the joint is fixed; its <mimic> is ignored.")
        return None
    if kind not in SCREW_TYPES:
        text = f"<mimic> needs a joint with one coordinate, this one is {kind}; delete <mimic>."
        raise mimic.fault(text)
    if multiplier == 0:
        mimic.warn(f"<mimic> has multiplier 0; the joint is locked at {offset:g}.")
    return Mimic(leader, multiplier, offset)


def _limits(joint: Part, word: str) -> Limits:
    """Limits of a joint of URDF type `word`; infinite where the file sets none, or `NO_LIMIT`.

    By the rules of URDF a limit that gives one of lower and upper, or neither, leaves the others
    at zero.
    """
    limit = joint.only("limit")
    if word not in (*LIMITED, "continuous"):
        return Limits()
    if limit is None:
        if word in LIMITED:
            text = f"a {word} joint needs a <limit>; without one it is taken as unlimited."
            joint.warn_together(text)
        return Limits()
    attributes = limit.checked().element.attributes
    written = {key: limit.number(key, largest=inf) for key in LIMITS if key in attributes}
    for key, value in written.items():
        none = -inf if key == "lower" else inf
        if math.copysign(value, none) == value and abs(value) >= NO_LIMIT:
            written[key] = none
            limit.count(f"limits of {NO_LIMIT:g} and beyond are taken as none")
    if set(written) == set(LIMITS) and not any(written.values()) and word in LIMITED:
        text = "<limit> has zeros only, as if it was never filled in; taken as unlimited."
        limit.warn_together(text)
        return Limits()
    for key in ("velocity", "effort"):
        if written.get(key, 0) < 0:
            limit.warn(f"{key} limit {written.pop(key):g} is negative; taken as unlimited.")
        elif written.get(key) == 0:
            written.pop(key)
            limit.warn_together(f"{key} limit 0 is taken as not given: unlimited.")
    if word == "continuous":
        ends = [written.pop(key, 0) for key in ("lower", "upper")]
        if any(ends):
            limit.note("continuous, so its lower and upper limits are ignored.")
        return Limits(**written)
    lower, upper = _range(limit, word, written)
    return Limits(lower, upper, written.get("velocity", inf), written.get("effort", inf))


def _range(limit: Part, word: str, given: dict[str, float]) -> tuple[float, float]:
    """(lower, upper), with a warning if they look wrong."""
    absent = [key for key in ("lower", "upper") if key not in given]
    lower, upper = given.get("lower", 0.0), given.get("upper", 0.0)
    if absent:
        text = f"<limit> has no {' and no '.join(absent)}; 0 by the rules of URDF."
        limit.warn_together(text)
    elif lower == upper == 0:
        limit.warn_together("lower and upper limit are both 0: the joint can only stand at 0.")
    return checked_range(limit, TYPES[word], lower, upper)


WORLD_NAME = "world"
MIMIC_HINT = " Or read the file with mimic=False, so that all joints move on their own."


def check_structure(
    root: Element, links: Sequence[LinkDescription], joints: Sequence[JointDescription]
) -> None:
    """Raise ParseError unless links and joints form one tree."""
    if not links:
        raise ParseError(
            f"{root.place}: the robot has no <link>; expected at least one, in lower case and "
            "directly under <robot>. A xacro file must be expanded first."
        )
    check_file_tree(links, joints, root.tag)


def add_world(
    links: list[LinkDescription], joints: list[JointDescription], findings: Findings
) -> list[LinkDescription]:
    """The links, with a massless 'world' when joints hang on it though it is not declared."""
    users = [joint for joint in joints if joint.parent == WORLD_NAME]
    if not users or any(link.name == WORLD_NAME for link in links):
        return links
    text = f"joint {show(users[0].name)} has parent 'world', which is not declared; a massless "
    findings.warnings.append(Note(f"{text}link 'world' is added as the root.", users[0].where))
    return [LinkDescription(WORLD_NAME, where=users[0].where), *links]


def follow(joints: Sequence[JointDescription], findings: Findings) -> list[JointDescription]:
    """The joints, after a check that leaders exist, have one coordinate and form no circle.

    The followers of a fixed joint move on their own, with a warning.
    """
    by_name = {joint.name: joint for joint in joints}
    _check_leaders(by_name)
    _check_circles(by_name)
    result = list(joints)
    for k, joint in enumerate(joints):
        if joint.mimic is not None and by_name[joint.mimic.joint].type == FIXED:
            text = f"{_mimics(joint)}, which is fixed and has no position; the mimic is ignored."
            findings.warnings.append(Note(text, joint.where))
            result[k] = replace(joint, mimic=None)
    return result


def _check_leaders(joints: dict[str, JointDescription]) -> None:
    for joint in joints.values():
        if joint.mimic is None:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            hint = suggestion(joint.mimic.joint, joints)
            text = f"{_mimics(joint)}, which is not a joint of the file.{hint}"
            raise ParseError(f"{joint.where}: {text}{MIMIC_HINT}")
        if leader.type not in (*SCREW_TYPES, FIXED):
            raise ParseError(
                f"{joint.where}: {_mimics(joint)}, which is {leader.type}; expected a joint with "
                f"one coordinate (revolute, continuous or prismatic).{MIMIC_HINT}"
            )


def _check_circles(joints: dict[str, JointDescription]) -> None:
    followed = {name: x.mimic.joint for name, x in joints.items() if x.mimic is not None}
    if circle := first_circle(joints, followed):
        names = [*circle[:MAX_NAMES], circle[0]]
        raise ParseError(
            f"{joints[circle[0]].where}: mimic joints follow each other in a circle: "
            f"{' -> '.join(map(show, names))}; one of them must move on its own.{MIMIC_HINT}"
        )


def _mimics(joint: JointDescription) -> str:
    leader = "" if joint.mimic is None else joint.mimic.joint
    return f"joint {show(joint.name)} mimics {show(leader)}"
