"""Motions that slide along a jump of the forces: found within seconds, and not by mistake."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.scalars import where
from kinetree.simulate.core.integration import Pace
from kinetree.simulate.tuning import PACE_WINDOW


def cart(**joint):
    builder = kt.Builder("rail").link("base").link("cart", 1.0, I_com=np.eye(3))
    builder.joint("x", "prismatic", "base", "cart", axis=(1, 0, 0), **joint)
    return builder.build()


def until(speed, drop):
    """A force of 8 N up to a speed, and `drop` less beyond it."""
    return lambda t, q, dq: np.array([where(dq[0] > speed, 8 - drop, 8)])


def test_a_curve_that_ends_above_zero_force_ends_a_run_with_time_joint_and_way_out():
    robot = cart(drive=kt.Drive(curve=[(0, 10), (3, 5)]), friction=kt.Friction(0.2))
    words = (
        r"ended near t = 0\.456\d* s, .* jump back and forth, .* joint 'x'. The joint has the last "
        r"speed of the torque-speed curve .* from 5 N to 0. Let the curve end at zero force, or "
        r"take method='rk4'"
    )
    with pytest.raises(kt.simulate.SimulationError, match=words) as error:
        robot.simulate([0.0], duration=0.5, tau=[8.0])
    assert error.value.trajectory.t[-1] == pytest.approx(0.45)
    fixed = robot.simulate([0.0], duration=0.5, dt=1e-3, tau=[8.0], method="rk4")
    assert fixed.dq[-1, 0] == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize(("viscous", "duration"), [(0.1, 0.5), (0.1, 50.0), (1e-3, 50.0)])
def test_a_law_that_pulls_back_to_its_switch_ends_a_run(viscous, duration):
    """Also where one side pulls 1000 times harder than the other."""
    words = r"ended near t = 0\.\d* s, .* most at joint 'x'\. Describe dry friction"
    with pytest.raises(kt.simulate.SimulationError, match=words) as error:
        cart(friction=kt.Friction(viscous)).simulate([0.0], duration=duration, tau=until(3, 8))
    assert 0.3 < error.value.trajectory.t[-1] < 0.45


def test_the_joint_whose_law_jumps_is_named_and_other_rollouts_go_on():
    robot = kt.robots.planar_2r()
    names = robot.joint_names

    def law(t, q, dq):
        return np.array([0 * t, where(dq[1] > 1, -300, 300)])

    given = {"duration": 20.0, "tau": law, "limits": "ignore"}
    with pytest.raises(kt.simulate.SimulationError, match=f"most at joint '{names[1]}'"):
        robot.simulate([0.0, 0.0], **given)

    two = cart().simulate(
        [[0.0], [0.0]], [[0.0], [-9.0]], duration=1.0, tau=until(3, 16), limits="record"
    )
    assert two.dq[-1, 1, 0] == pytest.approx(-1.0, abs=1e-6)  # never reached 3 m/s
    assert two.q[-1, 0, 0] == two.q[60, 0, 0]  # stands where it could not go on
    assert two.meta["jammed"] == pytest.approx(0.375, abs=1e-3)


def test_a_slide_that_loose_tolerances_can_finish_is_finished():
    motion = cart().simulate([0.0], duration=1.0, tau=until(3, 12), rtol=1e-4, atol=1e-6)
    assert motion.dq[-1, 0] == pytest.approx(3.0, abs=2e-3)
    assert motion.q[-1, 0] == pytest.approx(3 * 0.375 / 2 + 3 * 0.625, abs=2e-3)


def judged(steps, left, scale=1.0):
    """Whether repeated steps, (length, accepted), are found to slide along a jump."""
    pace, t, found = Pace(1, 1), 0.0, False
    row = np.array([0])
    for k in range(PACE_WINDOW):
        h, good = steps[k % len(steps)]
        t += h * scale if good else 0.0
        given = (np.array([x]) for x in (t, h * scale, good, left * scale))
        found |= bool(pace.slides(row, *given)[0])
    return found


SLIDE = [(1e-6, True), (1e-6, False), (4e-7, False), (1e-7, True)]
STIFF = [(1e-7, True)] * 9 + [(1.2e-7, False)]
SWITCHING = [
    *((10.0**-k, False) for k in range(3, 9)),
    *((10.0**-k, True) for k in range(8, 2, -1)),
]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_only_short_steps_of_one_size_with_many_rejections_are_a_slide(scale):
    assert judged(SLIDE, 10.0, scale)
    assert not judged(STIFF, 10.0, scale)
    assert not judged(SWITCHING, 1e4, scale)


def test_a_step_that_a_break_cuts_short_does_not_shorten_the_next():
    robot, times = kt.robots.planar_2r(), [0.0, 0.5, 0.5 + 1e-9]
    runs = [
        robot.simulate([1.0, 0.3], duration=1.0, tau=kt.simulate.signal(t, np.ones((len(t), 2))))
        for t in (times[:1], times)
    ]
    steps = [x.meta["steps"] + x.meta["rejected"] for x in runs]
    assert steps[1] <= steps[0] + 4  # two breaks; from 1e-9 s on it takes a dozen steps to grow
    assert np.abs(runs[1].q - runs[0].q).max() < 1e-7
