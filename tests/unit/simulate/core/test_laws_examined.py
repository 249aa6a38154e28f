"""The parts of an examination: what a function can reach, how calls compare, what a key holds."""

import datetime
import random
import time
import types
from collections import OrderedDict, deque
from dataclasses import dataclass
from functools import partial
from time import monotonic, sleep

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.compiler.graph import Port
from kinetree.errors import InputError, KinetreeWarning
from kinetree.scalars import sin
from kinetree.simulate import signal
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.forces import (
    Verdict,
    check_steady,
    field_key,
    first_row,
    input_kind,
    python_note,
    value_key,
)
from kinetree.simulate.core.memory import Memory, label
from kinetree.simulate.core.purity import Calls, Examined, call, examine
from kinetree.simulate.core.signals import Sampled
from kinetree.simulate.core.sources import Source, arguments, force_source, time_source

PORTS = (Port("t", ()), Port("q", (2,)))
START = (0.25, np.array([0.5, -0.25]))
counter = [0.0]
level = 1.0


class Kept:
    """Something to change in every way."""

    shared = 1.0
    __hidden__ = 2.0

    def __init__(self):
        self.number, self.array = 1.0, np.arange(3.0)
        self.list, self.table, self.set = [1.0, [2.0]], {"a": 1.0}, {1.0}
        self.queue, self.ordered = deque([1.0, 2.0]), OrderedDict(a=1.0)
        self.objects = np.array([1.0, [5.0]], dtype=object)
        self.numpy, self.python = np.random.default_rng(0), random.Random(0)
        self.pair = ([1.0], 2.0)
        self.space = types.SimpleNamespace(x=1.0)


CHANGES = {
    "number": lambda x: setattr(x, "number", 2.0),
    "new": lambda x: setattr(x, "new", 2.0),
    "missing": lambda x: delattr(x, "number"),
    "kind": lambda x: setattr(x, "number", 1),
    "array": lambda x: x.array.__setitem__(1, 9.0),
    "replaced": lambda x: setattr(x, "array", np.arange(2.0)),
    "list": lambda x: x.list.append(3.0),
    "inner": lambda x: x.list[1].append(3.0),
    "table": lambda x: x.table.update(a=2.0),
    "key": lambda x: x.table.update(b=1.0),
    "no key": lambda x: x.table.clear(),
    "set": lambda x: x.set.add(2.0),
    "other set": lambda x: (x.set.clear(), x.set.add(3.0)),
    "queue": lambda x: x.queue.rotate(1),
    "ordered": lambda x: x.ordered.update(a=5.0),
    "objects": lambda x: x.objects.__setitem__(0, 2.0),
    "in an object": lambda x: x.objects[1].append(1.0),
    "numpy": lambda x: x.numpy.normal(),
    "python": lambda x: x.python.random(),
    "pair": lambda x: x.pair[0].append(1.0),
    "space": lambda x: setattr(x.space, "x", 2.0),
    "class": lambda x: setattr(Kept, "shared", 3.0),
    "all numpy": lambda x: np.random.random(),
    "all python": lambda x: random.random(),
}


def state(x):
    """Everything in field_key form."""
    names = ("number", "list", "table", "set", "queue", "ordered", "pair")
    found = [repr(getattr(x, name, None)) for name in names]
    found += [x.array.tolist(), repr(x.objects), str(x.numpy.bit_generator.state), x.space.x]
    return [*found, x.python.getstate(), Kept.shared, sorted(vars(x)), random.getstate()]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("reach", ["object", "method", "closure", "partial", "default", "tuple"])
def test_every_change_is_seen_and_undone(reach, change):
    x = Kept()

    def closed():
        return x

    def default(given=x):
        return given

    owner = {
        "object": x,
        "method": types.MethodType(lambda self: self, x),
        "closure": closed,
        "partial": partial(lambda given: given, x),
        "default": default,
        "tuple": (1.0, (x,)),
    }[reach]
    before, memory = state(x), Memory(owner)
    assert memory.change() is None
    change(x)
    assert memory.change() is not None
    memory.restore()
    assert memory.change() is None and state(x) == before


