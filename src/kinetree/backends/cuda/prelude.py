"""The CUDA C++ that all kernels share: rounding, special functions, tiles of 32 states.

A warp of 32 threads works on 32 neighbouring states. Their rows lie one behind the other in the
user's (N, n) arrays, so the warp copies them as one block, 16 bytes a thread, into a tile of shared
memory, from where each thread reads its own row. Results take the same way back. A plain C++
compiler accepts the same text, which is how its arithmetic is tested where there is no GPU.

Sines and cosines have the bits of the CPU's kernels. The arithmetic is that of
`kinetree.compiler.sincos`, operation by operation, in float64 for both number types. Compared
with CUDA's own functions it takes fewer instructions, reads no table and needs no branch; angles
beyond the short reduction are left to CUDA's, which know all digits of pi. exp, log, tanh and atan2
are those of `kinetree.compiler.elementary`, written only where a graph uses them.
"""

from collections.abc import Collection

from kinetree.backends.c_functions import CArithmetic, functions_text
from kinetree.backends.cuda.body import Constants
from kinetree.compiler.elementary import FUNCTIONS
from kinetree.compiler.graph import Graph
from kinetree.compiler.sincos import (
    COSINE_32,
    COSINE_64,
    HALF_PI,
    HALF_PI_REST,
    LIMIT,
    ROUNDER,
    SINE_32,
    SINE_64,
    TWO_OVER_PI,
)

# what a GPU and a plain C++ compiler spell differently
MACHINE = r"""
#if defined(__CUDACC__)
#define KT_FUNCTION __device__ __forceinline__
#define KT_CONSTANT static __constant__
#define KT_ENTRY(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define KT_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#else
#include <cmath>
#include <cstring>
#define KT_FUNCTION static inline
#define KT_CONSTANT static const
#endif

typedef KT_REAL real;

KT_FUNCTION real kt_fma(real a, real b, real c) {
#if !defined(__CUDACC__)
    return std::fma(a, b, c);
#elif KT_DOUBLE
    return __fma_rn(a, b, c);
#else
    return __fmaf_rn(a, b, c);
#endif
}

KT_FUNCTION real kt_again(real a) {  // the same number, which the compiler cannot know
#if defined(__CUDACC__) && KT_DOUBLE
    asm volatile("" : "+d"(a));
#elif defined(__CUDACC__)
    asm volatile("" : "+f"(a));
#endif
    return a;
}

KT_FUNCTION bool kt_is_finite(real a) { return a - a == 0; }

KT_FUNCTION real kt_sqrt(real a) {
#if !defined(__CUDACC__)
    return std::sqrt(a);
#elif KT_DOUBLE
    return __dsqrt_rn(a);
#else
    return __fsqrt_rn(a);
#endif
}

KT_FUNCTION real kt_div(real a, real b) {
#if !defined(__CUDACC__)
    return a / b;
#elif KT_DOUBLE
    return __ddiv_rn(a, b);
#else
    return __fdiv_rn(a, b);
#endif
}

// Divisions by one number share its reciprocal. This is how CUDA itself divides: a first guess of
// 1/b and Newton's steps, then a quotient that its remainder corrects, which is the nearest number.
// What CUDA adds is a branch for numbers near the ends of their range; without it divisions
// overlap. A quotient by zero or infinity is NaN here.
KT_FUNCTION real kt_reciprocal(real b) {
#if !defined(__CUDACC__)
    return 1 / b;
#elif KT_DOUBLE
    double y, e;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    e = kt_fma(-b, y, 1.0);
    e = kt_fma(e, e, e);
    const double near = kt_fma(e, y, y);
    return kt_fma(kt_fma(-b, near, 1.0), near, near);
#else
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
    return kt_fma(kt_fma(-b, y, 1.0f), y, y);
#endif
}

KT_FUNCTION real kt_quotient(real a, real b, real y) {
    const real guess = a * y;
    return kt_fma(kt_fma(-b, guess, a), y, guess);
}

KT_FUNCTION real kt_sign(real a) {  // NaN stays, zero has no sign
    return a > 0 ? (real)1 : a < 0 ? (real)-1 : a == 0 ? (real)0 : a;
}

KT_FUNCTION real kt_bits(unsigned long long bits) {  // what no literal can say: infinity and NaN
#if defined(__CUDACC__)
    return (real)__longlong_as_double((long long)bits);
#else
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return (real)value;
#endif
}
"""

