"""Random programs: lists of steps that run on any scalar kind, for tests of the compiler."""

from fractions import Fraction

from hypothesis import strategies as st

from kinetree import scalars
from kinetree.engine import Port

INPUTS = (Port("u", (3,), ("n",)), Port("w", (), ()))
CONSTANTS = (0, 1, -1, 2, -2, 0.5, -0.25)
ARITHMETIC = ("add", "sub", "mul", "rsub", "neg", "div", "const_add", "const_sub", "const_mul")
FUNCTIONS = ("sin", "cos", "sqrt", "sign", "where", "exp", "log", "tanh", "atan2")
FUNCTIONS = (*FUNCTIONS, "abs", "min", "max")


def programs(ops=ARITHMETIC, longest=30):
    """Steps (operation, two positions), taken modulo what is there."""
    step = st.tuples(st.sampled_from(ops), st.integers(0, 40), st.integers(0, 40))
    return st.lists(step, min_size=1, max_size=longest)


def run(steps, u, w):
    """All values that a program computes from three numbers and one."""
    values = [*u, w]
    for op, i, j in steps:
        # Recent values first, so that programs grow deep and share.
        x, y = values[-1 - i % len(values)], values[-1 - j % len(values)]
        c = CONSTANTS[j % len(CONSTANTS)]
        c = Fraction(c) if isinstance(w, Fraction) else c
        values.append(STEPS[op](x, y, c, values[i % 4]))
    return values


STEPS = {
    "add": lambda x, y, c, given: x + y,
    "sub": lambda x, y, c, given: x - y,
    "rsub": lambda x, y, c, given: y - x,
    "mul": lambda x, y, c, given: x * y,
    "neg": lambda x, y, c, given: -x,
    "const_add": lambda x, y, c, given: c + x,
    "const_sub": lambda x, y, c, given: c - x,
    "const_mul": lambda x, y, c, given: x * c,
    # Functions only of what is given: a sine of something huge would amplify roundings, and a
    # quotient of two constants would not fold exactly.
    "div": lambda x, y, c, given: x / (given * given + 1),
    "sin": lambda x, y, c, given: scalars.sin(-given) * x,
    "cos": lambda x, y, c, given: scalars.cos(c * given) + x,
    "sqrt": lambda x, y, c, given: scalars.sqrt(given * given + 1) - x,
    "sign": lambda x, y, c, given: scalars.sign(-given) * x,
    "where": lambda x, y, c, given: scalars.where(c * given, x, y),
    "exp": lambda x, y, c, given: scalars.exp(-given * given) * x,
    "log": lambda x, y, c, given: scalars.log(given * given + 1) + y,
    "tanh": lambda x, y, c, given: scalars.tanh(-given) * x,
    "atan2": lambda x, y, c, given: scalars.atan2(c * given, given * given + 1) + x,
    "abs": lambda x, y, c, given: scalars.absolute(c * given) * x,
    "min": lambda x, y, c, given: scalars.minimum(-given, c) + x,
    "max": lambda x, y, c, given: scalars.maximum(given, c) * y,
}
