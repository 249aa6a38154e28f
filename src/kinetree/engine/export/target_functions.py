"""Sine, cosine, exp, log, tanh and atan2 of C for a target: in `float` no operation is a double.

Angles are reduced by parts of pi/2 that are so short that their products with the number of quarter
turns are exact, with and without a fused multiply-add (Cody and Waite). Angles beyond FAR go, in
float, to a slower reduction with 96 binary digits of 2/pi in integers (Payne and Hanek), which is
right for every float; in double, to the sine and cosine of the C library. The digits that the
reduced angle loses by rounding are carried along as `low`.

The methods of exp, log, tanh and atan2 are those of `kinetree.engine.compiler.elementary`, with as
many terms as float needs. In double they are those of the C library. `ERRORS` has bounds of the
errors, measured against functions of double: sine and cosine on every float from 0.5 to 100, the
others and larger angles on samples of all floats.

Coefficients are minimax polynomials, lowest power first, found by the method of
`tools/function_coefficients.py` with coefficients rounded to float.
"""

from collections.abc import Collection
from dataclasses import dataclass

from kinetree.engine.c_functions import Dialect
from kinetree.engine.compiler.elementary import FUNCTIONS
from kinetree.engine.compiler.sincos import (
    COSINE_64,
    SINE_64,
    TWO_OVER_PI,
    TWO_OVER_PI_WORDS,
    exact,
)
from kinetree.engine.export.program import DOUBLE, FLOAT, c_literal, library_name

SINE_32 = exact("-0x1.555546p-3", "0x1.110774p-7", "-0x1.9951eap-13")  # error 2^-27.9
COSINE_32 = exact("0x1.55554ap-5", "-0x1.6c0c28p-10", "0x1.99e80cp-16")  # 2^-33.0
EXP = exact("0x1.5554a4p-3", "0x1.555b4cp-5", "0x1.1231d6p-7", "0x1.65a870p-10")  # 2^-27.2
LOG = exact("0x1.55557ap-1", "0x1.995ed8p-2", "0x1.31e03cp-2")  # 2^-30.2
ATAN = exact(
    "-0x1.55554ap-2", "0x1.9991e2p-3", "-0x1.23b9a2p-3", "0x1.b22456p-4", "-0x1.f2e5a8p-5"
)  # 2^-30.4
LN2 = exact("0x1.62e4p-1", "0x1.7f7d1cp-20")  # 16 bits and the rest
LOG2_E, TAN_PI_8 = exact("0x1.715476p+0", "0x1.a8279ap-2")
QUARTER_PI = exact("0x1.921fb6p-1", "-0x1.777a5cp-26")
# parts of pi/2; all but the last are exact in products with whole numbers up to FAR 2/pi
HALF_PI = {
    FLOAT: exact("0x1.921f8p+0", "0x1.aa22p-19", "0x1.68c234p-39"),
    DOUBLE: exact("0x1.921fb5444p+0", "0x1.68c234c4cp-39", "0x1.98a2e03707345p-77"),
}
SERIES = {FLOAT: (SINE_32, COSINE_32), DOUBLE: (SINE_64, COSINE_64)}
FAR = {FLOAT: 100.0, DOUBLE: 131072.0}
TURN_WORDS = 8  # of 32 bits: the digits of 2/pi that the largest float needs
# operation -> greatest error in float, in units of the last place
ERRORS = {"sin": 0.9, "cos": 0.9, "exp": 1.0, "log": 1.0, "tanh": 3.0, "atan2": 3.0}
FAR_ERROR = 3.0  # of the sine and cosine beyond FAR


@dataclass(frozen=True)
class Writing:
    """How the functions are written: prefix of their names, type, and fused operations or not."""

    name: str
    dtype: str
    fused: bool

    def number(self, value: float) -> str:
        """A literal; negative ones in brackets."""
        text = c_literal(value, self.dtype)
        return f"({text})" if text.startswith("-") else text

    def own(self, op: str) -> str:
        """Name of a helper."""
        return f"{self.name}_{op}"

    def library(self, function: str) -> str:
        """Name of a function of the C library for the type."""
        return library_name(self.dtype, function)

    @property
    def dialect(self) -> Dialect:
        """How operations are written; in double, exp and its like are those of the library."""
        function_names = self.own if self.dtype == FLOAT else self.library
        return Dialect(self.number, self.library, function_names, self.fused)

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """Expression for a b + c."""
        return self.dialect.multiply_add(a, b, c)

    def series(self, coefficients: tuple[float, ...], z: str) -> str:
        """Expression for c[0] + c[1] z + ..., by Horner's rule."""
        *lower, last = map(self.number, coefficients)
        for c in reversed(lower):
            last = self.multiply_add(z, last, c)
        return last