def test_names_of_what_changed():
    x = Kept()
    memory = Memory(x)
    x.array[0] = 7
    assert memory.change() == "the array 'array'"
    x.array[0] = 0
    x.numpy.normal()
    assert memory.change() == "the generator 'numpy'"
    memory.restore()
    np.random.random()
    assert memory.change() == "NumPy's random numbers"
    memory.restore()
    Kept.shared = 5.0
    assert memory.change() == "Kept.shared"
    memory.restore()


def test_globals_closures_and_keyword_defaults():
    global level
    z = 0.0

    def reads(*, k=[0.0]):  # noqa: B006
        return z + level + counter[0] + k[0]

    memory = Memory(reads)
    level = 2.0
    assert memory.change() == "the global 'level'"
    memory.restore()
    assert level == 1.0
    z = 3.0
    assert memory.change() == "'z'"
    memory.restore()
    assert z == 0.0
    counter[0] = 1.0
    assert memory.change() == "'counter'"
    memory.restore()
    reads.__kwdefaults__["k"][0] = 4.0
    assert memory.change() is not None
    memory.restore()
    assert reads() == 1.0


def test_helpers_and_inner_functions_are_followed():
    table = [0.0]

    def helper():
        return table[0]

    def outer():
        return [helper() for _ in range(2)]

    memory = Memory(outer)
    table[0] = 1.0
    assert memory.change() == "'table'"
    memory.restore()
    assert table == [0.0]


def test_numbers_that_are_equal_or_lost_are_no_change():
    x = types.SimpleNamespace(a=float("nan"), b=np.array([np.nan]), c=1.0, d=[np.arange(2.0)])
    memory = Memory(x)
    x.a, x.b, x.c, x.d = float("nan"), np.array([np.nan]), 1.0, [np.arange(2.0)]
    assert memory.change() is None
    x.c = np.float64(1.0)
    assert memory.change() is not None


def test_what_is_large_frozen_deep_or_of_a_library_is_left_alone():
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    deep = types.SimpleNamespace()
    inner = deep
    for _ in range(8):
        inner.next = types.SimpleNamespace()
        inner = inner.next
    x = [frozen, np.zeros(300_000), list(range(5_000)), kt.robots.planar_2r(), deep, np, Kept]
    memory = Memory(x)
    assert len(memory.kept) < 12
    inner.next = 1.0
    assert memory.change() is None


@pytest.mark.parametrize(
    "nest",
    [lambda x: [x], lambda x: {"a": x}, lambda x: types.SimpleNamespace(x=x), lambda x: (x,)],
)
def test_the_depth_of_the_walk(nest):
    """An object and what is in it, four times over; each nesting counts as one."""
    for levels in range(7):
        inner = [0.0]
        outer = inner
        for _ in range(levels):
            outer = nest(outer)
        memory = Memory(outer)
        inner.append(1.0)
        assert (memory.change() is not None) == (levels <= 4), levels


def test_arrays_of_objects_and_functions_count_as_levels():
    inner = [0.0]
    boxed = np.empty(1, object)
    boxed[0] = [[[inner]]]  # a list in a list in a list in a list in an array
    memory = Memory(boxed)
    inner.append(1.0)
    assert memory.change() is not None
    boxed[0] = [[[[inner]]]]
    memory = Memory(boxed)
    inner.append(1.0)
    assert memory.change() is None


def test_the_number_of_entries_of_the_walk():
    last = [0.0]
    for count, seen in ((550, True), (750, False)):  # a list in a list counts three times
        x = types.SimpleNamespace(many=[[0.0] for _ in range(count)], last=last)
        memory = Memory(x)
        last.append(1.0)
        assert (memory.change() is not None) == seen
    whole = list(range(1_990))
    memory = Memory((whole, last))
    whole.append(0)
    assert memory.change() is not None
    longer = list(range(2_001))
    memory = Memory((longer,))
    longer.append(0)
    assert memory.change() is None


