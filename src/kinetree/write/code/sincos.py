"""Sine and cosine of the kernels in C and C++, so that exported code rounds as they do.

The arithmetic is that of `kinetree.backends.llvm.sincos`, operation by operation; angles beyond its
short reduction go to the language's own library.
"""

import re

from kinetree.backends.llvm.coefficients import (
    COSINE_32,
    COSINE_64,
    HALF_PI,
    HALF_PI_REST,
    SINE_32,
    SINE_64,
    TWO_OVER_PI,
)
from kinetree.backends.llvm.sincos import LIMIT, ROUNDER
from kinetree.write.code.program import DTYPES

REDUCTION = {
    "double": f"""\
    const double rest = fma(n, {-HALF_PI[0]!r}, x);
    const double t = fma(n, {-HALF_PI[1]!r}, rest);
    const double left = fma(n, {-HALF_PI[1]!r}, rest - t);
    const double low = fma(n, {-HALF_PI[2]!r}, left);
""",
    "float": f"""\
    const double rest = fma(n, {-HALF_PI[0]!r}, x);
    const double t = fma(n, {-HALF_PI_REST!r}, rest);
""",
}


def sincos_name(function: str) -> str:
    """Name of the helper that belongs to an exported function."""
    return f"{function}_sincos"


def sincos_text(function: str, dtype: str, *, prefix: str = "", linkage: str = "static") -> str:
    """The helper: sine and cosine of one angle, below 1 ulp."""
    f = "f" if dtype == "float" and not prefix else ""
    limit = f"{LIMIT[DTYPES[dtype]]!r}{'f' if dtype == 'float' else ''}"
    text = f"""\
// sine and cosine of an angle, rounded as in the kernel: x = n pi/2 + t, then two polynomials
{linkage} void {sincos_name(function)}({dtype} angle, {dtype} *s, {dtype} *c)
{{
    if (!(fabs{f}(angle) <= {limit})) {{
        *s = sin{f}(angle);
        *c = cos{f}(angle);
        return;
    }}
    const double x = fabs{f}(angle);
    const double shifted = fma(x, {TWO_OVER_PI!r}, {ROUNDER!r});
    const double n = shifted - {ROUNDER!r};
{REDUCTION[dtype]}    const double z = t * t;
    const double z2 = z * z;
{_evaluation(dtype)}    const long quadrant = (long)n & 3;
    const double along = quadrant & 1 ? cosine : sine;
    const double across = quadrant & 1 ? sine : cosine;
    const int down = (quadrant & 2) != 0;
    *s = ({dtype})(down != (signbit(angle) != 0) ? -along : along);
    *c = ({dtype})(quadrant == 1 || quadrant == 2 ? -across : across);
}}
"""
    return _qualified(text, prefix)


def _evaluation(dtype: str) -> str:
    """Statements for the sine and cosine of t, with z = t^2 and z2 = z^2."""
    if dtype == "float":
        return f"""\
{_polynomial("p", SINE_32)}{_polynomial("r", COSINE_32)}    const double sine = fma(t * z, p, t);
    const double head = fma(z, -0.5, 1.0);
    const double cosine = fma(z2, r, head);
"""
    return f"""\
{_polynomial("p", SINE_64)}{_polynomial("r", COSINE_64)}    const double head = fma(z, -0.5, 1.0);
    const double bend = t * z;
    const double tail = low * head;
    const double sine = t + fma(bend, p, tail);
    const double lost = fma(z, -0.5, 1.0 - head);
    const double cosine = head + fma(-t, low, fma(z2, r, lost));
"""


def _polynomial(name: str, c: tuple[float, ...]) -> str:
    """Statements for c[0] + c[1] z + ..., two powers at a time."""
    text, parts = "", []
    for k in range(0, len(c), 2):
        value = f"fma(z, {c[k + 1]!r}, {c[k]!r})" if k + 1 < len(c) else repr(c[k])
        parts.append(f"{name}{k}")
        text += f"    const double {parts[-1]} = {value};\n"
    value = parts.pop()
    while parts:
        value = f"fma(z2, {value}, {parts.pop()})"
    return f"{text}    const double {name} = {value};\n"


def _qualified(text: str, prefix: str) -> str:
    """The functions of mathematics under their namespace."""
    words = "fma|fabs|sin|cos|signbit"
    return re.sub(rf"(?<=[ (!])({words})\(", rf"{prefix}\1(", text)
