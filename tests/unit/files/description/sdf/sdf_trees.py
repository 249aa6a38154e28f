"""Random robots as records, and as SDF texts that place the same frames in many different ways."""

import math
import random
from dataclasses import dataclass, field

import numpy as np

from kinetree.files.description import (
    FIXED,
    HELICAL,
    PRISMATIC,
    REVOLUTE,
    Body,
    FrameDescription,
    Friction,
    JointDescription,
    LinkDescription,
    RobotDescription,
    joint_screw,
)
from kinetree.spatial import inverse, pose, rpy

TYPES = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "screw": HELICAL,
    "fixed": FIXED,
}


@dataclass
class Thing:
    """A link, joint, frame or nested model: its place in the world and its element's content."""

    name: str
    kind: str
    T: np.ndarray
    model: str = ""  # nested model that it belongs to
    opening: str = ""
    content: str = ""
    default: str = ""  # frame that its pose is relative to where it names none
    attached: str = ""


@dataclass
class RandomRobot:
    """One robot: its records, and `text()`, which writes it anew with other choices each time."""

    seed: int
    links: int = 5
    types: tuple[str, ...] = tuple(TYPES)
    nested: bool = True
    things: list[Thing] = field(default_factory=list)

    def __post_init__(self):
        rng = self.rng = random.Random(self.seed)
        self.models = {"": self.T(), "arm": self.T()} if self.nested else {"": self.T()}
        links, joints, frames = [LinkDescription("world")], [], []
        poses = {"world": np.eye(4)}
        for k in range(self.links):
            model = rng.choice(list(self.models))
            name = self.full(f"link{k}", model)
            parent = rng.choice(list(poses)) if k else "world"
            poses[name] = poses[parent] @ self.T()
            body, inertial = self.body()
            links.append(LinkDescription(name, (body,)))
            self.things.append(
                Thing(name, "link", poses[name], model, f'<link name="link{k}">', inertial)
            )
            joints.append(self.joint(k, parent, name, poses))
        for k in range(3):
            link = rng.choice([x for x in poses if x != "world"])
            T = poses[link] @ self.T()
            frames.append(FrameDescription(f"frame{k}", link, inverse(poses[link]) @ T))
            opening = f'<frame name="frame{k}" attached_to="{link}">'
            self.things.append(Thing(f"frame{k}", "frame", T, "", opening, "", link))
        self.poses = poses
        self.description = RobotDescription(
            name="robot", links=tuple(links), joints=tuple(joints), frames=tuple(frames)
        )

    def full(self, name, model):
        return f"{model}::{name}" if model else name

    def T(self):
        rng = self.rng
        if rng.random() < 0.2:
            return np.eye(4)
        return pose(
            rpy(*(rng.uniform(-3, 3) for _ in range(3))),
            np.array([rng.uniform(-1, 1) for _ in range(3)]),
        )

    def body(self):
        rng = self.rng
        m, T = rng.uniform(0.5, 3), self.T()
        Q = self.T()[:3, :3]
        a, b, c = (rng.uniform(0.1, 1) for _ in range(3))
        I = Q @ np.diag([b + c, a + c, a + b]) @ Q.T
        names = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2)}
        names |= {"ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}
        entries = "".join(f"<{k}>{float(I[ij])!r}</{k}>" for k, ij in names.items())
        R = T[:3, :3]
        text = f"<inertial>{self.numbers(T)}<mass>{m!r}</mass><inertia>{entries}</inertia>"
        return Body(m, T[:3, 3], R @ I @ R.T), f"{text}</inertial>"

    def joint(self, k, parent, child, poses):
        """The record of a joint, and its Thing; axis and frame are given in a random way."""
        rng, name = self.rng, f"joint{k}"
        word = rng.choice(self.types)
        T_cj = self.T()
        axis = np.array([rng.gauss(0, 1) for _ in range(3)])
        axis /= np.linalg.norm(axis)  # in the joint's frame
        pitch = rng.choice([-1, 1]) * rng.uniform(0.1, 1)  # m/rad
        damping = rng.choice([0.0, rng.uniform(0.1, 1)])
        kind = TYPES[word]
        record = JointDescription(
            name=name,
            type=kind,
            parent=parent,
            child=child,
            M_pc=inverse(poses[parent]) @ poses[child],
            A=joint_screw(kind, T_cj[:3, :3] @ axis, pitch, T_cj[:3, 3], name),
            friction=Friction(damping if kind != FIXED else 0.0),
        )
        thing = Thing(
            name, "joint", poses[child] @ T_cj, "", f'<joint name="{name}" type="{word}">'
        )
        thing.default = child
        thing.attached = child
        thread = ""
        if word == "screw":
            thread = rng.choice(
                [
                    f"<thread_pitch>{-1 / pitch!r}</thread_pitch>",
                    f"<screw_thread_pitch>{2 * math.pi * pitch!r}</screw_thread_pitch>",
                ]
            )
        thing.content = (parent, axis, damping, thread, word)
        self.things.append(thing)
        return record

    def numbers(self, T, relative=""):
        """A <pose> in one of the formats."""
        rng = self.rng
        attribute = f' relative_to="{relative}"' if relative else ""
        if getattr(self, "version", 7) < 7:
            attribute = rng.choice(["", ' frame=""'])
        R, p = T[:3, :3], " ".join(repr(float(x)) for x in T[:3, 3])
        if rng.random() < 0.3:
            q = " ".join(repr(float(x)) for x in quaternion(R))
            return f'<pose{attribute} rotation_format="quat_xyzw">{p} {q}</pose>'
        angles = roll_pitch_yaw(R)
        if rng.random() < 0.3:
            words = " ".join(repr(math.degrees(x)) for x in angles)
            return f'<pose{attribute} degrees="true">{p} {words}</pose>'
        return f"<pose{attribute}>{p} {' '.join(repr(float(x)) for x in angles)}</pose>"

    def text(self, seed=0, version="1.10"):
        """The robot as SDF, with the choices of a seed; before 1.7 without its frames."""
        rng = self.rng = random.Random(f"{self.seed}/{seed}")
        self.version = int(version.partition(".")[2])
        order = [x for x in self.things if self.version >= 7 or x.kind != "frame"]
        rng.shuffle(order)
        parts: dict[str, list[str]] = {model: [] for model in self.models}
        known: dict[str, np.ndarray] = {"__model__": self.models[""]}
        # the nested model stands relative to the outer one, placed by a frame of its own or not
        for model in {thing.model for thing in self.things} - {""}:
            known[model] = self.models[model]
        own: dict[str, dict[str, np.ndarray]] = {
            m: {"__model__": self.models[m]} for m in self.models
        }
        for thing in order:
            model = thing.model
            scope = own[model] if model else known
            local = thing.name.removeprefix(f"{model}::") if model else thing.name
            relative, base = "", self.models[model]
            if thing.kind == "joint" or (thing.kind == "frame" and thing.default):
                base = self.poses[thing.default]
            # a default that is written later may be relative to this very thing: a circle
            is_late = thing.default and thing.default not in known
            if self.version >= 7 and (is_late or rng.random() < 0.6):
                relative, base = rng.choice(list(scope.items()))
            T = inverse(base) @ thing.T
            content = thing.content if thing.kind != "joint" else self.joint_text(thing, known)
            parts[model].append(
                f"{thing.opening}{self.numbers(T, relative)}{content}</{thing.kind}>"
            )
            scope[local] = thing.T
            if model:
                known[thing.name] = thing.T
        body = "".join(parts[""])
        for model in list(self.models)[1:]:
            if parts[model]:
                body = self.nested_text(model, parts[model], own[model]) + body
        top = self.numbers(self.models[""])
        return (
            f'<?xml version="1.0"?>\n<sdf version="{version}"><model name="robot">{top}{body}'
            "</model></sdf>"
        )

    def nested_text(self, model, parts, scope):
        T, placement = inverse(self.models[""]) @ self.models[model], ""
        if self.version >= 7 and self.rng.random() < 0.5:
            name = self.rng.choice([x for x in scope if x != "__model__"])
            T = inverse(self.models[""]) @ scope[name]
            placement = f' placement_frame="{name}"'
        return f'<model name="{model}"{placement}>{self.numbers(T)}{"".join(parts)}</model>'

    def joint_text(self, thing, known):
        rng = self.rng
        parent, axis, damping, thread, word = thing.content
        text = f"<parent>{parent}</parent><child>{thing.attached}</child>"
        if word == "fixed":
            return text
        expressed, given = "", axis
        flag = ""
        if self.version < 7:
            in_model = rng.random() < 0.5 or self.version < 5
            if in_model:
                given = self.models[""][:3, :3].T @ thing.T[:3, :3] @ axis
            if self.version >= 5:
                flag = f"<use_parent_model_frame>{in_model:d}</use_parent_model_frame>"
        elif rng.random() < 0.6:
            name, T = rng.choice(list(known.items()))
            expressed = f' expressed_in="{name}"'
            given = T[:3, :3].T @ thing.T[:3, :3] @ axis
        xyz = " ".join(repr(float(x)) for x in given)
        dynamics = f"<dynamics><damping>{damping!r}</damping></dynamics>" if damping else ""
        return f"{text}{thread}<axis><xyz{expressed}>{xyz}</xyz>{flag}{dynamics}</axis>"


def roll_pitch_yaw(R):
    """Angles with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[2, 1], R[2, 2]))
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def quaternion(R):
    """x, y, z, w of a rotation."""
    K = np.array(
        [
            [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
            [R[1, 0] + R[0, 1], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
            [R[2, 0] + R[0, 2], R[2, 1] + R[1, 2], R[2, 2] - R[0, 0] - R[1, 1], 0],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], R[0, 0] + R[1, 1] + R[2, 2]],
        ]
    )
    values, vectors = np.linalg.eigh(K)  # the lower triangle is read
    return vectors[:, np.argmax(values)]
