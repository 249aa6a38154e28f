"""Springs with play and joints with backlash: free motion within the play, a spring beyond it."""

import numpy as np
import pytest

import kinetree as kt
from spacing import by

K, PLAY, REST = 100.0, 0.2, 0.3


def block(**spring):
    """A mass of 1 kg on a spring, without gravity."""
    made = kt.Builder("block", gravity=(0, 0, 0)).link("base").link("block", m=1)
    record = kt.joints.Spring(**{"stiffness": K, "rest": REST, "play": PLAY, **spring})
    return made.joint("slide", "prismatic", "base", "block", axis=(1, 0, 0), spring=record).build()


@pytest.mark.parametrize(
    ("method", "dt", "error"), [("DOP853", 1e-2, 1e-6), ("Radau", 1e-2, 1e-6), ("rk4", 1e-3, 1e-5)]
)
def test_the_period_is_the_time_through_the_play_and_that_of_the_spring(method, dt, error):
    v = 0.5
    period = 2 * PLAY / v + 2 * np.pi / np.sqrt(K)
    motion = block().simulate([REST], [v], duration=period, **by(method, dt))
    assert motion.q[-1, 0] == pytest.approx(REST, abs=error)
    assert motion.dq[-1, 0] == pytest.approx(v, abs=error)
    robot = block()
    energy = [robot.kinetic_energy(q, dq) + robot.potential_energy(q)
              for q, dq in zip(motion.q, motion.dq, strict=True)]  # fmt: skip
    assert np.ptp(energy) < error


@pytest.mark.parametrize(("x", "beyond"), [(0.35, 0.0), (0.45, 0.05), (0.1, -0.1)])
def test_force_energy_and_slopes_count_from_the_end_of_the_play(x, beyond):
    robot, stiffness = block(damping=7.0), K if beyond else 0
    assert robot.spring_forces([x]) == pytest.approx([K * beyond])
    assert robot.potential_energy([x]) == pytest.approx(K / 2 * beyond**2)
    assert robot.derivative("spring_forces")([x])[0, 0] == stiffness
    damping = 7.0 if beyond else 0
    by_q, by_dq = robot.inverse_dynamics_derivatives([x], [2], [1])[:2]
    assert by_q[0, 0] == stiffness and by_dq[0, 0] == damping
    tau = robot.inverse_dynamics([x], [2], [1])
    assert tau == pytest.approx([1 + K * beyond + damping * 2])
    assert kt.dynamics.inverse_dynamics(robot.model, [x], [2], [1]) == pytest.approx(tau)
    assert robot.forward_dynamics([x], [2], tau) == pytest.approx([1])


def test_a_closed_form_has_the_dead_zone():
    symbolic = kt.symbolic(block(stiffness=4, rest=0, play=1))
    (force,) = symbolic.springs
    (q,) = symbolic.q
    assert [float(force.subs(q, x)) for x in (-2, -0.25, 0.5, 1)] == [-6, 0, 0, 2]


def test_backlash_of_a_gear_lets_the_link_go_and_takes_energy_on_the_way():
    """A motor that stands: the link coasts through the play, and bounces off with less speed."""
    gear = block(stiffness=0, play=0).with_elastic_joint(
        "slide", 1e4, 20.0, motor_inertia=1.0, play=0.02
    )
    link = gear.lock({"slide": 0})
    motion = link.simulate([0], [0.1], duration=0.3, **by("DOP853", 1e-3))
    free = motion.t < 0.1 - 1e-9
    assert motion.dq[free, 0] == pytest.approx(0.1, rel=1e-9)
    assert motion.q.max() < 0.012 and -0.1 < motion.dq[-1, 0] < -0.06
    assert (
        np.diff(motion.dq[:, 0] ** 2 / 2 + 5e3 * np.maximum(motion.q[:, 0] - 0.01, 0) ** 2).max()
        < 1e-9
    )
    driven = gear.simulate([0, 0], duration=0.05, tau=[2.0, 0], **by("DOP853", 1e-3))
    assert driven.q[driven.q[:, 0] < 0.0099].sum(1) == pytest.approx(0)  # the link stays


def test_play_is_refused_by_name():
    with pytest.raises(kt.errors.KinetreeError):
        block().regressor([0], [0], [0])
    with pytest.raises(kt.errors.KinetreeError):
        block(play=-1)
    with pytest.raises(kt.errors.KinetreeError):
        block().with_elastic_joint("slide", 1e4, motor_inertia=1.0, play=-0.1)
