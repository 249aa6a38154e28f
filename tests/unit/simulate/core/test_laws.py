"""The contract with functions of the user: traced when given, pure, checked by calls alone."""

import contextlib
import itertools
import pickle
import threading
import time
from functools import lru_cache, partial

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError, ShapeError
from kinetree.scalars import cos, sign, sin, where
from kinetree.simulate import event

ROBOT = kt.robots.planar_2r()
Q0 = np.array([0.3, -0.4])
METHODS = ("euler", "semi_implicit_euler", "implicit", "rk4", "dop853")
FREE = {"duration": 0.1, "dt": 0.01, "limits": "ignore"}


def run(method="rk4", q0=Q0, **acting):
    return ROBOT.simulate(q0, method=method, **FREE, **acting)


# laws with a memory, each made anew: the first three cannot be traced


def late():
    kept = {"z": 0.0}

    def law(t, q, dq):
        if t > 0.05:
            kept["z"] += 0.01 * q[0]
        return -5 * q - 3 * kept["z"]

    return law


def latch():
    kept = [False]

    def law(t, q, dq):
        kept[0] = kept[0] or t > 0.05
        return -q if kept[0] else 5 - q

    return law


def switch():
    """Untouched by tracing, since float(t) refuses a traced scalar before anything is kept."""
    kept = [False]

    def law(t, q, dq):
        kept[0] = float(t) > 0.05 or kept[0]
        return -q if kept[0] else 5 - q

    return law


def integral():
    total = [0.0]

    def law(t, q, dq):
        total[0] = total[0] + 0.01 * q[0]
        return -q - total[0]

    return law


def counter():
    calls = []

    def law(t, q, dq):
        calls.append(1)
        return -q * len(calls)

    return law


def noise():
    random = np.random.default_rng(0)
    return lambda t, q, dq: -q + random.normal()


def clock():
    began = time.perf_counter()
    return lambda t, q, dq: -q * (time.perf_counter() - began)


WITH_MEMORY = (late, latch, switch, integral, counter, noise, clock)
CASES = [(make, "tau", "rk4") for make in WITH_MEMORY]
CASES += [(make, "controller", "dop853") for make in WITH_MEMORY]
CASES += [(late, "tau", method) for method in METHODS]


@pytest.mark.parametrize(("make", "role", "method"), CASES)
def test_what_is_no_function_of_its_arguments_is_an_error_in_every_method(make, role, method):
    with pytest.raises(InputError, match=r"the same arguments.*Stateful.*Sampled"):
        run(method, **{role: make()})


def test_the_error_of_a_memory_that_starts_late_names_its_time():
    with pytest.raises(
        InputError, match=r"'law' gives different .* at t = 0\.06 s \(-1\.\d+, then"
    ):
        run("euler", tau=late())


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_functions_of_time_and_events_are_held_to_it_as_well(method):
    calls = []

    def goal(t):
        calls.append(t)
        return Q0 + len(calls)

    def stepped(t):
        calls.append(t)
        return Q0 + len(calls) if t > 0.02 else Q0

    for reference in (goal, stepped):
        with pytest.raises(InputError, match=r"reference = .* different results"):
            run(method, controller=controllers.PD(reference, 5.0, 1.0))
    if method == "dop853":
        with pytest.raises(InputError, match="the event 'seen' gives different results"):
            seen = event(lambda t, q, dq: calls.append(t) or len(calls) - 1e6, name="seen")
            run(method, events=[seen])


@pytest.mark.parametrize("method", ["euler", "dop853"])
def test_pure_laws_are_never_accused(method):
    """Jumps, rest, arguments that are written, arrays returned again, and values near rounding."""
    kept = np.zeros(2)

    def own_array(t, q, dq):
        kept[:] = [float(x) for x in -q]
        return kept

    laws = [
        lambda t, q, dq: sign(q - Q0) * 1e-3,  # on the jump at the start
        lambda t, q, dq: where(t - 0.05, -q, -2 * q) + sin(100 * q),
        lambda t, q, dq: (q * 1e9 + 0.1) - q * 1e9,  # rounding of large numbers
        lambda t, q, dq: sin(q) ** 2 + cos(q) ** 2 - 1,  # nothing but rounding
        kt.python(lambda t, q, dq: sin(q) ** 2 + cos(q) ** 2 - 1),
        lambda t, q, dq: -q if t <= 0.05 else -2 * q,
        lambda t, q, dq: 0 * q,
        own_array,
    ]
    for law in laws:
        run(method, tau=law)
        run(method, controller=law)
    run(method, q0=np.zeros((3, 2)), controller=laws[1])


