"""URDF -> records: faithful to the file; every assumption is noted with its line.

Limits never change the dynamics, so doubts about them are warnings. A velocity or effort limit of 0
is taken as not given: exporters write 0 where nothing was filled in, and many robot descriptions
use effort="0" for "not known". Four zeros are an empty form: no limit at all. A range of 0 to 0
beside other limits is kept. Each of these is warned about. Elements for simulators, <gazebo> and
<mujoco>, are listed in a note; what changes the motion there, such as a spring or a joint that
closes a loop, is a warning.
"""

import math
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import ParseError
from kinetree.files.description import joints as kinds
from kinetree.files.description import records
from kinetree.files.description.collisions import CollisionShape
from kinetree.files.description.element import (
    PRODUCTS,
    XACRO_HINT,
    Format,
    Part,
    Surface,
    known_words,
    named_part,
    read_collisions,
)
from kinetree.files.description.findings import Findings
from kinetree.files.description.friction import Friction
from kinetree.files.description.source import RobotFile
from kinetree.files.description.tree import free_frames, listed, robot_of
from kinetree.files.description.xacro import expand_xacro
from kinetree.files.description.xml import Element, clip, parse_xml, show

SDF_HINT = "this is SDF; rename the file to .sdf and load it again"
OTHER_ROOTS = {
    "robot": "URDF is case sensitive, write it in lower case",
    "mujoco": "this is MJCF; rename the file to .xml and load it again",
    "mujocoinclude": "this is a part of an MJCF model; read the file that includes it",
    **dict.fromkeys(("sdf", "gazebo", "model", "world"), SDF_HINT),
    "collada": "this is a Collada mesh; give the URDF that uses it",
    **dict.fromkeys(("package", "launch"), "this is a file of ROS; give the URDF that it names"),
}
WORLD_NAME = "world"


def read_urdf(file: RobotFile) -> records.RobotDescription:
    """Read the robot of a URDF file; no other file is opened, meshes are kept as paths.

    Raises:
        ParseError: the file is not a URDF; the message has file:line:column and the remedy.
    """
    content = file.content()
    root, findings = parse_xml(content, file.name), Findings()
    if content.lstrip("\ufeff")[:1].isspace() and "<?xml" in content[:4096]:
        findings.warn(root, "blank lines before the XML declaration are skipped.")
    return _robot(root, findings, file.mimic)


def read_xacro(file: RobotFile) -> records.RobotDescription:
    """Read the robot of a xacro file, expanded first; see `expand_xacro`."""
    findings = Findings()
    root, macros = expand_xacro(file, findings)
    if not root.all("link") and macros and root.tag == "robot":
        text = f"the file has no <link> of its own, only macros ({listed(macros, 6)})"
        raise ParseError(f"{root.place}: {text}. Load the file that includes this one.")
    return _robot(root, findings, file.mimic)


def _robot(root: Element, findings: Findings, mimic: bool) -> records.RobotDescription:
    _check_root(root)
    name, version = (root.attributes.get(x, "").strip() for x in ("name", "version"))
    if not name:
        name = "robot"
        findings.warn(root, "<robot> has no name; it is called 'robot'.", "robot-unnamed")
    if version.partition(".")[0] not in ("", "1"):
        findings.warn(root, f"<robot> has version {show(version)}; it is read as version 1.")
    Part(root, f"robot {show(name)}", findings, URDF).checked()
    note_extensions(root, findings)
    links = findings.each(partial(read_link, findings=findings), root.all("link"))
    joints = findings.each(partial(read_joint, findings=findings), root.all("joint"))
    findings.check()
    links = _with_world(links, joints, findings)
    if not links:
        text = "the robot has no <link>; expected some, in lower case, directly under <robot>"
        raise ParseError(f"{root.place}: {text}. To load a xacro file, {XACRO_HINT}.")
    joints = add_rotors(root.all("transmission"), joints, findings)
    given = [(x, read_frame(x, findings)) for x in root.all("frame")]
    frames = tuple(free_frames(given, links, findings))
    shapes = link_shapes(root, findings)
    return robot_of(name, links, joints, shapes, findings, mimic, frames=frames)


