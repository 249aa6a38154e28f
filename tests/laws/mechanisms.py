"""Random mechanisms as plain data for Hypothesis, and their robots.

Numbers are hundredths, so that a case that fails shrinks to one that can be read: fewer joints,
zeros, no drives. A mechanism is plain data because laws need it twice: to build the robot, and to
write down what must come out.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.friction import Friction, Sigmoid, Stribeck
from kinetree.joints import Mimic, Rotor, Spring

SIZES = {"revolute": 1, "prismatic": 1, "helical": 1, "spherical": 3, "planar": 3, "free": 6}
SIZES["fixed"] = 0
SCREWS = ("revolute", "prismatic", "helical")
ALL = ("revolute", "prismatic", "helical", "spherical", "planar", "fixed")


@dataclass(frozen=True)
class Part:
    """A link and the joint that it hangs on; SI units."""

    type: str
    parent: int  # -1: the base
    turn: Any  # roll, pitch, yaw and position of {i} in {p} at q = 0
    place: Any
    axis: Any  # of length 1
    point: Any
    pitch: float
    m: float
    com: Any
    moments: Any  # three second moments of the body, along axes with these angles
    body_turn: Any
    drive: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def at(self) -> Any:
        """Pose of {i} in {p} at q = 0."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = rotation(self.turn), self.place
        return T

    @cached_property
    def I_com(self) -> Any:
        """Inertia about the centre of mass."""
        R, s = rotation(self.body_turn), np.array(self.moments)
        return R @ np.diag(s.sum() - s) @ R.T


@dataclass(frozen=True)
class Mechanism:
    """Links in order, parents before children, and gravity."""

    parts: tuple[Part, ...]
    gravity: Any
    ties: tuple[Any, ...] = ()  # springs between points: stiffness, rest, link, point, link, point

    @property
    def dofs(self) -> list[list[int]]:
        """Entries of dq that move each joint."""
        found: list[list[int]] = []
        n = 0
        for x in self.parts:
            if "mimic" in x.drive:
                found.append(found[x.drive["mimic"][0]])
            else:
                found.append(list(range(n, n := n + SIZES[x.type])))
        return found

    def factor(self, i: int) -> float:
        """Rate of joint i over that of the joint that moves by itself."""
        if "mimic" not in self.parts[i].drive:
            return 1.0
        source, factor, _ = self.parts[i].drive["mimic"]
        return factor * self.factor(source)

    def changed(self, **options: Any) -> "Mechanism":
        """The mechanism whose every part has these data."""
        return replace(self, parts=tuple(replace(x, **options) for x in self.parts))


def rotation(angles: Any) -> Any:
    """R = Rz(yaw) Ry(pitch) Rx(roll), or R itself."""
    R = np.asarray(angles)
    return R if R.ndim == 2 else Rotation.from_euler("xyz", R).as_matrix()


def number(low: float, high: float) -> st.SearchStrategy[float]:
    """Hundredths between two numbers."""
    return st.integers(round(low * 100), round(high * 100)).map(lambda k: k / 100)


def vector(reach: float) -> st.SearchStrategy[tuple[float, ...]]:
    return st.tuples(*3 * [number(-reach, reach)])


QUARTERS = st.tuples(*3 * [st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi])])
ANGLES = st.one_of(st.just((0.0, 0.0, 0.0)), QUARTERS, vector(3))
AXES = st.sampled_from([(0, 0, 1), (0, 1, 0), (-1, 0, 0)])
DIRECTIONS = st.one_of(AXES, ANGLES.map(lambda x: tuple(rotation(x)[:, 2].tolist())))
PLACES = st.one_of(st.just((0.0, 0.0, 0.0)), vector(0.5))
POSITIVE = number(0.01, 1)
FRICTION = st.tuples(st.tuples(number(0, 1), number(0, 1)), st.tuples(number(0, 1), number(0, 1)))
RATIOS = st.sampled_from([1.0, -1.0, 20.0, -80.0])
SEEDS = st.integers(0, 999)


