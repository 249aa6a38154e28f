"""Exact numbers for a robot: the decimals and angles that were meant, without rounding errors.

Lengths, masses and the like become the fraction of their shortest decimal: 0.4318 is 2159/5000.
Directions and rotations become exactly orthonormal: an entry whose square is a simple fraction is
its root (0, 1/2, sqrt(2)/2, sqrt(3)/2, 1 of angles in steps of pi/6 and pi/4); any other rotation
is that of a quaternion of nearby fractions.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, known
from kinetree.core.records import mapped, number_fields
from kinetree.files.description.joints import REVOLUTE
from kinetree.files.description.records import Note
from kinetree.model import Frame, Joint, Model
from kinetree.model.constraints import Closure, Constraints, Coupling
from kinetree.spatial import cross, quaternion
from kinetree.spatial.so3 import quaternion_rotation
from kinetree.symbols.ring import Expression

NOTED = 1e-15  # largest change of a rotation without a note: rounding
LARGEST_DENOMINATOR = 64  # of the square of an entry that is taken as a root
ROUNDING = 16 * float(np.finfo(float).eps)


def exact_model(model: Model, snap: float) -> tuple[Model, list[Note]]:
    """The same robot in exact numbers, and notes on rotations that were changed.

    snap: largest distance of a rotation's entry from a simple root that replaces it.
    """
    notes: list[Note] = []

    def pose(T: Array, owner: str) -> Array:
        T = np.asarray(T)
        R, change = exact_rotation(T[:3, :3], snap)
        if change > NOTED:
            notes.append(Note(f"rotation of {owner} taken as exact, {change:.1e} away"))
        return _pose(R, exact_array(T[:3, 3]))

    def closed(_: int, T: Array, constraint: str) -> Array:
        return pose(T, f"constraint {constraint!r}")

    def hinged(x: Joint) -> Joint:
        if x.screw is None:
            return x
        return replace(x, screw=exact_screw(np.asarray(x.screw), snap, x.type == REVOLUTE))

    rules = {**RULES, "s": lambda s: exact_direction(np.asarray(s), snap)}

    def number(x: Any, field: str) -> Any:
        usual = exact_array if isinstance(x, np.ndarray) else exact_number
        return rules.get(field, usual)(x)

    parts = {x: mapped(getattr(model, x), number, x) for x in number_fields(Model)}
    exact = model.replace(**parts)
    homes = zip(model.M_pi, model.joints, strict=True)
    M_pi = [pose(M, f"joint {joint.name!r}") for M, joint in homes]
    frames = {
        name: Frame(x.link, pose(x.T_if, f"frame {name!r}")) for name, x in model.frames.items()
    }
    held = exact.constraints
    return exact.replace(
        M_pi=np.array(M_pi, object).reshape(-1, 4, 4),
        joints=tuple(map(hinged, exact.joints)),
        frames=frames,
        constraints=None if held is None else with_frames(held, closed),
    ), notes


def with_frames(
    constraints: Constraints, change: Callable[[int, Array, str], Array]
) -> Constraints:
    """The constraints with other frames of loops, made of link, pose and name of the constraint."""

    def changed(x: Closure | Coupling) -> Closure | Coupling:
        if isinstance(x, Coupling):
            return x
        T_a, T_b = change(x.link_a, x.T_a, x.name), change(x.link_b, x.T_b, x.name)
        return replace(x, T_a=T_a, T_b=T_b)

    return replace(constraints, items=tuple(map(changed, constraints.items)))


def _rows(x: Array) -> Array:
    """Exact rows; rounding errors are judged relative to the row's own entries."""
    return np.array([exact_array(row) for row in x], object).reshape(x.shape)


def _pose(R: Array, p: Array) -> Array:
    from sympy import Integer

    row = [Integer(0), Integer(0), Integer(0), Integer(1)]
    return np.array([[*R[k], p[k]] for k in range(3)] + [row], object)


def exact_offset(offset: Expression) -> Expression:
    """A multiple of pi/12 if the offset is one up to rounding, else its decimal."""
    from sympy import Rational, pi

    if isinstance(offset, float):
        twelfths = round(offset * 12 / np.pi)
        if twelfths and abs(offset - twelfths * np.pi / 12) < 1e-15 * abs(twelfths):
            return Rational(twelfths, 12) * pi
    return exact_number(offset)


def exact_number(x: Expression) -> Expression:
    """A SymPy number for a float, an integer or a fraction; symbols and expressions as they are."""
    from sympy import Float, Integer, Rational, nsimplify, sympify

    if isinstance(x, int | np.integer):
        return Integer(int(x))
    if isinstance(x, float | np.floating):
        return Rational(shortest(float(x)))
    if isinstance(x, Fraction):
        return Rational(x.numerator, x.denominator)
    x = sympify(x)
    floats = x.atoms(Float)
    return x.xreplace({f: nsimplify(str(f), rational=True) for f in floats}) if floats else x


