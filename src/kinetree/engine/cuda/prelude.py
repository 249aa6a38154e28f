"""The CUDA C++ that all kernels share: rounding, special functions, tiles of 32 states.

A warp of 32 threads works on 32 neighbouring states. Their rows lie one behind the other in the
user's (N, n) arrays, so the warp copies them as one block, 16 bytes a thread, into a tile of shared
memory, from where each thread reads its own row. Results take the same way back. GPUs from sm_90 on
bring the rows of a whole block of warps at the order of one thread. A plain C++ compiler accepts
the same text, which is how its arithmetic is tested where there is no GPU.

Sines and cosines have the bits of the CPU's kernels: they are written from
`kinetree.engine.compiler.sincos`, in float64 for both number types. Compared with CUDA's own
functions this takes fewer instructions, reads no table and needs no branch; angles
beyond the short reduction are left to CUDA's, which know all digits of pi. exp, log, tanh and atan2
are those of `kinetree.engine.compiler.elementary`, written only where a graph uses them.
"""

from collections.abc import Collection

from kinetree.engine.compiler.elementary import FUNCTIONS
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.sincos import EVALUATE, LIMIT, REDUCE
from kinetree.engine.cuda.body import Constants
from kinetree.engine.cuda.c_arithmetic import ALWAYS, CArithmetic, functions_text

# what a GPU and a plain C++ compiler spell differently
MACHINE = r"""
#if defined(__CUDACC__)
#define KT_FUNCTION __device__ __forceinline__
#define KT_CONSTANT static __constant__
#define KT_ENTRY(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define KT_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#else  // the functions of CUDA that are used here
#include <cmath>
#include <cstring>
#define KT_FUNCTION static inline
#define KT_CONSTANT static const
#define __fma_rn std::fma
#define __fmaf_rn std::fma
#define __dsqrt_rn std::sqrt
#define __fsqrt_rn std::sqrt
template <typename To, typename From> To kt_same_bits(From x) {
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}
#define __double_as_longlong kt_same_bits<long long, double>
#define __longlong_as_double kt_same_bits<double, long long>
#define __float_as_int kt_same_bits<int, float>
#define __int_as_float kt_same_bits<float, int>
#define __double2loint(x) (int)__double_as_longlong(x)
#define __double2hiint(x) (int)(__double_as_longlong(x) >> 32)
#define __hiloint2double(high, low) \
    __longlong_as_double((long long)(high) << 32 | (unsigned)(low))
#endif

typedef KT_REAL real;

#if KT_DOUBLE
KT_FUNCTION real kt_fma(real a, real b, real c) { return __fma_rn(a, b, c); }
KT_FUNCTION real kt_sqrt(real a) { return __dsqrt_rn(a); }
KT_FUNCTION real kt_fabs(real a) { return fabs(a); }
#else
KT_FUNCTION real kt_fma(real a, real b, real c) { return __fmaf_rn(a, b, c); }
KT_FUNCTION real kt_sqrt(real a) { return __fsqrt_rn(a); }
KT_FUNCTION real kt_fabs(real a) { return fabsf(a); }
#endif
KT_FUNCTION double kt_fma64(double a, double b, double c) { return __fma_rn(a, b, c); }

KT_FUNCTION real kt_again(real a) {  // the same number, which the compiler cannot know
#if defined(__CUDACC__) && KT_DOUBLE
    asm volatile("" : "+d"(a));
#elif defined(__CUDACC__)
    asm volatile("" : "+f"(a));
#endif
    return a;
}

KT_FUNCTION bool kt_is_finite(real a) { return a - a == 0; }

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
    return kt_fma(kt_fma(-b, y, 1.0f), y, y);  // nearest to 1/b, for each of all float32
#endif
}

KT_FUNCTION real kt_quotient(real a, real b, real y) {
    const real guess = a * y;
    return kt_fma(kt_fma(-b, guess, a), y, guess);
}

KT_FUNCTION unsigned long long kt_to_bits(double x) {
    return (unsigned long long)__double_as_longlong(x);
}
KT_FUNCTION double kt_from_bits(unsigned long long bits) {
    return __longlong_as_double((long long)bits);
}
KT_FUNCTION int kt_low_word(double x) { return __double2loint(x); }
// what no literal can say: infinity and NaN
KT_FUNCTION real kt_bits(unsigned long long bits) { return (real)kt_from_bits(bits); }
"""

