"""Model -> URDF text: links, joints with limits and friction, transmissions."""

from math import atan2, copysign, cos, hypot, inf, isinf, sin
from numbers import Real

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import exact_number as number
from kinetree.errors import InputError, ModelError
from kinetree.files.description import joints
from kinetree.files.description.collisions import unused
from kinetree.files.description.records import Limits
from kinetree.files.description.urdf import NO_LIMIT
from kinetree.files.write import losses as lost
from kinetree.files.write.losses import Losses, Policy
from kinetree.files.write.xml import Tag, document, numbers
from kinetree.model import WORLD, Joint, JointRotor, Model, joint_pose
from kinetree.model.model import for_robots
from kinetree.spatial.se3 import translation
from kinetree.spatial.so3 import cross

GRAVITY = (0, 0, -9.81)
WORDS = {x: x for x in (joints.REVOLUTE, joints.PRISMATIC, joints.PLANAR)}
WORDS[joints.FREE] = "floating"
REFUSED = {
    joints.HELICAL: "a screw with a pitch; lock it, or use a prismatic joint with a mimic",
    joints.SPHERICAL: "a ball with a quaternion; lock it, or replace it by three revolute joints",
}


@for_robots
def to_urdf(model: Model, *, losses: Policy = "warn", infinity: float = NO_LIMIT) -> str:
    """Write the robot as URDF, which `read_urdf` reads back as the same robot.

    Numbers read back bit by bit, rotations up to rounding. Frames become links on fixed joints,
    which readers merge again. If a joint's axis does not pass through the origin of its link, a
    massless link "<link>_axis" is put on the axis and carries the link; it is then the link that
    moves, and the link's own name is a frame on it. Rotors on the parent link that spin about the
    joint's axis are written as transmissions.

    Data that URDF cannot represent become comments, and one warning lists them: armature, other
    rotors, motors of coupled joints, friction that differs by direction or is a function (the mean
    of both directions is written), friction and limits of planar and floating joints, springs,
    constraints, a gravity other than (0, 0, -9.81), a tool other than the last frame. Helical and
    spherical joints are errors. Meshes and notes are not part of a model and are not written.

    Args:
        model: the robot, in numbers.
        losses: "warn", "error" or "allow": the reaction to data that URDF cannot represent.
        infinity: number to write for an infinite limit where readers of URDF need one; 1e30 and
            more reads back as infinite here. Give less for programs that refuse such numbers.
    """
    lost.check_policy(losses)
    if not isinstance(infinity, Real) or not 0 < infinity < inf:
        raise InputError(f"infinity is {infinity!r}; expected a large finite number.")
    model, found = lost.in_floats(model, "URDF"), Losses("URDF")
    lost.check_all_names(model, "URDF")
    robot = _Writer(model, found, infinity).robot()
    found.report(model, losses)
    return document(robot)