def test_rounding_may_decide_on_the_side_of_a_jump():
    """x x x and x**3 differ in the last digit: at the start the law is 0, and its graph is not."""
    x = next(x for x in np.linspace(0.1, 1, 1000) if x * x * x != np.array([x])[0] ** 3)
    q0 = np.array([x, x])
    goal = q0**3
    law = kt.law(lambda t, q, dq: sign(q**3 - goal), ROBOT)
    assert (law(0.0, q0, q0) != sign(q0**3 - goal)).all()
    run("rk4", q0, tau=lambda t, q, dq: sign(q**3 - goal))


def test_what_another_thread_changes_is_left_alone():
    """A list keeps all entries, and random numbers are not drawn again."""
    entries, drawn, done = [], [], threading.Event()

    def law(t, q, dq):
        return -q - 0.0 * float(len(entries) >= 0)

    def work():
        while not done.is_set():
            entries.append(len(entries))
            drawn.append(np.random.uniform())
            time.sleep(1e-4)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(2):
            run("rk4", tau=law)
            run("dop853", tau=lambda t, q, dq: law(t, q, dq) if q[0] < 9 else q)
    finally:
        done.set()
        thread.join()
    assert entries == list(range(len(entries))) and len(entries) > 10
    assert len(set(drawn)) == len(drawn)


def test_a_law_is_called_and_nothing_that_it_holds_is_touched():
    class Guarded:
        """An object that only the law may read."""

        allowed = False

        def __getattribute__(self, name):
            if name != "__class__" and not object.__getattribute__(self, "allowed"):
                raise AssertionError(f"somebody read {name}")
            return object.__getattribute__(self, name)

    held = Guarded()

    def law(t, q, dq):
        Guarded.allowed = True
        found = -q if held.allowed else q
        Guarded.allowed = False
        return found

    assert run("rk4", tau=law).meta["compiled"]


def test_one_law_given_four_ways_is_one_loop_and_one_motion():
    gain = 8.0625

    def plain(t, q, dq):
        return gain * (0.1 - q) - dq

    class Held:
        def __call__(self, t, q, dq):
            return plain(t, q, dq)

    ways = [
        plain,
        lambda t, q, dq: 8.0625 * (0.1 - q) - dq,
        partial(lambda k, t, q, dq: k * (0.1 - q) - dq, gain),
        Held(),
    ]
    first = run("rk4", controller=plain)
    loops = set(ROBOT.model.memo["simulate", "loops"])
    for law in ways:
        assert np.array_equal(run("rk4", controller=law).q, first.q)
    assert set(ROBOT.model.memo["simulate", "loops"]) == loops


def test_a_law_that_was_made_a_value_stays_what_it_is():
    gains = {"kp": 5.0}

    def function(t, q, dq):
        return gains["kp"] * (0.1 - q) - dq

    law = kt.law(function, ROBOT)
    before = {role: run("rk4", **{role: function}) for role in ("tau", "controller")}
    gains["kp"] = 50.0
    for role, motion in before.items():
        assert np.array_equal(run("rk4", **{role: law}).q, motion.q)
        assert abs(run("rk4", **{role: function}).q - motion.q).max() > 1e-3
    again = pickle.loads(pickle.dumps(law))
    assert again == law and hash(again) == hash(law) and law != kt.law(function, ROBOT)
    assert np.array_equal(law(0.0, Q0, -Q0), 5.0 * (0.1 - Q0) + Q0)
    assert kt.law(law) is law
    goal = kt.law(lambda t: Q0 * gains["kp"] * t)
    pd = controllers.PD(goal, 5.0, 1.0)
    first = run("rk4", controller=pd)
    gains["kp"] = 5.0
    assert np.array_equal(run("rk4", controller=pd).q, first.q)


