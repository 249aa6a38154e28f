"""Energy balances of trajectories."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.motion import quintic
from motion_robots import GRAVITY, MASS, lift


def test_the_energy_of_a_lift():
    robot = lift()
    balance = quintic([0], [2], 3, robot=robot).energy()
    assert balance.work[-1] == pytest.approx(MASS * GRAVITY * 2, rel=1e-7)
    assert balance.kinetic[-1] == pytest.approx(0, abs=1e-20)
    assert "work 58.86 J" in repr(balance)


@pytest.mark.parametrize("make", [kt.robots.panda, kt.robots.puma_560])
def test_the_balance_closes_with_the_fourth_power_of_the_step(make):
    """Viscous friction of the Puma included; without Coulomb friction, which has kinks."""
    robot = make()
    worst = []
    for dt in (0.02, 0.01):
        motion = quintic(np.full(robot.n, -0.3), np.full(robot.n, 0.9), 1, dt, robot=robot)
        balance = motion.energy(robot)
        worst.append(np.abs(balance.defect).max() / np.abs(balance.work).max())
    assert worst[1] < 2e-6 and worst[0] / worst[1] > 8


def test_losses_to_load_friction_close_the_balance():
    """A lift up and down: friction is a share of the load, another one when the load drives."""
    robot = lift()
    (joint,) = robot.model.joint_names
    rubbing = robot.with_friction({joint: kt.Friction(load=(0.25, 0.2))})
    up, down = quintic([0], [2], 3, robot=rubbing), quintic([2], [0], 3, robot=rubbing)
    for motion, losses in ((up, 0.25), (down, 0.2)):
        balance = motion.energy()
        assert balance.losses[-1] == pytest.approx(losses * MASS * GRAVITY * 2, rel=1e-6)
        assert np.abs(balance.defect).max() < 1e-6


@pytest.mark.parametrize("wrong", [np.zeros(3), "motion.csv", None])
def test_other_values_than_a_trajectory_are_refused(wrong):
    with pytest.raises((InputError, TypeError), match="Trajectory"):
        kt.motion.energy_balance(wrong, lift())


def test_a_balance_needs_a_robot():
    with pytest.raises(InputError, match=r"pass robot=\.\.\."):
        quintic([0], [1], 1).energy()
