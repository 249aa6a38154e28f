"""Records of friction laws: checked in words, kept by every copy of a robot, part of its hash."""

import dataclasses
import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.core.records import numbers_in
from kinetree.dynamics import inverse_dynamics
from kinetree.engine.kernels import model_hash
from kinetree.errors import InputError
from kinetree.friction import Friction, Sigmoid, Stribeck
from kinetree.joints import Mimic
from kinetree.model import build_model
from random_robots import random_model

ROBOT = kt.robots.planar_2r()
NAME = ROBOT.model.joint_names[0]


def test_a_joint_that_follows_another_has_no_load():
    builder = kt.Builder("pair").link("base").link("a", 1, (0.1, 0, 0)).link("b", 1, (0.1, 0, 0))
    builder.joint("one", "revolute", "base", "a", axis=(0, 0, 1))
    builder.joint("two", "revolute", "a", "b", axis=(0, 0, 1), mimic=Mimic("one", 2.0))
    robot = builder.build()
    assert robot.with_friction({"one": Friction(load=0.1)}).model.joints[0].friction.load
    with pytest.raises(InputError, match="'two' follows 'one' and has no force of its own"):
        robot.with_friction({"two": Friction(load=0.1)})


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_a_robot_keep_their_friction(seed):
    model = random_model(seed, 5, laws=True, mimic=True)
    plain = [dataclasses.replace(x.friction, function=None) for x in model.joints]
    pairs = zip(model.joints, plain, strict=True)
    model = model.replace(joints=tuple(dataclasses.replace(x, friction=y) for x, y in pairs))
    assert any(x.stribeck for x in plain) and any(x.sigmoid for x in plain)
    again = build_model(model.description, unphysical="allow")
    assert [x.friction for x in again.joints] == plain
    assert [x.friction for x in pickle.loads(pickle.dumps(model)).joints] == plain
    floats = model.astype(float)
    assert [numbers_in(x.friction) for x in floats.joints] == [numbers_in(x) for x in plain]
    rng = np.random.default_rng(seed)
    q = kt.dynamics.random(model, rng)
    state = q, *rng.normal(size=(2, model.n))
    assert np.array_equal(inverse_dynamics(again, *state), inverse_dynamics(model, *state))


CHANGES = {
    "stribeck": Friction(0.1, 1.0, stribeck=Stribeck(1.0, 0.1)),
    "static": Friction(0.1, 1.0, stribeck=Stribeck(2.0, 0.1)),
    "static backwards": Friction(0.1, 1.0, stribeck=Stribeck((1.0, 2.0), 0.1)),
    "speed": Friction(0.1, 1.0, stribeck=Stribeck(1.0, 0.2)),
    "exponent": Friction(0.1, 1.0, stribeck=Stribeck(1.0, 0.1, 1)),
    "sigmoid": Friction(0.1, 1.0, sigmoid=Sigmoid(1.0, 5.0)),
    "size": Friction(0.1, 1.0, sigmoid=Sigmoid(2.0, 5.0)),
    "steepness": Friction(0.1, 1.0, sigmoid=Sigmoid(1.0, 6.0)),
    "offset": Friction(0.1, 1.0, sigmoid=Sigmoid(1.0, 5.0, 0.1)),
    "load": Friction(0.1, 1.0, load=(0.1, 0.0)),
    "braking": Friction(0.1, 1.0, load=(0.0, 0.1)),
    "plain": Friction(0.1, 1.0),
}


def test_every_number_of_a_law_changes_the_hash():
    hashes = [model_hash(ROBOT.with_friction({NAME: x}).model) for x in CHANGES.values()]
    assert len({*hashes}) == len(CHANGES)