def test_a_stateful_law_is_made_a_value_with_the_shape_of_its_state():
    ki = [3.0]

    def function(t, q, dq, z):
        return -q - ki[0] * z, q

    plain = run("dop853", controller=controllers.Stateful(function, np.zeros(2)))
    law = kt.law(function, ROBOT, shapes={"z": 2})
    ki[0] = 9.0
    kept = run("dop853", controller=controllers.Stateful(law, np.zeros(2)))
    assert np.array_equal(kept.q, plain.q)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: kt.law(3), "expected a function"),
        (lambda: kt.law(lambda t, q, dq: q), r"needs the robot.*kinetree\.law\(<lambda>, robot\)"),
        (lambda: kt.law(lambda t, q, dq: q if t > 0 else dq, ROBOT), "cannot be traced.*truth"),
        (lambda: kt.law(lambda t, q, dq: q + "a", ROBOT), "cannot be traced.*kinetree.python"),
        (lambda: kt.law(counter(), ROBOT), "different results for the same arguments"),
        (lambda: kt.python(3), "kinetree.python was given 3"),
    ],
)
def test_what_cannot_be_a_value_is_refused(make, text):
    with pytest.raises(InputError, match=f"(?s){text}"):
        make()


def test_a_value_for_another_robot_is_refused():
    law = kt.law(lambda t, q, dq: -q, kt.robots.spatial_3r())
    for role in ("tau", "controller"):
        with pytest.raises(ShapeError, match=r"was traced for .*\(3,\).* q \(2,\)"):
            run("rk4", **{role: law})
    with pytest.raises(ShapeError, match=r"expected \(2,\)"):
        run("rk4", tau=kt.law(lambda t, q, dq: q[0], ROBOT))


def test_python_runs_a_law_as_it_is():
    seen = []

    def law(t, q, dq):
        seen.append(type(q[0]))
        return -q

    slow = run("rk4", tau=kt.python(law))
    assert not slow.meta["compiled"] and "keeps 'law' in Python" in slow.meta["note"]
    assert set(seen) == {np.float64} and len(seen) > 40
    seen.clear()
    ROBOT.simulate(Q0, method="rk4", duration=1.0, dt=0.01, limits="ignore", tau=kt.python(law))
    assert 401 < len(seen) < 600  # the check takes few calls, and hardly more in longer runs
    assert np.allclose(slow.q, run("rk4", tau=law).q, rtol=0, atol=1e-13)
    timed = run("rk4", tau=kt.python(lambda t: np.array([t, 0.0])))
    assert np.allclose(timed.q, run("rk4", tau=lambda t: np.array([t, 0.0])).q, rtol=0, atol=1e-13)


def test_a_loop_of_ones_own_may_call_a_law_that_remembers():
    stepped = controllers.step_by_step(kt.python(counter()), ROBOT)
    assert [stepped(0.0, Q0, Q0)[0][0] for _ in range(3)] == [-0.3, -0.6, -0.9 + 1e-16]
    with pytest.raises(InputError, match="different results"):
        controllers.step_by_step(counter(), ROBOT)


def test_a_simulation_that_fails_names_the_memory_and_not_the_limits():
    """A law that drives a joint through its limits because it counts its calls."""
    robot = kt.robots.panda()
    law = counter()
    with pytest.raises(InputError, match="different results"):
        robot.simulate(
            robot.neutral() + 0.3, duration=0.5, method="rk4", tau=lambda *a: -50 * law(*a)
        )


def test_derivatives_of_functions_are_those_of_their_values():
    k = [2.0]

    def function(x):
        return k[0] * sin(x)

    first = kt.derivative(function, shapes={"x": 1})
    assert kt.derivative(lambda x: 2.0 * sin(x), shapes={"x": 1})([0.5]) == first([0.5])
    k[0] = 3.0
    assert kt.derivative(function, shapes={"x": 1})([0.5]) == pytest.approx(1.5 * first([0.5]))
    assert kt.derivative(function, shapes={"x": 1}) is kt.derivative(function, shapes={"x": 1})


