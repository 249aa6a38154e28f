"""SymPy expressions and models -> polynomials in one ring.

Sums, products and powers are taken apart. Angles have a table: a base angle has its cosine and its
sine as generators; any other angle is a combination of base angles with whole factors and a
fraction of pi,

    cos(a + b) = cos a cos b - sin a sin b,    sin(a + b) = sin a cos b + cos a sin b.

Turns about parallel axes add up. Joints with parallel axes one after the other (slides between them
do not turn) form a group, and the base angles of a group are the sums theta1, theta1 + theta2, ...,
which are the turns of the links. In them cos(theta1 + theta2) is one symbol, and polynomials are
short.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.springs import without_passive_forces
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, SCREW_TYPES, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.spatial import spatial_inertia
from kinetree.spatial.inertia import Moments, moments_of
from kinetree.symbols.ring import MAX_EXPONENT, Entry, Expression, Polynomial, Ring

MOST_TURNS = 4  # cos(5 q) in powers of cos(q) is long: it becomes a generator


@dataclass(frozen=True)
class BaseAngle:
    """An angle with generators for its cosine and sine; angles of one group add up in results."""

    angle: Expression
    cosine: int
    sine: int
    group: int


class Reader:
    """The generators of one robot: reads expressions into its ring and turns its angles."""

    def __init__(self) -> None:
        self.ring = Ring()
        self.ring.turn = self.turn
        self.angles: list[BaseAngle] = []
        self.combined: dict[Expression, dict[int, int]] = {}  # angle -> base angle and factor
        self._turned: dict[Expression, tuple[Entry, Entry]] = {}
        self._read: dict[Expression, Entry] = {}

    def base_angle(self, angle: Expression, group: int) -> int:
        """Add a base angle to a group; returns its number."""
        from sympy import cos, sin

        c = self.ring.generator(cos(angle, evaluate=False))
        s = self.ring.generator(sin(angle, evaluate=False))
        one = self.ring.number.one
        self.ring.known_square(s, {0: one, self.ring.monomial(c, 2): -one})
        self.angles.append(BaseAngle(angle, c, s, group))
        return len(self.angles) - 1

    @property
    def groups(self) -> list[list[BaseAngle]]:
        """The base angles, group by group."""
        by_group: dict[int, list[BaseAngle]] = {}
        for angle in self.angles:
            by_group.setdefault(angle.group, []).append(angle)
        return [by_group[group] for group in sorted(by_group)]

    def read(self, x: Expression | Polynomial) -> Entry:
        """Read a number or SymPy expression as a polynomial; zero is the integer 0."""
        from sympy import sympify

        if isinstance(x, Polynomial):
            return x
        x = sympify(int(x) if x == 0 else x)  # algorithms may fill arrays with 0.0
        if x not in self._read:
            self._read[x] = self._take_apart(x)
        return self._read[x]

    def _take_apart(self, x: Expression) -> Entry:
        from sympy import cos, sin, tan

        if x.is_Rational:
            return self.ring.constant(x) if x else 0
        if x.is_Add:
            return sum(self.read(term) for term in x.args)
        if x.is_Mul:
            return product(self.read(factor) for factor in x.args)
        if x.is_Pow and x.exp.is_Integer and 0 < x.exp <= MAX_EXPONENT:
            base = self.read(x.base)
            return product(base for _ in range(int(x.exp)))
        if x.is_Pow and x.exp.is_Rational and x.base.is_Integer and x.exp.q == 2:
            return self._root(int(x.base), int(x.exp.p))
        if isinstance(x, cos | sin):
            return self.turn(x.args[0])[isinstance(x, sin)]
        if isinstance(x, tan):
            return self.read(sin(x.args[0])) * self.ring.variable(1 / cos(x.args[0]))
        return self.ring.variable(x)

    def _root(self, number: int, power: int) -> Entry:
        """number^(power / 2) for an odd power, in terms of the square root of the number."""
        from sympy import Rational, sqrt

        k = self.ring.generator(sqrt(number))
        self.ring.known_square(k, {0: self.ring.number(number)})
        root = Polynomial(self.ring, {self.ring.monomial(k): self.ring.number.one})
        return root * Rational(number) ** ((power - 1) // 2)

    def turn(self, angle: Expression) -> tuple[Entry, Entry]:
        """Cosine and sine of an angle."""
        from sympy import expand

        angle = expand(angle)
        if angle not in self._turned:
            c, s = self.ring.constant(1), 0
            for number, factor in self._combination(angle).items():
                c, s = turned(c, s, *self._multiple(number, factor))
            self._turned[angle] = turned(c, s, *self._fraction_of_pi(angle))
        return self._turned[angle]

    def _combination(self, angle: Expression) -> dict[int, int]:
        """Base angles and their whole factors; unknown terms become new base angles."""
        if angle in self.combined:
            return self.combined[angle]
        factors: dict[int, int] = {}
        for term in angle.as_ordered_terms():
            for number, factor in self._term(term).items():
                factors[number] = factors.get(number, 0) + factor
        return factors

    def _term(self, term: Expression) -> dict[int, int]:
        from sympy import pi

        if (term / pi).is_Rational:
            return {}
        factor, rest = term.as_coeff_Mul(rational=True)
        if abs(factor.p) > MOST_TURNS or factor.q > MOST_TURNS:
            factor, rest = factor / factor, term
        part = rest / factor.q
        # a multiple of an angle that is known already has no generators of its own
        for known, combination in list(self.combined.items()):
            turns = part / known
            if turns.is_Integer and abs(turns) <= MOST_TURNS:  # cos(a) after cos(a / 2)
                self.combined[part] = {k: f * int(turns) for k, f in combination.items()}
                break
        else:
            group = max((angle.group for angle in self.angles), default=-1) + 1
            self.combined[part] = {self.base_angle(part, group): 1}
        return {number: k * int(factor.p) for number, k in self.combined[part].items()}

    def _multiple(self, number: int, factor: int) -> tuple[Entry, Entry]:
        angle = self.angles[number]
        c = self.ring.variable(self.ring.generators[angle.cosine])
        s = self.ring.variable(self.ring.generators[angle.sine])
        C, S = self.ring.constant(1), 0
        for _ in range(abs(factor)):
            C, S = turned(C, S, c, s)
        return C, (S if factor > 0 else -S)

    def _fraction_of_pi(self, angle: Expression) -> tuple[Entry, Entry]:
        from sympy import Add, cos, pi, sin

        whole = angle not in self.combined
        terms = [x for x in angle.as_ordered_terms() if (x / pi).is_Rational] if whole else []
        shift = Add(*terms)
        return self.constant_turn(cos(shift)), self.constant_turn(sin(shift))

    def constant_turn(self, value: Expression) -> Entry:
        """Cosine or sine of a fraction of pi; a generator if roots do not express it."""
        from sympy import cos, sin

        return self.ring.variable(value) if isinstance(value, cos | sin) else self.read(value)


def turned(C: Entry, S: Entry, c: Entry, s: Entry) -> tuple[Entry, Entry]:
    """Cosine and sine of the sum of two angles."""
    return C * c - S * s, S * c + C * s


def exponentials(c: int, s: int) -> dict[int, int]:
    """Whole numbers n_k of (2 cos a)^c (2 i sin a)^s = sum of n_k z^k, z = exp(i a)."""
    powers = {0: 1}
    for mirrored in (1,) * c + (-1,) * s:  # z + 1/z, z - 1/z
        split: dict[int, int] = {}
        for k, n in powers.items():
            split[k + 1] = split.get(k + 1, 0) + n
            split[k - 1] = split.get(k - 1, 0) + mirrored * n
        powers = split
    return powers


def product(factors: Iterable[Entry]) -> Entry:
    """Product of polynomials."""
    total: Entry = 1
    for factor in factors:
        total = total * factor
    return total


@dataclass(frozen=True)
class Turned:
    """The turn of a link about the axis of its group, as a combination of base angles."""

    link: int
    axis: Array  # in {link}
    group: int
    combination: dict[int, int]


def register_angles(reader: Reader, model: Model, q: Sequence[Expression]) -> None:
    """Add the base angles of all joints that turn, and the unit length of quaternions."""
    turned_links: dict[int, Turned] = {}
    roots: list[tuple[Array, int]] = []  # axes in the base, and their groups
    groups = 0
    for i in model.links:
        joint = model.joints[i]
        if joint.type in (SPHERICAL, FREE):
            _register_quaternion(reader, [q[k] for k in joint.coords[:4]])
        axis = turn_axis(reader, model, i)
        if axis is None:
            continue
        carrier, sign = _parallel(reader, model, i, axis, turned_links)
        angle = joint_angle(model, i, q)
        group = groups if carrier is None else carrier.group
        if carrier is None and model.constraints is not None:
            group = _branch_group(reader, model, i, axis, roots, groups)
        groups += group == groups
        before = {} if carrier is None else carrier.combination
        base_angles = _known_multiple(reader, model, i, q)
        if base_angles is None:
            base_angles = _new_angle(reader, angle, before, sign, group)
        reader.combined[angle] = base_angles
        total = {
            k: before.get(k, 0) + sign * base_angles.get(k, 0) for k in {*before, *base_angles}
        }
        turned_links[i] = Turned(i, axis * sign, group, {k: v for k, v in total.items() if v})


def joint_angle(model: Model, i: int, q: Sequence[Expression]) -> Expression:
    """The angle of joint i as the algorithms form it: scale * q + offset."""
    from sympy import expand

    joint = model.joints[i]
    return expand(q[joint.coords[0]] * joint.scale + joint.offset)


def turn_axis(reader: Reader, model: Model, i: int) -> Array | None:
    """Axis of a joint that turns about one, in {i}, as polynomials."""
    joint = model.joints[i]
    if joint.type == PLANAR:
        return np.array([reader.read(x) for x in (0, 0, 1)])
    if joint.type not in SCREW_TYPES or joint.type == PRISMATIC or joint.screw is None:
        return None
    return np.array([reader.read(x) for x in joint.screw[:3]])


def _carrier(reader: Reader, model: Model, i: int, axis: Array) -> tuple[int, Array]:
    """The link that carries joint i through slides, which do not turn its axis; the axis there."""
    k = i
    while k == i or (k != WORLD and model.joints[k].type == PRISMATIC):
        R = np.array([[reader.read(x) for x in row[:3]] for row in model.M_pi[k][:3]])
        axis, k = R @ axis, model.parent[k]
    return k, axis


def _parallel(
    reader: Reader, model: Model, i: int, axis: Array, turned_links: dict[int, Turned]
) -> tuple[Turned | None, int]:
    """The turning link that carries joint i through slides, if its axis is parallel; the sign."""
    k, direction = _carrier(reader, model, i, axis)
    if k in turned_links:
        for sign in (1, -1):
            carrier = turned_links[k].axis * sign
            if all(a == b for a, b in zip(direction, carrier, strict=True)):
                return turned_links[k], sign
    return None, 1


def _branch_group(
    reader: Reader, model: Model, i: int, axis: Array, roots: list[tuple[Array, int]], new: int
) -> int:
    """The group of another branch from the base whose axis is parallel, or a new one.

    Loops compare branches with each other, so that their angles are added.
    """
    k, direction = _carrier(reader, model, i, axis)
    if k != WORLD:
        return new
    for other, group in roots:
        if all(a == b for a, b in zip(direction, other, strict=True)):
            return group
    roots.append((direction, new))
    return new


def _known_multiple(
    reader: Reader, model: Model, i: int, q: Sequence[Expression]
) -> dict[int, int] | None:
    """Base angles of a mimic joint whose scale is a whole number."""
    from sympy import sympify

    joint = model.joints[i]
    scale: Expression = sympify(joint.scale)
    leader = reader.combined.get(q[joint.coords[0]])
    if joint.follows is None or leader is None or joint.offset != 0 or not scale.is_Integer:
        return None
    if abs(scale) > MOST_TURNS:
        return None
    return {number: factor * int(scale) for number, factor in leader.items()}


def _new_angle(
    reader: Reader, angle: Expression, before: dict[int, int], sign: int, group: int
) -> dict[int, int]:
    """Add a base angle for the sum up to this joint; returns the joint's angle in base angles."""
    from sympy import Add, expand

    turned_before = Add(*(reader.angles[k].angle * factor for k, factor in before.items()))
    number = reader.base_angle(expand(turned_before + sign * angle), group)
    return {number: sign} | {k: -sign * factor for k, factor in before.items()}