# copies between the user's arrays and tiles; `pitch` is the distance of rows in a tile, which is
# more than their width where that keeps threads from waiting for the same bank of shared memory
TILES = r"""
#define KT_WARP 32
#if !defined(KT_BLOCK)  // threads of a block
#define KT_BLOCK KT_WARP
#endif
#define KT_BLOCK_WARPS (KT_BLOCK / KT_WARP)
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

#if defined(__CUDACC__)
// where a thread stands, read anew at each call
KT_FUNCTION int kt_thread() {
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

KT_FUNCTION unsigned kt_block() {
    unsigned x;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
    return x;
}

KT_FUNCTION long long kt_first(int thread) {  // state of the warp
    return (long long)kt_block() * KT_BLOCK + thread / KT_WARP * KT_WARP;
}

KT_FUNCTION int kt_count(long long states, long long first) {  // of the warp
    return states - first < KT_WARP ? (int)(states - first) : KT_WARP;
}

#if __CUDA_ARCH__ >= 900
KT_FUNCTION unsigned kt_shared(const real *place) {
    return (unsigned)__cvta_generic_to_shared(place);
}

// a new barrier that waits for so many bytes, copies of a block's rows that it counts, the wait of
// a thread, and rows that are brought into the cache
KT_FUNCTION void kt_expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes) : "memory");
}

template <int width> KT_FUNCTION void kt_bulk(real *tile, const real *rows, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(kt_shared(tile)),
                 "l"(rows + (size_t)kt_block() * (KT_BLOCK * width)),
                 "r"((unsigned)sizeof(real) * KT_BLOCK * width), "r"(barrier) : "memory");
}

KT_FUNCTION void kt_wait(unsigned barrier) {
    asm volatile("{\n .reg .pred done;\nagain_%=:\n"
                 " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                 " @!done bra again_%=;\n}" ::"r"(barrier) : "memory");
}

template <int width> KT_FUNCTION void kt_ahead(const real *rows, unsigned block) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::
                 "l"(rows + (size_t)block * (KT_BLOCK * width)),
                 "r"((unsigned)sizeof(real) * KT_BLOCK * width) : "memory");
}
#endif
#endif

// The rows of a warp lie one behind the other in memory and `pitch` apart in a tile. A whole warp
// is copied 16 bytes a thread if all its rows begin where 16 bytes do, anything else one by one.
// One branch for all ports: with one for each, results would wait in fewer registers.

// place in a tile of pack k + lane of a warp's rows, with k a constant
template <int width, int pitch> KT_FUNCTION int kt_place(int k, int lane) {
    const int packs = width < KT_PACK ? 1 : width / KT_PACK;  // in a row
    if (pitch == width) return lane * KT_PACK + k * KT_PACK;
    return (k + lane) / packs * pitch + (k + lane) % packs * KT_PACK;
}

template <int width, int pitch>
KT_FUNCTION void kt_read_packs(real *tile, const real *rows, int lane) {
    const int packs = width * KT_WARP / KT_PACK;
#pragma unroll(pitch == width ? width : 4)
    for (int k = 0; k < packs; k += KT_WARP)
        if (k + lane < packs)
            kt_fetch<kt_pack>(tile + kt_place<width, pitch>(k, lane),
                              rows + lane * KT_PACK + k * KT_PACK);
}

template <int width, int pitch>
KT_FUNCTION void kt_write_packs(const real *tile, real *rows, int lane) {
    const int packs = width * KT_WARP / KT_PACK;
#pragma unroll(pitch == width ? width : 4)
    for (int k = 0; k < packs; k += KT_WARP)
        if (k + lane < packs)
            *(kt_pack *)(rows + lane * KT_PACK + k * KT_PACK) =
                *(const kt_pack *)(tile + kt_place<width, pitch>(k, lane));
}

template <int width, int pitch>
KT_FUNCTION void kt_read(real *tile, const real *rows, int count, int lane) {
#pragma unroll 1
    for (int k = lane; k < width * count; k += KT_WARP)
        kt_fetch<real>(tile + k / width * pitch + k % width, rows + k);
}

template <int width, int pitch>
KT_FUNCTION void kt_write(const real *tile, real *rows, int count, int lane) {
#pragma unroll 1
    for (int k = lane; k < width * count; k += KT_WARP)
        rows[k] = tile[k / width * pitch + k % width];
}
"""

