"""Events are found on the motion, in the wanted direction, in every rollout."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
import kinetree.errors
from kinetree.simulate import event
from kinetree.simulate.core.events import Halt


def cart():
    return (
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
    assert motion.t[-1] == motion.meta["ended"] and motion.t[-2] < motion.t[-1]
    assert motion.q[-1, 0] == pytest.approx(0.49, abs=1e-12)
    assert motion.dq[-1, 0] == pytest.approx(1.4, abs=1e-9) and motion.ddq[-1, 0] == 2.0
    assert motion.meta["events"][0].event == "wall" and np.isfinite(motion.q).all()


def test_a_function_alone_is_an_event_and_a_start_at_zero_is_none():
    motion = cart().simulate([0.0], [1.0], duration=1.0, events=middle)
    assert motion.meta["events"] == ()


def test_events_of_a_batch_name_their_rollouts():
    tau = np.array([[2.0], [8.0], [0.0]])
    motion = cart().simulate([0.0], tau=tau, duration=1.5, events=lambda t, q, dq: q[0] - 1.0)
    found = {x.rollout: x.t for x in motion.meta["events"]}
    assert found == {(0,): pytest.approx(1.0), (1,): pytest.approx(0.5)}


def sledge(coulomb):
    return (
        kt.Builder("sledge")
        .link("base")
        .link("sledge", m=2.0, I_com=np.eye(3))
        .joint(
            "rail", "prismatic", "base", "sledge", axis=(1, 0, 0),
            friction=kt.Friction(coulomb=coulomb),
        )
        .build()
    )  # fmt: skip


def times(motion):
    return [x.t for x in motion.meta["events"]]


def test_an_event_before_the_end_of_a_slide_has_its_own_time():
    """x = 1.5 t - 0.75 t^2 is 0.45 at t = 1 - sqrt(0.4); friction cuts the step at t = 1."""
    motion = sledge(3.0).simulate(
        [0.0], [1.5], duration=4.0, max_step=4.0, events=lambda t, q, dq: q[0] - 0.45
    )
    assert times(motion) == pytest.approx([1 - np.sqrt(0.4)], abs=1e-12)


@pytest.mark.parametrize("terminal", [False, True])
def test_two_zeros_within_one_step_are_found(terminal):
    """x = t - t^2 passes 0.2499 twice about t = 0.5, in a step of 2 s."""
    motion = cart().simulate(
        [0.0], [1.0], tau=[-2.0], duration=2.0, max_step=2.0,
        events=event(lambda t, q, dq: q[0] - 0.2499, terminal=terminal),
    )  # fmt: skip
    expected = [0.49, 0.51]
    assert motion.meta["steps"] < 20
    assert times(motion) == pytest.approx(expected[: 1 if terminal else 2], abs=1e-10)
    if terminal:
        assert motion.meta["ended"] == times(motion)[0]


def test_many_zeros_in_long_steps():
    """sin(20 x) of a cart at 1 m/s: a zero every pi / 20 s, many to a step."""
    motion = cart().simulate(
        [0.01], [1.0], duration=6.0, max_step=6.0, events=lambda t, q, dq: np.sin(20 * q[0])
    )
    expected = np.arange(1, 39) * np.pi / 20 - 0.01
    assert times(motion) == pytest.approx(expected[expected < 6.0], abs=1e-9)


@pytest.mark.parametrize(
    "bump",
    [lambda t, q: np.exp(-(((q - 3.33) / 0.003) ** 2)) - 0.5, lambda t, q: 0.01 - abs(t - 3.33)],
)
def test_a_narrow_peak_in_a_long_step_is_found_where_a_result_shows_it(bump):
    events = event(lambda t, q, dq: np.sign(bump(t, q[0])) * 1.0)
    found = cart().simulate([0.0], [1.0], duration=10.0, events=events).meta["events"]
    assert len(found) == 2 and found[0].t < 3.33 < found[1].t
    assert all(abs(bump(x.t, x.q[0])) < 1e-9 for x in found)


def test_an_event_of_the_rate_is_found_once_where_a_joint_stops():
    motion = sledge(3.0).simulate([0.0], [1.5], duration=4.0, events=lambda t, q, dq: dq[0])
    assert times(motion) == pytest.approx([1.0], abs=1e-9)


def test_a_zero_at_the_end_of_a_step_is_not_lost_either_way():
    """Steps end at 0.5 and 1.0, where the signal bends and the cart stands at the mark."""
    tau = kt.simulate.signal([0.0, 0.5, 1.0], np.zeros((3, 1)), "hold")
    for way in (1.0, -1.0):
        motion = cart().simulate(
            [0.0], [way], tau=tau, duration=2.0,
            events=[lambda t, q, dq, c=c * way: q[0] - c for c in (0.5, 1.0)],
        )  # fmt: skip
        assert times(motion) == pytest.approx([0.5, 1.0], abs=1e-12)


def test_events_get_arrays_that_they_cannot_change():
    def greedy(t, q, dq):
        q[0] = 0
        return 1.0

    with pytest.raises(ValueError, match="read-only"):
        cart().simulate([0.0], [1.0], duration=1.0, events=greedy)


def test_an_event_that_is_not_a_number_is_named():
    with pytest.raises(kt.errors.InputError, match="event 'lost' returned nan at t = 0"):
        cart().simulate(
            [0.0], duration=1.0, events=event(lambda t, q, dq: float("nan"), name="lost")
        )
    with pytest.raises(kt.errors.InputError, match=r"returned array\(.*expected a number"):
        cart().simulate([0.0], duration=1.0, events=lambda t, q, dq: np.zeros(2))


def test_events_change_no_sample():
    def run(**options):
        return cart().simulate([1.0], controller=spring, duration=2.0, **options)

    plain = run()
    watched = run(events=[middle, lambda t, q, dq: np.sin(9 * q[0])])
    assert np.array_equal(plain.q, watched.q) and np.array_equal(plain.dq, watched.dq)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_all_crossings_of_random_cosines(seed):
    """A spring's motion A cos(w t + p) passes levels at times that are known in closed form."""
    rng = np.random.default_rng(seed)
    w, size, phase = rng.uniform(1, 12), rng.uniform(0.3, 2), rng.uniform(0, 2 * np.pi)
    level = size * rng.uniform(-0.95, 0.95)
    motion = cart().simulate(
        [size * np.cos(phase)], [-size * w * np.sin(phase)], duration=8.0,
        controller=lambda t, q, dq: -(w**2) * q, max_step=8.0, rtol=1e-10, atol=1e-12,
        events=lambda t, q, dq: q[0] - level,
    )  # fmt: skip
    turn = np.arange(-1, 40) * 2 * np.pi
    angles = np.sort(
        np.concatenate([turn + np.arccos(level / size), turn - np.arccos(level / size)])
    )
    expected = (angles - phase) / w
    expected = expected[(expected > 1e-7) & (expected < 8.0 - 1e-7)]
    found = np.array([t for t in times(motion) if 1e-7 < t < 8.0 - 1e-7])
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("steps", [0, 3, 7])
def test_a_halt_ends_the_motion_where_it_is(steps):
    """What was computed until then is the beginning of the whole motion."""
    options = {"controller": spring, "duration": 2.0, "dt": 0.01}
    whole, count = cart().simulate([1.0], **options), itertools.count()
    part = cart().simulate([1.0], **options, events=[Halt(asked=lambda: next(count) >= steps)])
    assert part.meta["ended"] == part.t[-1] < 2 and next(count) == steps + 1
    for x, y in ((part.q, whole.q), (part.ddq, whole.ddq), (part.tau, whole.tau)):
        assert np.array_equal(x[:-1], y[: len(part) - 1])
    assert part.q[-1, 0] == pytest.approx(np.cos(2 * np.pi * part.t[-1]), abs=1e-7)
    assert part.ddq[-1] == pytest.approx(-part.q[-1] * (2 * np.pi) ** 2, rel=1e-9)
