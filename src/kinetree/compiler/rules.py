"""Simplification as a table: each line is an identity of real numbers, used from left to right.

A rule may change rounding, never the value in exact arithmetic, and never raises the number of
operations. A negative constant is the negation of a positive one, so that the rules of signs hold
for numbers too. Negations wander outward, through products and functions, until a sum takes them in
as a subtraction. Constants wander together, where they are folded. Sums and products match in
either order of their arguments.
"""

from kinetree.compiler.pattern import Term, anything, constant, function, term

x, y = anything("x"), anything("y")
a, b, c = constant("a"), constant("b"), constant("c")


def sin(angle: Term) -> Term:
    """Sine, in a rule."""
    return function("sin", angle)


def cos(angle: Term) -> Term:
    """Cosine, in a rule."""
    return function("cos", angle)


def sign(number: Term) -> Term:
    """Sign, in a rule."""
    return function("sign", number)


def where(test: Term, positive: Term, other: Term) -> Term:
    """Choice by the sign of a test, in a rule."""
    return Term("select", (test, positive, other))


# fmt: off
RULES: list[tuple[Term, Term | int]] = [
    # zero and one
    (x + 0, x), (x - 0, x), (0 - x, -x), (x - x, 0),
    (x * 0, 0), (x * 1, x), (0 / x, 0), (x / 1, x), (-term(0), 0),
    # signs wander outward ...
    (-(-x), x),  # noqa: B002 (a double negation is meant)
    ((-x) * y, -(x * y)), ((-x) / y, -(x / y)), (x / (-y), -(x / y)),
    (sin(-x), -sin(x)), (cos(-x), cos(x)), (sign(-x), -sign(x)),
    # ... until a sum takes them in
    (x + (-y), x - y), (x - (-y), x + y), ((-x) - y, -(x + y)),
    # what was added is taken away again
    ((x + y) - y, x), ((x - y) + y, x), (x - (x - y), y), (x - (x + y), -y), ((x - y) - x, -y),
    # multiples of one thing
    (x + x, 2 * x), (x + c * x, (1 + c) * x), (a * x + b * x, (a + b) * x),
    (x - c * x, (1 - c) * x), (c * x - x, (c - 1) * x), (a * x - b * x, (a - b) * x),
    # constants meet
    (a * (b * x), (a * b) * x), (x / c, (1 / c) * x),
    (a + (b + x), (a + b) + x), (a + (x - b), x + (a - b)), (a + (b - x), (a + b) - x),
    (a - (b + x), (a - b) - x), (a - (x - b), (a + b) - x), (a - (b - x), x + (a - b)),
    ((a + x) - b, x + (a - b)), ((x - a) - b, x - (a + b)), ((a - x) - b, (a - b) - x),
    # a choice between equals
    (where(y, x, x), x),
    # Pythagoras
    (sin(x) * sin(x) + cos(x) * cos(x), 1),
]
# fmt: on
