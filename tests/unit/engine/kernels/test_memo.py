"""The memo: one kernel for a model and a request, freed with the model."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.kernels import derivative_kernel, kernel
from kinetree.engine.kernels.memo import Recent
from kinetree.engine.kernels.task_space import task_space_derivatives
from kinetree.errors import InputError, NameLookupError
from kinetree.model.bounds import bounds_of
from kinetree.model.samples import random_model


@pytest.fixture
def model():
    return kt.robots.double_pendulum().model


def test_equal_requests_give_one_kernel(model):
    first = kernel(model, "pose", frame=model.tool)
    assert kernel(model, "pose", frame=model.tool) is first
    assert kernel(model, "pose") is not first
    assert kernel(model, "inverse_dynamics", free=["mass"]) is kernel(
        model, "inverse_dynamics", free=("mass",)
    )


def test_derivatives_are_remembered_too(model):
    slope = derivative_kernel(model, "inverse_dynamics", "dq")
    assert derivative_kernel(model, "inverse_dynamics", "dq") is slope
    assert derivative_kernel(model, "inverse_dynamics") is not slope
    assert slope.graph.outputs[0].shape == (2, 2)


def test_robots_remember_what_they_compile(model):
    robot = kt.Robot(model)
    assert robot.compile("pose") is robot.compile("pose") is kernel(model, "pose")
    slopes = robot.derivative("inverse_dynamics", ["q", "dq"])
    assert robot.derivative("inverse_dynamics", ("q", "dq")) is slopes
    assert robot.derivative("inverse_dynamics") is derivative_kernel(model, "inverse_dynamics")


def test_wrong_requests_raise_and_are_not_remembered(model):
    with pytest.raises(NameLookupError, match="torque"):
        kernel(model, "torque")
    with pytest.raises(InputError, match="such as"):
        kernel(model, "inverse_dynamics", free="mass")
    assert not model.memo


def test_nothing_outlives_a_model():
    model = kt.robots.double_pendulum().model
    found = kernel(model, "inverse_dynamics")
    q = np.zeros(2)
    found(q, q, q, np.zeros((2, 6)))  # compiles the larger kernel too
    task_space_derivatives(model, q, q, rows=[3, 5])
    alive, entry = weakref.ref(model), weakref.ref(found)
    del model, found
    gc.collect()
    assert alive() is None and entry() is None


def test_copies_and_pickles_of_a_model_start_with_an_empty_memo(model):
    kernel(model, "pose")
    assert not copy.copy(model).memo
    assert not pickle.loads(pickle.dumps(model)).memo


def test_forms_are_kept_up_to_a_weight_and_the_least_recently_used_goes_first():
    kept: Recent[int] = Recent(10, weigh=float)
    for form in (4, 3, 2):
        kept.put(f"form of {form}", form)
    assert kept.get("form of 4") == 4  # used, so that the form of 3 is the oldest
    kept.put("form of 1.5", 2)
    assert list(kept) == ["form of 2", "form of 4", "form of 1.5"]
    kept.put("heavy", 50)  # the latest is kept whatever it weighs
    assert list(kept) == ["heavy"]


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
        bounds_of(robot.model)
        models.add(robot.model)
        del robot
    gc.collect()
    assert not models and not kernels
