"""SymPy expressions -> polynomials: sums, products and powers are taken apart, angles turned.

Angles form a table of their own. A base angle has one cosine and one sine as generators; any other
angle is a combination of base angles with whole factors and a fraction of pi,

    cos(a + b) = cos a cos b - sin a sin b,    sin(a + b) = sin a cos b + cos a sin b.
"""

from dataclasses import dataclass
from typing import Any

from kinetree.symbols.ring import MOST, Polynomial, Ring

MOST_TURNS = 4  # cos(5 q) in powers of cos(q) is longer than a generator of its own


@dataclass(frozen=True)
class BaseAngle:
    """An angle with generators for its cosine and sine; angles of one group add up in results."""

    angle: Any
    cosine: int
    sine: int
    group: int


class Reader:
    """The generators of one robot: reads expressions into its ring and turns its angles."""

    def __init__(self) -> None:
        self.ring = Ring()
        self.ring.turn = self.turn
        self.angles: list[BaseAngle] = []
        self.combined: dict[Any, dict[int, int]] = {}  # angle -> base angle and factor
        self._turned: dict[Any, tuple[Any, Any]] = {}
        self._read: dict[Any, Any] = {}

    def base_angle(self, angle: Any, group: int) -> int:
        """A new base angle in a group; returns its number."""
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
        found: dict[int, list[BaseAngle]] = {}
        for angle in self.angles:
            found.setdefault(angle.group, []).append(angle)
        return [found[group] for group in sorted(found)]

    def read(self, x: Any) -> Any:
        """A number or SymPy expression as a polynomial; the integer 0 for zero."""
        from sympy import sympify

        if isinstance(x, Polynomial):
            return x
        x = sympify(int(x) if x == 0 else x)  # algorithms may fill up with 0.0
        if x not in self._read:
            self._read[x] = self._take_apart(x)
        return self._read[x]

    def _take_apart(self, x: Any) -> Any:
        from sympy import cos, sin, tan

        if x.is_Rational:
            return self.ring.constant(x) if x else 0
        if x.is_Add:
            return sum(self.read(term) for term in x.args)
        if x.is_Mul:
            return product(self.read(factor) for factor in x.args)
        if x.is_Pow and x.exp.is_Integer and 0 < x.exp <= MOST:
            base = self.read(x.base)
            return product(base for _ in range(int(x.exp)))
        if x.is_Pow and x.exp.is_Rational and x.base.is_Integer and x.exp.q == 2:
            return self._root(int(x.base), int(x.exp.p))
        if isinstance(x, cos | sin):
            return self.turn(x.args[0])[isinstance(x, sin)]
        if isinstance(x, tan):
            return self.read(sin(x.args[0])) * self.ring.variable(1 / cos(x.args[0]))
        return self.ring.variable(x)

    def _root(self, number: int, power: int) -> Any:
        """number^(power / 2) for an odd power, through the square root of the number."""
        from sympy import Rational, sqrt

        k = self.ring.generator(sqrt(number))
        self.ring.known_square(k, {0: self.ring.number(number)})
        root = Polynomial(self.ring, {self.ring.monomial(k): self.ring.number.one})
        return root * Rational(number) ** ((power - 1) // 2)

    def turn(self, angle: Any) -> tuple[Any, Any]:
        """Cosine and sine of an angle, each a polynomial or 0."""
        from sympy import expand

        angle = expand(angle)
        if angle not in self._turned:
            c, s = self.ring.constant(1), 0
            for number, factor in self._combination(angle).items():
                c, s = turned(c, s, *self._multiple(number, factor))
            self._turned[angle] = turned(c, s, *self._fraction_of_pi(angle))
        return self._turned[angle]

    def _combination(self, angle: Any) -> dict[int, int]:
        """Base angles and their whole factors; terms that are no known angle become one."""
        if angle in self.combined:
            return self.combined[angle]
        found: dict[int, int] = {}
        for term in angle.as_ordered_terms():
            for number, factor in self._term(term).items():
                found[number] = found.get(number, 0) + factor
        return found

    def _term(self, term: Any) -> dict[int, int]:
        from sympy import pi

        if (term / pi).is_Rational:
            return {}
        factor, rest = term.as_coeff_Mul(rational=True)
        if abs(factor.p) > MOST_TURNS or factor.q > MOST_TURNS:
            factor, rest = factor / factor, term
        part = rest / factor.q
        for known, combination in list(self.combined.items()):
            turns = part / known
            if turns.is_Integer and abs(turns) <= MOST_TURNS:  # cos(a) after cos(a / 2)
                self.combined[part] = {k: f * int(turns) for k, f in combination.items()}
                break
        else:
            group = max((angle.group for angle in self.angles), default=-1) + 1
            self.combined[part] = {self.base_angle(part, group): 1}
        return {number: k * int(factor.p) for number, k in self.combined[part].items()}

    def _multiple(self, number: int, factor: int) -> tuple[Any, Any]:
        angle = self.angles[number]
        c = self.ring.variable(self.ring.generators[angle.cosine])
        s = self.ring.variable(self.ring.generators[angle.sine])
        C, S = self.ring.constant(1), 0
        for _ in range(abs(factor)):
            C, S = turned(C, S, c, s)
        return C, (S if factor > 0 else -S)

    def _fraction_of_pi(self, angle: Any) -> tuple[Any, Any]:
        from sympy import Add, cos, pi, sin

        whole = angle not in self.combined
        terms = [x for x in angle.as_ordered_terms() if (x / pi).is_Rational] if whole else []
        shift = Add(*terms)
        return self.constant_turn(cos(shift)), self.constant_turn(sin(shift))

    def constant_turn(self, value: Any) -> Any:
        """Cosine or sine of a fraction of pi; where no root expresses it, it is a generator."""
        from sympy import cos, sin

        return self.ring.variable(value) if isinstance(value, cos | sin) else self.read(value)


def turned(C: Any, S: Any, c: Any, s: Any) -> tuple[Any, Any]:
    """Cosine and sine of the sum of two angles."""
    return C * c - S * s, S * c + C * s


def product(factors: Any) -> Any:
    """Product of polynomials."""
    total: Any = 1
    for factor in factors:
        total = total * factor
    return total
