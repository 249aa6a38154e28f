"""Newton's and Euler's equations in many digits, with vectors in {s}, to check exported code.

It shares no code with the algorithms and kernels: positions, velocities and accelerations of the
links are added up in the fixed frame, and forces are summed from the tip. For chains of revolute
joints without friction, springs and rotors; numbers of the model are taken as they are.
"""

from collections.abc import Sequence

import mpmath as mp

import kinetree as kt

DIGITS = 30
Vector = list[mp.mpf]


def vector(values: Sequence[float]) -> Vector:
    return [mp.mpf(float(x)) for x in values]


def plus(*terms: Vector) -> Vector:
    return [mp.fsum(parts) for parts in zip(*terms, strict=True)]


def times(a: mp.mpf, x: Vector) -> Vector:
    return [a * each for each in x]


def cross(a: Vector, b: Vector) -> Vector:
    return [a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3] for k in range(3)]


def dot(a: Vector, b: Vector) -> mp.mpf:
    return mp.fdot(a, b)


def turned(R: list[Vector], x: Vector) -> Vector:
    return [dot(row, x) for row in R]


def product(R: list[Vector], Q: list[Vector]) -> list[Vector]:
    columns = [list(column) for column in zip(*Q, strict=True)]
    return [[dot(row, column) for column in columns] for row in R]


def rotation(axis: Vector, angle: mp.mpf) -> list[Vector]:
    """Rodrigues' formula: columns are the turned unit vectors."""
    s, c = mp.sin(angle), mp.cos(angle)
    columns = []
    for k in range(3):
        unit = [mp.mpf(int(k == j)) for j in range(3)]
        along = times((1 - c) * dot(axis, unit), axis)
        columns.append(plus(times(c, unit), times(s, cross(axis, unit)), along))
    return [list(row) for row in zip(*columns, strict=True)]


def newton_euler(
    model: kt.Model, q: Sequence[float], dq: Sequence[float], ddq: Sequence[float]
) -> list[mp.mpf]:
    """Joint torques of a chain of revolute joints, in 30 digits."""
    with mp.workdps(DIGITS):
        return _torques(model, vector(q), vector(dq), vector(ddq))


def _torques(model: kt.Model, q: Vector, dq: Vector, ddq: Vector) -> list[mp.mpf]:
    zero = vector([0, 0, 0])
    R = [vector(row) for row in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]]
    p, w, dw, a = zero, zero, zero, zero  # origin, angular velocity, its rate, acceleration
    gravity = vector(model.gravity[3:])
    axes, origins, forces, moments, centres = [], [], [], [], []
    for i in range(model.n):
        assert model.parent[i] == i - 1 and not model.A[i][3:].any()
        home = model.M_pi[i]
        out = turned(R, vector(home[:3, 3]))
        a = plus(a, cross(dw, out), cross(w, cross(w, out)))
        p = plus(p, out)
        R = product(R, [vector(row) for row in home[:3, :3]])
        own = vector(model.A[i][:3, 0])
        axis = turned(R, own)
        dw = plus(dw, times(ddq[i], axis), times(dq[i], cross(w, axis)))
        w = plus(w, times(dq[i], axis))
        R = product(R, rotation(own, q[i]))
        com = turned(R, vector(model.com[i]))
        of_centre = plus(a, cross(dw, com), cross(w, cross(w, com)))
        inertia = [vector(row) for row in model.I_com[i]]
        back = [list(row) for row in zip(*R, strict=True)]
        local_w, local_dw = turned(back, w), turned(back, dw)
        spin = plus(turned(inertia, local_dw), cross(local_w, turned(inertia, local_w)))
        axes.append(axis)
        origins.append(p)
        centres.append(plus(p, com))
        forces.append(times(mp.mpf(float(model.m[i])), plus(of_centre, times(mp.mpf(-1), gravity))))
        moments.append(turned(R, spin))
    torques = []
    for i in range(model.n):
        arms = (plus(centres[k], times(mp.mpf(-1), origins[i])) for k in range(i, model.n))
        levers = [cross(arm, forces[k]) for k, arm in enumerate(arms, i)]
        torques.append(dot(axes[i], plus(*levers, *moments[i:])))
    return torques
