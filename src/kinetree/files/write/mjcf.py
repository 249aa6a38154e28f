"""Model -> MJCF text, the format of MuJoCo: bodies, joints, limits, friction, springs, inertias."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import exact_number as number
from kinetree.errors import ModelError
from kinetree.files.description.collisions import unused
from kinetree.files.description.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from kinetree.files.write import losses as lost
from kinetree.files.write.actuators import actuator_tags, effort_attributes
from kinetree.files.write.equality import Equalities, is_massless
from kinetree.files.write.losses import Losses, Policy, symmetric_friction, told
from kinetree.files.write.xml import Tag, document, numbers
from kinetree.model import WORLD, Frame, Joint, JointActuator, JointSpring, Model
from kinetree.model.elements import PathPoint
from kinetree.model.model import for_robots
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import symmetric
from kinetree.spatial.se3 import Ad, inverse
from kinetree.spatial.so3 import cross, quaternion

BASE = "world"  # MuJoCo's name of the base
SMALLEST = 1e-15  # MuJoCo's mjMINVAL: it refuses moving bodies with less mass or moment
DEEPEST = 499  # elements in each other that MuJoCo reads
WORDS = {REVOLUTE: "hinge", PRISMATIC: "slide", SPHERICAL: "ball", FREE: "free"}
REFUSED = {
    HELICAL: "MuJoCo has no screw with a pitch; lock the joint",
    PLANAR: "two slides and a hinge would take its place with other coordinates, rates along the "
    "axes of the parent and not along its own; build the robot with those three joints",
}


@dataclass(frozen=True)
class Step:
    """One joint of a MuJoCo body: the link that it moves, M_pb of the body, the screw in {b}."""

    link: int
    M_pb: Array
    screw: Array | None


@for_robots
def to_mjcf(model: Model, *, losses: Policy = "warn") -> str:
    """Write the robot as MJCF, which `read_mjcf` reads back as the same robot.

    Numbers read back bit by bit, rotations up to rounding. The base becomes a body that does not
    move (the world itself, if it is called "world"), frames become sites, the tool a body without
    mass. A massless link between two joints becomes a further joint of the body after it, since
    MuJoCo bodies may have several joints. Gravity is written. Springs become the stiffness of their
    joint, and <fixed> tendons between joints.

    Data that MJCF cannot represent become comments, and one warning lists them: velocity limits,
    limits of ball and free joints, rotors (the armature ratio^2 * inertia is written, exact for a
    rotor on the base), friction that differs by direction or is a function (the mean is written),
    an order of joints that is not depth first, a tool other than the last frame. Mimic joints and
    constraints are written as equality constraints, which are soft in MuJoCo; `kt.load` reads
    constraints back. Rods, planes, and couplings of several joints are not written.
    Errors: helical and planar joints, free joints that do not start at the origin of the world, and
    moving links without mass or moments, which MuJoCo does not accept.

    Args:
        model: the robot, in numbers.
        losses: "warn", "error" or "allow": the reaction to data that MJCF cannot represent.
    """
    lost.check_policy(losses)
    model, found = lost.in_floats(model, "MJCF"), Losses("MJCF")
    lost.check_all_names(model, "MJCF")
    root = _Writer(model, found).mujoco()
    found.report(model, losses)
    return document(root)


class _Writer:
    """Writes one robot; `order` collects the joints in the order in which they are written."""

    def __init__(self, model: Model, losses: Losses) -> None:
        self.model, self.losses = model, losses
        self.links, self.frames = model.names, model.own_frames
        self.order: list[int] = []
        self.equalities = Equalities(model, losses)
        self.springs = own_springs(model)
        self.on_link: dict[int, dict[str, Frame]] = {}  # frames and sites by link, in their order
        self.written = {WORLD}  # links that have become bodies
        held = {
            site_name(x, k): Frame(point.link, at_point(point))
            for x in (*model.springs, *model.actuators)
            for k, point in enumerate(x.points)
        }
        for name, frame in (self.frames | self.equalities.sites | held).items():
            self.on_link.setdefault(frame.link, {})[name] = frame
        for i, name in self.links.items():
            if name == BASE and i != WORLD:
                raise ModelError(f"link {BASE!r} moves, which is MuJoCo's world. Rename the link.")

    def mujoco(self) -> Tag:
        """The element <mujoco>."""
        model, losses = self.model, self.losses
        root = Tag("mujoco", {"model": model.name}).add(
            Tag("compiler", {"angle": "radian", "autolimits": "false"}),
            Tag("option", {"gravity": numbers(model.gravity[3:])}),
        )
        world = self.worldbody()
        if self.order != list(model.links):
            names = ", ".join(model.joints[i].name for i in self.order)
            losses.add(f"the order of the joints, which becomes {names}")
        self.lose_tool()
        losses.into(root, world)
        actuators, pulled = actuator_tags(model, losses, self.path)
        tendons = self.tendons().add(*pulled)
        for tag in (tendons, self.equality(), actuators):
            root.add(tag if tag.children else None)
        lost.lose_contacts(model, losses)
        return losses.into(root)

    def worldbody(self) -> Tag:
        """The base, and beside it the bodies on free joints, which MuJoCo allows only there."""
        model, world = self.model, Tag("worldbody")
        base = world
        if model.base_name != BASE:
            base = Tag("body", {"name": model.base_name})
        elif model.base[0] or np.any(model.base[2]):
            base = Tag("body", {"name": unused(f"{BASE}_body", set(model.frames), "_")})
        if base is not world:
            world.add(base.add(inertial_tag(*model.base, name=model.base_name, moves=False)))
        base.add(*self.sites(WORLD))
        waiting: list[tuple[Tag, int, int]] = []
        for i in reversed(model.children[WORLD]):
            tag = world if model.joints[i].type == FREE else base
            waiting.append((tag, 3 if tag is world else 4, i))
        while waiting:  # not by recursion, whose depth Python limits
            tag, depth, first = waiting.pop()
            i, body = self.body(first)
            if depth + 1 > DEEPEST:
                text = f"link {self.links[i]!r} lies more than {DEEPEST} elements deep"
                raise ModelError(f"{text}, which MuJoCo does not read. Write it as URDF.")
            tag.add(body)
            waiting += [(body, depth + 1, c) for c in reversed(model.children[i])]
        return world

    def body(self, first: int) -> tuple[int, Tag]:
        """The last link of a run of massless links that begins with link `first`, and its body."""
        model = self.model
        steps = body_steps(model, first)
        i = steps[-1].link
        self.written.add(i)
        body = Tag("body", {"name": self.links[i], **pose_attributes(steps[0].M_pb)})
        for step in steps:
            self.order.append(step.link)
            joint = joint_tag(model, step, self.losses, self.springs)
            self.losses.into(body, joint)
            for name in self.on_link.get(step.link, {}) if step.link != i else ():
                if name in self.frames:
                    link = self.links[step.link]
                    self.losses.add(f"frame {name!r} on the massless link {link!r}")
        inertial = inertial_tag(
            model.m[i], model.com[i], model.I_com[i], name=self.links[i], moves=True
        )
        return i, self.losses.into(body, inertial, *self.sites(i))

    def sites(self, i: int) -> list[Tag]:
        """The frames on link i; the tool as a body, since readers take the last body for it."""
        tags: list[Tag] = []
        for name, frame in self.on_link.get(i, {}).items():
            if name == BASE:
                self.losses.add(f"frame {BASE!r}, a name that MuJoCo reserves")
                continue
            attributes = {"name": name, **pose_attributes(frame.T_if)}
            tags.append(Tag("body" if name == self.model.tool else "site", attributes))
        return tags

    def lose_tool(self) -> None:
        """Lose the tool, unless it is the last body on the only tip, which readers take."""
        model, last = self.model, self.order[-1] if self.order else WORLD
        if model.tool is not None:
            expected = self.links[last] if self.order else BASE
            found = model.frame().link == last and (last != WORLD or model.tool == BASE)
            lost.lose_tool(model, model.tool if found else expected, self.losses)

    def tendons(self) -> Tag:
        """<tendon>: springs that are not a joint's own, and motors."""
        tag, model, losses = Tag("tendon"), self.model, self.losses
        for x in (x for x in model.springs if x.name not in self.springs):
            losses.into(tag, self.spring(x))
        taken = {x.name for x in model.springs}
        for x in model.motors:
            viscous, coulomb = symmetric_friction(x, losses, "motor")
            values = {"armature": x.inertia, "damping": viscous, "frictionloss": coulomb}
            drive = {key: number(value) for key, value in values.items() if value}
            if not drive:
                losses.add(f"motor {x.name!r} without inertia and friction")
                continue
            fixed = self.fixed({"name": unused(x.name, taken, "_"), **drive}, x.coords, x.arms)
            losses.into(tag, fixed)
        return losses.into(tag)

    def spring(self, x: JointSpring) -> Tag | None:
        """The tendon of a spring; None if MJCF has none for it."""
        damping = {"damping": number(x.damping)} if x.damping else {}
        if x.play and x.damping:
            self.losses.add(f"spring {x.name!r}: {told(x.record)}")
        elif x.points:
            rest = {"stiffness": number(x.stiffness), "springlength": _length(x)}
            tag = self.path(x, x.name, rest | {"damping": number(x.damping)})
            if tag is not None:
                return tag
            self.losses.add(f"spring {x.name!r} at a massless link")
        elif not (x.stiffness or x.damping):
            self.losses.add(f"spring {x.name!r} of stiffness 0")
        else:
            # -1 asks MuJoCo for the length of the drawn robot; all signs turned are the same spring
            sign = -1 if x.rest == -1 else 1
            rest = {"stiffness": number(x.stiffness), "springlength": _length(x, sign)}
            arms = [sign * arm for arm in x.arms]
            return self.fixed({"name": x.name, **rest, **damping}, x.coords, arms)
        return None

    def fixed(
        self, attributes: dict[str, str], coords: Sequence[int], arms: Sequence[Scalar]
    ) -> Tag:
        """The tendon of a sum of joint positions."""
        names, pairs = self.model.coordinate_names, zip(coords, arms, strict=True)
        ends = [{"joint": names[k], "coef": number(arm)} for k, arm in pairs]
        return Tag("fixed", attributes).add(*(Tag("joint", end) for end in ends))

    def path(
        self, x: JointSpring | JointActuator, name: str, attributes: dict[str, str] | None = None
    ) -> Tag | None:
        """The tendon through the points of a spring or actuator; None if a link becomes no body."""
        if any(point.link not in self.written for point in x.points):
            return None
        sites = [Tag("site", {"site": site_name(x, k)}) for k in range(len(x.points))]
        return Tag("spatial", {"name": name} | (attributes or {})).add(*sites)

    def equality(self) -> Tag:
        """Constraints, and mimic joints; MuJoCo measures joints from their zero positions."""
        tag = self.equalities.tag
        for joint in self.model.joints:
            if joint.follows is None:
                continue
            start = joint.offset - joint.scale * self.model.joint(joint.follows).offset
            text = f"joint {joint.name!r} follows {joint.follows!r} exactly (an equality constraint"
            self.losses.found.append(f"{text} is written, which is soft)")
            curve = numbers([start, joint.scale, 0, 0, 0])
            pair = {"joint1": joint.name, "joint2": joint.follows, "polycoef": curve}
            tag.add(Tag("joint", pair))
        return tag