BITS = r"""
// the word of a number that has its sign in bit 31, and the number with that bit changed
#if KT_DOUBLE
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

// sine and cosine of n quarters of a turn more, but for the sign that the second bit of n gives
KT_FUNCTION kt_pair kt_quarter(real sine, real cosine, unsigned n) {
    return {n & 1 ? cosine : sine, n & 1 ? -sine : cosine};
}
"""

# rarely entered, so it stands apart from the code that is always run
LARGE_ANGLES = r"""
#if defined(__CUDACC__)
static __device__ __noinline__ kt_pair kt_large_angle(real angle) {
    double s, c;
    sincos((double)angle, &s, &c);
    return {(real)s, (real)c};
}
#else
static kt_pair kt_large_angle(real angle) {
    return {(real)std::sin((double)angle), (real)std::cos((double)angle)};
}
#endif
"""


def sincos_text(dtype: str) -> str:
    """The functions `kt_near(angle)`, `kt_is_near(angle)` and `kt_far(angle, pair)`.

    Signs change in the 32 bits that hold them, and in float32 after rounding: fewer instructions
    than `compiler.sincos.turn` on 64 bits, with the same result.
    """
    number = Constants("kt_trigonometry", "float64")
    f = CArithmetic(number, "kt_fma64", "kt_low_word", "", "int")
    t, low, n = REDUCE[dtype](f, "x", ALWAYS)
    sine, cosine = EVALUATE[dtype](f, t, low)
    steps = "\n".join(f.lines)
    return f"""{number.text()}{BITS}
KT_FUNCTION bool kt_is_near(real angle) {{ return kt_fabs(angle) <= (real){LIMIT[dtype]!r}; }}

KT_FUNCTION kt_pair kt_near(real angle) {{
    const double x = (double)kt_fabs(angle);
{steps}
    const real sine = (real){sine};
    const real cosine = (real){cosine};
    const unsigned n = (unsigned){n};
    const kt_pair turned = kt_quarter(sine, cosine, n);
    const int half = (int)(n << 30);
    return {{kt_flip(turned.s, half ^ kt_sign_word(angle)), kt_flip(turned.c, half)}};
}}
{LARGE_ANGLES}
KT_FUNCTION void kt_far(real angle, kt_pair &pair) {{
    if (!kt_is_near(angle)) pair = kt_large_angle(angle);
}}
"""


def elementary_text(dtype: str, used: Collection[str]) -> str:
    """The functions kt_exp, kt_log, kt_tanh and kt_atan2, those that are used."""
    if not set(used) & set(FUNCTIONS):
        return ""
    number = Constants("kt_fn_table", "float64")

    def arithmetic() -> CArithmetic:
        return CArithmetic(number, "kt_fma64", "kt_to_bits", "kt_from_bits")

    text = functions_text(used, "real", "kt_{}".format, arithmetic, "KT_FUNCTION")
    return number.text() + text


def prelude(dtype: str, *graphs: Graph) -> str:
    """The shared part for numbers of `dtype`, "float64" or "float32", and for these graphs."""
    used = {op for graph in graphs for op in graph.everywhere()}
    double = dtype == "float64"
    head = f"#define KT_DOUBLE {int(double)}\n#define KT_REAL {'double' if double else 'float'}\n"
    return head + MACHINE + sincos_text(dtype) + elementary_text(dtype, used) + TILES
