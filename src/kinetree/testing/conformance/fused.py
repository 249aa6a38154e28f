"""Fused products a b + c: one rounding, against exact arithmetic of whole numbers.

Processors without fused multiply-add take the function `fma` of the C library, and some libraries
round its result twice. A kernel of one fused product calls what all kernels call.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kinetree.backends.kernel import Kernel
from kinetree.backends.llvm import engine
from kinetree.backends.llvm.target import host_target
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.testing.conformance.machine import has_llvm
from kinetree.testing.conformance.record import REPORT, Finding, equal

Case = tuple[float, float, float]
DRAWN = 24  # drawn pairs of factors for each kind of case
OTHER_BITS = "Results differ from those of other machines in their last bits. "


@dataclass(frozen=True)
class Format:
    """A binary format: bits of a significand, and the exponents of its least and largest bit."""

    dtype: str
    bits: int
    least: int
    most: int


DOUBLE = Format("float64", 53, -1074, 1023)
SINGLE = Format("float32", 24, -149, 127)


def rounded(x: Fraction, form: Format) -> float:
    """Return a number other than zero, rounded to nearest with ties to even."""
    size, sign = abs(x), -1.0 if x < 0 else 1.0
    top = size.numerator.bit_length() - size.denominator.bit_length()
    top -= size < Fraction(2) ** top  # now 2^top <= size < 2^(top + 1)
    last = max(top - form.bits + 1, form.least)
    count = round(size / Fraction(2) ** last)  # of Python: ties to even
    if count.bit_length() + last > form.most + 1:
        return math.copysign(math.inf, sign)
    return math.copysign(math.ldexp(count, last), sign)  # a result of zero keeps the sign


def expected(case: Case, form: Format) -> float:
    """Return a b + c of finite numbers with one rounding."""
    a, b, c = case
    x = Fraction(a) * Fraction(b) + Fraction(c)
    if x:
        return rounded(x, form)
    sign = math.copysign(1, a) * math.copysign(1, b)  # of the product
    return -0.0 if sign < 0 and math.copysign(1, c) < 0 else 0.0


def drawn(count: int, bits: int) -> list[int]:
    """Return odd whole numbers of `bits` bits, the same on every machine."""
    x, found = 20261116, list[int]()
    for _ in range(count):
        value = 0
        for _ in range(2):
            x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
            value = value << 32 | x >> 32
        found.append(value >> (64 - bits) | 1 << (bits - 1) | 1)
    return found


def cases(form: Format) -> list[Case]:
    """Return products and sums that are wrong when they are rounded twice."""
    p, found = form.bits, list[Case]()

    def add(a: float, b: float, c: float) -> None:
        found.extend([(a, b, c), (-a, b, -c), (-a, -b, c), (a, -b, -c)])

    # Sums next to the middle of two neighbours, above and below it. The product differs from the
    # middle by 2^-2j of itself, which a second rounding (after one to `bits` or to 64 bits) loses.
    for j in range(p // 2 + 1, p - 1):
        e = math.ldexp(1.0, -j)
        half = math.ldexp(1.0, -p)
        for scale in (1.0, math.ldexp(1.0, form.least // 2), math.ldexp(1.0, form.most // 2)):
            odd, even = scale * (1 + 2 * half), scale
            add(1 + e, scale * half * (1 - e), odd)  # just below: down, to the odd one
            add(1 + e, scale * half * (1 + e), even)  # just above: up, to the odd one
            add(1 + e, -scale * half * (1 - e), odd)
    # Cancellation: the sum is the error of the rounded product, or has few bits left.
    numbers = drawn(2 * DRAWN, p)
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    for m, n in pairs:
        near = rounded(Fraction(m * n), form)
        add(float(m), float(n), -near)
        add(float(m), float(n), -(near + math.ldexp(1.0, p)))
    # Results below the least normal number: fewer bits are left, so an earlier rounding shows.
    tiny = math.ldexp(1.0, form.least)
    for k, (m, n) in enumerate(pairs):
        shift = form.least - 2 * p + 2 + k % p
        low = shift // 2
        a, b = math.ldexp(m, low), math.ldexp(n, shift - low)
        for c in (0.0, tiny, 3 * tiny, -(tiny * (1 << k % p)), math.ldexp(1.0, form.least + p - 1)):
            add(a, b, c)
    # Zeros with their signs, products below all numbers, sums beyond the largest, and just inside.
    largest = math.ldexp(2.0 - math.ldexp(1.0, 1 - p), form.most)
    for c in (0.0, tiny, 1.0, largest):
        add(0.0, 1.0, c)
        add(0.0, 0.0, -c)
        add(tiny, tiny, c)
        add(tiny, -tiny, c)
    add(1.5, 2.0, -3.0)
    add(math.ldexp(1.0, form.most), 2.0, -largest)
    add(math.ldexp(1.0, form.most), 2.0, largest)
    add(largest, 1.0, math.ldexp(1.0, form.most - p))
    add(largest, 1.0, math.ldexp(1.0 - math.ldexp(1.0, -p), form.most - p))
    return found


def product_kernel() -> Kernel:
    """Return a kernel of one fused product."""
    ports = [Port(name, ()) for name in "abc"]
    graph = optimise(trace(lambda a, b, c: a * b + c, ports))
    assert any(node.op == "fma" for node in graph.nodes)
    return Kernel(graph, "fused_product")


def advice() -> str:
    """Return the way out, which depends on who computes fused products."""
    if has_llvm() and not engine.fuses(host_target()):
        return (
            f"{OTHER_BITS}The function fma of the C library of this system rounds wrongly, and "
            "kernels call it because the processor has no fused multiply-add or because "
            "KINETREE_TARGET excludes it. Leave KINETREE_TARGET empty or update the C library."
        )
    return OTHER_BITS + REPORT


def wrong(all_cases: list[Case], results: Array, form: Format) -> str:
    """Return the number of wrong results and the first of them, as text."""
    found = [
        f"{a.hex()} * {b.hex()} + {c.hex()} = {float(x).hex()} instead of {right.hex()}"
        for (a, b, c), x in zip(all_cases, results, strict=True)
        if (right := expected((a, b, c), form)).hex() != float(x).hex()  # compares signs of zeros
    ]
    return f"{len(found)} wrong of {len(all_cases)}" + (f": {found[0]}" if found else "")


def fused() -> Iterator[Finding]:
    """Check fused products of kernels, in both number types, for batches and single states."""
    kernel, way_out = product_kernel(), advice()
    for form in (DOUBLE, SINGLE):
        given = cases(form)
        columns = [np.array(x, form.dtype) for x in zip(*given, strict=True)]
        fine = f"0 wrong of {len(given)}"
        title = f"fused products in {form.dtype} are rounded once"
        yield equal(f"{title}, batch", fine, wrong(given, kernel(*columns), form), way_out)
        single = np.array([kernel(*case) for case in zip(*columns, strict=True)])
        yield equal(f"{title}, one state", fine, wrong(given, single, form), way_out)


PARTS: dict[str, Callable[[], Iterator[Finding]]] = {"fused products": fused}
