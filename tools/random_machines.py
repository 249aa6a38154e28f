"""Random robots and exciting motions, with equations of motion of their own.

A robot has 3 to 7 joints, a tenth of them prismatic, in a chain or a tree; masses fall from about
10 to 1 kg, and a third of the robots have spinning rotors on the parent link, the others armatures.
Joint forces come from Newton's and Euler's equations below, friction from its definition: no code
of kinetree's dynamics or identification takes part, so recordings of these machines examine it.
"""

from dataclasses import dataclass, replace

import numpy as np

import kinetree as kt
from kinetree.core.arrays import Array
from kinetree.friction import Friction
from kinetree.joints import Motor, Rotor
from kinetree.robot.builder import Builder

GRAVITY = np.array([0.0, 0.0, -9.81])  # m/s^2
PERIOD = 10.0  # of the exciting motion, s
HARMONICS = 6


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body: mass, kg, centre in the frame of its link, m, inertia about it, kg m^2."""

    m: float
    com: Array
    I_com: Array

    def joined(self, other: "Body") -> "Body":
        """Both bodies as one."""
        m = self.m + other.m
        com = (self.m * self.com + other.m * other.com) / m
        inertia = self.I_com + other.I_com
        for x in (self, other):
            r = x.com - com
            inertia = inertia + x.m * (r @ r * np.eye(3) - np.outer(r, r))
        return Body(m, com, inertia)


@dataclass(frozen=True, eq=False)
class Machine:
    """The true robot. Lists have one entry per joint and link; arrays have shape (n,).

    parent: index of the link before, -1 for the base. slides: prismatic. axis: of the joint, in
    both links, since frames are parallel at q = 0. at: position of the joint in the parent, m.
    rotor: inertia of a rotor on the parent about the joint's axis, with its gear ratio; or zeros.
    viscous, coulomb, armature: of the joints. static, stribeck_speed: of Stribeck friction; None:
    static friction is Coulomb friction. coupled: angle of one more motor per joint angle; None:
    there is none. motor: its inertia, viscous and Coulomb friction.
    """

    parent: list[int]
    slides: list[bool]
    axis: list[Array]
    at: list[Array]
    bodies: list[Body]
    rotor: Array
    ratio: Array
    viscous: Array
    coulomb: Array
    armature: Array
    static: Array | None = None
    stribeck_speed: Array | None = None
    coupled: Array | None = None
    motor: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.parent)

    def rigid_forces(self, q: Array, dq: Array, ddq: Array, gravity: Array = GRAVITY) -> Array:
        """Joint forces without friction, (T, n), by Newton's and Euler's equations in link frames.

        Args:
            q: positions, shape (T, n), rad or m.
            dq: rates, shape (T, n).
            ddq: accelerations, shape (T, n).
            gravity: free fall, (3,), m/s^2.
        """
        T = len(q)
        zero = np.zeros((T, 3))
        # of link i in its frame: rotation from i to its parent, angular velocity and acceleration,
        # acceleration of the origin less gravity, position of the origin in the parent
        R, w, dw, a, p = {}, {-1: zero}, {-1: zero}, {-1: zero - gravity}, {}
        spin: dict[int, Array] = {i: zero for i in range(-1, self.n)}  # moments of rotors
        tau = self.armature * ddq
        if self.coupled is not None:
            tau += np.outer(self.motor[0] * ddq @ self.coupled, self.coupled)
        for i, (j, z) in enumerate(zip(self.parent, self.axis, strict=True)):
            s, ds, dds = (x[:, i, None] for x in (q, dq, ddq))
            slide = self.slides[i]
            p[i] = self.at[i] + (z * s if slide else zero)
            R[i] = np.broadcast_to(np.eye(3), (T, 3, 3)) if slide else rotation(z, q[:, i])
            back = np.transpose(R[i], (0, 2, 1))
            carried = a[j] + cross(dw[j], p[i]) + cross(w[j], cross(w[j], p[i]))
            if slide:
                w[i], dw[i] = w[j], dw[j]
                a[i] = carried + 2 * cross(w[j], z * ds) + z * dds
            else:
                before = turned(back, w[j])
                w[i] = before + z * ds
                dw[i] = turned(back, dw[j]) + z * dds + cross(before, z * ds)
                a[i] = turned(back, carried)
            J, r = self.rotor[i], self.ratio[i]
            spin[j] = spin[j] + J * r * (z * dds + cross(w[j], z * ds))
            tau[:, i] += J * r * (r * ddq[:, i] + dw[j] @ z)
        f, n = {i: zero for i in range(-1, self.n)}, {i: spin[i] for i in range(-1, self.n)}
        for i in reversed(range(self.n)):  # add each link to the force and moment on its parent
            x, j = self.bodies[i], self.parent[i]
            force = x.m * (a[i] + cross(dw[i], x.com) + cross(w[i], cross(w[i], x.com)))
            moment = dw[i] @ x.I_com + cross(w[i], w[i] @ x.I_com)
            f[i] = f[i] + force
            n[i] = n[i] + moment + cross(x.com, force)
            tau[:, i] += (f[i] if self.slides[i] else n[i]) @ self.axis[i]
            up = turned(R[i], f[i])
            f[j], n[j] = f[j] + up, n[j] + turned(R[i], n[i]) + cross(p[i], up)
        return tau

    def gravity_forces(self, q: Array) -> Array:
        """Joint forces that hold the robot at rest, (T, n)."""
        return self.rigid_forces(q, 0 * q, 0 * q)

    def friction(self, dq: Array) -> Array:
        """Viscous, Coulomb and Stribeck friction of moving joints, (T, n)."""
        dry = self.coulomb
        if self.static is not None and self.stribeck_speed is not None:
            dry = dry + (self.static - dry) * np.exp(-((dq / self.stribeck_speed) ** 2))
        found = self.viscous * dq + dry * np.sign(dq)
        if self.coupled is not None:
            rate = dq @ self.coupled
            force = self.motor[1] * rate + self.motor[2] * np.sign(rate)
            found += np.outer(force, self.coupled)
        return found

    def robot(self, masses: Array | float = 1.0, drives: bool = True) -> kt.Robot:
        """The robot for kinetree, with masses and inertias times `masses`, (n,).

        Args:
            masses: factors of the masses, dimensionless.
            drives: with friction and armature; rotors are always there.
        """
        scale = np.broadcast_to(masses, self.n)
        builder = Builder("random robot", GRAVITY).link("base")
        for i, x in enumerate(self.bodies):
            builder.link(f"link{i + 1}", scale[i] * x.m, x.com, scale[i] * x.I_com)
            bend = None
            if self.static is not None and self.stribeck_speed is not None:
                bend = kt.friction.Stribeck(float(self.static[i]), float(self.stribeck_speed[i]))
            friction = Friction(float(self.viscous[i]), float(self.coulomb[i]), stribeck=bend)
            builder.joint(
                f"joint{i + 1}", "prismatic" if self.slides[i] else "revolute",
                "base" if self.parent[i] < 0 else f"link{self.parent[i] + 1}", f"link{i + 1}",
                at=self.at[i], axis=self.axis[i],
                friction=friction if drives else Friction(),
                armature=float(self.armature[i]) * drives,
                rotor=Rotor(float(scale[i] * self.rotor[i]), float(self.ratio[i]))
                if self.rotor[i] else None,
            )  # fmt: skip
        robot = builder.build()
        if self.coupled is None:
            return robot
        ratios = {f"joint{i + 1}": float(self.coupled[i]) for i in np.flatnonzero(self.coupled)}
        J, v, c = np.array(self.motor) * drives
        return robot.with_motors({"coupled": Motor(ratios, J, Friction(v, c))})


def cross(a: Array, b: Array) -> Array:
    """Cross products of rows (np.cross is slower)."""
    a, b = np.broadcast_arrays(a, b)
    return a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]


def turned(R: Array, x: Array) -> Array:
    """R @ x of every row, (T, 3)."""
    return np.einsum("tij,tj->ti", R, x)


def rotation(axis: Array, angle: Array) -> Array:
    """Rotation matrices about an axis of length 1, (T, 3, 3), by the formula of Rodrigues."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.eye(3) + s * K + (1 - c) * (K @ K)


