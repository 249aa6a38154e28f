"""Actuators as records: what the named ones mean, and what is refused in words."""

from math import inf, nan

import pytest

import kinetree as kt
from kinetree.files.description.actuators import checked_actuator


def test_named_actuators_are_cases_of_the_affine_law():
    A = kt.Actuator
    assert A.motor("j", gear=3) == A({"j": 3})
    assert A.position("j", 10, 2) == A({"j": 1}, (10, 0, 0), (0, -10, -2))
    assert A.velocity("j", 4) == A({"j": 1}, (4, 0, 0), (0, 0, -4))
    assert A.damper("j", 4) == A({"j": 1}, (0, 0, -4), control_range=(0, inf))
    servo = A({"j": 1}, (10, 0, 0), (0, -10, -2), dynamics="integrator")
    assert A.integrated_velocity("j", 10, 2) == servo
    lagged = A.position("j", 10, time_constant=0.1)
    assert (lagged.dynamics, lagged.time_constant) == ("filterexact", 0.1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda A: A.position("j", -1), "kp of the position servo of joint 'j' is -1"),
        (lambda A: A.velocity("j", -1), "kd of the velocity servo"),
        (lambda A: A.damper("j", 1, control_range=(-1, 1)), "begins at -1; expected 0 or more"),
        (lambda A: A({}), "joints of actuator 'x' are {}"),
        (lambda A: A({"j": 0}), "gear of joint 'j' in actuator 'x' is 0"),
        (lambda A: A({"j": nan}), "finite number"),
        (lambda A: A.motor("j", control_range=(1, -1)), r"\(1, -1\), which is empty"),
        (lambda A: A.motor("j", force_range=(1, 2, 3)), "expected two numbers"),
        (lambda A: A({"j": 1}, gain=(1, 2)), "gain of actuator 'x' .* three numbers"),
        (lambda A: A({"j": 1}, dynamics="muscle"), "expected one of none, integrator"),
        (lambda A: A({"j": 1}, dynamics="filter"), "more than 0 for dynamics 'filter'"),
        (lambda A: A({"j": 1}, time_constant=1), "its dynamics are 'none'"),
        (lambda A: A({"j": 1}, delay=-1), "delay of actuator 'x' is -1 s"),
        (lambda A: A({"j": 1}, activation_range=(0, 1)), "no activation"),
        (lambda A: "motor", "expected a record"),
    ],
)
def test_numbers_without_sense_are_refused_in_words(make, words):
    with pytest.raises(kt.KinetreeError, match=words):
        checked_actuator(make(kt.Actuator), "x")
