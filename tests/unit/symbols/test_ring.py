"""Polynomials with known squares: equal functions are equal polynomials, zero is the integer 0."""

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

from kinetree import scalars  # noqa: E402
from kinetree.errors import InputError  # noqa: E402
from kinetree.symbols.read import Reader  # noqa: E402

a, b, x, y = sympy.symbols("a b x y", real=True)


@pytest.fixture
def reader():
    return Reader()


def test_sums_and_products_are_those_of_sympy(reader):
    p, q = reader.read(2 * x + y / 3), reader.read(x - y)
    assert sympy.expand((p * q).expression() - (2 * x + y / 3) * (x - y)) == 0
    assert sympy.expand((p + q - 1).expression() - (3 * x - 2 * y / 3 - 1)) == 0
    assert sympy.expand((1 - p / 2).expression() - (1 - x - y / 6)) == 0


def test_what_cancels_is_the_integer_zero(reader):
    p = reader.read((x + y) ** 2)
    zero = p - reader.read(x**2) - 2 * reader.read(x) * reader.read(y) - reader.read(y**2)
    assert type(zero) is int and zero == 0
    assert type(p * 0) is int and type(0 * p) is int


def test_a_sine_squared_is_one_less_a_cosine_squared(reader):
    one = reader.read(sympy.sin(a)) * reader.read(sympy.sin(a)) + reader.read(sympy.cos(a) ** 2)
    assert one == 1
    assert reader.read(sympy.sin(a) ** 4 - (1 - sympy.cos(a) ** 2) ** 2) == 0


def test_roots_multiply_to_what_they_are_roots_of(reader):
    root2, root3 = sympy.sqrt(2), sympy.sqrt(3)
    assert reader.read(root2) * reader.read(root2) == 2
    assert reader.read(root2**3) * reader.read(root2) == 4
    assert reader.read(1 / root3) * reader.read(root3) == 1


@pytest.mark.parametrize(
    ("angle", "shift"),
    [(a + b, 0), (a - b, 0), (3 * a, 0), (-a, 0), (a, sympy.pi / 2), (2 * a - b, sympy.pi / 6),
     (a / 2, sympy.pi / 4), (x * a, -sympy.pi / 3)],
)  # fmt: skip
def test_angles_are_taken_apart_into_base_angles(reader, angle, shift):
    values = {a: 0.3, b: -1.1, x: 0.7}
    for function in (sympy.cos, sympy.sin):
        found = reader.read(function(angle + shift, evaluate=False)).expression()
        expected = float(function(angle + shift).subs(values))
        assert float(found.subs(values)) == pytest.approx(expected, abs=1e-14)


def test_a_whole_angle_after_its_half_is_known_as_twice_the_half(reader):
    half = reader.read(sympy.cos(a / 2))
    assert half * half * 2 - 1 == reader.read(sympy.cos(a))
    assert reader.read(sympy.cos(b)) != half


def test_an_angle_with_many_turns_is_an_angle_of_its_own(reader):
    found = reader.read(sympy.cos(sympy.Rational(2847, 2500) * a))
    assert len(found.terms) == 1


def test_algorithms_find_the_cosine_through_scalars(reader):
    angle = reader.read(a)
    assert scalars.cos(angle) == reader.read(sympy.cos(a))
    assert scalars.sin(angle) == reader.read(sympy.sin(a))


def test_division_is_by_numbers_alone(reader):
    with pytest.raises(InputError):
        reader.read(x) / reader.read(y)


def test_arrays_of_polynomials_multiply(reader):
    R = np.array([[reader.read(sympy.cos(a)), -reader.read(sympy.sin(a))],
                  [reader.read(sympy.sin(a)), reader.read(sympy.cos(a))]])  # fmt: skip
    product = R @ R.T
    assert product[0, 0] == 1 and product[0, 1] == 0 and product[1, 1] == 1


def test_opaque_expressions_stay_what_they_are(reader):
    strange = sympy.exp(x) + 1 / (x + y) + x ** sympy.Rational(1, 3)
    assert sympy.simplify(reader.read(strange).expression() - strange) == 0


def test_floats_that_are_no_whole_numbers_are_refused(reader):
    with pytest.raises(TypeError):
        reader.read(x) * 0.5
    assert reader.read(x) * 2.0 == 2 * reader.read(x)


def test_a_power_that_does_not_fit_is_an_error_and_never_another_monomial(reader):
    power = reader.read(x**15)
    for _ in range(3):
        power = power * power
    assert reader.ring.powers(max(power.terms)) == [(0, 120)]
    with pytest.raises(InputError, match="power of 128 or more of x"):
        power * reader.read(x**8)
    with pytest.raises(InputError, match="powers up to 127"):
        power * power