@dataclass(frozen=True, eq=False)
class Motion:
    """A Fourier series of every joint: middle (n,), coefficients of cosines and sines (H, n)."""

    middle: Array
    cosines: Array
    sines: Array

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """q, dq and ddq at some times, each (T, n)."""
        w = 2 * np.pi / PERIOD * np.arange(1, len(self.sines) + 1)
        c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
        A, B = self.cosines, self.sines
        q = self.middle + c @ A + s @ B
        return q, (c * w) @ B - (s * w) @ A, -(c * w**2) @ A - (s * w**2) @ B


def random_body(rng: np.random.Generator, m: float, span: Array) -> Body:
    """A box-like body around the middle of a link that spans a vector, m."""
    size = rng.uniform(0.06, 0.16, 3) + 0.8 * np.abs(span)
    I_box = m / 12 * np.diag((size**2).sum() - size**2)
    turn = rng.normal(size=3)
    R = rotation(turn / np.linalg.norm(turn), np.array([rng.uniform(0, 0.6)]))[0]
    return Body(m, 0.5 * span + rng.normal(size=3) * 0.02, R @ I_box @ R.T)


def random_machine(rng: np.random.Generator) -> tuple[Machine, Motion]:
    """A robot and its exciting motion; drives are sized by the forces of that motion."""
    n = int(rng.integers(3, 8))
    chain = rng.random() < 0.7
    parent = [i - 1 if chain or rng.random() < 0.7 else int(rng.integers(-1, i)) for i in range(n)]
    slides = [bool(rng.random() < 0.1) for _ in range(n)]
    axes, spans = [], []
    for i in range(n):
        z = np.eye(3)[2 if i == 0 and rng.random() < 0.6 else int(rng.integers(3))]
        z = z + (rng.random() < 0.2) * 0.3 * rng.normal(size=3)  # some axes are askew
        axes.append(z / np.linalg.norm(z) * rng.choice([-1, 1]))
        spans.append(rng.uniform(0.1, 0.4) * 0.9**i * np.eye(3)[int(rng.integers(3))])
    bodies = [random_body(rng, 10 * 0.7**i * rng.uniform(0.6, 1.4), spans[i]) for i in range(n)]
    at = [spans[j] if j >= 0 else np.array([0, 0, 0.3]) for j in parent]
    none = np.zeros(n)
    bare = Machine(parent, slides, axes, at, bodies, none, none, none, none, none)
    motion = random_motion(rng, np.array(slides))
    t = np.arange(0, PERIOD, 0.02)
    q, dq, ddq = motion.at(t)
    force = np.sqrt((bare.rigid_forces(q, dq, ddq) ** 2).mean(axis=0))
    force = np.maximum(force, 0.02 * force.max())
    speed, acceleration = (np.sqrt((x**2).mean(axis=0)) for x in (dq, ddq))
    reflected = rng.uniform(0.05, 0.4, n) * force / acceleration
    ratio = np.round(rng.uniform(30, 120, n))
    spinning = rng.random() < 1 / 3
    machine = replace(
        bare,
        rotor=reflected / ratio**2 if spinning else none,
        ratio=ratio if spinning else none,
        armature=none if spinning else reflected,
        coulomb=rng.uniform(0.05, 0.3, n) * force,
        viscous=rng.uniform(0.05, 0.3, n) * force / speed,
    )
    return machine, motion


def random_motion(rng: np.random.Generator, slides: Array) -> Motion:
    """A motion with peak rates of 0.8 to 1.8 rad/s, or a fifth of that in m/s."""
    n = len(slides)
    size = 1 / np.arange(1, HARMONICS + 1)[:, None] ** 0.7
    A, B = rng.normal(size=(2, HARMONICS, n)) * size
    wild = Motion(rng.uniform(-0.6, 0.6, n), A, B)
    _, dq, _ = wild.at(np.arange(0, PERIOD, 0.02))
    scale = rng.uniform(0.8, 1.8, n) * np.where(slides, 0.2, 1.0) / np.abs(dq).max(axis=0)
    return Motion(wild.middle * np.where(slides, 0.1, 1.0), A * scale, B * scale)