class _Writer:
    """Writes one robot; keeps the names of links and joints that are taken."""

    def __init__(self, model: Model, losses: Losses, infinity: float) -> None:
        self.model, self.losses, self.infinity = model, losses, infinity
        self.links = model.names
        self.link_words = set(model.frames)
        self.joint_words = {joint.name for joint in model.joints}

    def robot(self) -> Tag:
        """The element <robot>: the tree first, then frames, then transmissions."""
        model, losses = self.model, self.losses
        robot = Tag("robot", {"name": model.name})
        if not np.array_equal(model.gravity[3:], GRAVITY):
            losses.add(f"gravity {numbers(model.gravity[3:])}")
        for name in () if model.constraints is None else model.constraints.given:
            losses.add(f"constraint {name!r}, which is left out")
        losses.into(robot, self.link(WORLD))
        for i in model.links:
            tags = [*self.joint(i), self.link(i)]
            losses.into(robot, *tags)
        frames = model.own_frames
        for name in sorted(frames, key=lambda name: name == model.tool):  # the tool comes last
            frame = frames[name]
            robot.add(Tag("link", {"name": name}))
            robot.add(self.weld(f"{name}_fixed", self.links[frame.link], name, frame.T_if))
        if model.tool is not None:
            lost.lose_tool(model, self.last_frame([x for x in frames if x != model.tool]), losses)
        for rotor in model.rotors:
            transmission = transmission_tag(model, rotor, losses)
            losses.into(robot, transmission)
            if transmission is not None:
                robot.attributes["xmlns:drake"] = "http://drake.mit.edu"
        lost.lose_elements(model, losses, "motors", "springs", "actuators")
        lost.lose_contacts(model, losses)
        return losses.into(robot)

    def link(self, i: int) -> Tag:
        """A link with the body of model link i."""
        model, link = self.model, Tag("link", {"name": self.links[i]})
        mass, com, I = model.base if i == WORLD else (model.m[i], model.com[i], model.I_com[i])
        m = float(mass)
        if m < 0:
            text = f"link {self.links[i]!r} has the mass {m:g} kg"
            raise ModelError(f"{text}; expected >= 0, readers of URDF refuse less.")
        if not (m or np.any(I) or np.any(com)):
            return link
        I = (I + I.T) / 2
        keys = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2)}
        moments = {key: number(I[at]) for key, at in (keys | {"izz": (2, 2)}).items()}
        origin = Tag("origin", {"xyz": numbers(com)}) if np.any(com) else None
        inertial = Tag("inertial").add(origin, Tag("mass", {"value": number(m)}))
        return link.add(inertial.add(Tag("inertia", moments)))

    def joint(self, i: int) -> list[Tag]:
        """The joint of link i, and a link on its axis if the axis misses the origin of {i}."""
        model, joint = self.model, self.model.joints[i]
        word = joint_word(model, joint)
        M, child = model.M_pi[i], self.links[i]
        if joint.follows is None and joint.offset:
            M = M @ joint_pose(joint, np.zeros(len(joint.coords)))
        tag = Tag("joint", {"name": joint.name, "type": word})
        extra: list[Tag] = []
        if joint.type == joints.REVOLUTE and joint.screw is not None:
            p = cross(joint.screw[:3], joint.screw[3:])  # the point of the axis nearest the origin
            if np.abs(p).max() > 1e-15:
                axis = unused(f"{child}_axis", self.link_words, "_")
                M = M @ translation(p)
                extra = [
                    Tag("link", {"name": axis}),
                    self.weld(f"{axis}_fixed", axis, child, translation(-p)),
                ]
                child = axis
        tag.add(_origin(M), Tag("parent", {"link": self.links[model.parent[i]]}))
        tag.add(Tag("child", {"link": child}))
        if joint.screw is not None:
            direction = joint.screw[3:] if joint.type == joints.PRISMATIC else joint.screw[:3]
            tag.add(Tag("axis", {"xyz": numbers(direction)}))
        elif joint.type == joints.PLANAR:
            tag.add(Tag("axis", {"xyz": "0 0 1"}))
        limit = limit_tag(joint, word, self.infinity, self.losses)
        self.losses.into(tag, limit)
        drive = drive_tags(joint, self.losses)
        return [self.losses.into(tag, *drive), *extra]

    def weld(self, name: str, parent: str, child: str, T: Array) -> Tag:
        """A fixed joint with a unique name."""
        tag = Tag("joint", {"name": unused(name, self.joint_words, "_"), "type": "fixed"})
        return tag.add(_origin(T), Tag("parent", {"link": parent}), Tag("child", {"link": child}))

    def last_frame(self, others: list[str]) -> str | None:
        """The last frame on the only tip, which readers take for the tool."""
        model, last = self.model, len(self.model.joints) - 1
        if last < 0:
            return model.base_name
        if model.frame().link == last and model.tool not in self.links.values():
            return model.tool
        there = [name for name in others if model.frames[name].link == last]
        return there[-1] if there else model.link_names[last]


def _origin(T: Array) -> Tag | None:
    """<origin> of a pose; None for the identity."""
    attributes: dict[str, str] = {}
    if np.any(T[:3, 3]):
        attributes["xyz"] = numbers(T[:3, 3])
    angles = roll_pitch_yaw(T[:3, :3])
    if any(angles):
        attributes["rpy"] = numbers(angles)
    return Tag("origin", attributes) if attributes else None


def joint_word(model: Model, joint: Joint) -> str:
    """URDF's type of the joint: a hinge without limits is continuous.

    A joint that follows another has the type of that one: Pinocchio has q = (cos, sin) for
    continuous joints.
    """
    if joint.type in REFUSED:
        text = f"joint {joint.name!r} is {joint.type}, which URDF does not have"
        raise ModelError(f"{text}: {REFUSED[joint.type]}.")
    followed = joint if joint.follows is None else model.joint(joint.follows)
    if joint.type == joints.REVOLUTE and _is_endless(joint) and _is_endless(followed):
        return "continuous"
    return WORDS[joint.type]


