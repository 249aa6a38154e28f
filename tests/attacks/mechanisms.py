"""Random mechanisms as plain data, their robots in any units, and their dynamics by another way.

The dynamics here share no code with kinetree: velocities and accelerations of every link in the
fixed frame, and joint forces by virtual power. They run on floats and on mpmath numbers alike.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from attack_plants import body

import kinetree as kt

SIZES = {"revolute": 1, "prismatic": 1, "helical": 1, "spherical": 3, "free": 6}


@dataclass
class Part:
    """A link and the joint that it hangs on; lengths in m, masses in kg, times in s."""

    name: str
    type: str
    parent: int  # -1: the world
    R: Any  # turn of {i} in {p} at q = 0
    p: Any
    axis: Any
    point: Any
    pitch: float
    body: Any  # m, com, I_com
    viscous: Any = (0.0, 0.0)
    coulomb: Any = (0.0, 0.0)
    armature: float = 0.0
    rotor: Any = None  # inertia, ratio, axis, link that carries it (-1: the base)
    mimic: Any = None  # source, multiplier, offset


@dataclass
class Mechanism:
    """Links in order, and gravity. first: where dq of each joint begins."""

    parts: list[Part]
    gravity: Any
    names: list[str] = field(default_factory=list)

    @property
    def dofs(self) -> list[list[int]]:
        """Entries of dq that move each joint."""
        found: list[list[int]] = []
        at = 0
        for x in self.parts:
            if x.mimic is not None:
                found.append(found[x.mimic[0]])
            else:
                found.append(list(range(at, at + SIZES[x.type])))
                at += SIZES[x.type]
        return found

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return sum(SIZES[x.type] for x in self.parts if x.mimic is None)


def random_mechanism(rng: Any, most: int = 4, types: Any = None, drives: bool = True) -> Mechanism:
    """A tree of 1 to `most` joints; half of its axes are along coordinates, as real ones are."""
    types = types or ["revolute", "revolute", "revolute", "prismatic", "helical", "spherical"]
    parts: list[Part] = []
    for i in range(int(rng.integers(1, most + 1))):
        parent = int(rng.integers(-1, i)) if rng.random() < 0.3 else i - 1
        type = str(rng.choice(types))
        if i == 0 and rng.random() < 0.1:
            type = "free"
        straight = rng.random() < 0.5
        at = rng.normal(size=3) * 0.3
        if straight:
            at = at * np.eye(3)[int(rng.integers(3))]
        offset = rng.normal(size=3) * 0.1 * float(rng.random() < 0.3)
        parts.append(
            Part(
                f"link{i}", type, parent, turn(rng, straight), at, direction(rng, straight),
                offset, float(rng.normal()) * 0.05 if type == "helical" else 0.0, body(rng),
            )
        )  # fmt: skip
        if drives and SIZES[type] == 1:
            _drive(rng, parts, i)
    g = np.array([0, 0, -9.81]) if rng.random() < 0.7 else rng.normal(size=3) * 5
    return Mechanism(parts, g * float(rng.random() < 0.95))


def _drive(rng: Any, parts: list[Part], i: int) -> None:
    x = parts[i]
    screws = [k for k in range(i) if SIZES[parts[k].type] == 1 and parts[k].mimic is None]
    if screws and rng.random() < 0.15:
        multiplier = float(rng.choice([-1.0, 0.5, 2.0]))
        x.mimic = (screws[int(rng.integers(len(screws)))], multiplier, 0.1)
    if rng.random() < 0.6:
        x.viscous = tuple(rng.uniform(0, 1, 2).tolist())
        x.coulomb = tuple(rng.uniform(0, 1, 2).tolist())
        x.armature = float(rng.uniform(0, 0.1))
    if rng.random() < 0.6:
        ratio = float(rng.choice([-160.0, -80.0, 1.0, 50.0, 80.0, 160.0]))
        carrier = int(rng.integers(-1, i)) if rng.random() < 0.7 else x.parent
        x.rotor = (
            float(rng.uniform(1e-6, 1e-3)),
            ratio,
            direction(rng, rng.random() < 0.5),
            carrier,
        )


def direction(rng: Any, straight: bool) -> Any:
    """A unit vector, along a coordinate axis where `straight`."""
    if straight:
        return np.eye(3)[int(rng.integers(3))] * float(rng.choice([-1, 1]))
    x = rng.normal(size=3) + np.array([1e-3, 0, 0])
    return x / np.linalg.norm(x)


def turn(rng: Any, straight: bool) -> Any:
    """A rotation; a permutation of the axes where `straight`, exact in floats."""
    if straight:
        R = np.eye(3)[:, rng.permutation(3)]
        return R * np.linalg.det(R)
    Q = np.linalg.qr(rng.normal(size=(3, 3)) + 0.1 * np.eye(3))[0]
    return Q * np.sign(np.linalg.det(Q))


def robot_of(
    mechanism: Mechanism,
    length: float = 1.0,
    mass: float = 1.0,
    time: float = 1.0,
    order: Any = None,
    names: Any = None,
) -> Any:
    """The robot; `length` is how many of the unit of length a metre is (1000: mm), and so on.

    order: in which links are handed to the Builder; names: others than the parts' own.
    """
    parts = mechanism.parts
    names = names or [x.name for x in parts]
    builder = kt.Builder("mechanism", gravity=mechanism.gravity * length / time**2)
    builder.link("ground")
    force = mass * length / time**2
    for i in range(len(parts)) if order is None else order:
        x = parts[i]
        m, com, I = x.body
        builder.link(names[i], m * mass, com * length, I * mass * length**2)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = x.R, x.p * length
        slides = x.type == "prismatic"
        own = force * (1 if slides else length)
        rate = (length if slides else 1) / time
        options: dict[str, Any] = {}
        if SIZES[x.type] == 1:
            options = {"axis": x.axis, "point": x.point * length, "pitch": x.pitch * length}
            options["friction"] = kt.Friction(
                tuple(c * own / rate for c in x.viscous), tuple(c * own for c in x.coulomb)
            )
            options["armature"] = x.armature * own * time / rate
        if x.rotor is not None:
            inertia, ratio, s, carrier = x.rotor
            where = "ground" if carrier < 0 else names[carrier]
            options["rotor"] = kt.Rotor(
                inertia * mass * length**2, ratio / (length if slides else 1), s, where
            )
        if x.mimic is not None:
            source, multiplier, offset = x.mimic
            ways = [length if parts[k].type == "prismatic" else 1 for k in (i, source)]
            options["mimic"] = kt.Mimic(
                f"j_{names[source]}", multiplier * ways[0] / ways[1], offset * ways[0]
            )
        parent = "ground" if x.parent < 0 else names[x.parent]
        builder.joint(f"j_{names[i]}", x.type, parent, names[i], at=T, **options)
    return builder.build()


def random_motion(mechanism: Mechanism, rng: Any) -> tuple[Any, Any, Any]:
    """q with quaternions first in its joint, dq and ddq."""
    q: list[float] = []
    for x in mechanism.parts:
        if x.mimic is not None:
            continue
        if SIZES[x.type] == 1:
            reach = 0.3 if x.type == "prismatic" else 3.0
            q += [float(rng.uniform(-reach, reach))]
        else:
            turned = rng.normal(size=4) + np.array([0.1, 0, 0, 0])
            q += (turned / np.linalg.norm(turned)).tolist()
            q += rng.normal(size=3).tolist() if x.type == "free" else []
    return np.array(q), *(rng.normal(size=(2, mechanism.n)) * 2 + 0.01)


def in_units(mechanism: Mechanism, motion: Any, length: float, time: float) -> tuple[Any, Any, Any]:
    """The same motion in other units."""
    q, dq, ddq = motion
    places, rates = [], []
    for x in mechanism.parts:
        if x.mimic is None:
            slides = {"prismatic": [True], "spherical": [False] * 3}.get(x.type, [False])
            slides = [False] * 3 + [True] * 3 if x.type == "free" else slides
            rates += slides
            places += slides if SIZES[x.type] == 1 else [False] * 4 + slides[3:]
    way, rate = (np.where(k, length, 1.0) for k in (places, rates))
    return q * way, dq * rate / time, ddq * rate / time**2


def force_units(mechanism: Mechanism, length: float, mass: float, time: float) -> Any:
    """What one N m or N is in other units, (n,)."""
    found: list[float] = []
    for x in mechanism.parts:
        if x.mimic is None:
            k = {"prismatic": [0], "free": [1, 1, 1, 0, 0, 0]}.get(x.type, [1] * SIZES[x.type])
            found += [mass * length / time**2 * length**e for e in k]
    return np.array(found)


# ------------------------------------------------------------------------- dynamics, once again


def cross(a: Any, b: Any) -> Any:
    """a x b of any numbers."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def regressor(mechanism: Mechanism, q: Any, dq: Any, ddq: Any, exact: bool = False) -> Any:
    """Y, (n, p), columns as in `kt.algorithms.parameter_list`: links, joints, rotors.

    exact: mpmath numbers, with rotations and axes completed to all digits.
    """
    kin = _Kinematics(mechanism, q, dq, ddq, exact)
    n, zero = mechanism.n, kin.number(0)
    columns = []
    for i in range(len(mechanism.parts)):
        omega, alpha, a = kin.omega[i], kin.alpha[i], kin.a[i] - kin.g
        units: list[tuple[Any, Any, Any]] = []
        R, flat = kin.R[i], np.array([zero] * 3)
        units.append((a, flat, None))
        for k in range(3):
            h = R[:, k]
            force = cross(alpha, h) + cross(omega, cross(omega, h))
            units.append((force, cross(h, a), None))
        for b, c in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            I = np.array([[zero] * 3] * 3)
            I[b, c] = I[c, b] = kin.number(1)
            I = R @ I @ R.T
            units.append((flat, I @ alpha + cross(omega, I @ omega), None))
        for force, moment, _ in units:
            column = np.array([zero] * n)
            for j, (w, v) in kin.moves(i):
                column[j] = column[j] + w @ moment + v @ force
            columns.append(column)
    for i, x in enumerate(mechanism.parts):
        columns += _joint_columns(mechanism, kin, i, x)
    for i, x in enumerate(mechanism.parts):
        if x.rotor is not None:
            columns.append(_rotor_column(mechanism, kin, i, x))
    return np.array(columns).T


