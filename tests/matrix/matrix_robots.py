"""Robots of the matrix, each written down once: for `kt.Builder`, and for the reference.

A recipe is a list of parts, a link with the joint that moves it, and what acts on them. Numbers are
seeded. The rotations of EXACT robots are quarter turns, without rounding, so that two computations
with fifty digits must agree to nearly all of them.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

import kinetree as kt
from kinetree.friction import Friction, Sigmoid, Stribeck
from kinetree.joints import Actuator, Drive, Mimic, Motor, Rotor, Spring

SIZES = {"revolute": 1, "prismatic": 1, "helical": 1, "spherical": 3, "planar": 3, "free": 6}
BASE = (1.5, (0.25, 0, 0.5))  # mass and centre of mass of the base
EXACT = ("mimic", "friction", "springs", "elastic", "actuated", "contacts")


@dataclass(frozen=True, eq=False)
class Part:
    """A link, and the joint of that name that moves it; `more` are arguments of Builder.joint."""

    name: str
    type: str
    parent: str
    at: np.ndarray
    axis: np.ndarray
    point: np.ndarray
    pitch: float
    m: float
    com: np.ndarray
    I_com: np.ndarray
    more: dict = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Recipe:
    """A robot. elastic: {joint: (stiffness, damping, inertia of the motor)}; feet: contacts."""

    name: str
    parts: list[Part]
    tool: np.ndarray
    springs: dict = field(default_factory=dict)
    motors: dict = field(default_factory=dict)
    actuators: dict = field(default_factory=dict)
    elastic: dict = field(default_factory=dict)
    constraints: dict = field(default_factory=dict)
    actuated: tuple[str, ...] = ()
    feet: tuple = ()
    gravity: tuple[float, float, float] = (0.5, -1.0, -9.75)

    def build(self) -> kt.Robot:
        """The robot."""
        builder = kt.Builder(self.name, gravity=self.gravity).link("base", *BASE)
        for x in self.parts:
            builder.link(x.name, x.m, x.com, x.I_com)
            screw = {"axis": x.axis, "point": x.point, "pitch": x.pitch}
            screw = {} if SIZES[x.type] > 1 else screw if any(x.point) else {"axis": x.axis}
            builder.joint(x.name, x.type, x.parent, x.name, at=x.at, **screw, **x.more)
        robot = builder.frame("tool", self.parts[-1].name, self.tool, tool=True).build()
        for name, (stiffness, damping, inertia) in self.elastic.items():
            robot = robot.with_elastic_joint(name, stiffness, damping, inertia)
        robot = robot.with_springs(self.springs) if self.springs else robot
        robot = robot.with_motors(self.motors) if self.motors else robot
        robot = robot.with_actuators(self.actuators) if self.actuators else robot
        if self.constraints:
            robot = robot.constrained(self.constraints, actuated=self.actuated)
        return robot.with_contacts(self.feet, friction=1.5) if self.feet else robot


def rotation(rng: np.random.Generator) -> np.ndarray:
    """A random rotation."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q).round()


def quarter_turns(rng: np.random.Generator) -> np.ndarray:
    """A random rotation by right angles."""
    P = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
    return P * np.linalg.det(P).round()


