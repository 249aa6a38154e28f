"""Sine and cosine in CUDA C++ with the bits of the CPU's kernels.

The arithmetic is that of `kinetree.backends.llvm.sincos`, operation by operation, in float64 for
both number types: |x| = n pi/2 + t with |t| <= pi/4, then two polynomials. Compared with CUDA's own
functions it takes fewer instructions, reads no table and needs no branch; angles beyond the short
reduction are left to CUDA's, which know all digits of pi.
"""

from kinetree.backends.cuda.constants import Constants
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

REDUCTION = {
    "float64": """\
    const double t = kt_fma64(n, {second}, rest);
    const double low = kt_fma64(n, {third}, kt_fma64(n, {second}, rest - t));
""",
    "float32": "    const double t = kt_fma64(n, {remainder}, rest);\n",
}
EVALUATION = {
    "float64": """\
    const double lost = kt_fma64(z, -0.5, 1.0 - head);
    const double sine = t + kt_fma64(t * z, S, low * head);
    const double cosine = head + kt_fma64(-t, low, kt_fma64(z2, C, lost));
""",
    "float32": """\
    const real sine = (real)kt_fma64(t * z, S, t);
    const real cosine = (real)kt_fma64(z2, C, head);
""",
}
POLYNOMIALS = {"float64": (SINE_64, COSINE_64), "float32": (SINE_32, COSINE_32)}

BITS = r"""
KT_FUNCTION double kt_fma64(double a, double b, double c) {
#if defined(__CUDACC__)
    return __fma_rn(a, b, c);
#else
    return std::fma(a, b, c);
#endif
}

KT_FUNCTION real kt_size(real x) {
#if !defined(__CUDACC__)
    return std::fabs(x);
#elif KT_DOUBLE
    return fabs(x);
#else
    return fabsf(x);
#endif
}

KT_FUNCTION int kt_low_word(double x) {
#if defined(__CUDACC__)
    return __double2loint(x);
#else
    long long bits;
    std::memcpy(&bits, &x, sizeof bits);
    return (int)bits;
#endif
}

// the word of a number that has its sign in bit 31, and the number with that bit changed
#if !defined(__CUDACC__)
KT_FUNCTION int kt_sign_word(real x) { return std::signbit(x) ? 1 << 31 : 0; }
KT_FUNCTION real kt_flip(real x, int turn) { return turn < 0 ? -x : x; }
#elif KT_DOUBLE
KT_FUNCTION int kt_sign_word(real x) { return __double2hiint(x); }
KT_FUNCTION real kt_flip(real x, int turn) {
    return __hiloint2double(__double2hiint(x) ^ (turn & 0x80000000), __double2loint(x));
}
#else
KT_FUNCTION int kt_sign_word(real x) { return __float_as_int(x); }
KT_FUNCTION real kt_flip(real x, int turn) {
    return __int_as_float(__float_as_int(x) ^ (turn & 0x80000000));
}
#endif

struct kt_pair { real s, c; };
"""

# rarely entered, so it stands apart from the code that is always run
CAREFUL = r"""
#if defined(__CUDACC__)
static __device__ __noinline__ kt_pair kt_careful(real angle) {
    double s, c;
    sincos((double)angle, &s, &c);
    return {(real)s, (real)c};
}
#else
static kt_pair kt_careful(real angle) {
    return {(real)std::sin((double)angle), (real)std::cos((double)angle)};
}
#endif
"""


def sincos_text(dtype: str) -> str:
    """The functions `kt_near(angle)`, `kt_is_near(angle)` and `kt_far(angle, pair)`."""
    number = Constants("kt_trigonometry", "float64")
    S, C = [polynomial(c, number) for c in POLYNOMIALS[dtype]]
    second, third, remainder = map(number, (-HALF_PI[1], -HALF_PI[2], -HALF_PI_REST))
    reduction = REDUCTION[dtype].format(second=second, third=third, remainder=remainder)
    turns, first = number(TWO_OVER_PI), number(-HALF_PI[0])
    limit = f"(real){LIMIT[dtype]!r}"
    return f"""{number.text()}{BITS}
KT_FUNCTION bool kt_is_near(real angle) {{ return kt_size(angle) <= {limit}; }}

KT_FUNCTION kt_pair kt_near(real angle) {{
    const double x = (double)kt_size(angle);
    const double shifted = kt_fma64(x, {turns}, {ROUNDER!r});
    const double n = shifted - {ROUNDER!r};
    const double rest = kt_fma64(n, {first}, x);
{reduction}    const double z = t * t;
    const double z2 = z * z;
    const double head = kt_fma64(z, -0.5, 1.0);
    const double S = {S};
    const double C = {C};
{EVALUATION[dtype]}    const unsigned quadrant = (unsigned)kt_low_word(shifted);
    const real along = quadrant & 1 ? cosine : sine;
    const real across = quadrant & 1 ? sine : cosine;
    return {{kt_flip(along, (int)(quadrant << 30) ^ kt_sign_word(angle)),
            kt_flip(across, (int)((quadrant + 1) << 30))}};
}}
{CAREFUL}
KT_FUNCTION void kt_far(real angle, kt_pair &pair) {{
    if (!kt_is_near(angle)) pair = kt_careful(angle);
}}
"""


def polynomial(c: tuple[float, ...], number: Constants) -> str:
    """Value of c[0] + c[1] z + ..., two powers at a time."""
    parts = [
        f"kt_fma64(z, {number(c[k + 1])}, {number(c[k])})" if k + 1 < len(c) else number(c[k])
        for k in range(0, len(c), 2)
    ]
    value = parts.pop()
    while parts:
        value = f"kt_fma64(z2, {value}, {parts.pop()})"
    return value