def functions_text(w: Writing, used: Collection[str]) -> str:
    """Text of the functions that the operations `used` need; empty if they need none."""
    angles = "sin" in used or "cos" in used
    single = w.dtype == FLOAT
    texts: list[str] = []
    if single and (angles or any(op in used for op in FUNCTIONS)):
        texts.append(bits_text(w, back=any(op in used for op in ("exp", "tanh", "log"))))
    if angles:
        texts += [reduce_text(w), sincos_text(w)] if single else [sincos_text(w)]
    if single:
        texts += [exponential_text(w)] if "exp" in used or "tanh" in used else []
        texts += [text(w) for op, text in TEXTS.items() if op in used]
    return "\n".join(texts)


def bits_text(w: Writing, *, back: bool) -> str:
    """The bits of a float as an integer, and back."""
    text = f"""\
static uint32_t {w.own("bits")}(float x)
{{
    uint32_t bits;
    (void)memcpy(&bits, &x, sizeof bits);
    return bits;
}}
"""
    if not back:
        return text
    return f"""\
{text}
static float {w.own("number")}(uint32_t bits)
{{
    float x;
    (void)memcpy(&x, &bits, sizeof x);
    return x;
}}
"""


def reduce_text(w: Writing) -> str:
    """The slower reduction of angles beyond FAR.

    x = m 2^e with a whole number m; m is multiplied with the 96 digits of 2/pi that decide the
    quadrant and its fraction. Higher digits add whole turns.
    """
    words = [word >> shift & 0xFFFFFFFF for word in TWO_OVER_PI_WORDS for shift in (32, 0)]
    digits = [f"0x{word:08X}u" for word in words[1 : TURN_WORDS + 1]]
    rows = [", ".join(digits[k : k + 4]) for k in (0, 4)]
    return f"""\
/* the angle, greater than {w.number(FAR[FLOAT])}, less quarter turns; not a number for infinity */
static float {w.own("reduce")}(float angle, uint32_t *quadrant)
{{
    static const uint32_t digits[{TURN_WORDS}] = {{
        {rows[0]},
        {rows[1]}
    }};
    const uint32_t bits = {w.own("bits")}(angle);
    const uint32_t place = ((bits >> 23) & 0xFFu) - 120u;
    const uint32_t shift = place & 31u;
    const uint32_t *d = &digits[place >> 5];
    const uint32_t m = (bits & 0x7FFFFFu) | 0x800000u;
    const uint32_t high = (uint32_t)((((((uint64_t)d[0]) << 32) | d[1]) << shift) >> 32);
    const uint32_t middle = (uint32_t)((((((uint64_t)d[1]) << 32) | d[2]) << shift) >> 32);
    const uint32_t last = (uint32_t)((((((uint64_t)d[2]) << 32) | d[3]) << shift) >> 32);
    const uint64_t turned = (((uint64_t)(m * high)) << 32) + (((uint64_t)m) * middle)
        + ((((uint64_t)m) * last) >> 32);
    const uint32_t n = (uint32_t)((turned + ((uint64_t)1 << 61)) >> 62);
    const uint64_t rest = turned - (((uint64_t)n) << 62);
    const bool below = (rest >> 63) != 0u;
    const float size = (float)(below ? (0u - rest) : rest) * {w.number(1.5707963267948966 / 2**62)};
    const bool negative = (bits >> 31) != 0u;
    const float t = (below != negative) ? -size : size;
    *quadrant = negative ? ((4u - n) & 3u) : (n & 3u);
    return (((bits >> 23) & 0xFFu) == 0xFFu) ? (angle - angle) : t;
}}
"""


