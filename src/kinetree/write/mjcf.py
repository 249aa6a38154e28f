"""Model -> MJCF text, the format of MuJoCo."""

import numpy as np

from kinetree.errors import ModelError
from kinetree.model import WORLD, Frame, Model
from kinetree.model.describe import link_names, own_frames
from kinetree.write.losses import Losses, check_policy, in_floats
from kinetree.write.mjcf_joints import joint_tag
from kinetree.write.mjcf_places import Step, body_steps, inertial_tag, pose_attributes
from kinetree.write.xml import Tag, check_names, document, number, numbers, unused

BASE = "world"  # what MuJoCo calls it


def to_mjcf(model: Model, *, losses: str = "warn") -> str:
    """The robot as MJCF; `read_mjcf` gives the same robot, numbers bit by bit, turns to rounding.

    The base becomes a body that stands still (the world itself, where it is called "world"), frames
    become sites, the tool a body without mass. A massless link between two joints becomes a further
    joint of the body beyond it, as MuJoCo has them. Gravity is written.

    What MJCF has no words for stands in comments and is told in one warning: velocity limits,
    limits of ball and free joints, rotors (the armature ratio^2 * inertia is written, exact for a
    rotor on the base), friction that differs by direction or is a function (the mean is written),
    an order of joints that is not depth first, a tool other than the last frame. Mimic joints are
    written as equality constraints, which MuJoCo keeps softly and `read_mjcf` leaves out. Refused
    are helical and planar joints, free joints that do not start at the origin of the world, and
    moving links without mass or moments, which MuJoCo refuses itself.

    Args:
        model: the robot, in numbers.
        losses: "warn", "error" or "allow", about what cannot be said.
    """
    check_policy(losses)
    model, told = in_floats(model, "MJCF"), Losses("MJCF")
    check_names([model.name], "robot", "MJCF")
    check_names(model.frames, "frame", "MJCF")
    check_names((joint.name for joint in model.joints), "joint", "MJCF")
    root = _Writer(model, told).mujoco()
    told.tell(model, losses)
    return document(root)


class _Writer:
    """One robot on its way into XML; `order` collects the joints as they are written."""

    def __init__(self, model: Model, losses: Losses) -> None:
        self.model, self.losses = model, losses
        self.links, self.frames = link_names(model), own_frames(model)
        self.order: list[int] = []
        for i, name in self.links.items():
            if name == BASE and i != WORLD:
                raise ModelError(
                    f"link {BASE!r} of {model.name!r} moves, and MuJoCo keeps that name for what "
                    "stands still; expected another name. Rename the link."
                )

    def mujoco(self) -> Tag:
        """The element <mujoco>."""
        model = self.model
        root = Tag("mujoco", {"model": model.name}).add(
            Tag("compiler", {"angle": "radian", "autolimits": "false"}),
            Tag("option", {"gravity": numbers(model.gravity[3:])}),
        )
        world = self.worldbody()
        if self.order != list(model.links):
            names = ", ".join(model.joints[i].name for i in self.order)
            root.add(self.losses.add(f"the order of the joints, which becomes {names}"))
        self.tell_tool(root)
        return root.add(world, self.equality())

    def worldbody(self) -> Tag:
        """The base, and beside it whatever floats: MuJoCo wants that in the world itself."""
        model, world = self.model, Tag("worldbody")
        base = world
        if model.base_name != BASE:
            base = Tag("body", {"name": model.base_name})
        elif model.base[0] or np.any(model.base[2]):
            base = Tag("body", {"name": unused(f"{BASE}_body", set(model.frames))})
        if base is not world:
            world.add(base.add(inertial_tag(*model.base, name=model.base_name, moves=False)))
        base.add(*self.sites(WORLD))
        for i in model.children[WORLD]:
            (world if model.joints[i].type == "free" else base).add(self.body(i))
        return world

    def body(self, first: int) -> Tag:
        """The body at the end of a run of massless links that begins with link `first`."""
        model = self.model
        steps = body_steps(model, first)
        i = steps[-1].link
        body = Tag("body", {"name": self.links[i], **pose_attributes(steps[0].M_pb)})
        for step in steps:
            self.order.append(step.link)
            body.add(*joint_tag(model, step, self.losses))
            if step.link != i:
                body.add(*self.lost_frames(step))
        link = model.m[i], model.com[i], model.I_com[i]
        body.add(inertial_tag(*link, name=self.links[i], moves=True), *self.sites(i))
        return body.add(*(self.body(c) for c in model.children[i]))

    def sites(self, i: int) -> list[Tag]:
        """The frames on link i; the tool as a body, since readers take the last body for it."""
        own = {name: frame for name, frame in self.frames.items() if frame.link == i}
        return [self.site(name, frame) for name, frame in own.items()]

    def site(self, name: str, frame: Frame) -> Tag:
        attributes = {"name": name, **pose_attributes(frame.T_if)}
        if name == BASE:
            return self.losses.add(f"frame {BASE!r}, a name that MuJoCo keeps for itself")
        return Tag("body" if name == self.model.tool else "site", attributes)

    def lost_frames(self, step: Step) -> list[Tag]:
        """Frames of a massless link, which is none of MuJoCo's bodies."""
        names = [name for name, frame in self.frames.items() if frame.link == step.link]
        return [
            self.losses.add(f"frame {name!r} on the massless link {self.links[step.link]!r}")
            for name in names
        ]

    def tell_tool(self, root: Tag) -> None:
        """A reader takes the last body on the last moving link for the tool."""
        model, tool = self.model, self.model.frames[self.model.tool]
        last = self.order[-1] if self.order else WORLD
        if tool.link != last or (last == WORLD and model.tool != BASE):
            expected = self.links[last] if self.order else BASE
            root.add(self.losses.add(f"the tool is {model.tool!r} (readers take {expected!r})"))

    def equality(self) -> Tag | None:
        """Mimic joints; MuJoCo counts both joints from where they are at zero."""
        tag = Tag("equality")
        for joint in self.model.joints:
            if joint.follows is None:
                continue
            start = joint.offset - joint.scale * self.model.joint(joint.follows).offset
            self.losses.found.append(
                f"joint {joint.name!r} follows {joint.follows!r} exactly (an equality constraint "
                "is written, which holds softly)"
            )
            curve = f"{number(start)} {number(joint.scale)} 0 0 0"
            pair = {"joint1": joint.name, "joint2": joint.follows, "polycoef": curve}
            tag.add(Tag("joint", pair))
        return tag if tag.children else None