def _joint_columns(mechanism: Mechanism, kin: Any, i: int, x: Part) -> list[Any]:
    scale = kin.number(1 if x.mimic is None else x.mimic[1])
    found = [np.array([kin.number(0)] * mechanism.n) for _ in range(5)]
    for j in mechanism.dofs[i]:
        rate, push = kin.dq[j] * scale, kin.ddq[j] * scale
        if x.type == "free" and j >= mechanism.dofs[i][3]:  # of the speed in the parent's axes
            push = push + cross(*kin.dq[mechanism.dofs[i]].reshape(2, 3))[j - mechanism.dofs[i][3]]
        forward, backward = rate > 0, rate < 0
        values = [rate * forward, rate * backward, 1 * forward, -1 * backward, push]
        for column, value in zip(found, values, strict=True):
            column[j] = column[j] + value * scale
    return found


def _rotor_column(mechanism: Mechanism, kin: Any, i: int, x: Part) -> Any:
    column = np.array([kin.number(0)] * mechanism.n)
    j, link = mechanism.dofs[i][0], x.rotor[3]
    ratio = kin.number(x.rotor[1]) * kin.number(1 if x.mimic is None else x.mimic[1])
    column[j] = ratio * ratio * kin.ddq[j]
    if link >= 0:
        s = kin.R[link] @ kin.unit(x.rotor[2])
        twist = ratio * (s * kin.ddq[j] + cross(kin.omega[link], s) * kin.dq[j])
        column[j] = column[j] + ratio * (s @ kin.alpha[link])
        for k, (w, _) in kin.moves(link):
            column[k] = column[k] + w @ twist
    return column