def _register_quaternion(reader: Reader, quaternion: list[Expression]) -> None:
    ring = reader.ring
    one, (w, *rest) = ring.number.one, [ring.generator(x) for x in quaternion]
    ring.known_square(w, {0: one} | {ring.monomial(k, 2): -one for k in rest})


def polynomial_model(model: Model, reader: Reader) -> Model:
    """The exact model with polynomials for numbers, as the algorithms run on it.

    Friction and springs are no polynomials of sines and cosines; they are left out here and added
    to the results.
    """

    def read(x: Array) -> Array:
        entries = np.empty(x.size, object)
        entries[:] = [reader.read(entry) for entry in x.ravel()]
        return entries.reshape(x.shape)

    result = without_passive_forces(model).astype(reader.read)
    bodies = [_body(model, i) for i in model.links]
    moments = tuple(Moments(read(np.array(x.m))[()], read(x.h), read(x.Sigma)) for x, _ in bodies)
    G = np.array([read(G) for _, G in bodies], object).reshape(-1, 6, 6)
    _set_bodies(result, moments, G)
    return result


def weightless(model: Model) -> Model:
    """The polynomial model without gravity."""
    result = model.replace(gravity=np.zeros(6, int))
    _set_bodies(result, model.moments, model.G)
    return result


def _set_bodies(model: Model, moments: tuple[Moments, ...], G: Array) -> None:
    """Fill the cached properties of a model, which would multiply out m and com in the ring."""
    vars(model).update(moments=moments, G=G)


def _body(model: Model, i: int) -> tuple[Moments, Array]:
    """Moments and G of link i; quotients of merged bodies with symbolic masses are cancelled."""
    from sympy import cancel, expand, fraction, together

    m, com, I_com = model.m[i], model.com[i], model.I_com[i]
    moments, G = moments_of(m, com, I_com), spatial_inertia(m, com, I_com)
    if not any(fraction(together(x))[1].free_symbols for x in (*com, *I_com.ravel())):
        return moments, G

    def cancelled(x: Array) -> Array:
        return np.array([expand(cancel(entry)) for entry in x.ravel()], object).reshape(x.shape)

    return Moments(m, cancelled(moments.h), cancelled(moments.Sigma)), cancelled(G)