def _check_root(root: Element) -> None:
    if root.tag == "robot":
        return
    hint = OTHER_ROOTS.get(root.tag.lower(), "is it a URDF file?")
    hint = XACRO_HINT if root.tag.startswith("xacro:") else hint
    raise ParseError(f"{root.place}: the root is <{clip(root.tag)}>, expected <robot>; {hint}.")


def _with_world(
    links: list[records.LinkDescription], joints: list[records.JointDescription], findings: Findings
) -> list[records.LinkDescription]:
    """The links, with a massless 'world' when joints hang on it though it is not declared."""
    users = [joint for joint in joints if joint.parent == WORLD_NAME]
    if not users or any(link.name == WORLD_NAME for link in links):
        return links
    text = f"joint {show(users[0].name)} has parent 'world', which is not declared; a massless "
    text += "link 'world' is added as the root."
    findings.warnings.append(records.Note(text, users[0].where, code="no-world"))
    return [records.LinkDescription(WORLD_NAME, where=users[0].where), *links]


# links

ZEROS = (0.0, 0.0, 0.0)
LARGE_RADIUS = 50.0  # metres; a larger radius of gyration is most likely a mistaken unit
WORDS = known_words(
    robot="* link joint transmission frame | name version | gazebo mujoco ros2_control sensor "
    "material plugin sdf",
    link="* inertial visual collision | name type | contact sensor gravity kinematic self_collide "
    "audio_source surface verbose collision_checking self_collision_checking self_filter "
    "drake_compliance",
    inertial="origin mass inertia",
    mass="| value",
    inertia="| ixx ixy ixz iyy iyz izz",
    origin="| xyz rpy quat_xyzw",
    joint="parent child origin axis limit dynamics mimic safety_controller calibration | name type "
    "dont_collapse",
    parent="| link",
    child="| link",
    axis="| xyz",
    dynamics="| damping friction",
    mimic="| joint multiplier offset",
    limit="* | lower upper velocity effort acceleration deceleration jerk",
    frame="* | name link xyz rpy",
)
URDF = Format(WORDS, in_text=False)


def read_link(element: Element, findings: Findings) -> records.LinkDescription:
    """A link and the body of its <inertial>; a link without one has no body."""
    inertial = named_part(element, findings, URDF).child("inertial")
    bodies = () if inertial is None else (_body(inertial),)
    return records.LinkDescription(element.attributes["name"], bodies, element.where)


def _body(inertial: Part) -> records.Body:
    """Mass, centre and inertia about the centre, turned into the axes of the link."""
    T, mass, inertia = origin_pose(inertial), inertial.child("mass"), inertial.child("inertia")
    if mass is None:
        inertial.warn("<inertial> has no <mass>; taken as 0 kg.", "mass-missing")
    m = 0.0 if mass is None else mass.mass()
    if inertia is None:
        text = "<inertial> has no <inertia>; taken as a point mass."
        inertial.warn(text, "inertia-missing")
        return records.Body(m, T[:3, 3], np.zeros((3, 3)))
    if absent := [key for key in PRODUCTS if not inertia.has(key)]:
        names = ", ".join(absent)
        inertia.warn(f"<inertia> has no {names}; taken as 0.", "products-missing", names=names)
    body = inertia.body(m, T, None)
    moment = float(np.trace(np.asarray(body.I_com, float))) / 2
    if m > 0 and moment > LARGE_RADIUS**2 * m:  # mostly moments in kg mm^2 or g mm^2
        text = f"inertia ({moment:g} kg m^2) is that of a body of {2 * math.sqrt(moment / m):.3g} m"
        inertial.warn(f"{text} for its mass of {m:g} kg; is it in kg m^2?", "body")
    return body