def parameters(mechanism: Mechanism) -> Any:
    """Pi of the mechanism, in the order of the columns of `regressor`."""
    found: list[float] = []
    for x in mechanism.parts:
        m, c, I = x.body
        I = I + m * (c @ c * np.eye(3) - np.outer(c, c))
        found += [m, *(m * c), I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]]
    for x in mechanism.parts:
        found += [*x.viscous, *x.coulomb, x.armature]
    return np.array(found + [x.rotor[0] for x in mechanism.parts if x.rotor is not None])


class _Kinematics:
    """Rotation, origin, and velocities and accelerations of every link, in the fixed frame."""

    def __init__(self, mechanism: Mechanism, q: Any, dq: Any, ddq: Any, exact: bool) -> None:
        self.exact, self.mechanism = exact, mechanism
        self.g = self.numbers(mechanism.gravity)
        self.dq, self.ddq = self.numbers(dq), self.numbers(ddq)
        q = self.numbers(q)
        self.R, self.o, self.omega, self.v, self.alpha, self.a = [], [], [], [], [], []
        self.axes: list[list[tuple[int, Any, Any, Any]]] = []  # dof, turn, slide, point
        at = 0
        sources: list[Any] = []
        for i, x in enumerate(mechanism.parts):
            if x.mimic is None:
                size = SIZES[x.type] if SIZES[x.type] == 1 else SIZES[x.type] + 1
                own = q[at : at + size]
                at += size
            else:
                own = sources[x.mimic[0]] * self.number(x.mimic[1]) + self.number(x.mimic[2])
            sources.append(own)
            self._place(i, x, own)

    def number(self, x: Any) -> Any:
        if not self.exact:
            return float(x)
        import mpmath

        return mpmath.mpf(x)

    def numbers(self, x: Any) -> Any:
        x = np.asarray(x)
        return np.array([self.number(v) for v in x.ravel().tolist()]).reshape(x.shape)

    def sincos(self, x: Any) -> tuple[Any, Any]:
        if not self.exact:
            return np.sin(x), np.cos(x)
        import mpmath

        return mpmath.sin(x), mpmath.cos(x)

    def unit(self, x: Any) -> Any:
        x = self.numbers(x)
        return x / (x @ x) ** self.number(0.5)

    def _rotation(self, R: Any) -> Any:
        R = self.numbers(R)
        for _ in range(3 if self.exact else 0):  # Newton: each step doubles the digits
            R = R @ (3 * np.eye(3, dtype=int) - R.T @ R) / 2
        return R

    def _place(self, i: int, x: Part, own: Any) -> None:
        zero = self.numbers(np.zeros(3))
        if x.parent < 0:
            R, o, omega, alpha, a = self.numbers(np.eye(3)), zero, zero, zero, zero
        else:
            k = x.parent
            R, o, omega, alpha, a = self.R[k], self.o[k], self.omega[k], self.alpha[k], self.a[k]
        R0, o0 = R @ self._rotation(x.R), o + R @ self.numbers(x.p)
        dofs = self.mechanism.dofs[i]
        scale = self.number(1 if x.mimic is None else x.mimic[1])
        if SIZES[x.type] == 1:
            u, c = self.unit(x.axis), self.numbers(x.point)
            pitch = self.number(x.pitch if x.type == "helical" else 0)
            rate, push = self.dq[dofs[0]] * scale, self.ddq[dofs[0]] * scale
            world = R0 @ u
            if x.type == "prismatic":
                Ri, slide, spin = R0, self.number(1), self.number(0)
                oi = o0 + world * own[0]
            else:
                s, cos = self.sincos(own[0])
                turned = np.eye(3, dtype=int) + s * _hat(u) + (1 - cos) * (_hat(u) @ _hat(u))
                Ri, slide, spin = R0 @ turned, pitch, self.number(1)
                oi = o0 + R0 @ (c - turned @ c) + world * (pitch * own[0])
            on_axis = oi + Ri @ c  # of the link, on the axis
            self.axes.append([(dofs[0], world * (spin * scale), world * (slide * scale), on_axis)])
            d = on_axis - o
            at_axis = a + cross(alpha, d) + cross(omega, cross(omega, d))
            at_axis = at_axis + world * (slide * push) + 2 * slide * rate * cross(omega, world)
            w_i = omega + world * (spin * rate)
            alpha_i = alpha + world * (spin * push) + cross(omega, world) * (spin * rate)
            d = oi - on_axis
            a_i = at_axis + cross(alpha_i, d) + cross(w_i, cross(w_i, d))
        else:
            turn_q = own[:4] / (own[:4] @ own[:4]) ** self.number(0.5)
            Ri = R0 @ _of_quaternion(turn_q)
            free = x.type == "free"
            oi = o0 + R0 @ own[4:] if free else o0
            w, dw = Ri @ self.dq[dofs[:3]], Ri @ self.ddq[dofs[:3]]
            v = Ri @ self.dq[dofs[3:]] if free else zero
            dv = Ri @ self.ddq[dofs[3:]] if free else zero
            d = oi - o
            a_i = a + cross(alpha, d) + cross(omega, cross(omega, d))
            a_i = a_i + 2 * cross(omega, v) + dv + cross(w, v)
            w_i, alpha_i = omega + w, alpha + dw + cross(omega, w)
            axes = [(dofs[k], Ri[:, k], zero, oi) for k in range(3)]
            axes += [(dofs[3 + k], zero, Ri[:, k], oi) for k in range(3 if free else 0)]
            self.axes.append(axes)
        self.R.append(Ri), self.o.append(oi), self.omega.append(w_i)
        self.alpha.append(alpha_i), self.a.append(a_i)

    def moves(self, i: int) -> list[tuple[int, tuple[Any, Any]]]:
        """Degrees of freedom that move link i, with the turn and speed they give its origin."""
        found, k = [], i
        while k >= 0:
            for j, w, v, c in self.axes[k]:
                found.append((j, (w, v + cross(w, self.o[i] - c))))
            k = self.mechanism.parts[k].parent
        return found


def _hat(w: Any) -> Any:
    zero = w[0] * 0
    return np.array([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]])


def _of_quaternion(x: Any) -> Any:
    w, v = x[0], x[1:]
    return (w * w - v @ v) * np.eye(3, dtype=int) + 2 * np.outer(v, v) + 2 * w * _hat(v)


def exact_rank(Y: Any, digits: int = 30) -> int:
    """Rank of a matrix of mpmath numbers by elimination with full pivoting, columns at size 1."""
    A = np.array(Y)
    size = np.abs(A).max(axis=0)
    A = A[:, size > 10.0**-digits]
    A = A / np.abs(A).max(axis=0) if A.size else A
    rank = 0
    while rank < min(A.shape):
        rest = np.abs(A[rank:, rank:])
        k, j = np.unravel_index(int(rest.argmax()), rest.shape)
        if rest[k, j] < 10.0**-digits:
            break
        k, j = k + rank, j + rank
        A[[rank, k]] = A[[k, rank]]
        A[:, [rank, j]] = A[:, [j, rank]]
        factor = A[rank + 1 :, rank] / A[rank, rank]
        A[rank + 1 :, rank:] = A[rank + 1 :, rank:] - np.outer(factor, A[rank, rank:])
        rank += 1
    return rank
