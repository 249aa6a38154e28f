"""Derive the numbers in src/kinetree/engine/compiler/sincos.py and print them.

Sine and cosine on |t| <= pi/4 are t + t z S(z) and 1 - z/2 + z^2 C(z) with z = t^2. S and C are the
polynomials with the smallest greatest relative error of the whole expression, found by Remez
exchange in 60 digits. Coefficients are rounded to doubles one at a time, lowest power first, and
the remaining ones are fitted again, so that later coefficients make up for the rounding of earlier
ones. Run with `python tools/sincos_coefficients.py` (needs mpmath; takes about a minute).
"""

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60
# a little more than pi/4: rounding may pick the multiple of pi/2 next to the nearest one
LIMIT = mp.pi / 4 * (1 + mp.mpf(2) ** -20)
GRID = 1500

Function = Callable[[mp.mpf], mp.mpf]


def sine_target(z: mp.mpf) -> mp.mpf:
    """S(z) exactly, through the series of (sin t / t - 1) / z."""
    return mp.nsum(lambda k: (-1) ** int(k) * z ** (int(k) - 1) / mp.factorial(2 * k + 1), [1, 20])


def cosine_target(z: mp.mpf) -> mp.mpf:
    """C(z) exactly, through the series of (cos t - 1 + z/2) / z^2."""
    return mp.nsum(lambda k: (-1) ** int(k) * z ** (int(k) - 2) / mp.factorial(2 * k), [2, 20])


def sine_weight(z: mp.mpf) -> mp.mpf:
    """Relative error of the sine per error of S."""
    t = mp.sqrt(z)
    return z * t / mp.sin(t)


def cosine_weight(z: mp.mpf) -> mp.mpf:
    """Relative error of the cosine per error of C."""
    return z**2 / mp.cos(mp.sqrt(z))


def solve(target: list, weight: list, z: list, points: list[int], fixed: list, terms: int) -> list:
    """Free coefficients and the levelled error that alternates in sign over the points."""
    free = terms - len(fixed)
    rows, right = [], []
    for sign, i in enumerate(points):
        rows.append(
            [z[i] ** (len(fixed) + j) for j in range(free)] + [(-1) ** sign / weight[i]],
        )
        right.append(target[i] - mp.polyval(fixed[::-1], z[i]) if fixed else target[i])
    return list(mp.lu_solve(mp.matrix(rows), mp.matrix(right)))


def extrema(error: list, count: int) -> list[int]:
    """Positions of `count` alternating extrema: the greatest of each run of equal sign."""
    runs: list[list[int]] = [[0]]
    for i in range(1, len(error)):
        if (error[i] > 0) == (error[runs[-1][-1]] > 0):
            runs[-1].append(i)
        else:
            runs.append([i])
    peaks = [max(run, key=lambda i: abs(error[i])) for run in runs]
    while len(peaks) > count:
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    return peaks


def minimax(target: Function, weight: Function, terms: int) -> tuple[list[float], mp.mpf]:
    """Coefficients rounded to doubles, lowest power first, and the greatest relative error."""
    z = [LIMIT**2 * (1 - mp.cos(mp.pi * (i + 1) / GRID)) / 2 for i in range(GRID)]
    f, w = [target(x) for x in z], [weight(x) for x in z]
    fixed: list = []
    while len(fixed) < terms:
        count = terms - len(fixed) + 1
        points = [(GRID - 1) * (2 * i + 1) // (2 * count) for i in range(count)]
        coefficients: list = []
        for _ in range(12):
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


def truncated(x: mp.mpf, bits: int) -> float:
    """The leading `bits` binary digits of x."""
    scale = mp.mpf(2) ** (bits - 1 - int(mp.floor(mp.log(abs(x), 2))))
    return float(mp.floor(x * scale) / scale)


def main() -> None:
    """Print every number of the module."""
    for name, target, weight in (
        ("SINE", sine_target, sine_weight),
        ("COSINE", cosine_target, cosine_weight),
    ):
        for suffix, terms in (("64", 6), ("32", 3)):
            coefficients, worst = minimax(target, weight, terms)
            print(f"# greatest relative error 2^{mp.nstr(mp.log(worst, 2), 4)}")
            print(f"{name}_{suffix} = (")
            for c in coefficients:
                print(f'    "{c.hex()}",')
            print(")")

    half_pi = mp.pi / 2
    first = float(half_pi)
    second = truncated(half_pi - first, 36)
    third = float(half_pi - first - second)
    print("HALF_PI =", [first.hex(), second.hex(), third.hex()])
    print("HALF_PI_REST =", float(half_pi - first).hex())
    print("TWO_OVER_PI =", float(1 / half_pi).hex())
    mp.mp.prec = 2000
    words = 21
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * (words - 1))))
    for k in reversed(range(words)):
        print(f"    0x{(digits >> (64 * k)) & (2**64 - 1):016X},")


if __name__ == "__main__":
    main()
