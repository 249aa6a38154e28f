"""Laws that are no functions of t, q and dq are noticed, and never compiled."""

import itertools
import random
import time
from datetime import datetime

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError, KinetreeWarning
from kinetree.simulate.core import purity

ROBOT = kt.robots.planar_2r()
Q0, DQ0 = np.array([0.3, -0.4]), np.array([0.5, 0.1])
GOAL = np.array([0.1, 0.2])
DT = 0.005
noise = np.random.default_rng(0)
ticks = itertools.count()
total = np.zeros(2)


def run(method="rk4", **options):
    dt = 0.05 if method == "dop853" else DT
    return ROBOT.simulate(Q0, DQ0, duration=0.1, dt=dt, method=method, limits="ignore", **options)


class Integral:
    """PI control with the integral in an attribute."""

    def __init__(self):
        self.z = np.zeros(2)

    def __call__(self, t, q, dq):
        e = GOAL - q
        self.z = self.z + e * DT
        return 20 * e - 5 * dq + 10 * self.z


def integral_in_a_list():
    z = [0.0, 0.0]

    def law(t, q, dq):
        for k in range(2):
            z[k] += (GOAL[k] - q[k]) * DT
        return 20 * (GOAL - q) + np.array(z)

    return law


def integral_in_a_global(t, q, dq):
    global total
    total = total + (GOAL - q) * DT
    return 20 * (GOAL - q) + total


def integral_in_a_closure():
    z = 0.0

    def law(t, q, dq):
        nonlocal z
        z = z + (GOAL[0] - q[0]) * DT
        return np.array([z, 0]) - dq

    return law


def integral_in_a_default(t, q, dq, memory=[np.zeros(2)]):  # noqa: B006, B008
    memory[0] = memory[0] + q * DT
    return -memory[0]


def difference_to_the_last_call():
    last = {}

    def law(t, q, dq):
        step = q - last.get("q", q)
        last["q"] = q
        return -q - 10 * step

    return law


def gaussian(t, q, dq):
    return -q + noise.normal(size=2)


def gaussian_of_all(t, q, dq):
    return -q + np.random.normal(size=2)


def uniform(t, q, dq):
    return -q * random.random()


def of_the_clock(t, q, dq):
    return -q * (time.time() % 1)


def counted(t, q, dq):
    return -q * (1 + next(ticks))


UNSTEADY = {
    "integral": Integral,
    "integral_in_a_list": integral_in_a_list,
    "integral_in_a_global": lambda: integral_in_a_global,
    "integral_in_a_closure": integral_in_a_closure,
    "integral_in_a_default": lambda: integral_in_a_default,
    "difference": difference_to_the_last_call,
    "gaussian": lambda: gaussian,
    "gaussian_of_all": lambda: gaussian_of_all,
    "uniform": lambda: uniform,
    "clock": lambda: of_the_clock,
    "counted": lambda: counted,
    "method": lambda: Integral().__call__,
}


@pytest.mark.parametrize("make", UNSTEADY.values(), ids=UNSTEADY.keys())
def test_a_law_that_remembers_or_guesses_runs_in_python_with_a_warning(make):
    with pytest.warns(KinetreeWarning, match=r"gives different values.*4 times a step.*Stateful"):
        motion = run(tau=make())
    assert not motion.meta["compiled"]
    assert "different values for equal arguments" in motion.meta["note"]
    with pytest.raises(InputError, match=r"'dop853' can neither repeat.*Stateful.*signal"):
        run("dop853", controller=make())
    with pytest.raises(InputError, match="cannot be differentiated"):
        ROBOT.sensitivities(Q0, DQ0, duration=0.1, dt=0.01, tau=make(), limits="ignore")


def test_an_integral_is_what_a_loop_of_ones_own_gives():
    """Euler calls a law once a step and for the last record, in the order of time."""
    law, own = Integral(), Integral()
    with pytest.warns(KinetreeWarning, match="'euler' calls it once a step"):
        motion = run("euler", tau=law)
    q, dq = Q0, DQ0
    for k in range(len(motion.t)):
        tau = own(k * DT, q, dq)
        assert np.allclose(motion.q[k], q, atol=1e-12)
        assert np.allclose(motion.tau[k], tau, atol=1e-11)
        ddq = ROBOT.forward_dynamics(q, dq, tau)
        q, dq = q + DT * dq, dq + DT * ddq
    assert np.allclose(law.z, own.z)


def test_random_forces_are_those_of_the_seed():
    def law(t, q, dq):
        return -q + rng.normal(size=2)

    found = []
    for _ in range(2):
        rng = np.random.default_rng(7)
        with pytest.warns(KinetreeWarning):
            found.append(run("euler", tau=law))
    rng = np.random.default_rng(7)
    assert np.array_equal(found[0].q, found[1].q)
    drawn = np.array([rng.normal(size=2) for _ in found[0].t])
    assert np.allclose(found[0].tau + found[0].q, drawn, atol=1e-12)


def test_functions_of_time_that_guess_are_noticed():
    with pytest.warns(KinetreeWarning, match="the function tau = '<lambda>' gives different"):
        motion = run(tau=lambda t: noise.normal(size=2))
    assert "values over time come from Python" in motion.meta["note"]
    assert len(np.unique(motion.tau[:, 0])) == len(motion.t)
    with pytest.warns(KinetreeWarning, match="the function reference = 'drifts'"):

        def drifts(t):
            return GOAL + noise.normal() * t

        run(controller=controllers.PD(drifts, 10.0, 1.0))


