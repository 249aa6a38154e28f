"""Records: frozen, with friction coefficients read as a pair of directions."""

import dataclasses

import numpy as np
import pytest

from kinetree.errors import InputError, ShapeError
from kinetree.files import description
from kinetree.files.description import Body, Friction, Limits, Mimic, Note, Rotor
from kinetree.model import joint_friction


@pytest.mark.parametrize("record", [Body(), Friction(), Rotor(1), Limits(), Mimic("a"), Note("x")])
def test_records_are_frozen(record):
    name = dataclasses.fields(record)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, name, 1)


def test_every_record_of_the_package_is_frozen():
    records = [getattr(description, name) for name in description.__all__]
    records = [record for record in records if dataclasses.is_dataclass(record)]
    assert len(records) >= 11
    assert all(record.__dataclass_params__.frozen for record in records)


def test_one_coefficient_serves_both_directions():
    assert joint_friction(Friction(0.5), "j").viscous == (0.5, 0.5)
    assert joint_friction(Friction(coulomb=(0.1, 0.2)), "j").coulomb == (0.1, 0.2)


def test_a_joint_without_limits_is_unlimited():
    assert Limits() == Limits(-np.inf, np.inf, np.inf, np.inf)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (-1, InputError, "viscous friction of joint 'elbow' is -1.0; expected >= 0 in both"),
        ((1, -1), InputError, "viscous friction of joint 'elbow' is -1.0"),
        ((1, 2, 3), InputError, "'elbow' has 3 entries; expected one number or a pair"),
        ((1, np.nan), InputError, "viscous friction of joint 'elbow' is nan; expected a finite"),
        ("rough", InputError, "'elbow' must hold real numbers"),
        (None, InputError, "viscous friction of joint 'elbow' is None; expected a number"),
        (np.array([1, 2]), ShapeError, r"'elbow' must have shape \(\), found \(2,\)"),
    ],
)
def test_bad_friction_is_refused_and_the_joint_named(value, error, words):
    with pytest.raises(error, match=words):
        joint_friction(Friction(value), "elbow")