def origin_pose(owner: Part) -> Array:
    """Pose of the <origin> of an element, shape (4, 4); the identity where it has none."""
    part = owner.child("origin")
    if part is None:
        return np.eye(4)
    p = part.numbers("xyz", 3, ZEROS)
    if not part.has("quat_xyzw"):
        angles = part.numbers("rpy", 3, ZEROS)
        return part.place(p, angles, f"xyz='{part.text('xyz')}' rpy='{part.text('rpy')}'")
    if part.has("rpy"):
        raise part.fault("<origin> has both rpy and quat_xyzw; give one of them.")
    return part.turned(p, part.numbers("quat_xyzw", 4), f"quat_xyzw='{part.text('quat_xyzw')}'")


def read_frame(element: Element, findings: Findings) -> records.FrameDescription:
    """A <frame> (Drake's addition to URDF): a named frame fixed in a link."""
    frame = named_part(element, findings, URDF)
    T = frame.place(frame.numbers("xyz", 3, ZEROS), frame.numbers("rpy", 3, ZEROS), "its pose")
    return records.FrameDescription(element.attributes["name"], frame.name("link"), T)


def link_shapes(root: Element, findings: Findings) -> list[CollisionShape]:
    """Collision shapes of all links.

    Friction is that of the extensions of Gazebo (<mu1> of a link), PyBullet (<lateral_friction> of
    a link) and Drake (mu_dynamic of a shape).
    """
    of_gazebo = {x.attributes.get("reference"): x.all("mu1") for x in root.all("gazebo")}
    shapes: list[CollisionShape] = []
    for link in root.all("link"):
        name = link.attributes["name"]
        of_link = [x for y in link.all("contact") for x in y.all("lateral_friction")]
        of_link += of_gazebo.get(name, [])

        def surface(shape: Part, of_link: list[Element] = of_link) -> Surface:
            inside = [y for x in shape.element.children for y in x.children]
            own = [x for x in inside if _local(x) == "mu_dynamic"]
            elements = own or of_link
            return tagged_value(shape, elements, [_local(x) for x in elements]), None

        part = Part(link, "", findings, URDF)
        shapes += read_collisions(part, name, origin_pose, surface)
    return shapes


# joints

TYPES = {
    "revolute": kinds.REVOLUTE,
    "continuous": kinds.REVOLUTE,
    "prismatic": kinds.PRISMATIC,
    "fixed": kinds.FIXED,
    "floating": kinds.FREE,
    "planar": kinds.PLANAR,
}
DEFAULT_AXIS = (1.0, 0.0, 0.0)
NO_LIMIT = 1e30  # means "no limit" outright; urdfdom needs a number, and float32 can hold this one
LIMITED = ("revolute", "prismatic")
LIMITS = ("lower", "upper", "velocity", "effort")