def joint_tag(model: Model, step: Step, losses: Losses, springs: Mapping[str, JointSpring]) -> Tag:
    """<joint> of a step; springs: those of `own_springs`."""
    joint = model.joints[step.link]
    _check_joint(model, step.link)
    attributes = {"name": joint.name, "type": WORDS[joint.type]}
    if step.screw is not None:
        w, v = step.screw[:3], step.screw[3:]
        hinge = joint.type == REVOLUTE
        attributes["axis"] = numbers(w if hinge else v)
        point = cross(w, v)
        if hinge and np.any(point):
            attributes["pos"] = numbers(point)
        if joint.follows is None and joint.offset:
            attributes["ref"] = number(-joint.offset)
    attributes |= _limits(model, joint, losses)
    viscous, coulomb = symmetric_friction(joint, losses)
    armature = _armature(model, step.link, losses)
    values = {"armature": armature, "damping": viscous, "frictionloss": coulomb}
    attributes |= {key: number(value) for key, value in values.items() if value}
    if (spring := springs.get(joint.name)) is not None:
        attributes["stiffness"] = number(spring.stiffness)
        attributes |= {"springref": number(spring.rest)} if spring.rest else {}
    lost.lose_drive(joint, losses)
    return Tag("joint", attributes)


def _length(x: JointSpring, sign: int = 1) -> str:
    """The rest position of a spring, or both ends of its play."""
    half, rest = float(x.play) / 2, sign * x.rest
    return numbers([rest - half, rest + half]) if half else number(rest)


