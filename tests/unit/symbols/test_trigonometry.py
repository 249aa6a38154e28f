"""The shortest form of a trigonometric polynomial is the same function, and never longer."""

from random import Random

import pytest

sympy = pytest.importorskip("sympy")

from kinetree.symbols.present import shortest_terms  # noqa: E402
from kinetree.symbols.read import Reader  # noqa: E402

a, b, x, y = sympy.symbols("a b x y", real=True)
cos, sin = sympy.cos, sympy.sin
VALUES = {a: sympy.Rational(7, 10), b: sympy.Rational(-13, 10), x: 3, y: sympy.Rational(1, 5)}


@pytest.fixture
def reader():
    """The angles a and b in one group, as those of parallel axes."""
    reader = Reader()
    for angle in (a, b):
        reader.combined[angle] = {reader.base_angle(angle, 0): 1}
    return reader


def shortest(reader, expression):
    terms = shortest_terms(reader.ring, reader.groups[0], reader.read(expression).terms)
    return sympy.Add(*(reader.ring.number.to_sympy(c) * factor for c, factor in terms))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (cos(a) * cos(b) - sin(a) * sin(b), cos(a + b)),
        (sin(a) * cos(b) - cos(a) * sin(b), sin(a - b)),
        (2 * sin(a) * cos(a), sin(2 * a)),
        (1 - cos(a) ** 2, sin(a) ** 2),
        (sin(a) ** 2 * cos(b) ** 2, sin(a) ** 2 * cos(b) ** 2),
        (3 * cos(a) * cos(b), 3 * cos(a) * cos(b)),
        (1 - (sin(a) * cos(b) - cos(a) * sin(b)) ** 2, cos(a - b) ** 2),
        (cos(a) ** 2 - sin(a) ** 2, cos(2 * a)),
        (sympy.Integer(5), sympy.Integer(5)),
    ],
)
def test_known_identities_are_used(reader, given, expected):
    assert shortest(reader, given) == expected


@pytest.mark.parametrize("seed", range(30))
def test_random_polynomials_keep_their_value(reader, seed):
    random = Random(seed)
    factors = (cos(a), sin(a), cos(b), sin(b))
    given = sum(
        random.randint(-4, 4) * sympy.Mul(*random.choices(factors, k=random.randint(0, 4)))
        for _ in range(random.randint(1, 6))
    )
    if reader.read(given) == 0:
        pytest.skip("the random terms cancel")
    found = shortest(reader, given)
    assert abs(sympy.N((found - given).subs(VALUES), 30)) < 1e-25
    assert factors_of(found) <= factors_of(reader.read(given).expression())


def factors_of(expression):
    """Coefficients and trigonometric factors to write, a square counted twice."""
    count = 0
    for term in sympy.Add.make_args(expression):
        powers = term.as_coeff_Mul()[1].as_powers_dict()
        count += 1 + sum(min(int(power), 2) for base, power in powers.items() if base != 1)
    return count
