"""Events are found on the motion, in the wanted direction, in every rollout."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulate import event
from kinetree.simulate.events import locate


def cart():
    return kt.Robot(
        kt.Builder("cart")
        .link("base")
        .link("cart", m=1.0, I_com=np.eye(3))
        .joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0))
        .build()
    )


def spring(t, q, dq):
    return -q * (2 * np.pi) ** 2


def middle(t, q, dq):
    return q[0]


@pytest.mark.parametrize(
    ("direction", "times"),
    [(0, [0.25, 0.75, 1.25, 1.75]), (-1, [0.25, 1.25]), (1, [0.75, 1.75])],
)
def test_zeros_of_a_cosine(direction, times):
    found = cart().simulate(
        [1.0], controller=spring, duration=2.0, rtol=1e-11, atol=1e-13,
        events=[event(middle, direction=direction)],
    ).meta["events"]  # fmt: skip
    assert np.allclose([x.t for x in found], times, atol=1e-9)
    assert all(abs(x.q[0]) < 1e-9 and x.event == "middle" for x in found)
    assert np.allclose([abs(x.dq[0]) for x in found], 2 * np.pi, atol=1e-8)


def test_a_terminal_event_ends_the_motion():
    motion = cart().simulate(
        [0.0], tau=[2.0], duration=2.0, dt=0.1,
        events=event(lambda t, q, dq: q[0] - 0.49, terminal=True, name="wall"),
    )  # fmt: skip
    assert motion.meta["ended"] == pytest.approx(0.7, abs=1e-9)
    assert motion.t[-1] == pytest.approx(0.7) or motion.t[-1] == pytest.approx(0.6)
    assert motion.meta["events"][0].event == "wall" and np.isfinite(motion.q).all()


def test_a_function_alone_is_an_event_and_a_start_at_zero_is_none():
    motion = cart().simulate([0.0], [1.0], duration=1.0, events=middle)
    assert motion.meta["events"] == ()


def test_events_of_a_batch_name_their_rollouts():
    tau = np.array([[2.0], [8.0], [0.0]])
    motion = cart().simulate([0.0], tau=tau, duration=1.5, events=lambda t, q, dq: q[0] - 1.0)
    found = {x.rollout: x.t for x in motion.meta["events"]}
    assert found == {(0,): pytest.approx(1.0), (1,): pytest.approx(0.5)}


def test_locate_finds_roots_to_rounding():
    assert locate(lambda x: x**3 - 0.2, 0.0, 1.0) == pytest.approx(0.2 ** (1 / 3), rel=1e-14)
    assert locate(lambda x: np.arctan(50 * (x - 0.9)), 0.0, 1.0) == pytest.approx(0.9, rel=1e-14)
