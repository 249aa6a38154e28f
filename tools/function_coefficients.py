"""Derive the numbers in src/kinetree/engine/compiler/elementary.py and print them.

The functions are reduced to short intervals, on which

    exp(r)     = 1 + r + r^2/2 + r^3 E(r)                       |r| <= ln(2)/2
    log(1 + t) = t - s t + s z L(z),              z = s^2       s = t/(2 + t), |s| <= 3 - 2 sqrt(2)
    atan(t)    = t + t z A(z),                    z = t^2       |t| <= tan(pi/8)

E, L and A are minimax polynomials, found as those of the sine: see `sincos_coefficients.py`.
Run with `python tools/function_coefficients.py` (needs mpmath; takes about two minutes).
"""

import mpmath as mp
from sincos_coefficients import Function, extrema, solve, truncated

mp.mp.dps = 60
GRID = 1200
MARGIN = 1 + mp.mpf(2) ** -20  # rounding may pick the neighbour of the nearest multiple


def exp_target(r: mp.mpf) -> mp.mpf:
    """E(r) exactly, through its series."""
    return mp.fsum(r**k / mp.factorial(k + 3) for k in range(30))


def exp_weight(r: mp.mpf) -> mp.mpf:
    """Relative error of exp(r) per error of E."""
    return abs(r) ** 3 / mp.exp(r)


def log_target(z: mp.mpf) -> mp.mpf:
    """L(z) exactly, through its series."""
    return mp.fsum(2 * z**k / (2 * k + 3) for k in range(45))


def log_weight(z: mp.mpf) -> mp.mpf:
    """Relative error of the logarithm 2 atanh(s) per error of L."""
    s = mp.sqrt(z)
    return s * z / (2 * mp.atanh(s))


def atan_target(z: mp.mpf) -> mp.mpf:
    """A(z) exactly, through its series."""
    return mp.fsum((-1) ** (k + 1) * z**k / (2 * k + 3) for k in range(90))


def atan_weight(z: mp.mpf) -> mp.mpf:
    """Relative error of the angle per error of A."""
    t = mp.sqrt(z)
    return t * z / mp.atan(t)


def minimax(
    target: Function, weight: Function, low: mp.mpf, high: mp.mpf, terms: int
) -> tuple[list[float], mp.mpf]:
    """Coefficients rounded to doubles, lowest power first, and the greatest relative error."""
    middle, half = (high + low) / 2, (high - low) / 2
    z = [middle - half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / GRID) for i in range(GRID)]
    f, w = [target(x) for x in z], [weight(x) for x in z]
    fixed: list = []
    while len(fixed) < terms:
        count = terms - len(fixed) + 1
        points = [(GRID - 1) * (2 * i + 1) // (2 * count) for i in range(count)]
        coefficients: list = []
        for _ in range(10):
            coefficients = fixed + solve(f, w, z, points, fixed, terms)[:-1]
            error = [
                (mp.polyval(coefficients[::-1], x) - y) * v for x, y, v in zip(z, f, w, strict=True)
            ]
            peaks = extrema(error, count)
            if len(peaks) < count or peaks == points:
                break
            points = peaks
        fixed.append(mp.mpf(float(coefficients[len(fixed)])))
    worst = max(abs((mp.polyval(fixed[::-1], x) - y) * v) for x, y, v in zip(z, f, w, strict=True))
    return [float(c) for c in fixed], worst


def main() -> None:
    """Print every number of the module."""
    half = mp.log(2) / 2 * MARGIN
    s, t = (3 - 2 * mp.sqrt(2)) * MARGIN, mp.tan(mp.pi / 8) * MARGIN
    zero = mp.mpf(0)
    for name, target, weight, low, high, terms in (
        ("EXP", exp_target, exp_weight, -half, half, 9),
        ("EXP_FOR_TANH", exp_target, exp_weight, -half, half, 10),
        ("LOG", log_target, log_weight, zero, s * s, 7),
        ("ATAN", atan_target, atan_weight, zero, t * t, 12),
    ):
        coefficients, worst = minimax(target, weight, low, high, terms)
        print(f"# greatest relative error 2^{mp.nstr(mp.log(worst, 2), 4)}")
        print(f"{name} = exact(")
        for c in coefficients:
            print(f'    "{c.hex()}",')
        print(")")
    for name, value, bits in (("LN2", mp.log(2), 41), ("QUARTER_PI", mp.pi / 4, 53)):
        first = truncated(value, bits) if bits < 53 else float(value)
        print(name, "=", first.hex(), float(value - first).hex())
    print("LOG2_E =", float(1 / mp.log(2)).hex())
    print("TAN_PI_8 =", float(mp.tan(mp.pi / 8)).hex())
    print("SQRT_HALF =", float(mp.sqrt(mp.mpf(1) / 2)).hex())


if __name__ == "__main__":
    main()
