"""The numbers behind sine and cosine. `tools/sincos_coefficients.py` derives and prints them.

Sine and cosine on |t| <= pi/4 are t + t z S(z) and 1 - z/2 + z^2 C(z) with z = t^2; S and C are
minimax polynomials, lowest power first.
"""


def exact(*digits: str) -> tuple[float, ...]:
    """Doubles from hexadecimal digits, which say every bit."""
    return tuple(float.fromhex(d) for d in digits)


# for results in float64; greatest relative error of the sine 2^-57.9
SINE_64 = exact(
    "-0x1.5555555555548p-3",
    "0x1.111111110f730p-7",
    "-0x1.a01a019be9217p-13",
    "0x1.71de35552b59fp-19",
    "-0x1.ae5e4b83f4186p-26",
    "0x1.5d8b559cf4183p-33",
)
# 2^-63.9 of the cosine
COSINE_64 = exact(
    "0x1.555555555554bp-5",
    "-0x1.6c16c16c15015p-10",
    "0x1.a01a019c8f255p-16",
    "-0x1.27e4f7f19164fp-22",
    "0x1.1ee9dbcf1ca8ep-29",
    "-0x1.8fa684a043091p-37",
)
# for results in float32, evaluated in float64; 2^-28.0
SINE_32 = exact("-0x1.5555452684253p-3", "0x1.11073afad06d4p-7", "-0x1.9943e0325caddp-13")
# 2^-33.0
COSINE_32 = exact("0x1.55554a1156d61p-5", "-0x1.6c0c33a548168p-10", "0x1.99eb9b76813eap-16")

# pi/2 = first + second + third; `second` has at most 36 bits, so that n times it is exact
# for whole n below 2^17
HALF_PI = exact("0x1.921fb54442d18p+0", "0x1.1a62633140000p-54", "0x1.701b839a25205p-92")
# pi/2 - first, rounded
HALF_PI_REST = float.fromhex("0x1.1a62633145c07p-54")
TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")

# the binary digits of 2/pi in words of 64 bits, most significant first, behind one word of zeros
TWO_OVER_PI_WORDS = (
    0x0000000000000000,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
)