def logged():
    calls = []

    def law(t, q, dq):
        calls.append(t)
        return -q

    law.calls = calls
    return law


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_a_law_that_only_notes_runs_in_python_and_is_right(method):
    law = logged()
    with pytest.warns(KinetreeWarning, match="changes 'calls' whenever it is called"):
        motion = run(method, tau=law)
    assert not motion.meta["compiled"]
    assert np.allclose(motion.q, run(method, tau=lambda t, q, dq: -q).q, rtol=0, atol=1e-9)
    assert all(isinstance(t, float) for t in law.calls)  # no trace is left in it


def test_a_counter_that_will_matter_later_is_noticed():
    def law(t, q, dq):
        law.calls += 1
        return -q if law.calls < 50 else -2 * q

    law.calls = 0
    with pytest.warns(KinetreeWarning, match="changes an attribute of 'law'"):
        run(tau=law)
    assert law.calls == 4 * 20 + 1


def test_a_clock_that_hardly_moves_is_noticed():
    def by_day(t, q, dq):
        return -q if datetime.now().year > 2000 else q

    with pytest.warns(KinetreeWarning, match="reads the clock"):
        assert not run(tau=by_day).meta["compiled"]

    def waits(t, q, dq):
        time.sleep(0)
        return -q

    assert run(tau=waits).meta["compiled"]


def test_a_law_that_looks_at_types_is_run_on_numbers():
    def law(t, q, dq):
        return -q if isinstance(t, float) else -2 * q

    with pytest.warns(KinetreeWarning, match="something else on numbers than on traced"):
        motion = run(tau=law)
    assert np.allclose(motion.tau, -motion.q, atol=1e-12)


def test_what_is_made_once_does_not_count_as_memory():
    class Lazy:
        matrix = None

        def __call__(self, t, q, dq):
            if self.matrix is None:
                self.matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
            rng = np.random.default_rng(3)  # seeded: the same numbers each time
            return -self.matrix @ q + rng.normal(size=2)

    assert run(tau=Lazy()).meta["compiled"]


def test_tracing_leaves_a_law_as_it_was():
    law = Integral()
    law.log, law.names, law.kinds = [1.0], {"a": np.ones(2)}, {1, 2}
    before = law.z, law.log[:], law.names["a"]
    np.random.seed(5)
    random.seed(5)
    expected = np.random.random(), random.random()
    np.random.seed(5)
    random.seed(5)

    def wild(t, q, dq):
        law.log.append(t)
        law.names["b"] = q
        law.names["a"] += 1.0
        law.kinds.add(3)
        law.extra = q
        np.random.random(), random.random()
        return law(t, q, dq)

    with pytest.raises(InputError):
        run("dop853", tau=wild)
    assert law.z is before[0] and law.log == before[1] and law.kinds == {1, 2}
    assert law.names.keys() == {"a"} and (before[2] == 1).all() and not hasattr(law, "extra")
    assert (np.random.random(), random.random()) == expected


def test_slots_and_classes_are_put_back():
    class Slotted:
        __slots__ = ("z",)
        count = 0

        def __init__(self):
            self.z = 0.0

        def __call__(self, t, q, dq):
            Slotted.count += 1
            self.z = self.z + q[0]
            return -q * Slotted.count + self.z

    law = Slotted()
    with pytest.raises(InputError):
        run("dop853", tau=law)
    assert law.z == 0.0 and Slotted.count == 0


def test_a_pure_law_is_examined_once_and_then_not_even_traced(monkeypatch):
    made = []
    traced = purity.trace
    monkeypatch.setattr(purity, "trace", lambda *a: made.append(1) or traced(*a))

    def law(t, q, dq):
        return -3.5 * q

    run(tau=law)
    assert len(made) == 2
    run(tau=law)
    assert len(made) == 2


def test_a_pure_law_that_cannot_be_compared_is_traced_once_at_every_use(monkeypatch):
    made = []
    traced = purity.trace
    monkeypatch.setattr(purity, "trace", lambda *a: made.append(1) or traced(*a))
    name = "shape"

    def law(t, q, dq):
        return -float(len(getattr(q, name))) * q  # an attribute that is looked up at run time

    run(tau=law)
    assert len(made) == 2
    run(tau=law)
    assert len(made) == 3


def test_two_laws_with_one_graph_are_examined_by_themselves():
    """An integral that starts at 0 looks like a gain at first."""
    assert run(tau=lambda t, q, dq: DT * (GOAL - q)).meta["compiled"]
    z = [0.0]

    def law(t, q, dq):
        z[0] = z[0] + DT * (GOAL - q)
        return z[0]

    with pytest.warns(KinetreeWarning):
        assert not run(tau=law).meta["compiled"]


def test_step_by_step_knows_laws_with_a_memory():
    law = Integral()
    by_hand = controllers.step_by_step(law, ROBOT)
    assert "different values" in by_hand.note
    z, e = np.zeros(2), GOAL - Q0
    for _ in range(3):
        z = z + e * DT
        assert np.allclose(by_hand(0.0, Q0, DQ0)[0], 20 * e - 5 * DQ0 + 10 * z, atol=1e-13)
