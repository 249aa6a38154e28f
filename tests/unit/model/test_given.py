"""A robot or its model, wherever either is taken."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model import model_of
from kinetree.motion import (
    excitation,
    quintic,
    read,
    scale_time,
    sinusoid,
    spline,
    trapezoid,
)

ROBOT = kt.robots.planar_2r()
Q = [0.3, 0.7]
PLAN = quintic([0, 0], Q, 1, robot=ROBOT)

USES = {
    "Robot": lambda robot: kt.Robot(robot).mass_matrix(Q),
    "attach": lambda robot: ROBOT.attach(robot, prefix="second ").mass_matrix([*Q, *Q]),
    "export": lambda robot: kt.export(robot, "gravity_forces", "c"),
    "to_pinocchio": lambda robot: kt.convert.to_pinocchio(robot).q(Q),
    "from_mujoco": lambda robot: kt.convert.from_mujoco(robot).q(Q),
    "to_drake": lambda robot: kt.convert.to_drake(robot).q(Q),
    "quintic": lambda robot: quintic([0, 0], Q, 1, robot=robot).q,
    "spline": lambda robot: spline([[0, 0], Q], 1, robot=robot).q,
    "trapezoid": lambda robot: trapezoid([0, 0], Q, acceleration=1, velocity=1, robot=robot).q,
    "sinusoid": lambda robot: sinusoid(0, 1, 1, 1, robot=robot).q,
    "excitation": lambda robot: excitation(robot, 1).q,
    "scale_time": lambda robot: scale_time(PLAN, 2, robot).tau,
    "energy": lambda robot: PLAN.energy(robot).work,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_robot_and_its_model_give_the_same(use):
    assert np.array_equal(use(ROBOT), use(ROBOT.model))


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_is_neither_is_named(use):
    with pytest.raises(InputError):
        use("planar_2r")


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_files_are_read_for_either(kind, tmp_path):
    path = tmp_path / f"plan.{kind}"
    {"csv": PLAN.to_csv, "npz": PLAN.to_npz}[kind](path)
    for robot in (ROBOT, ROBOT.model):
        found = read(path, robot)
        assert found.model is ROBOT.model and np.array_equal(found.q, PLAN.q)
    with pytest.raises(InputError, match="robot is 'planar_2r'"):
        read(path, "planar_2r")


def test_the_model_itself():
    assert model_of(ROBOT) is model_of(ROBOT.model) is ROBOT.model