def read_joint(element: Element, findings: Findings) -> records.JointDescription:
    """A joint, its screw axis in the child's frame."""
    joint = named_part(element, findings, URDF)
    name, word = element.attributes["name"], joint.choice("type", TYPES)
    kind = TYPES[word]
    M_pc = origin_pose(joint)
    for child in element.children:
        if child.tag in ("safety_controller", "calibration"):
            findings.count(child, f"<{child.tag}> of a joint does not affect dynamics")
    return records.JointDescription(
        name=name,
        type=kind,
        parent=_end(joint, "parent"),
        child=_end(joint, "child"),
        M_pc=M_pc,
        A=kinds.joint_screw(kind, _axis(joint, kind), 0, (0, 0, 0), name),
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
    axis = None if kind in (kinds.FIXED, kinds.FREE) else joint.child("axis")
    if axis is None:
        if kind in kinds.SCREW_TYPES:
            joint.note("no <axis>; the default 1 0 0 is used.")
        return DEFAULT_AXIS
    entries = axis.numbers("xyz", 3)
    if kind != kinds.PLANAR:
        return axis.unit(entries, "axis")
    if entries[:2] != (0, 0):
        text = f"axis {show(axis.text('xyz'))} of a planar joint is not used"
        axis.warn(f"{text}; it moves in the xy-plane of its own frame.")
    return DEFAULT_AXIS


def _friction(joint: Part, kind: str) -> Friction:
    """Damping and friction of <dynamics>, which only joints with one coordinate can have."""
    dynamics = joint.child("dynamics")
    friction = Friction() if dynamics is None else dynamics.friction()
    if dynamics is None or kind in kinds.SCREW_TYPES or friction == Friction():
        return friction
    if kind == kinds.FIXED:
        dynamics.count("<dynamics> of a fixed joint has no effect: nothing moves")
    else:
        dynamics.warn(f"<dynamics> of a {kind} joint is not used.")
    return Friction()


def _mimic(joint: Part, kind: str) -> records.Mimic | None:
    """The joint that this one follows; `follow` checks that it exists."""
    mimic = joint.child("mimic")
    if mimic is None:
        return None
    leader = mimic.name("joint")
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if kind == kinds.FIXED:
        mimic.warn_together("the joint is fixed; its <mimic> is ignored.", "mimic-fixed")
        return None
    if kind not in kinds.SCREW_TYPES:
        text = f"<mimic> needs a joint with one coordinate, this one is {kind}; delete <mimic>."
        raise mimic.fault(text)
    if multiplier == 0:
        mimic.warn(f"<mimic> has multiplier 0; the joint is locked at {offset:g}.")
    return records.Mimic(leader, multiplier, offset)


def _limits(joint: Part, word: str) -> records.Limits:
    """Limits of a joint of URDF type `word`; infinite where the file sets none, or `NO_LIMIT`.

    By the rules of URDF a limit that gives one of lower and upper, or neither, leaves the others
    at zero.
    """
    limit = joint.child("limit") if word in (*LIMITED, "continuous") else None
    if limit is None:
        if word in LIMITED:
            text = f"a {word} joint needs a <limit>; without one it is taken as unlimited."
            joint.warn_together(text, "limit-missing")
        return records.Limits()
    written = {key: limit.number(key, largest=inf) for key in LIMITS if limit.has(key)}
    for key, value in written.items():
        none = -inf if key == "lower" else inf
        if math.copysign(value, none) == value and abs(value) >= NO_LIMIT:
            written[key] = none
            limit.count(f"limits of {NO_LIMIT:g} and beyond are taken as none")
    if len(written) == len(LIMITS) and not any(written.values()) and word in LIMITED:
        text = "<limit> has zeros only, as if never filled in; taken as unlimited."
        limit.warn_together(text, "limits-all-zero")
        return records.Limits()
    rates = {key: limit.rate_limit(key, written.get(key, inf)) for key in ("velocity", "effort")}
    lower, upper = written.get("lower", 0.0), written.get("upper", 0.0)
    if word == "continuous":
        if lower or upper:
            limit.note("continuous, so its lower and upper limits are ignored.")
        return records.Limits(**rates)
    if absent := [key for key in ("lower", "upper") if key not in written]:
        text = f"<limit> has no {' and no '.join(absent)}; 0 by the rules of URDF."
        limit.warn_together(text, "limits-incomplete")
    elif not (lower or upper):
        text = "lower and upper limit are both 0: the joint can only stand at 0."
        limit.warn_together(text, "limits-both-zero")
    return records.Limits(*limit.range(TYPES[word], lower, upper), **rates)


# transmissions

INERTIA_TAGS = ("rotor_inertia", "rotorInertia")
RATIO_TAGS = ("gear_ratio", "gearRatio", "mechanicalReduction", "mechanical_reduction")


def add_rotors(
    elements: list[Element], joints: list[records.JointDescription], findings: Findings
) -> list[records.JointDescription]:
    """The joints with the rotors that transmissions give them, carried by the parent link.

    Inertia and ratio stand in the actuator (`drake:rotor_inertia`, `drake:gear_ratio`), the
    reduction elsewhere in the transmission. Without a rotor inertia a reduction does not change
    the dynamics.
    """
    by_name = {joint.name: joint for joint in joints}
    rotors: dict[str, records.Rotor] = {}
    for element in elements:
        owner = f"transmission {show(element.attributes.get('name', ''))}"
        part = Part(element, owner, findings, URDF)
        names = [end.attributes.get("name", "") for end in element.all("joint")]
        for name in (x for x in names if x not in by_name):
            part.warn(f"it drives joint {show(name)}, which does not exist.", "transmission-joint")
        rotor = _rotor(part)
        if rotor is None:
            part.count("transmission without rotor inertia: nothing to add to dynamics")
            continue
        joint = by_name.get(names[0]) if len(names) == len(element.all("actuator")) == 1 else None
        if joint is None or joint.type not in kinds.SCREW_TYPES or joint.name in rotors:
            text = "its rotor inertia is not used; expected one actuator and one joint of one "
            part.warn(f"{text}coordinate without another rotor.")
        else:
            rotors[joint.name] = rotor
    return [replace(x, rotor=rotors.get(x.name)) for x in joints]


def _rotor(part: Part) -> records.Rotor | None:
    """Rotor of the one actuator; None when the file gives no inertia."""
    element = part.element
    inside = [inner for actuator in element.all("actuator") for inner in actuator.children]
    inertia = tagged_value(part, inside, INERTIA_TAGS)
    if inertia is None:
        return None
    if inertia < 0:
        raise part.fault(f"rotor inertia is {inertia:g}; expected >= 0 kg m^2.")
    outside = [inner for joint in element.all("joint") for inner in joint.children]
    ratio = tagged_value(part, [*inside, *element.children, *outside], RATIO_TAGS)
    return records.Rotor(inertia, 1.0 if ratio is None else ratio)


def tagged_value(
    part: Part, elements: list[Element], tags: tuple[str, ...] | list[str]
) -> float | None:
    """The number of the first element of the first of these tags, in `value` or as its text."""
    for tag in tags:
        for element in elements:
            if _local(element) == tag:
                written = element.attributes.get("value")
                text = element.value if written is None else written
                return part.at(element).parse(text, 1, f"<{clip(element.tag)}> {show(text)}")[0]
    return None


def _local(element: Element) -> str:
    """The tag without its prefix."""
    return element.tag.rpartition(":")[2]


# elements for simulators: not read, and never in silence


EXTENSIONS = ("gazebo", "mujoco")
# elements and attributes that change the motion, with their values that do not
ZERO = ("", "0", "false")
EFFECTS = {
    **dict.fromkeys(("turnGravityOff", "kinematic", "static", "springStiffness"), ZERO),
    **dict.fromkeys(("dampingFactor", "velocity_decay", "fluid_added_mass"), ZERO),
    **dict.fromkeys(("joint", "link"), ()),
    "gravity": ("1", "true"),
    "option.gravity": ("0 0 -9.81",),
    "option.wind": ("0 0 0",),
    **dict.fromkeys(("option.density", "option.viscosity", "compiler.balanceinertia"), ZERO),
    **dict.fromkeys(("compiler.boundmass", "compiler.boundinertia"), ZERO),
    "compiler.settotalmass": ("-1",),
    "compiler.inertiafromgeom": ("false", "auto"),
}


def note_extensions(root: Element, findings: Findings) -> None:
    """Add a note on the contents of the elements for simulators, and warn of what matters."""
    for element in (x for x in root.children if x.tag in EXTENSIONS):
        names = [f"<{clip(x)}>" for x in dict.fromkeys(x.tag for x in element.children)]
        text = f"<{element.tag}> is for simulators and is not read: {listed(names)}"
        findings.count(element, text)
        of = element.attributes.get("reference", "").strip()
        owner = f"<{element.tag}>{f' of {show(of)}' if of else ''}"
        for child in element.children:
            values = {child.tag: child.value} if child.tag in EFFECTS else {}
            values |= {f"{child.tag}.{key}": value for key, value in child.attributes.items()}
            for name, value in values.items():
                if name in EFFECTS and not _is_idle(value, EFFECTS[name]):
                    text = f"{name} changes the motion there and is not read."
                    findings.warn_together(child, text, owner)


def _is_idle(value: str, idle: tuple[str, ...]) -> bool:
    value = " ".join(value.lower().split())
    try:
        return value in idle or (idle is ZERO and float(value) == 0)
    except ValueError:
        return False