@st.composite
def part(draw: Any, i: int, types: Any, before: list[Part], drives: Any) -> Part:
    type = draw(st.sampled_from(types))
    parent = i - 1 if draw(st.booleans()) else draw(st.integers(-1, i - 1))
    leaders = [k for k, x in enumerate(before) if SIZES[x.type] == 1]
    return Part(
        type, parent, draw(ANGLES), draw(PLACES), draw(DIRECTIONS),
        draw(PLACES) if type in ("revolute", "helical") else (0.0, 0.0, 0.0),
        draw(number(-0.2, 0.2)) if type == "helical" else 0.0,
        draw(number(0.1, 5)), draw(vector(0.3)),
        draw(st.tuples(*3 * [POSITIVE])), draw(ANGLES),
        draw(drive(i, leaders, drives if SIZES[type] == 1 else ())),
    )  # fmt: skip


@st.composite
def drive(draw: Any, i: int, leaders: list[int], kinds: Any) -> dict[str, Any]:
    """Some of friction, armature, rotor, spring, offset and mimic."""
    choices = {
        "friction": FRICTION,
        "armature": number(0, 0.2),
        "rotor": st.tuples(number(0, 0.01), RATIOS, DIRECTIONS, st.integers(-1, i - 1)),
        "spring": st.tuples(number(0, 50), number(-1, 1)),
        "offset": number(-1, 1),
        "stribeck": st.tuples(number(0, 1), POSITIVE),  # more at rest, N m, and the speed
        "sigmoid": st.tuples(number(0, 1), number(1, 9), number(-1, 1)),
        "mimic": st.tuples(
            st.sampled_from(leaders or [0]), st.sampled_from([-1.0, 0.5, 2.0]), number(-1, 1)
        ),
    }
    return {
        name: draw(values)
        for name, values in choices.items()
        if name in kinds and (name != "mimic" or leaders) and draw(st.integers(0, 2)) == 2
    }


DRIVES = ("friction", "armature", "rotor", "spring", "offset", "mimic")
EVERYTHING = (*DRIVES, "stribeck", "sigmoid", "tie")


@st.composite
def tie(draw: Any, links: int) -> tuple[Any, ...]:
    """A spring between points of two links or the base (-1), far enough apart to have a length."""
    i, k = draw(st.integers(0, links - 1)), draw(st.integers(-1, links - 1))
    near, far = draw(vector(0.3)), (3.0, *draw(vector(0.3))[1:])
    return (draw(number(0, 50)), draw(number(0, 2)), i, near, -1 if k == i else k, far)


@st.composite
def mechanisms(
    draw: Any, most: int = 5, types: Any = ALL, drives: Any = DRIVES, floating: bool = True
) -> Mechanism:
    """Trees of 1 to `most` joints with at least one degree of freedom, some on a free base."""
    parts: list[Part] = []
    for i in range(draw(st.integers(1, most))):
        kinds = types
        if i == 0:
            kinds = [x for x in types if SIZES[x]]
            kinds = ["free"] if floating and draw(st.integers(0, 3)) == 3 else kinds
        parts.append(draw(part(i, kinds, parts, drives)))
    gravity = draw(st.one_of(st.just((0.0, 0.0, -9.81)), vector(9)))
    ties = draw(st.lists(tie(len(parts)), max_size=1)) if "tie" in drives else ()
    return Mechanism(tuple(parts), gravity, tuple(ties))