def _is_endless(joint: Joint) -> bool:
    return isinf(joint.limits.lower) and isinf(joint.limits.upper)


def limit_tag(joint: Joint, word: str, infinity: float, losses: Losses) -> Tag | None:
    """<limit> of joints that have one in URDF; infinite limits as in `to_urdf`.

    urdfdom, and with it ROS and Pinocchio, refuses a sliding or bounded joint without <limit>, and
    any <limit> without velocity and effort; missing lower and upper limits are 0 there.
    """
    if word in ("planar", "floating"):
        lost.lose_limits(joint, losses)
        return None
    if word == "continuous" and joint.limits == Limits():
        return None
    keys = ("lower", "upper", "velocity", "effort")
    values = {key: getattr(joint.limits, key) for key in keys[2 * (word == "continuous") :]}
    finite = {key: copysign(infinity, x) if isinf(x) else x for key, x in values.items()}
    return Tag("limit", {key: number(x) for key, x in finite.items()})


def drive_tags(joint: Joint, losses: Losses) -> list[Tag]:
    """<dynamics> and <mimic>; armature and other friction are losses."""
    tags: list[Tag] = []
    if joint.type in joints.SCREW_TYPES:
        viscous, coulomb = lost.symmetric_friction(joint, losses)
        if viscous or coulomb:
            values = {"damping": number(viscous), "friction": number(coulomb)}
            tags.append(Tag("dynamics", values))
    elif text := lost.told(joint.friction):
        losses.add(f"friction of joint {joint.name!r} ({joint.type}): {text}")
    lost.lose_drive(joint, losses)
    if joint.armature:
        losses.add(f"armature {number(joint.armature)} of joint {joint.name!r}")
    if joint.follows is not None:
        values = {"multiplier": number(joint.scale), "offset": number(joint.offset)}
        tags.append(Tag("mimic", {"joint": joint.follows, **values}))
    return tags


def transmission_tag(model: Model, rotor: JointRotor, losses: Losses) -> Tag | None:
    """A rotor as a transmission if it is on the parent, about the joint's axis; else a loss."""
    joint, ratio = model.joints[rotor.joint], rotor.gear
    if rotor.link != model.parent[rotor.joint] or not _about_own_axis(model, rotor):
        carrier = model.base_name if rotor.link == WORLD else model.link_names[rotor.link]
        values = f"inertia {number(rotor.inertia)}, ratio {number(ratio)}, axis {numbers(rotor.s)}"
        losses.add(f"rotor of joint {joint.name!r} on {carrier!r}: {values}")
        return None
    actuator = Tag("actuator", {"name": f"{joint.name}_motor"}).add(
        Tag("drake:rotor_inertia", {"value": number(rotor.inertia)}),
        Tag("drake:gear_ratio", {"value": number(ratio)}),
    )
    kind = Tag("type", text="transmission_interface/SimpleTransmission")
    transmission = Tag("transmission", {"name": f"{joint.name}_transmission"})
    return transmission.add(kind, Tag("joint", {"name": joint.name}), actuator)


def _about_own_axis(model: Model, rotor: JointRotor) -> bool:
    """Return True if the rotor on the parent spins about the joint's axis, up to rounding."""
    screw = model.joints[rotor.joint].screw
    assert screw is not None  # a joint with a rotor has one degree of freedom
    direction = screw[:3] if np.any(screw[:3]) else screw[3:]
    error = model.M_pi[rotor.joint][:3, :3] @ direction - rotor.s
    return float(np.abs(error).max()) < 1e-14


def roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw with R = Rz(yaw) Ry(pitch) Rx(roll), pitch from -pi/2 to pi/2.

    Near a pitch of +-90 degrees the yaw is ill-conditioned, but any yaw is good enough: pitch and
    roll are taken from R with the yaw undone, so that the three together give R up to rounding.
    Quarter turns give exact multiples of pi/2.
    """
    flat = hypot(R[0, 0], R[1, 0]) < 1e-15  # pitch +-90 degrees
    yaw = 0.0 if flat else atan2(R[1, 0], R[0, 0])
    s, c = (0.0, 1.0) if flat else _sine_cosine(yaw)
    pitch = atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def _sine_cosine(angle: float) -> tuple[float, float]:
    """Sine and cosine, exact at quarter turns, where `math` gives 6e-17 instead of 0."""
    s, c = sin(angle), cos(angle)
    return (s, 0.0) if abs(c) < 1e-16 else (0.0, c) if abs(s) < 2e-16 else (s, c)