def pose(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """A pose, 4x4."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def part(rng, exact: bool, name: str, type: str, parent: str, more: dict) -> Part:
    """A part with random numbers."""
    turn = quarter_turns if exact else rotation
    short = rng.integers(-32, 33, (3, 3)) / 64  # positions within half a metre
    box = rng.integers(16, 33, 3) / 64  # a cuboid: its moments satisfy the triangle inequality
    m = float(rng.integers(32, 128) / 64)
    R = turn(rng)
    I = R @ np.diag(m / 3 * np.array([box @ box - x * x for x in box])) @ R.T
    pitch = 0.25 if type == "helical" else 0.0
    point = short[1] if type in ("revolute", "helical") else 0 * short[1]
    axis = turn(rng)[0]
    return Part(
        name, type, parent, pose(turn(rng), short[0]), axis, point, pitch, m, short[2],
        (I + I.T) / 2, more,
    )  # fmt: skip


R, P, H, S, L, F = "revolute", "prismatic", "helical", "spherical", "planar", "free"
# joints of a robot in order: (type, number of the parent, further arguments of its joint)
# two legs, a trunk, two arms, a head and a tail
LIMBS = [1, 2, 3, 4, 5, 6, 1, 8, 9, 10, 11, 12, 1, 14, 15, 16, 17, 18, 19, 16, 21, 22, 23, 24]
HUMANOID = [(F, 0, {}), *((R, parent, {}) for parent in [*LIMBS, 16, 26, 27, 1, 29])]
STRIBECK = Friction(
    (0.5, 0.75), (0.25, 0.5), lambda v: 0.125 * v * v * v, stribeck=Stribeck(1.0, 0.5, 2)
)
JOINTS = {
    "chain": [(R, 0, {}), (R, 1, {"offset": 0.25}), (R, 2, {"friction": Friction(0.5)})],
    "tree": [(R, 0, {}), (P, 1, {}), (R, 1, {"armature": 0.125}), (R, 2, {}), (P, 3, {})],
    "floating": [(F, 0, {}), (R, 1, {"armature": 0.25}), (R, 1, {})],
    "spherical": [(S, 0, {}), (R, 1, {}), (S, 2, {})],
    "planar": [(L, 0, {}), (R, 1, {}), (P, 2, {})],
    "helical": [(H, 0, {}), (H, 1, {"offset": -0.5}), (R, 2, {})],
    "mimic": [
        (R, 0, {"friction": Friction(0.25)}),
        (R, 1, {"mimic": Mimic("l1", -1.5, 0.25), "armature": 0.25}),
        (P, 2, {}),
        (P, 1, {"mimic": Mimic("l3", 0.5, 0.125), "friction": Friction(0.5)}),
    ],
    "rotors": [
        (R, 0, {}),
        (R, 1, {"rotor": Rotor(0.0078125, 10.0)}),
        (P, 2, {"rotor": Rotor(0.015625, 4.0, (0.6, 0.0, 0.8), "l1")}),
        (R, 3, {"armature": 0.25}),
    ],
    "friction": [
        (R, 0, {"friction": STRIBECK}),
        (R, 1, {"friction": Friction(0.25, 0.5, sigmoid=Sigmoid(1.5, 2.0, 0.25))}),
        (P, 2, {"friction": Friction(0.125, 0.0625)}),
    ],
    "springs": [(R, 0, {}), (P, 1, {}), (R, 2, {"offset": 0.25})],
    "elastic": [(R, 0, {"drive": Drive(peak=5.0)}), (R, 1, {}), (R, 2, {"armature": 0.25})],
    "actuated": [(R, 0, {}), (R, 1, {"friction": Friction(0.5)}), (P, 2, {})],
    "loop": [(R, 0, {}), (R, 1, {}), (R, 2, {}), (R, 0, {}), (R, 4, {}), (P, 5, {})],
    "contacts": [(F, 0, {}), (R, 1, {}), (R, 1, {})],
    "humanoid": HUMANOID,
}  # fmt: skip
FEET = {
    "left": ("l1", (-1, -1, -1)),
    "right": ("l1", (1, -1, -1)),
    "hind": ("l1", (0, 1, -1)),
    "hand": ("l3", (0.125, -0.25, 0.375)),
}
FIXED_AT = (0.125, -0.25, 0.375)
POINTS = [("base", (0.5, 0.0, 0.0)), ("l2", FIXED_AT), ("tool", (0.0, 0.0, 1.0))]
MOTOR = Actuator.motor("l1", gear=4.0, control_range=(-1.0, 1.0))
SERVO = Actuator.position("l2", kp=16.0, kd=2.0, time_constant=0.125)


def springs(damping: float) -> dict:
    """Springs of a joint, between joints and between points, with the same dampers."""
    return {
        "l1": Spring(8.0, 0.25, damping=damping),
        "tie": Spring(4.0, 0.5, joints={"l1": 1.0, "l3": -2.0}, damping=damping),
        "strut": Spring(16.0, 0.5, points=POINTS, damping=damping),
    }


MORE = {
    "springs": {"springs": springs(0.0)},
    "helical": {"springs": springs(0.5)},
    "tree": {"actuators": {"motor": MOTOR, "servo": SERVO}},
    "rotors": {"motors": {"pair": Motor({"l1": 2.0, "l4": -3.0}, 0.0625, Friction(0.25))}},
    "elastic": {"elastic": {"l2": (64.0, 0.5, 0.375)}},
    "actuated": {
        "actuators": {
            "motor": MOTOR,
            "mixed": Actuator({"l1": 0.5, "l3": 2.0}, (1.0, 0.5, 0.25), (0.25, -2.0, -1.0)),
        },
        "springs": {"l3": Spring(32.0, 0.125)},
    },
    "loop": {
        "constraints": {
            "ball": kt.constraints.Loop("l3", "l5", "point"),
            "gear": kt.constraints.Couple("l4", {"l1": (0.5, 0.25)}, 0.125),
        },
        "actuated": ("l1", "l6"),
    },
    "contacts": {
        "feet": tuple(kt.contacts.ContactPoint(name, *x, 0.0625) for name, x in FEET.items()),
        "gravity": (0.0, 0.0, -9.75),
    },
}  # fmt: skip
NAMES = tuple(JOINTS)


@cache
def recipe(name: str) -> Recipe:
    """The recipe of a robot."""
    rng = np.random.default_rng(NAMES.index(name))
    exact = name in EXACT
    parts = [
        part(rng, exact, f"l{k}", type, f"l{parent}" if parent else "base", more)
        for k, (type, parent, more) in enumerate(JOINTS[name], 1)
    ]
    turn = quarter_turns(rng) if exact else rotation(rng)
    tool = pose(turn, np.array([0.25, -0.125, 0.5]))
    return Recipe(name, parts, tool, **MORE.get(name, {}))


@cache
def robot(name: str) -> kt.Robot:
    """The robot."""
    return recipe(name).build()