def shortest(x: float) -> str:
    """The decimal that was meant: 0.30000000000000004, the sum of 0.1 and 0.2, is 0.3."""
    full, fifteen = repr(x), f"{x:.15g}"
    return fifteen if len(fifteen) <= len(full) - 3 else full


def exact_array(x: ArrayLike) -> Array:
    """Every entry exact; floats that are rounding errors of the largest one are zero."""
    x = np.asarray(x)
    floats = [abs(v) for v in x.ravel().tolist() if isinstance(v, float)]
    dust = ROUNDING * max(floats, default=0)
    out = np.empty(x.shape, object)
    for index, entry in np.ndenumerate(x):
        small = isinstance(entry, float) and abs(entry) < dust
        out[index] = exact_number(0 if small else entry)
    return out


def floats_of(x: Array) -> Array | None:
    """The entries as floats if all are numbers and some are floats; None for exact ones."""
    from sympy import Float

    values = known(x)
    rounded = any(isinstance(v, float | Float) for v in x.ravel().tolist())
    return values if rounded else None


def exact_rotation(R: Array, snap: float) -> tuple[Array, float]:
    """An exact rotation at most `snap` (or rounding) away, and the largest change of an entry."""
    values = floats_of(R)
    if values is None:
        return exact_array(R), 0.0
    entries = [[root_entry(x, snap) for x in row] for row in values]
    if all(x is not None for row in entries for x in row) and _orthonormal(entries):
        exact = np.array(entries, object)
    else:
        exact = fraction_rotation(values)
    return exact, float(np.abs(exact.astype(float) - values).max())


def root_entry(x: float, snap: float) -> Expression | None:
    """The square root of a simple fraction within `snap` of x, or None."""
    from sympy import Rational, sqrt

    square = Fraction(x * x).limit_denominator(LARGEST_DENOMINATOR)
    root = float(square) ** 0.5
    if abs(abs(x) - root) > max(snap, ROUNDING):
        return None
    exact = sqrt(Rational(square.numerator, square.denominator))
    return -exact if x < 0 else exact


def _orthonormal(rows: list[list[Expression]]) -> bool:
    from sympy import expand

    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    return all(
        expand(sum(rows[i][k] * rows[j][k] for k in range(3))) == int(i == j) for i, j in pairs
    )


def fraction_rotation(R: Array) -> Array:
    """The rotation of a quaternion of fractions: (w, x, y, z) / |.| needs no root in R."""
    q = exact_array(quaternion(R))
    square = q @ q
    unit = quaternion_rotation(np.array([*q]))  # 1 - 2 (y y + z z) is for length 1 only
    eye = np.eye(3, dtype=int)
    return np.array(
        [[eye[i, j] + (unit[i, j] - eye[i, j]) / square for j in range(3)] for i in range(3)]
    )


def exact_direction(w: Array, snap: float) -> Array:
    """An exact unit vector: roots of simple fractions, or fractions on the unit sphere."""
    values = floats_of(w)
    if values is None:
        return exact_array(w)
    entries = [root_entry(x, snap) for x in values]
    roots = [x for x in entries if x is not None]
    if len(roots) == 3 and sum(x * x for x in roots) == 1:
        return np.array(roots, object)
    # stereographic projection from the pole opposite to the largest entry: u is rational and small
    k = int(np.argmax(np.abs(values)))
    pole = 1 if values[k] > 0 else -1
    u = exact_array(values / (1 + abs(values[k])))
    u[k] = exact_number(0)
    square = u @ u
    return np.array([pole * (1 - square) if i == k else 2 * u[i] for i in range(3)]) / (1 + square)


def exact_screw(S: Array, snap: float, hinge: bool) -> Array:
    """An exact screw axis: |w| = 1, or w = 0 and |v| = 1; a hinge has exactly w . v = 0."""
    values = floats_of(S)
    if values is None:
        return exact_array(S)
    w, v = values[:3], values[3:]
    if not np.any(w != 0):
        return np.concatenate([exact_array(w), exact_direction(v, snap)])
    axis = exact_direction(w, snap)
    straight = exact_array(v)
    if all(x.is_Integer for x in axis) and (not hinge or axis @ straight == 0):
        return np.concatenate([axis, straight])
    point = exact_array([float(f"{x:.15g}") for x in cross(w, v)])
    pitch = 0 if hinge else exact_number(float(f"{float(w @ v):.15g}"))
    return np.concatenate([axis, cross(point, axis) + axis * pitch])


# how the numbers of a field become exact where it is not number by number; poses and screws follow
RULES = {
    **dict.fromkeys(("M_pi", "T_if", "T_a", "T_b", "screw"), lambda x: x),
    **dict.fromkeys(("rest", "offset", "at"), exact_offset),
    **dict.fromkeys(("com", "I_com"), _rows),
}