def test_clocks_in_every_form():
    clock = time

    def inside():
        import time as own

        return own.perf_counter()

    for function in (
        lambda: time.time(),
        lambda: clock.time_ns(),
        lambda: monotonic(),
        lambda: datetime.datetime.now(),
        lambda: datetime.date.today(),
        lambda: [time.time() for _ in range(2)],
        inside,
    ):
        assert Memory(function).clock is not None
    for function in (
        lambda: time.sleep(0),
        lambda: sleep(0),
        lambda: datetime.timedelta(1),
        lambda: clock,
        lambda x: x.time(),
    ):
        assert Memory(function).clock is None


def test_the_clock_of_a_helper_counts():
    def helper():
        return time.time()

    assert Memory(lambda: helper()).clock == "time.time"


class Sequence:
    """Gives one value after the other."""

    def __init__(self, *values):
        self.values, self.calls = values, []

    def __call__(self, t, q):
        self.calls.append((t, tuple(q)))
        return (np.array([self.values[(len(self.calls) - 1) % len(self.values)]]),)


def test_calls_go_there_and_back():
    found = Sequence(0.0)
    calls = Calls(found, PORTS, START)
    assert not calls.unsteady and calls.doubt() is None
    first, second, third, last = found.calls
    assert first == last == (0.25, (0.5, -0.25)) and second == third
    step = np.array([second[0], *second[1]]) - [0.25, 0.5, -0.25]
    assert (step > 0).all() and (step < 3e-3).all()
    assert Calls(Sequence(0.0, 1.0, 1.0, 0.0), PORTS, START).doubt() is None
    assert Calls(Sequence(0.0, 1.0, 2.0, 0.0), PORTS, START).unsteady
    assert Calls(Sequence(0.0, 1.0, 1.0, 3.0), PORTS, START).unsteady
    assert not Calls(Sequence(np.nan), PORTS, START).unsteady
    assert "different values" in Calls(Sequence(0.0, 1.0, 2.0, 0.0), PORTS, START).doubt()


def test_a_function_that_fails_on_numbers_says_nothing():
    def fails(t, q):
        raise KeyError("no such entry")

    calls = Calls(fails, PORTS, START)
    assert not calls.unsteady and calls.found == []


def look(function, owner=None, start=START):
    return examine("the law 'f'", function, PORTS, owner or function, start)


def test_equal_formulas_have_equal_digests_and_others_do_not():
    def formula(k):
        return lambda t, q: (k * q + t,)

    assert look(formula(2.0)).digest == look(formula(2.0)).digest is not None
    assert look(formula(2.0)).digest != look(formula(2.0 + 1e-15)).digest
    assert look(lambda t, q: (q,)).digest != look(lambda t, q: (-q,)).digest


def test_what_is_said_of_impure_functions():
    z = []

    def keeps(t, q):
        z.append(q)
        return (z[0] + q,)

    found = look(keeps)
    assert found.digest is None and found.doubt == found.note and z == []
    assert found.doubt == "the law 'f' keeps values from one call to the next"
    x = types.SimpleNamespace(n=0)

    def counts(t, q):
        x.n += 1
        return (q,)

    assert look(counts).doubt == "the law 'f' changes an attribute of 'x' whenever it is called"
    assert x.n == 0 and not look(counts).unsteady
    once = [True]

    def only_once(t, q):
        if not once:
            raise RuntimeError("used up")
        once.clear()
        return (q,)

    assert "fails when it is called again (RuntimeError: used up)" in look(only_once).doubt
    assert once == [True]

    def by_type(t, q):
        return (q if isinstance(t, float) else 2 * q,)

    assert "on numbers than on traced scalars" in look(by_type).doubt


def test_a_branch_is_a_note_and_no_doubt():
    found = look(lambda t, q: (q if q[0] > 0 else -q,))
    assert found.digest is None and found.doubt is None and "GraphError" in found.note
    found = look(lambda t, q: (q if q[0] > 0 else -q + np.random.normal(),), start=(0.0, [-1.0, 0]))
    assert found.unsteady and "different values" in found.doubt == found.note


