"""A model taken apart into records and built again is the same model, bit by bit."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import Builder, Limits, Mimic, Rotor
from kinetree.errors import ModelError
from kinetree.files.description import Note
from kinetree.model import ALL_TYPES, WORLD, Frame, build_model, describe_model, random_model
from robot_states import any_robot

ARRAYS = ("M_pi", "m", "com", "I_com", "gravity")
PLAIN = ("name", "link_names", "base_name", "parent", "tool", "notes", "warnings", "n", "nq")


def rebuilt(model):
    return build_model(describe_model(model), unphysical="allow")


def assert_same(found, expected):
    for key in PLAIN:
        assert getattr(found, key) == getattr(expected, key), key
    for key in ARRAYS:
        assert np.array_equal(getattr(found, key), getattr(expected, key)), key
    for a, b in zip(found.base, expected.base, strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(found.joints, expected.joints, strict=True):
        assert_same_record(a, b)
    for a, b in zip(found.rotors, expected.rotors, strict=True):
        assert_same_record(a, b)
    assert found.frames.keys() == expected.frames.keys()
    for name, frame in expected.frames.items():
        assert_same_record(found.frames[name], frame)


def assert_same_record(a, b):
    for field in dataclasses.fields(b):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.name == "s":  # a direction, made unit again
            assert np.abs(x - y).max() < 1e-14  # it came through up to 30 rotations
        else:
            assert np.array_equal(x, y) if isinstance(y, np.ndarray) else x == y, field.name


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_building_what_was_described_gives_the_same_model(seed):
    model = any_robot(seed)
    assert_same(rebuilt(model), model)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_mimic_joints_of_all_kinds_come_back(seed):
    model = random_model(seed, 12, types=ALL_TYPES, mimic=True)
    assert_same(rebuilt(model), model)


def test_a_chain_of_mimic_joints_comes_back_with_its_rotor():
    model = (
        Builder("chain")
        .link("base")
        .link("a", 1)
        .link("b", 2)
        .link("c", 3)
        .joint("ja", "revolute", "base", "a", offset=0.3, limits=Limits(-1, 1, 2, 3))
        .joint("jb", "prismatic", "a", "b", mimic=Mimic("ja", 0.7, 0.2), offset=0.1)
        .joint("jc", "revolute", "b", "c", mimic=Mimic("jb", 1.7, 0.2), rotor=Rotor(1e-3, 13.7))
        .build_model()
    )
    assert_same(rebuilt(model), model)
    assert rebuilt(model).rotors[0].ratio == 13.7 * (1.7 * 0.7)


def test_a_follower_that_does_not_move_keeps_a_rotor_that_does_not_spin():
    builder = Builder("still").link("base").link("a", 1).link("b", 1)
    builder.joint("ja", "revolute", "base", "a")
    builder.joint("jb", "revolute", "a", "b", mimic=Mimic("ja", 0.0), rotor=Rotor(1e-3, 10))
    assert_same(rebuilt(builder.build_model()), builder.build_model())


def test_symbols_and_many_digits_stay_as_they_are(fifty_digits):
    import mpmath
    import sympy

    m, l = sympy.symbols("m l")
    builder = Builder("symbolic").link("base").link("rod", m, (l, 0, 0))
    model = builder.joint("pivot", "revolute", "base", "rod", at=(l, 0, 0)).build_model()
    assert rebuilt(model).m[0] is m
    assert rebuilt(model).M_pi[0, 0, 3] == l
    precise = random_model(3, 5, types=ALL_TYPES).astype(mpmath.mpf)
    assert_same(rebuilt(precise), precise)


def test_a_robot_without_joints_is_its_base():
    model = Builder("stone").link("rock", 2, (0, 0, 1)).build_model()
    assert_same(rebuilt(model), model)


def test_warnings_are_given_once():
    builder = Builder("odd").link("base").link("a", 1, (0, 0, 0), np.diag([1, 1, 3])).link("b")
    builder.joint("ja", "revolute", "base", "a").joint("jb", "revolute", "a", "b")
    model = builder.build_model(unphysical="allow")
    model = model.replace(warnings=(*model.warnings, Note("something else", "odd.urdf:3")))
    assert len(model.warnings) == 3
    assert sorted(x.text for x in rebuilt(model).warnings) == sorted(x.text for x in model.warnings)


def test_two_rotors_on_one_joint_are_refused():
    builder = Builder("two").link("base").link("a", 1)
    model = builder.joint("j", "revolute", "base", "a", rotor=Rotor(1e-3)).build_model()
    with pytest.raises(ModelError, match="'j' of 'two' has two rotors"):
        describe_model(model.replace(rotors=model.rotors * 2))


def test_a_link_frame_away_from_its_link_is_refused():
    model = random_model(1, 2)
    frames = {**model.frames, "base": Frame(WORLD, np.diag([-1, -1, 1, 1]))}
    with pytest.raises(ModelError, match="frame of link 'base'"):
        describe_model(model.replace(frames=frames))