def site_name(x: JointSpring | JointActuator, k: int) -> str:
    """The site of point k of a spring or actuator, which may have the same name."""
    return f"{x.name}/{k}" if isinstance(x, JointSpring) else f"{x.name}_tendon/{k}"


def at_point(point: PathPoint) -> Array:
    """The pose of a point in its link, (4, 4), with the axes of the link."""
    T = np.eye(4)
    T[:3, 3] = [float(x) for x in point.at]
    return T


def own_springs(model: Model) -> dict[str, JointSpring]:
    """The springs that MJCF writes as the stiffness of the joint of their name."""
    names = model.coordinate_names
    return {
        x.name: x
        for x in model.springs
        if [names[k] for k in x.coords] == [x.name]
        and x.arms[0] == 1
        and x.stiffness
        and not (x.damping or x.play)
    }


def _check_joint(model: Model, i: int) -> None:
    joint = model.joints[i]
    what, why = f"joint {joint.name!r} is {joint.type}", ""
    if joint.type in REFUSED:
        why = f", which MJCF does not have: {REFUSED[joint.type]}"
    elif joint.type == FREE and model.parent[i] != WORLD:
        why = f" on {model.link_names[model.parent[i]]!r}, which moves; MuJoCo has it in the world"
    elif joint.type == FREE and not np.array_equal(model.M_pi[i], np.eye(4)):
        why = " and measures q from another pose than MuJoCo, the origin; put the pose into q"
    if why:
        raise ModelError(f"{what}{why}.")