def test_rounding_and_lost_numbers_are_no_difference():
    assert look(lambda t, q: (q / 3 * 3 * 1e8,)).doubt is None
    assert look(lambda t, q: (sin(q) / (t - t + 1e-300) / 1e-300,)).doubt is None


def test_an_object_that_knows_no_weak_reference_is_examined_each_time():
    class Bare:
        __slots__ = ()

        def __call__(self, t, q):
            return (q,)

    law = Bare()
    assert look(law).digest == look(law).digest is not None


def test_a_method_is_known_by_its_object(monkeypatch):
    class Held:
        def law(self, t, q):
            return (q * 1.25,)

    from kinetree.simulate.core import purity

    traced, made = purity.trace, []
    monkeypatch.setattr(purity, "trace", lambda *a: made.append(1) or traced(*a))
    held = Held()
    for count in (2, 3):
        look(held.law)
        assert len(made) == count
    look(Held().law)
    assert len(made) == 5


def test_errors_of_functions_keep_their_kind():
    def plain_error():
        raise ValueError("something else")

    def own_error():
        raise InputError("the matrix is read-only")

    with pytest.raises(ValueError, match="something else") as caught:
        call("it", plain_error)
    assert not isinstance(caught.value, InputError)
    with pytest.raises(InputError, match=r"^the matrix is read-only$"):
        call("it", own_error)
    assert call("it", lambda x: x + 1, 2) == 3
    assert label(look) == "the law 'look'" and label(Kept(), "the object") == "the object 'Kept'"


def test_how_many_arguments_a_function_takes():
    class Called:
        def __call__(self, t, q, dq):
            return q

    assert arguments(lambda t: t) == 1
    assert arguments(lambda t, a=1, b=2: t) == 1
    assert arguments(lambda t, q, dq: t) == arguments(lambda t, q, dq, k=1: t) - 1 == 3
    assert arguments(lambda *x: x) == arguments(Called()) == arguments(dict) == 3
    assert arguments(lambda t, *x: x) == 3
    assert arguments(partial(lambda k, t: t, 1)) == 1
    assert arguments(lambda t, *, k: t) == 1
    assert arguments(lambda a=0, b=1, c=2: a) == 3


def test_values_of_sources_at_the_start():
    rows = np.arange(6.0).reshape(3, 2)
    (first,) = force_source(rows, (2,), "tau", "").start_values()
    assert np.array_equal(first, [0, 1])
    (first,) = force_source(signal([0, 1], [[3, 4], [5, 6]]), (2,), "tau", "").start_values()
    assert np.array_equal(first, [3, 4])
    found = time_source(lambda t: (np.array([t + 2, 1]), np.array([t])), "reference")
    assert [x.tolist() for x in found.start_values()] == [[2, 1], [0]]
    found = time_source(lambda t: np.array([float(t) + 2]), "reference")
    assert found.sampled is not None and found.examined.sampled and found.examined.note is None
    assert [x.tolist() for x in found.start_values()] == [[2]]

    def elsewhere(times, ends):
        raise TypeError("implicit conversion to a NumPy array is not allowed")

    gone = Source(lambda *a: (), sampled=Sampled(elsewhere, ((2,), (3,))))
    assert [x.tolist() for x in gone.start_values()] == [[0, 0], [0, 0, 0]]
    assert first_row(np.arange(12.0).reshape(2, 2, 3), (3,)).tolist() == [0, 1, 2]
    assert first_row(np.zeros(0), (0,)).shape == (0,)