@pytest.mark.parametrize(
    "function",
    [
        lambda q: np.where(q, np.sin(q) / (q + 1e-9 * (1 - np.sign(q) ** 2)), 1.0),
        lambda q: np.where(q, q**2 + q, 0.5),
        lambda q: np.where(1.0 * (q > 0) - 1.0 * (q < 0), q, 7.0),
        lambda q: np.where([-1.0, 0.0], q, 3 * q),
        lambda q: np.where(q >= 0, q, np.where(q < -0.7, 2 * q, 3 * q)),
        lambda q: np.sinc(q),
    ],
)
def test_a_number_as_a_condition_of_numpy_counts_where_it_is_not_zero(function):
    traced = kt.law(lambda t, q, dq: function(q), ROBOT)
    for q in ([-0.5, 0.0], [0.5, -1.0], [-0.0, 2.0]):
        expected = function(np.array(q))
        assert traced(0.0, q, np.zeros(2)) == pytest.approx(expected, rel=1e-14, abs=1e-16)
    expected = np.diag([2 * -0.5 + 1, 0.0, 2 * 0.5 + 1])
    slope = kt.derivative(lambda q: np.where(q, q**2 + q, 0.0), "q", shapes={"q": 3})
    assert np.array_equal(slope([-0.5, 0.0, 0.5]), expected)


def test_nan_counts_as_true_and_a_comparison_is_taken_as_it_is():
    traced = kt.law(lambda t, q, dq: np.where(q, 2.0, 3.0), ROBOT)
    assert np.array_equal(traced(0.0, [np.nan, 0.0], [0.0, 0.0]), [2.0, 3.0])
    compared = kt.law(lambda t, q, dq: np.where(q > 0, q, dq), ROBOT)
    assert "sign" not in {node.op for node in compared.graph.nodes}


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize("results", [[0, 5], [0, 0, 5], [0, 5, 5], [0, 0, 5, 5]])
def test_a_law_that_alternates_is_not_taken_for_one_that_jumps(results, method):
    following = itertools.cycle(results)
    with pytest.raises(InputError, match="different results for the same arguments"):
        run(method, tau=lambda t, q, dq: next(following) - q)


@pytest.mark.parametrize("method", ["euler", "rk4", "dop853"])
@pytest.mark.parametrize("speed", [0.3, 3.0])
def test_a_brake_that_latches_soon_after_the_start_is_found(speed, method):
    closed = [False]

    def brake(t, q, dq):
        closed[0] = closed[0] or bool(np.abs(np.asarray(dq, float)).max() > speed)
        return -5.0 * dq if closed[0] else -0.5 * dq

    with pytest.raises(InputError, match=r"at t = 0\.\d+ s.*Stateful.*Sampled"):
        ROBOT.simulate(Q0, duration=2.0, dt=0.01, limits="ignore", method=method, tau=brake)


def test_an_event_that_answers_yes_or_no_is_refused():
    for found in (lambda t, q, dq: t > 0.05, lambda t, q, dq: np.bool_(q[0] > 0)):
        with pytest.raises(InputError, match=r"returned (True|False) at t = 0.*q\[0\] - 1"):
            run("dop853", events=found)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"tau": lambda t, q: -q}, r"tau = .* \(t, q\); expected f\(t\) or f\(t, q, dq\)"),
        ({"F_ext": lambda t, q: -q}, r"F_ext = .* \(t, q\); expected f\(t\) or f\(t, q, dq\)"),
        ({"controller": lambda t, q: -q}, r"the law .* \(t, q\); expected f\(t, q, dq\)"),
        (
            {"controller": controllers.Stateful(lambda t, q, dq: (q, q), [0.0, 0.0])},
            r"\(t, q, dq\); expected f\(t, q, dq, z\)",
        ),
        (
            {"controller": controllers.Law(lambda t, q, dq: -q, reference=lambda t: Q0 * t)},
            r"expected f\(t, q, dq, reference\)",
        ),
        (
            {"controller": controllers.Sampled(lambda t, q, dq: q, 0.01, [0])},
            r"the sampled controller .* expected f\(t, q, dq, state\)",
        ),
        ({"controller": controllers.PD(lambda: Q0, 1.0, 1.0)}, r"reference = .*expected f\(t\)"),
        ({"tau": lambda t, q, dq: -q * (1 + 1j)}, "returned .*j.*; expected real numbers"),
        ({"tau": lambda t: Q0 * 1j}, "returned 0.3j; expected real numbers"),
        ({"tau": Q0 * 1j}, "tau holds complex numbers"),
        (
            {"controller": controllers.PD(lambda t: Q0 * 1j, 1.0, 1.0)},
            "reference = .* returned 0.3j; expected real numbers",
        ),
        ({"controller": lambda t, q, dq: -q * 1j}, "the law .*j.*; expected real numbers"),
        (
            {"controller": controllers.Sampled(lambda t, q, dq: -q * 1j, 0.01)},
            "sampled controller .* at t = 0 s returned .*j.*; expected real numbers",
        ),
        (
            {"controller": controllers.Stateful(lambda t, q, dq, z: (q, z * 1j), [0.0, 0.0])},
            "as dz, returned .*j; expected real numbers",
        ),
        ({"tau": lambda t, q, dq: ["a", "b"]}, "tau returned 'a'; expected real numbers"),
        ({"controller": lambda t, q, dq: "ab"}, "the law .* returned 'ab'; expected real"),
        ({"controller": lambda t, q, dq: None}, "the law .* returned None; expected real"),
    ],
)
def test_what_cannot_be_called_or_is_no_number_is_refused_in_a_sentence(given, text, method):
    with pytest.raises(InputError, match=text):
        run(method, **given)


