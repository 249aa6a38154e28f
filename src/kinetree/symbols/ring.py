"""Polynomials in sines, cosines, rates and parameters, exact and in one normal form.

A monomial is one integer: bits 8 k to 8 k + 7 are the exponent of generator k, so that monomials
multiply by adding. The squares of some generators are known,

    sin^2 = 1 - cos^2,    sqrt(2)^2 = 2,    qw^2 = 1 - qx^2 - qy^2 - qz^2,

and are replaced. Equal functions are then equal polynomials, and zero is recognised.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeAlias

from kinetree.errors import InputError

Expression: TypeAlias = Any  # a SymPy expression; SymPy does not declare exact types
# SymPy's exact rationals are those of gmpy2 or of Python; both behave like Fraction
Terms: TypeAlias = dict[int, Fraction]  # monomial -> coefficient
Entry: TypeAlias = "Polynomial | int"  # a polynomial, or the integer 0
Operand: TypeAlias = "Polynomial | Fraction | float | Expression"

BITS = 8
FIELD = (1 << BITS) - 1
LARGEST = 127  # exponent in a polynomial; two of them still add up within eight bits
MAX_EXPONENT = 15  # exponent that is read from the model; a larger power becomes a generator


class Ring:
    """Generators as SymPy expressions, in order of their appearance, and their known squares.

    turn: cosine and sine of an angle, as a `Reader` forms them.
    """

    turn: Callable[[Expression], tuple[Entry, Entry]]

    def __init__(self) -> None:
        from sympy import QQ

        self.number = QQ  # exact rationals
        self.generators: list[Expression] = []
        self.index: dict[Expression, int] = {}
        self.squares: dict[int, Terms] = {}  # generator -> its known square
        self.squared = 0  # bits that are set in a monomial if such a generator is squared
        self.full = 0  # highest bits of all exponents, set in a monomial if one is too large

    def generator(self, expression: Expression) -> int:
        """Number of the generator for `expression`, which is added if it is new."""
        if expression not in self.index:
            self.index[expression] = len(self.generators)
            self.full |= 1 << BITS * len(self.generators) + BITS - 1
            self.generators.append(expression)
        return self.index[expression]

    def known_square(self, k: int, square: Terms) -> None:
        """Replace the square of generator k by the polynomial `square` from now on."""
        self.squares[k] = square
        self.squared |= 2 << BITS * k

    def monomial(self, k: int, power: int = 1) -> int:
        """Generator k to a power."""
        return power << BITS * k

    def powers(self, monomial: int) -> list[tuple[int, int]]:
        """(generator, exponent) of a monomial."""
        exponents: list[tuple[int, int]] = []
        k = 0
        while monomial:
            if monomial & FIELD:
                exponents.append((k, monomial & FIELD))
            monomial >>= BITS
            k += 1
        return exponents

    def fields(self, generators: Iterable[int]) -> int:
        """Bits of the exponents of some generators."""
        return sum(FIELD << BITS * k for k in generators)

    def constant(self, value: "Expression | Fraction | int") -> "Polynomial":
        """A number as a polynomial."""
        return Polynomial(self, {0: self.number.convert(value)})

    def variable(self, expression: Expression) -> "Polynomial":
        """The generator for `expression` as a polynomial."""
        return Polynomial(self, {self.monomial(self.generator(expression)): self.number.one})

    def add_product(self, terms: Terms, monomial: int, coefficient: Fraction) -> None:
        """Add coefficient * monomial to `terms`, with known squares replaced."""
        if monomial & self.full:
            raise InputError(
                f"a product has a power of {LARGEST + 1} or more of {self._largest(monomial)}; "
                f"closed forms have powers up to {LARGEST}. Replace the power by a symbol."
            )
        squared = monomial & self.squared
        if not squared:
            terms[monomial] = terms.get(monomial, 0) + coefficient
            return
        # replace one square, of the generator with the highest number, and repeat with the rest
        k = (squared.bit_length() - 1) // BITS
        rest = monomial - self.monomial(k, 2)
        for part, value in self.squares[k].items():
            self.add_product(terms, rest + part, coefficient * value)

    def _largest(self, monomial: int) -> Expression:
        return self.generators[max(self.powers(monomial), key=lambda pair: pair[1])[0]]


class Polynomial:
    """A scalar for the algorithms: terms {monomial: coefficient} with non-zero coefficients.

    Operators return the integer 0 for a result without terms, so that zeros cost nothing.
    """

    __slots__ = ("ring", "terms")

    def __init__(self, ring: Ring, terms: Terms) -> None:
        self.ring = ring
        self.terms = terms

    def __add__(self, other: Operand) -> Entry:
        others = self._other(other)
        if others is None:
            return NotImplemented
        terms = dict(self.terms)
        for monomial, value in others.items():
            total = terms.get(monomial, 0) + value
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Polynomial(self.ring, terms) if terms else 0

    __radd__ = __add__

    def __neg__(self) -> "Polynomial":
        return Polynomial(self.ring, {k: -value for k, value in self.terms.items()})

    def __sub__(self, other: Operand) -> Entry:
        return self + -other

    def __rsub__(self, other: Operand) -> Entry:
        return -self + other

    def __mul__(self, other: Operand) -> Entry:
        others = self._other(other)
        if others is None:
            return NotImplemented
        ring, special = self.ring, self.ring.squared | self.ring.full
        # most products have neither a known square nor a large exponent: one test of bits decides
        short, long = sorted((self.terms, others), key=len)
        terms: Terms = {}
        for a, x in short.items():
            for b, y in long.items():
                monomial = a + b
                if monomial & special:
                    ring.add_product(terms, monomial, x * y)
                else:
                    terms[monomial] = terms.get(monomial, 0) + x * y
        terms = {monomial: value for monomial, value in terms.items() if value}
        return Polynomial(ring, terms) if terms else 0

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> "Polynomial":
        divisor = self._other(other)
        if divisor is None:
            return NotImplemented
        if set(divisor) != {0}:
            raise InputError(f"a closed form is divided by {other}; expected a number.")
        inverse = 1 / divisor[0]
        return Polynomial(self.ring, {k: value * inverse for k, value in self.terms.items()})

    def __rtruediv__(self, other: Operand) -> Entry:
        numerator = self._other(other)
        if numerator is None:
            return NotImplemented
        return Polynomial(self.ring, numerator) / self if numerator else 0

    def __eq__(self, other: object) -> bool:
        return self._other(other) == self.terms

    __hash__ = None  # type: ignore[assignment]

    def _other(self, other: object) -> Terms | None:
        """The terms of another operand; None if it is neither a polynomial nor an exact number."""
        if isinstance(other, Polynomial):
            return other.terms
        number = getattr(other, "is_Rational", False) or isinstance(other, int)
        if not (number or (isinstance(other, float) and other.is_integer())):
            return None
        value = self.ring.number.convert(int(other) if isinstance(other, float) else other)
        return {0: value} if value else {}

    def __repr__(self) -> str:
        return str(self.expression())

    def expression(self) -> Expression:
        """The polynomial as a SymPy expression, term by term."""
        return expression(self.ring, self.terms)


def expression(ring: Ring, terms: Terms) -> Expression:
    """Sum of coefficient * product of powers, as a SymPy expression."""
    from sympy import Add, Mul

    return Add(
        *(
            Mul(ring.number.to_sympy(value), monomial_expression(ring, monomial))
            for monomial, value in terms.items()
        )
    )


def monomial_expression(ring: Ring, monomial: int) -> Expression:
    """Product of powers of generators as a SymPy expression."""
    from sympy import Mul, Pow

    return Mul(*(Pow(ring.generators[k], power) for k, power in ring.powers(monomial)))


def cos(x: Polynomial) -> Entry:
    """Cosine of an angle in rad."""
    return x.ring.turn(x.expression())[0]


def sin(x: Polynomial) -> Entry:
    """Sine of an angle in rad."""
    return x.ring.turn(x.expression())[1]
