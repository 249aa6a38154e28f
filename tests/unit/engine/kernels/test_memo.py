"""The memo: one kernel for a model and a request, freed with the model."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import kinetree as kt
from random_robots import random_model


@pytest.fixture
def model():
    return kt.robots.double_pendulum().model


def test_robots_remember_what_they_compile(model):
    robot = kt.Robot(model)
    assert robot.compile("pose") is robot.compile("pose")
    slopes = robot.derivative("inverse_dynamics", ["q", "dq"])
    assert robot.derivative("inverse_dynamics", ("q", "dq")) is slopes
    assert robot.compile("inverse_dynamics", free=["mass"]) is robot.compile(
        "inverse_dynamics", free=("mass",)
    )


def test_nothing_outlives_a_model():
    model = kt.robots.double_pendulum().model
    robot = kt.Robot(model)
    found = robot.compile("inverse_dynamics")
    q = np.zeros(2)
    found(q, q, q, np.zeros((2, 6)))  # compiles the larger kernel too
    robot.task_space(q, q, rows=[3, 5], damping=0.1)
    alive, entry = weakref.ref(model), weakref.ref(found)
    del model, robot, found
    gc.collect()
    assert alive() is None and entry() is None


def test_copies_and_pickles_of_a_model_start_with_an_empty_memo(model):
    kt.Robot(model).compile("pose")
    assert not copy.copy(model).memo
    assert not pickle.loads(pickle.dumps(model)).memo


def test_robots_that_are_dropped_leave_no_kernels_behind():
    """Whatever was computed: no store of the library keeps a model, its kernels or its code."""
    kernels, models = weakref.WeakSet(), weakref.WeakSet()
    for seed in range(12):
        robot = kt.Robot(random_model(seed, 3))
        q = robot.neutral()
        robot.simulate(q, duration=0.01)
        robot.linearize(q, q, q)
        robot.pose(q)
        for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics_derivatives"):
            kernels.add(getattr(robot, name))
        models.add(robot.model)
        del robot
    gc.collect()
    assert not models and not kernels