def sincos_text(w: Writing) -> str:
    """Sine and cosine of one angle, returned as a pair: in registers, on most processors."""
    dtype, a = w.dtype, w.multiply_add
    first, second, third = map(w.number, HALF_PI[dtype])
    sine, cosine = (w.series(c, "z") for c in SERIES[dtype])
    half, zero, one = map(w.number, (0.5, 0.0, 1.0))
    error = f"error below {ERRORS['sin']} ulp" if dtype == FLOAT else "error below 1 ulp"
    close = f"""\
        const {dtype} turns = angle * {w.number(TWO_OVER_PI)};
        const int32_t n = (int32_t)(turns + ((turns < {zero}) ? -{half} : {half}));
        const {dtype} k = ({dtype})n;
        const {dtype} rest = angle - (k * {first});
        const {dtype} next = k * {second};
"""
    reduced = f"""\
        t = rest - next;
        low = ((rest - t) - next) - (k * {third});
        quadrant = (uint32_t)n & 3u;
"""
    declared = f"    {dtype} t;\n    {dtype} low;\n    uint32_t quadrant;\n"
    evaluation = f"""\
const {dtype} z = t * t;
const {dtype} bend = (t * z) * {sine};
const {dtype} head = {one} - ({half} * z);
const {dtype} lost = ({one} - head) - ({half} * z);
const {dtype} bow = {a("z * z", cosine, "lost")};
const {dtype} s = t + {a("low", "head", "bend")};
const {dtype} c = head + {a("-low", "s", "bow")};
const bool odd = (quadrant & 1u) != 0u;
const {dtype} along = odd ? c : s;
const {dtype} across = odd ? s : c;
found.sine = ((quadrant & 2u) != 0u) ? -along : along;
found.cosine = (((quadrant + 1u) & 2u) != 0u) ? -across : across;
"""
    head = f"""\
typedef struct {{
    {dtype} sine;
    {dtype} cosine;
}} {w.own("pair")};

/* sine and cosine, {error} */
static {w.own("pair")} {w.own("sincos")}({dtype} angle)
{{
    {w.own("pair")} found;
"""
    condition = f"    if ({w.library('fabs')}(angle) <= {w.number(FAR[dtype])}) {{\n"
    if dtype == FLOAT:
        other = f"        t = {w.own('reduce')}(angle, &quadrant);\n        low = {zero};\n"
        body = declared + condition + close + reduced + "    } else {\n" + other + "    }\n"
        return f"{head}{body}{indented(evaluation, 4)}    return found;\n}}\n"
    body = condition + indented(declared, 4) + close + reduced + indented(evaluation, 8)
    other = "        found.sine = sin(angle);\n        found.cosine = cos(angle);\n"
    return f"{head}{body}    }} else {{\n{other}    }}\n    return found;\n}}\n"


def indented(text: str, spaces: int) -> str:
    """The lines with spaces before them."""
    return "".join(f"{' ' * spaces}{line}" for line in text.splitlines(keepends=True))


def exponential_text(w: Writing) -> str:
    """x = n ln 2 + r, and exp(r) - 1."""
    return f"""\
/* exp(x) = 2^n (1 + result) */
static float {w.own("reduced_exp")}(float x, int32_t *n)
{{
    const float powers = x * {w.number(LOG2_E)};
    *n = (int32_t)(powers + ((powers < 0.0f) ? -0.5f : 0.5f));
    const float k = (float)*n;
    const float rest = x - (k * {w.number(LN2[0])});
    const float next = k * {w.number(LN2[1])};
    const float r = rest - next;
    const float low = (rest - r) - next;
    const float bend = {w.multiply_add("r", w.series(EXP, "r"), w.number(0.5))};
    return r + {w.multiply_add("r * r", "bend", "low")};
}}
"""


def exp_text(w: Writing) -> str:
    """e^x: 0 below the range of floats, infinity above it."""
    return f"""\
static float {w.own("exp")}(float x)
{{
    const bool usual = (x >= -104.0f) && (x <= 89.0f);
    int32_t n;
    const float part = {w.own("reduced_exp")}(usual ? x : 0.0f, &n);
    const int32_t half = n / 2;
    const float one = {w.own("number")}((uint32_t)(half + 127) << 23);
    const float other = {w.own("number")}((uint32_t)((n - half) + 127) << 23);
    const float value = ((1.0f + part) * one) * other;
    const float beyond = (x < 0.0f) ? 0.0f : (x + INFINITY);
    return usual ? value : beyond;
}}
"""


