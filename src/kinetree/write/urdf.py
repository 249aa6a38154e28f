"""Model -> URDF text."""

import math
from numbers import Real

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import PLANAR, PRISMATIC, REVOLUTE
from kinetree.description.urdf.joints import NO_LIMIT
from kinetree.errors import InputError, ModelError
from kinetree.model import WORLD, Model, joint_pose
from kinetree.model.describe import link_names, own_frames
from kinetree.spatial.se3 import translation
from kinetree.spatial.so3 import cross
from kinetree.write.angles import roll_pitch_yaw
from kinetree.write.losses import Losses, check_policy, in_floats
from kinetree.write.urdf_joints import drive_tags, joint_word, limit_tag, transmission_tag
from kinetree.write.xml import Tag, check_names, document, number, numbers, unused

GRAVITY = (0, 0, -9.81)


def to_urdf(model: Model, *, losses: str = "warn", infinity: float = NO_LIMIT) -> str:
    """The robot as URDF, which reads back as the same robot: numbers bit by bit, turns to rounding.

    Frames become links on fixed joints, which readers merge again. Where a joint's axis misses the
    origin of its link, a massless link "<link>_axis" stands on the axis and carries the link; it is
    then the one that moves, and the link's own name is a frame on it. Rotors on the parent link
    that spin about the joint's axis are written as transmissions.

    What URDF has no words for stands in comments and is told in one warning: armature, other
    rotors, friction that differs by direction or is a function (the mean of both directions is
    written), friction and limits of planar and floating joints, a gravity other than (0, 0, -9.81),
    a tool other than the last frame. Helical and spherical joints are refused. Meshes and notes
    are no part of a model and are not written.

    Args:
        model: the robot, in numbers.
        losses: "warn", "error" or "allow", about what cannot be said.
        infinity: what to write for an infinite limit where readers of URDF insist on a number;
            1e30 and beyond reads back as infinite here. Give less where a program objects.
    """
    check_policy(losses)
    if not isinstance(infinity, Real) or not 0 < infinity < math.inf:
        raise InputError(f"infinity is {infinity!r}; expected a large finite number.")
    model, told = in_floats(model, "URDF"), Losses("URDF")
    check_names([model.name], "robot", "URDF")
    check_names(model.frames, "frame", "URDF")
    check_names((joint.name for joint in model.joints), "joint", "URDF")
    robot = _Writer(model, told, infinity).robot()
    told.tell(model, losses)
    return document(robot)


class _Writer:
    """One robot on its way into XML."""

    def __init__(self, model: Model, losses: Losses, infinity: float) -> None:
        self.model, self.losses, self.infinity = model, losses, infinity
        self.links = link_names(model)
        self.link_words = set(model.frames)
        self.joint_words = {joint.name for joint in model.joints}

    def robot(self) -> Tag:
        """The element <robot>: the tree first, then frames, then transmissions."""
        model = self.model
        robot = Tag("robot", {"name": model.name})
        if not np.array_equal(model.gravity[3:], GRAVITY):
            robot.add(self.losses.add(f"gravity {numbers(model.gravity[3:])}"))
        robot.add(self.link(WORLD))
        for i in model.links:
            robot.add(*self.joint(i), self.link(i))
        frames = own_frames(model)
        for name in sorted(frames, key=lambda name: name == model.tool):  # the tool comes last
            frame = frames[name]
            robot.add(Tag("link", {"name": name}))
            robot.add(self.weld(f"{name}_fixed", self.links[frame.link], name, frame.T_if))
        self.tell_tool(robot, [x for x in frames if x != model.tool])
        transmissions = [transmission_tag(model, rotor, self.losses) for rotor in model.rotors]
        if any(tag.name == "transmission" for tag in transmissions):
            robot.attributes["xmlns:drake"] = "http://drake.mit.edu"
        return robot.add(*transmissions)

    def link(self, i: int) -> Tag:
        """A link with the body of model link i."""
        model, link = self.model, Tag("link", {"name": self.links[i]})
        m, com, I = model.base if i == WORLD else (model.m[i], model.com[i], model.I_com[i])
        if m < 0:
            raise ModelError(
                f"link {self.links[i]!r} has the mass {m:g} kg; expected >= 0, readers of URDF "
                "refuse less. Correct it first."
            )
        if not (m or np.any(I) or np.any(com)):
            return link
        I = (I + I.T) / 2
        keys = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2)}
        moments = {key: number(I[at]) for key, at in (keys | {"izz": (2, 2)}).items()}
        origin = Tag("origin", {"xyz": numbers(com)}) if np.any(com) else None
        inertial = Tag("inertial").add(origin, Tag("mass", {"value": number(m)}))
        return link.add(inertial.add(Tag("inertia", moments)))

    def joint(self, i: int) -> list[Tag]:
        """The joint of link i; before it, where its axis asks for one, the link on the axis."""
        model, joint = self.model, self.model.joints[i]
        word = joint_word(model, joint)
        M, child = model.M_pi[i], self.links[i]
        if joint.follows is None and joint.offset:
            M = M @ joint_pose(joint, np.zeros(len(joint.coords)))
        tag = Tag("joint", {"name": joint.name, "type": word})
        extra: list[Tag] = []
        if joint.type == REVOLUTE and joint.screw is not None:
            p = cross(joint.screw[:3], joint.screw[3:])  # the point of the axis nearest the origin
            if np.abs(p).max() > 1e-15:
                axis = unused(f"{child}_axis", self.link_words)
                M = M @ translation(p)
                extra = [
                    Tag("link", {"name": axis}),
                    self.weld(f"{axis}_fixed", axis, child, translation(-p)),
                ]
                child = axis
        tag.add(_origin(M), Tag("parent", {"link": self.links[model.parent[i]]}))
        tag.add(Tag("child", {"link": child}))
        if joint.screw is not None:
            direction = joint.screw[3:] if joint.type == PRISMATIC else joint.screw[:3]
            tag.add(Tag("axis", {"xyz": numbers(direction)}))
        elif joint.type == PLANAR:
            tag.add(Tag("axis", {"xyz": "0 0 1"}))
        tag.add(*limit_tag(joint, word, self.infinity, self.losses))
        tag.add(*drive_tags(joint, self.losses))
        return [tag, *extra]

    def weld(self, name: str, parent: str, child: str, T: Array) -> Tag:
        """A fixed joint under a name that no other joint has."""
        tag = Tag("joint", {"name": unused(name, self.joint_words), "type": "fixed"})
        return tag.add(_origin(T), Tag("parent", {"link": parent}), Tag("child", {"link": child}))

    def tell_tool(self, robot: Tag, others: list[str]) -> None:
        """A reader takes the last frame on the last moving link for the tool."""
        model, last = self.model, len(self.model.joints) - 1
        if last < 0:
            expected = model.base_name
        elif model.frames[model.tool].link == last and model.tool not in self.links.values():
            return
        else:
            there = [name for name in others if model.frames[name].link == last]
            expected = there[-1] if there else model.link_names[last]
        if expected != model.tool:
            robot.add(self.losses.add(f"the tool is {model.tool!r} (readers take {expected!r})"))


def _origin(T: Array) -> Tag | None:
    """<origin> of a pose; None for the identity."""
    attributes = {}
    if np.any(T[:3, 3]):
        attributes["xyz"] = numbers(T[:3, 3])
    angles = roll_pitch_yaw(T[:3, :3])
    if any(angles):
        attributes["rpy"] = numbers(angles)
    return Tag("origin", attributes) if attributes else None