# copies between the user's arrays and tiles; `pitch` is the distance of rows in a tile, which is
# more than their width where that keeps threads from waiting for the same bank of shared memory
TILES = r"""
#define KT_WARP 32
#define KT_PACK (16 / (int)sizeof(real))

struct alignas(16) kt_pack { real x[KT_PACK]; };

template <typename T> KT_FUNCTION void kt_fetch(real *tile, const real *rows) {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
    const unsigned place = (unsigned)__cvta_generic_to_shared(tile);
    if (sizeof(T) == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(rows)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(rows),
                     "n"(sizeof(T)) : "memory");
#else
    *(T *)tile = *(const T *)rows;
#endif
}

KT_FUNCTION void kt_arrived() {
#if defined(__CUDACC__)
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncwarp();
#endif
}

// a whole warp of rows as one block, 16 bytes a thread; anything else number by number
template <int width> KT_FUNCTION void kt_read_block(real *tile, const real *rows, int lane) {
#pragma unroll
    for (int k = 0; k < width * KT_WARP; k += KT_PACK * KT_WARP)
        if (k + lane * KT_PACK < width * KT_WARP)
            kt_fetch<kt_pack>(tile + k + lane * KT_PACK, rows + k + lane * KT_PACK);
}

template <int width, int pitch>
KT_FUNCTION void kt_read(real *tile, const real *rows, int count, int lane) {
#pragma unroll 1
    for (int k = lane; k < width * count; k += KT_WARP)
        kt_fetch<real>(tile + k / width * pitch + k % width, rows + k);
}

// the same where rows are further apart in the tile than in memory
template <int width, int pitch>
KT_FUNCTION void kt_read_rows(real *tile, const real *rows, int lane) {
    const int packs = width / KT_PACK;
#pragma unroll 4
    for (int k = lane; k < packs * KT_WARP; k += KT_WARP)
        kt_fetch<kt_pack>(tile + k / packs * pitch + k % packs * KT_PACK, rows + k * KT_PACK);
}

template <int width, int pitch>
KT_FUNCTION void kt_write_rows(const real *tile, real *rows, int lane) {
    const int packs = width / KT_PACK;
#pragma unroll 4
    for (int k = lane; k < packs * KT_WARP; k += KT_WARP)
        *(kt_pack *)(rows + k * KT_PACK) =
            *(const kt_pack *)(tile + k / packs * pitch + k % packs * KT_PACK);
}

template <int width> KT_FUNCTION void kt_write_block(const real *tile, real *rows, int lane) {
#pragma unroll
    for (int k = 0; k < width * KT_WARP; k += KT_PACK * KT_WARP)
        if (k + lane * KT_PACK < width * KT_WARP)
            *(kt_pack *)(rows + k + lane * KT_PACK) =
                *(const kt_pack *)(tile + k + lane * KT_PACK);
}

template <int width, int pitch>
KT_FUNCTION void kt_write(const real *tile, real *rows, int count, int lane) {
#pragma unroll 1
    for (int k = lane; k < width * count; k += KT_WARP)
        rows[k] = tile[k / width * pitch + k % width];
}
"""

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

PATTERNS = r"""
KT_FUNCTION unsigned long long kt_to_bits(double x) {
#if defined(__CUDACC__)
    return (unsigned long long)__double_as_longlong(x);
#else
    unsigned long long bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

KT_FUNCTION double kt_from_bits(unsigned long long bits) {
#if defined(__CUDACC__)
    return __longlong_as_double((long long)bits);
#else
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

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


def elementary_text(dtype: str, used: Collection[str]) -> str:
    """The functions kt_fn_exp, ..._log, ..._tanh and ..._atan2, those that are used."""
    if not set(used) & set(FUNCTIONS):
        return ""
    number = Constants("kt_fn_table", "float64")

    def arithmetic() -> CArithmetic:
        return CArithmetic(number, "kt_fma64", "kt_to_bits", "kt_from_bits")

    text = functions_text(used, "real", "kt_fn_{}".format, arithmetic, "KT_FUNCTION")
    return number.text() + PATTERNS + text


def prelude(dtype: str, *graphs: Graph) -> str:
    """The shared part for numbers of `dtype`, "float64" or "float32", and for these graphs."""
    used = {op for graph in graphs for op in graph.count()}
    double = dtype == "float64"
    head = f"#define KT_DOUBLE {int(double)}\n#define KT_REAL {'double' if double else 'float'}\n"
    return head + MACHINE + sincos_text(dtype) + elementary_text(dtype, used) + TILES