def _limits(model: Model, joint: Joint, losses: Losses) -> dict[str, str]:
    """Attributes of the limits of a hinge or slide."""
    if joint.type in (SPHERICAL, FREE):
        lost.lose_limits(joint, losses)
        return {}
    attributes: dict[str, str] = {}
    lower, upper, velocity = joint.limits.lower, joint.limits.upper, joint.limits.velocity
    if lower == upper:
        losses.add(f"limits of joint {joint.name!r}: lower = upper = {lower:g}")
    elif not (isinf(lower) and isinf(upper)):
        attributes = {"limited": "true", "range": numbers((lower, upper))}
    attributes |= effort_attributes(model, joint, losses)
    if not isinf(velocity):
        losses.add(f"velocity limit {number(velocity)} of joint {joint.name!r}")
    return attributes


def _armature(model: Model, i: int, losses: Losses) -> float:
    """Armature of the joint with that of its rotor."""
    joint = model.joints[i]
    armature = float(joint.armature)
    for rotor in (x for x in model.rotors if x.joint == i):
        ratio = rotor.gear
        armature += rotor.inertia * ratio * ratio
        if rotor.link != WORLD:
            values = f"inertia {number(rotor.inertia)}, ratio {number(ratio)}, axis "
            text = f"rotor of joint {joint.name!r} on {model.link_names[rotor.link]!r}: {values}"
            losses.add(f"{text}{numbers(rotor.s)} (as armature, without gyroscopic forces)")
    return armature


