"""Kernels of whole-body control: the algorithms, in batches, in float32, with names, as slopes."""

import numpy as np
import pandas as pd
import pytest

import kinetree as kt
from kinetree import Spring, algorithms
from kinetree.algorithms.quantities import WHOLE_BODY
from kinetree.engine.kernels import find_quantity
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.model import ALL_TYPES, random_model
from kinetree.model.quantity import EXPRESSED
from robot_states import EPS, random_state, size

OF_THE_ROBOT = [name for name, quantity in WHOLE_BODY.items() if not quantity.framed]
MODELS = {
    "all types": lambda: random_model(3, 4, types=ALL_TYPES, mimic=True),
    "springs": lambda: random_model(7, 4, mimic=True).with_springs({"joint1": Spring(12.5, 0.3)}),
}


def arguments(model, name, seed):
    x, rng = random_state(model, seed), np.random.default_rng(seed)
    known = {"q": x.q, "dq": x.dq, "ddq": x.ddq}
    known |= dict(zip(("dq_r", "ddq_r"), rng.normal(size=(2, model.n)), strict=True))
    return [known[key] for key in find_quantity(name).inputs]


@pytest.mark.parametrize("name", OF_THE_ROBOT)
@pytest.mark.parametrize("robot", MODELS)
def test_kernels_give_what_the_algorithms_give(robot, name):
    """The kernel works in other frames and on other bodies; one state, a batch, and float32."""
    model = MODELS[robot]()
    kernel = compile_kernel(model, name)
    states = [arguments(model, name, seed) for seed in range(4)]
    together = kernel(*(np.array(arrays) for arrays in zip(*states, strict=True)))
    for given, found in zip(states, together, strict=True):
        expected = getattr(algorithms, name)(model, *given)
        slack = 1 + size(expected)
        if name == "inverse_mass_matrix":
            slack *= np.linalg.cond(algorithms.mass_matrix(model, given[0]))
        assert size(found - expected) <= 100 * EPS * slack
        assert found.tobytes() == kernel(*given).tobytes()
    narrow = kernel(*(np.asarray(x, np.float32) for x in states[0]))
    assert narrow.dtype == np.float32
    assert size(narrow - together[0]) <= 1e-5 * slack


@pytest.mark.parametrize("expressed", EXPRESSED)
@pytest.mark.parametrize("name", ["frame_velocity", "frame_acceleration"])
def test_kernels_of_frames_give_what_the_algorithms_give(name, expressed):
    model = MODELS["all types"]()
    given = arguments(model, name, 1)
    for frame in (None, model.base_name, list(model.frames)[-2]):
        found = compile_kernel(model, name, frame=frame, expressed=expressed)(*given)
        expected = getattr(algorithms, name)(model, *given, frame, expressed=expressed)
        assert size(found - expected) <= 100 * EPS * (1 + size(expected))


def test_the_robot_has_frames_by_name_and_axes():
    robot = kt.robots.planar_2r()
    q, dq, ddq = [0.1, 0.2], [1.0, 0.5], [0.0, 2.0]
    body = robot.frame_velocity(q, dq)
    assert np.array_equal(body, robot.frame_velocity(q, dq, "tool", expressed="body"))
    assert size(body - robot.body_jacobian(q) @ dq) < 1e-14
    assert robot.frame_velocity([q, q], dq, "link1", expressed="space").shape == (2, 6)
    assert robot.frame_acceleration([q, q], dq, ddq, expressed="aligned").shape == (2, 6)
    named = dict(zip(robot.joint_names, q, strict=True))
    assert np.array_equal(robot.frame_velocity(named, dq), body)


def test_names_of_axes_are_those_of_joints_and_directions():
    robot = kt.robots.planar_2r()
    q = pd.Series({"joint2": 0.2, "joint1": 0.1})
    A = robot.centroidal_momentum_matrix(q)
    assert A.columns.tolist() == list(robot.joint_names) and A.index[0] == "angular_x"
    assert np.array_equal(A, robot.centroidal_momentum_matrix([0.1, 0.2]))
    J = robot.center_of_mass_jacobian(q)
    assert J.index.tolist() == ["x", "y", "z"]
    mixed = pd.Series({"joint2": 5.0, "joint1": 4.0})
    Y = robot.reference_regressor(q, mixed, mixed, mixed)
    assert np.array_equal(Y, robot.reference_regressor([0.1, 0.2], *[[4.0, 5.0]] * 3))
    assert Y.columns.tolist() == [str(x) for x in algorithms.parameter_list(robot.model)]


def test_slopes_of_the_momentum_are_the_matrix_and_its_rate():
    """d h_G/d dq = A_G, and dA_G/dt is d A_G/dq along dq."""
    robot = kt.Robot(MODELS["springs"]())
    q, dq = arguments(robot.model, "transposed_coriolis_forces", 2)
    A = robot.centroidal_momentum_matrix(q)
    assert size(robot.derivative("centroidal_momentum", "dq")(q, dq) - A) < 1e-12 * size(A)
    slope = robot.derivative("centroidal_momentum_matrix")(q)
    rate = robot.centroidal_momentum_matrix_rate(q, dq)
    assert size(slope @ dq - rate) < 1e-12 * (1 + size(rate))