def tanh_text(w: Writing) -> str:
    """(e - 1) / (e + 1) of e = exp(2 |x|), with the sign of x."""
    return f"""\
static float {w.own("tanh")}(float x)
{{
    const float size = fabsf(x);
    const bool usual = size <= 10.0f;
    int32_t n;
    const float part = {w.own("reduced_exp")}(usual ? (2.0f * size) : 0.0f, &n);
    const float scale = {w.own("number")}((uint32_t)(n + 127) << 23);
    const float less = {w.multiply_add("scale", "part", "(scale - 1.0f)")};
    const float value = usual ? (less / (less + 2.0f)) : 1.0f;
    return (x < 0.0f) ? -value : ((x == x) ? value : x);
}}
"""


def log_text(w: Writing) -> str:
    """Natural logarithm: -infinity at 0, not a number below it."""
    return f"""\
static float {w.own("log")}(float x)
{{
    const bool usual = (x > 0.0f) && (x <= FLT_MAX);
    const bool tiny = x < FLT_MIN;
    const float large = tiny ? (x * 16777216.0f) : x;
    const uint32_t shifted = {w.own("bits")}(usual ? large : 1.0f) + 0x004AFB0Du;
    const float m = {w.own("number")}((shifted & 0x7FFFFFu) + 0x3F3504F3u);
    const float k = (float)((int32_t)(shifted >> 23) - (tiny ? 151 : 127));
    const float t = m - 1.0f;
    const float s = t / (t + 2.0f);
    const float z = s * s;
    const float half = (0.5f * t) * t;
    const float series = z * {w.series(LOG, "z")};
    const float small = {w.multiply_add("s", "(half + series)", f"(k * {w.number(LN2[1])})")};
    const float value = (k * {w.number(LN2[0])}) + (t - (half - small));
    const float beyond = (x == 0.0f) ? -INFINITY : ((x > 0.0f) ? x : NAN);
    return usual ? value : beyond;
}}
"""


def atan2_text(w: Writing) -> str:
    """Angle of the point (x, y), from -pi to pi."""
    high, rest = map(w.number, QUARTER_PI)
    return f"""\
static float {w.own("atan2")}(float y, float x)
{{
    const float ay = fabsf(y);
    const float ax = fabsf(x);
    const bool steep = ay > ax;
    const float great = steep ? ay : ax;
    const float small = steep ? ax : ay;
    const float tiny = (great < 1e-18f) ? 1e18f : 1.0f;
    const float scale = (great > 1e18f) ? 1e-18f : tiny;
    const bool boundless = great > FLT_MAX;
    const float larger = boundless ? 1.0f : ((great > 0.0f) ? (great * scale) : 1.0f);
    const float smaller = boundless ? ((small > FLT_MAX) ? 1.0f : 0.0f) : (small * scale);
    const bool wide = smaller > (larger * {w.number(TAN_PI_8)});
    const float t = (wide ? (smaller - larger) : smaller) / (wide ? (smaller + larger) : larger);
    const float z = t * t;
    const float bend = (t * z) * {w.series(ATAN, "z")};
    const bool left = ({w.own("bits")}(x) >> 31) != 0u;
    const float slope = wide ? 1.0f : 0.0f;
    const float up = steep ? (2.0f - slope) : slope;
    const float turns = left ? (4.0f - up) : up;
    const bool back = steep != left;
    const float low = {w.multiply_add("turns", rest, "(back ? -bend : bend)")};
    const float angle = (turns * {high}) + ((back ? -t : t) + low);
    const float value = (({w.own("bits")}(y) >> 31) != 0u) ? -angle : angle;
    return ((x == x) && (y == y)) ? value : (x + y);
}}
"""


TEXTS = {"exp": exp_text, "log": log_text, "tanh": tanh_text, "atan2": atan2_text}