def test_an_event_of_two_arguments_is_refused():
    with pytest.raises(InputError, match=r"\(t, q\); expected f\(t, q, dq\)"):
        event(lambda t, q: q[0])


def caught(t, q, dq):
    try:
        return -q if t > 0.015 else q
    except Exception:
        return 0 * q


def suppressed(t, q, dq):
    with contextlib.suppress(Exception):
        return np.array([float(q[0]), 0.0])
    return 0 * q


def looked_up(t, q, dq):
    try:
        return q * [1.0, 2.0][int(t / 0.015)]
    except Exception:
        return 0 * q


def remainder(t, q, dq):
    try:
        return q * (t % 0.01) + round(t, 2)
    except TypeError:
        return 0 * q


def tabulated(t, q, dq):
    return q * {0.0: 3.0}.get(t, 1.0)


def inverted(t, q, dq):
    try:
        return np.linalg.inv(np.outer(q, q) + np.eye(2)) @ dq
    except Exception:
        return 0 * q


@pytest.mark.parametrize("law", [caught, suppressed, looked_up, remainder, tabulated, inverted])
def test_a_law_that_catches_the_error_of_its_trace_runs_in_python(law):
    found = run("rk4", tau=law)
    assert found.meta["compiled"] is False
    assert np.array_equal(found.q, run("rk4", tau=kt.python(law)).q)


def test_a_law_that_tracing_misreads_is_not_called_impure():
    def law(t, q, dq):
        return q if isinstance(t, float) else -q

    with pytest.raises(InputError, match=r"Either .*Stateful.*Or tracing misread it.*python\(f\)"):
        run("rk4", tau=law)


@pytest.mark.parametrize("give", [lambda f: {"tau": f}, lambda f: {"controller": f}])
def test_arguments_in_another_order_are_refused(give):
    for law in (lambda q, dq, t: -q, lambda t, dq, q: -q, kt.python(lambda t, dq, q: -q)):
        with pytest.raises(InputError, match=r"expected .*f\(t, q, dq\)"):
            run(**give(law))
    run(**give(lambda time, position, rate: -position))


def fading(t, q, dq):
    return np.array([0 * t, np.sqrt(0.045 - t)])


def ending(t, q, dq):  # after a time that is a result
    return np.array([0.0, np.nan if t > 0.05 else 1.0])


@pytest.mark.parametrize("method", ["rk4", "euler", "dop853"])
@pytest.mark.parametrize("law", [fading, kt.python(fading), kt.python(ending)])
def test_a_law_without_a_number_is_named_with_its_time_and_entry(method, law):
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(
            kt.KinetreeError, match=r"(?i)the law '\w+' returns nan at \[1\] near t = 0\.0[4-6]"
        ),
    ):
        run(method, controller=law)


def test_a_law_with_a_cache_is_refused_with_the_way_out():
    @lru_cache
    def law(t, q, dq):
        return -q

    with pytest.raises(InputError, match=r"lru_cache.*__wrapped__"):
        run(controller=law)
    run(controller=law.__wrapped__)