@dataclass(frozen=True)
class Units:
    """How many of the unit of length are a metre (1000: mm), and so on."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    def force(self, slides: Any) -> Any:
        """1 N where a joint slides, 1 N m where it turns."""
        return self.mass * self.length / self.time**2 * self.way(~np.asarray(slides))

    def way(self, slides: Any) -> Any:
        return np.where(slides, self.length, 1.0)


def build(
    mechanism: Mechanism, units: Units | None = None, order: Any = None, names: Any = None
) -> kt.Robot:
    """The robot; its links are handed to the Builder in `order`, by other names or in other units.

    Joint i is called j0, j1, ... after its link l0, l1, ...
    """
    parts, u = mechanism.parts, units or Units()
    names = names or [f"l{i}" for i in range(len(parts))]
    gravity = np.array(mechanism.gravity) * u.length / u.time**2
    builder = kt.Builder("mechanism", gravity=gravity).link("ground")
    for i in order or range(len(parts)):
        x = parts[i]
        length = u.length
        I = x.I_com * u.mass * length**2
        builder.link(names[i], x.m * u.mass, np.array(x.com) * length, I)
        T = x.at * np.array([[1, 1, 1, length]] * 3 + [[1] * 4])
        options = {}
        if SIZES[x.type] == 1:
            options = {
                "axis": x.axis, "point": np.array(x.point) * length, "pitch": x.pitch * length
            }  # fmt: skip
        options |= drive_options(mechanism, i, u, names)
        parent = "ground" if x.parent < 0 else names[x.parent]
        builder.joint(f"j{names[i][1:]}", x.type, parent, names[i], at=T, **options)
    for k, (stiffness, rest, *ends) in enumerate(mechanism.ties):
        places = [
            ("ground" if i < 0 else names[i], np.array(point) * u.length)
            for i, point in zip(ends[::2], ends[1::2], strict=True)
        ]
        stiff = stiffness * u.mass / u.time**2
        builder.spring(f"tie{k}", Spring(stiff, rest * u.length, points=places))
    builder.frame("tip", names[len(parts) - 1], (0.1 * u.length, 0, 0), tool=True)
    return builder.build()


def drive_options(mechanism: Mechanism, i: int, u: Units, names: Any) -> dict[str, Any]:
    """The arguments of `Builder.joint` for a drive."""
    x = mechanism.parts[i]
    slides = x.type == "prismatic"
    force, way = float(u.force(slides)), float(u.way(slides))
    rate = way / u.time
    options: dict[str, Any] = {"friction": friction_of(x, force, rate)}
    for name, value in x.drive.items():
        if name in ("friction", "stribeck", "sigmoid"):
            continue
        if name == "armature":
            options[name] = value * force * u.time / rate
        elif name == "rotor":
            inertia, ratio, axis, carrier = value
            where = "ground" if carrier < 0 else names[carrier]
            options[name] = Rotor(inertia * u.mass * u.length**2, ratio / way, axis, where)
        elif name == "spring":
            options[name] = Spring(value[0] * force / way, value[1] * way)
        elif name == "mimic":
            source, factor, offset = value
            of_leader = float(u.way(mechanism.parts[source].type == "prismatic"))
            leader = f"j{names[source][1:]}"
            options[name] = Mimic(leader, factor * way / of_leader, offset * way)
        else:
            options[name] = value * way
    return options


def friction_of(x: Part, force: float = 1.0, rate: float = 1.0) -> Friction:
    """The friction of a joint, with so many units of force and rate in those of SI."""
    viscous, coulomb = np.array(x.drive.get("friction", ((0, 0), (0, 0))))
    laws: dict[str, Any] = {}
    if "stribeck" in x.drive:
        more, speed = x.drive["stribeck"]
        laws["stribeck"] = Stribeck(tuple((coulomb + more) * force), speed * rate)
    if "sigmoid" in x.drive:
        size, steepness, shift = x.drive["sigmoid"]
        laws["sigmoid"] = Sigmoid(size * force, steepness / rate, shift * rate)
    return Friction(tuple(viscous * force / rate), tuple(coulomb * force), **laws)


def slides(mechanism: Mechanism) -> Any:
    """Which entries of dq are m/s, (n,)."""
    rows = {"prismatic": [True], "free": 3 * [False] + 3 * [True], "planar": [False, True, True]}
    parts = [x for x in mechanism.parts if "mimic" not in x.drive]
    found = [rows.get(x.type, SIZES[x.type] * [False]) for x in parts]
    return np.array([entry for row in found for entry in row], bool)


def state(robot: kt.Robot, seed: int) -> tuple[Any, Any, Any]:
    """Random q, dq, ddq; rates away from zero, where friction is not smooth."""
    rng = np.random.default_rng(seed)
    q = kt.dynamics.random(robot.model, rng)
    dq, ddq = rng.normal(size=(2, robot.n))
    return q, dq + 0.01 * np.sign(dq), ddq


def wrenches(robot: kt.Robot, seed: int) -> Any:
    """A random wrench onto every link, (links, 6)."""
    return np.random.default_rng((seed, 1)).normal(size=(len(robot.model.links), 6))


def close(found: Any, expected: Any, tolerance: float, scale: float = 0.0) -> None:
    """Assert that arrays agree, relative to the largest entry, or to the size of their terms."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    size = max(np.abs(expected).max(initial=0), scale, 1e-300)
    error = np.abs(found - expected).max(initial=0) / size
    assert error <= tolerance, f"relative error {error:.2g}\n{found}\n{expected}"


def differences(f: Any, h: float = 5e-3) -> Any:
    """f'(0) by central differences of order six; f gives an array."""
    near, middle, far = (np.asarray(f(k * h)) - np.asarray(f(-k * h)) for k in (1, 2, 3))
    return (45 * near - 9 * middle + far) / (60 * h)
