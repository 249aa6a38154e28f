"""Exact division of trigonometric polynomials, through exp(i a) = z for every angle a.

Modulo sin^2 = 1 - cos^2 a quotient has no unique leading term; in powers of z and 1/z it has, and
one division by leading terms decides whether a polynomial is a multiple of another.
"""

from heapq import heapify, heappop, heappush
from typing import Any

from kinetree.symbols.read import BaseAngle, Reader, turned
from kinetree.symbols.ring import BITS, FIELD, Polynomial, Ring

MOST_STEPS = 200_000  # products of terms; beyond, a quotient is left as it is
Powers = dict[int, Any]  # monomials in z and the other generators -> Gaussian rational


def divide(reader: Reader, x: Any, divisor: Any) -> Any | None:
    """The polynomial x / divisor, or None where it is none (or would take too long to find)."""
    ring = reader.ring
    if not isinstance(x, Polynomial) or not isinstance(divisor, Polynomial):
        return None
    sines = ring.fields(angle.sine for angle in reader.angles)
    free = ring.fields(k for k in ring.squares) & ~sines  # roots and quaternions are no variables
    if any(monomial & free for monomial in divisor.terms):
        return None
    (top, raised), (below, lowered) = (_powers(reader.angles, p) for p in (x, divisor))
    if len(top) * len(below) > MOST_STEPS:
        return None
    found = _divide(ring, top, below)
    return None if found is None else _polynomial(reader, found, raised - lowered)


def _powers(angles: list[BaseAngle], x: Polynomial) -> tuple[Powers, int]:
    """x in powers of z, all raised by as much as makes them positive; the raise of every angle."""
    from sympy import QQ_I

    degree = max(
        sum((m >> BITS * k & FIELD) for a in angles for k in (a.cosine, a.sine)) for m in x.terms
    )
    raised = sum(degree << BITS * angle.cosine for angle in angles)
    found: Powers = {}
    for monomial, value in x.terms.items():
        waves = {monomial: QQ_I.convert(value)}
        for angle in angles:
            c, s = (monomial >> BITS * k & FIELD for k in (angle.cosine, angle.sine))
            waves = {m - (c << BITS * angle.cosine) - (s << BITS * angle.sine): v
                     for m, v in waves.items()}  # fmt: skip
            z = 1 << BITS * angle.cosine
            for factor in (QQ_I(1, 0),) * c + (QQ_I(0, 1),) * s:
                split: Powers = {}
                sine = factor.y != 0  # sin a = -i (z - 1/z) / 2
                for m, v in waves.items():
                    half = -factor * v / 2 if sine else v / 2
                    split[m + z] = split.get(m + z, 0) + half
                    split[m - z] = split.get(m - z, 0) + (-half if sine else half)
                waves = split
        for m, v in waves.items():
            found[m + raised] = found.get(m + raised, 0) + v
    return {m: v for m, v in found.items() if v}, raised


def _divide(ring: Ring, top: Powers, below: Powers) -> Powers | None:
    """Division by leading terms in lexicographic order, which is that of the packed monomials."""
    guard = sum(1 << BITS * k + BITS - 1 for k in range(len(ring.generators)))
    lead = max(below)
    rest, quotient = dict(top), {}
    heap = [-m for m in rest]
    heapify(heap)
    while heap:
        monomial = -heappop(heap)
        value = rest.get(monomial)
        if not value:
            continue
        if ((monomial | guard) - lead) & guard != guard:  # some exponent would be negative
            return None
        factor, step = value / below[lead], monomial - lead
        quotient[step] = factor
        for m, v in below.items():
            if m + step not in rest:
                heappush(heap, -(m + step))
            rest[m + step] = rest.get(m + step, 0) - factor * v
    return quotient


def _polynomial(reader: Reader, powers: Powers, raised: int) -> Any:
    """Back to cosines and sines: z^k = cos(k a) + i sin(k a)."""
    ring = reader.ring
    total: Any = 0
    for monomial, value in powers.items():
        rest, C, S = monomial, ring.constant(1), 0
        for angle in reader.angles:
            place = BITS * angle.cosine
            power = monomial >> place & FIELD
            rest -= power << place
            turns = power - (raised >> place & FIELD)
            c, s = (ring.variable(ring.generators[k]) for k in (angle.cosine, angle.sine))
            for _ in range(abs(turns)):
                C, S = turned(C, S, c, s if turns > 0 else -s)
        for part, number in ((C, value.x), (S, -value.y)):  # the imaginary parts add up to zero
            if number:
                total = total + Polynomial(ring, {rest: number}) * part
    return total