def test_controllers_are_their_values():
    robot, other = kt.robots.planar_2r(), kt.robots.planar_2r()
    pose = np.eye(4)
    same = [
        (controllers.PD([0, 1], 1.0, 2.0), controllers.PD([5, 6], 1, 2)),
        (controllers.PD([0, 1], [1, 2], 2.0), controllers.PD([0, 1], np.array([1.0, 2]), 2)),
        (
            controllers.ComputedTorque(sin, 1, 2, robot),
            controllers.ComputedTorque(sin, 1, 2, robot),
        ),
        (controllers.OperationalSpace(pose, 1, 2), controllers.OperationalSpace(pose + 1, 1, 2)),
    ]
    for a, b in same:
        assert value_key(a) == value_key(b) is not None
    different = [
        controllers.PD([0, 1], 1.0, 2.0),
        controllers.PD([0, 1], 1.0, 3.0),
        controllers.PD([0, 1], 2.0, 2.0),
        controllers.PD([0, 1], [1.0, 1.0], 2.0),
        controllers.PD([0, 1], 1.0, 2.0, gravity=True),
        controllers.PD([0, 1], 1.0, 2.0, gravity=robot),
        controllers.PD([0, 1], 1.0, 2.0, gravity=other),
        controllers.PID([0, 1], 1.0, 2.0, 3.0),
        controllers.PID([0, 1], 1.0, 2.0, 3.0, bound=1.0),
        controllers.ComputedTorque([0, 1], 1.0, 2.0),
        controllers.OperationalSpace(pose, 1.0, 2.0),
        controllers.OperationalSpace(pose, 1.0, 2.0, frame="tool"),
        controllers.OperationalSpace(pose, 1.0, 2.0, rows=[3, 4]),
        controllers.OperationalSpace(pose, 1.0, 2.0, posture=controllers.Posture([0, 1], 1.0, 2.0)),
        controllers.OperationalSpace(pose, 1.0, 2.0, posture=controllers.Posture([0, 1], 1.0, 3.0)),
    ]
    keys = [value_key(x) for x in different]
    assert None not in keys and len(set(keys)) == len(keys)

    @dataclass
    class Own:
        kp: float = 1.0

    for x in (controllers.Law(sin), controllers.Stateful(sin, [0]), object(), sin, Own()):
        assert value_key(x) is None
    assert field_key(sin) is None and field_key("a") == ("str", "a") and field_key({"a": 1}) is None
    assert field_key(1.0) != field_key(True) and field_key(None) == ("NoneType", None)


def test_how_an_input_is_fed_decides():
    external = ExternalInputs({"tau": (np.zeros(2), (2,))}, {"F_ext": Sampled(lambda *a: [], ())})
    assert (
        input_kind(external, "tau", None) == "constant"
        and input_kind(external, "F_ext", None) == "sampled"
    )
    assert input_kind(external, "signal reference", None) is None
    assert input_kind(external, "tau", Examined("abc")) == "abc"
    assert input_kind(external, "F_ext", Examined(None, sampled=True)) == "sampled"


def test_words_about_unsteady_laws():
    robot = ("robot",)
    check_steady(None, "rk4", 4)
    check_steady(Verdict(robot, robot), "dop853", None)
    touched = Verdict(robot, None, "f counts", "f counts")
    unsteady = Verdict(robot, None, "f guesses", "f guesses", unsteady=True)
    with pytest.warns(KinetreeWarning, match="where its values depend on it.*also at trial states"):
        check_steady(touched, "dop853", None)
    with pytest.warns(
        KinetreeWarning, match="in Python, and the motion.*'euler' calls it once a step"
    ):
        check_steady(unsteady, "euler", 1)
    with pytest.warns(KinetreeWarning, match="4 times a step"):
        check_steady(unsteady, "rk4", 4)
    with pytest.raises(InputError, match="f guesses: it is not a function of t, q and dq"):
        check_steady(unsteady, "dop853", None)
    assert python_note(None) is None and python_note(Verdict(robot, robot)) is None
    assert python_note(touched).endswith("f counts")


def test_one_unsteady_law_among_doubtful_ones_is_enough():
    calls = []

    def notes(t, q, dq):
        calls.append(t)
        return -q

    def guesses(t, q, dq):
        return -q + np.random.normal()

    robot = kt.robots.planar_2r()
    for pair in ({"tau": notes, "controller": guesses}, {"tau": guesses, "controller": notes}):
        with pytest.raises(InputError, match="'dop853' can neither repeat"):
            robot.simulate([0.1, 0.2], duration=0.01, **pair)


def test_a_name_that_is_not_bound_yet_is_passed_over():
    def early():
        return later

    memory = Memory(early)
    later = 1.0
    assert memory.change() is None and early() == later
