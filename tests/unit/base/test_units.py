"""Spellings of units: one table, read as products of powers."""

import math

import pytest

from kinetree.base.units import doubtful_word, unit_of, units_in

SAME = {  # texts of one unit, and its value in SI units
    "rad rads radian Radians RAD": 1,
    "deg Deg degree degrees ° º ˚ DEGREES": math.pi / 180,
    "mrad milliradian millirad": 1e-3,
    "rev turn turns revolutions": 2 * math.pi,
    "rad/s rad/sec rad_s rad_per_s radps rad.s^-1 rad*s-1 rad·s⁻¹ radians/second": 1,
    "deg/s °/s deg_s dps degps degpersec deg_per_sec degrees/second": math.pi / 180,
    "rpm RPM rev/min rev_per_min": math.pi / 30,
    "rad/s^2 rad/s² rad/s2 rad/s/s rad_s2 rad/s**2 rad.s-2 radps2 rad/(s^2)": 1,
    "Nm N.m N*m N-m N_m N·m newton-metre newtonmeters NM nm": 1,
    "mNm mN.m mN*m mnm millinewton-metres": 1e-3,
    "Ncm N.cm N*cm cNm": 1e-2,
    "Nmm N.mm mNm": 1e-3,
    "kNm kN.m": 1e3,
    "kgfcm kgf.cm kgf*cm": 0.0980665,
    "um µm μm micrometer micrometres": 1e-6,
    "us µs usec microseconds": 1e-6,
}


@pytest.mark.parametrize("texts", SAME)
def test_spellings_of_one_unit(texts):
    first = unit_of(texts.split()[0])
    for text in texts.split():
        unit = unit_of(text)
        assert unit is not None and unit.same(first), text
        assert unit.numerator / unit.denominator == pytest.approx(SAME[texts], rel=1e-15), text


@pytest.mark.parametrize(
    "text", ["", "q", "foo", "deg2", "deg1", "rad//s", "/", "a.u.", "rad s t", "N/m s", "s0", "m^0"]
)
def test_other_texts_are_not_units(text):
    assert unit_of(text) is None


@pytest.mark.parametrize("text", ["A", "mA", "%", "counts", "MNm", "MN", "kg cm", "ozin", "rps"])
def test_units_of_other_things_are_recognised(text):
    unit = unit_of(text)
    assert unit is not None and not unit.readable


@pytest.mark.parametrize(
    ("name", "body", "unit"),
    [
        ("tau1_mNm", "tau1", "mN m"),
        ("q1Deg", "q1", "deg"),
        ("q1 turns", "q1", "rev"),
        ("position (deg)", "position", "deg"),
        ("velocityDegPerSec", "velocity", "deg/s"),
        ("q_deg[0]", "q[0]", "deg"),
        ("enc_deg2", "enc_2", "deg"),
        ("acc1_m_per_s²", "acc1", "m/s^2"),
        ("load1 %", "load1", "%"),
        ("q1/deg", "q1", "deg"),
        ("q1 / deg/s", "q1", "deg/s"),
        ("angle_in_degrees_1", "angle_1", "deg"),
        ("pos_1_millirad", "pos_1", "mrad"),
    ],
)
def test_units_inside_names(name, body, unit):
    assert [(x, str(y)) for x, y in units_in(name)] == [(body, unit)]


@pytest.mark.parametrize(
    "name", ["tau_m", "q_s", "left_n", "x_min", "panda_joint1", "status", "q[1]"]
)
def test_letters_and_parts_of_words_are_not_units(name):
    assert not units_in(name)


def test_words_that_may_be_units_are_doubtful():
    assert str(doubtful_word("current1_A")) == "A" and str(doubtful_word("tau_m1")) == "m"
    assert doubtful_word("tau1") is None and doubtful_word("q1_deg") is None