def body_steps(model: Model, first: int) -> list[Step]:
    """The joints of one MuJoCo body: those of massless links from `first` on, and its own.

    M_1 exp(A_1 q_1) M_2 exp(A_2 q_2) = (M_1 M_2) exp(Ad(M_2^-1) A_1 q_1) exp(A_2 q_2): all screws
    of a body are given in its own frame.
    """
    run = [first]
    while is_massless(model, run[-1]):
        run.append(_only_child(model, run[-1]))
    # inward from the body's own joint; before the step of link i, M is the body's pose in {i}
    M = np.eye(4)
    steps: list[tuple[int, Array | None]] = []
    for i in reversed(run):
        screw = model.joints[i].screw
        turned = screw if screw is None or i == run[-1] else Ad(inverse(M)) @ screw
        M = model.M_pi[i] if i == run[-1] else model.M_pi[i] @ M
        steps.append((i, turned))
    return [Step(i, M, screw) for i, screw in reversed(steps)]


def _only_child(model: Model, i: int) -> int:
    name, children = model.link_names[i], model.children[i]
    if len(children) != 1 or model.joints[i].type not in (REVOLUTE, PRISMATIC):
        text = f"link {name!r} moves and is massless, which MuJoCo refuses but between two joints"
        raise ModelError(f"{text}. Give it a mass, or lock joint {model.joints[i].name!r}.")
    return children[0]


def pose_attributes(T: Array) -> dict[str, str]:
    """Attributes pos and quat (w x y z) of a pose; identities are left out."""
    attributes: dict[str, str] = {}
    if np.any(T[:3, 3]):
        attributes["pos"] = numbers(T[:3, 3])
    if not np.array_equal(T[:3, :3], np.eye(3)):
        attributes["quat"] = numbers(quaternion(T[:3, :3]))
    return attributes


def inertial_tag(m: Scalar, com: Array, I_com: Array, *, name: str, moves: bool) -> Tag | None:
    """<inertial> with principal moments and their axes; None without mass and moments."""
    if not (m or np.any(I_com)):
        return None
    moments, R = principal_moments(I_com)
    _check_inertia(float(m), moments, name, moves)
    attributes = {"mass": number(m), "diaginertia": numbers(_within_triangle(moments, name))}
    turn = {} if np.array_equal(R, np.eye(3)) else {"quat": numbers(quaternion(R))}
    return Tag("inertial", {"pos": numbers(com), **turn, **attributes})


def principal_moments(I: Array) -> tuple[Array, Array]:
    """Moments and axes with I = R diag(moments) R^T; a diagonal I is left as it is."""
    I = symmetric(I)
    if not np.any(I - np.diag(np.diag(I))):
        return np.diag(I), np.eye(3)
    moments, R = np.linalg.eigh(I)
    return moments, R if np.linalg.det(R) > 0 else R * np.array([1, 1, -1])


def _check_inertia(m: float, moments: Array, name: str, moves: bool) -> None:
    least = SMALLEST if moves else 0
    if m < least or moments.min() < least:
        text = f"link {name!r} has the mass {m:g} kg and principal moments {moments.tolist()}"
        raise ModelError(f"{text} kg m^2; MuJoCo refuses less than {least:g} of each.")


def _within_triangle(moments: Array, name: str) -> Array:
    """The moments; the largest is cut if it exceeds the sum of the others by rounding."""
    a, b, c = np.argsort(moments)
    sum_of_others = moments[a] + moments[b]
    if moments[c] <= sum_of_others:
        return moments
    if moments[c] - sum_of_others > 64 * np.finfo(float).eps * moments[c]:
        text = f"link {name!r} has the principal moments {moments.tolist()} kg m^2"
        raise ModelError(f"{text}; MuJoCo refuses one above the sum of the others. Correct them.")
    return np.where(np.arange(3) == c, sum_of_others, moments)
