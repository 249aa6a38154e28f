"""Fingerprints of functions: equal for what computes the same, None where that is not known."""

import dataclasses
import functools
import gc
import math
import operator
import random
import time
import types
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import kinetree as kt
from kinetree import scalars
from kinetree.kernels.fingerprint import LARGEST, fingerprint, model_token
from kinetree.motion import quintic

ROBOT = kt.robots.planar_2r()
TABLE = {"gain": [1.0, 2.0]}
settings = types.ModuleType("settings")
settings.gain = 2.0
settings.unused = object()
NUMBER = 2.0


class Gain:
    scale = 1.0

    def __init__(self, value):
        self.value = value

    @property
    def doubled(self):
        return 2 * self.value

    def __call__(self, q):
        return self.scale * self.doubled * q


@dataclass(frozen=True)
class Record:
    gains: tuple
    goal: np.ndarray

    def law(self, q):
        return self.gains[0] * (self.goal - q)


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def law(self, q):
        return self.value * q


def closure(value):
    return lambda q: value * q


def with_default(value):
    def law(q, value=value, *, more=0.0):
        return value * q + more

    return law


def helped(value):
    def helper(q):
        return value * q

    return lambda q: sum(helper(x) for x in q)


MAKERS = {
    "closure": closure,
    "default": with_default,
    "helper": helped,
    "object": Gain,
    "method": lambda value: Record((value,), np.zeros(2)).law,
    "array": lambda value: Record((1.0,), np.full(3, value)).law,
    "large array": lambda value: Record((1.0,), np.full(300, value)).law,
    "slots": lambda value: Slots(value).law,
    "partial": lambda value: functools.partial(operator.mul, value),
    "namespace": lambda value: closure(types.SimpleNamespace(a=value)),
    "nested": lambda value: closure({"a": [1, (2, {value})]}),
    "motion": lambda value: closure(quintic([0, 0], [value, 1], 1.0, robot=ROBOT)),
    "robot": lambda value: closure(ROBOT.with_gravity([0, 0, -value]) if value != 1.0 else ROBOT),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_functions_count_by_their_values(make):
    first = fingerprint(make(1.0))
    assert first is not None and first == fingerprint(make(1.0))
    assert hash(first) == hash(fingerprint(make(1.0)))
    assert fingerprint(make(1.5)) not in (None, first)


def test_numbers_of_other_types_and_signs_are_other_values():
    values = [0, 0.0, -0.0, False, None, "0", b"0", 0j, np.float32(0), np.float64(0), np.int8(0)]
    values += [np.zeros(1), np.zeros(1, "f4"), np.zeros((1, 1)), (0,), [0], {0}, {0: 0}, math.nan]
    found = [fingerprint(closure(value)) for value in values]
    assert None not in found and len(set(found)) == len(values)
    assert fingerprint(closure(math.nan)) == fingerprint(closure(float("nan")))


def test_other_code_is_another_function():
    assert fingerprint(lambda q: q) != fingerprint(lambda q: -q)
    assert fingerprint(lambda q: 1 * q) != fingerprint(lambda q: 1.0 * q)


def changed_global():
    global NUMBER
    law = lambda q: NUMBER * q  # noqa: E731
    NUMBER = 2.0
    yield law
    NUMBER = 3.0
    yield law


def changed_table():
    law = lambda q: TABLE["gain"][1] * q  # noqa: E731
    yield law
    TABLE["gain"][1] += 1
    yield law


def changed_attribute():
    law = Gain(2.0)
    yield law
    law.value = 3.0
    yield law


def changed_class():
    law = Gain(2.0)
    yield law
    Gain.scale += 1
    yield law


def changed_method():
    law = Gain(2.0)
    yield law
    Gain.__call__ = lambda self, q: self.value
    yield law


def changed_array():
    goal = np.zeros(3)
    law = closure(goal)
    yield law
    goal[1] = 1
    yield law


def changed_cell():
    gain = 1.0

    def law(q):
        return gain * q

    yield law
    gain = 2.0
    yield law


def changed_function():
    def law(q):
        return law.gain * q

    law.gain = 1.0
    yield law
    law.gain = 2.0
    yield law


def changed_robot():
    robot = kt.robots.planar_2r()
    robot.own = 1.0
    law = closure(robot)
    yield law
    robot.own = 2.0
    yield law


CHANGES = [
    changed_global, changed_table, changed_attribute, changed_class, changed_method,
    changed_array, changed_cell, changed_function, changed_robot,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_anything_that_the_code_reads_is_seen(change):
    states = change()
    before = fingerprint(next(states))
    assert before is not None
    assert fingerprint(next(states)) not in (None, before)


def weighed(weight, q):
    return weight * q


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_partial_and_property_of_a_law_counts(count):
    def law(*weights):
        parts = [functools.partial(weighed, weight) for weight in weights]
        return lambda q: sum(part(q) for part in parts)

    keys = {fingerprint(law(*[1.0] * (count - 1), last)) for last in (1.0, 5.0, 9.0)}
    assert len(keys) == 3 and None not in keys

    def reading(*weights):
        body = {f"p{k}": property(functools.partial(weighed, w)) for k, w in enumerate(weights)}
        return type("Law", (), body)

    kinds = [reading(*[1.0] * (count - 1), last) for last in (1.0, 5.0)]
    assert fingerprint(kinds[0]()) != fingerprint(kinds[1]())


def test_a_module_of_the_user_has_no_key_wherever_it_is():
    gain_of = lambda module: module.gain  # noqa: E731
    for law in (
        lambda q: settings.gain * q,
        lambda q: gain_of(settings) * q,
        functools.partial(lambda module, q: module.gain * q, settings),
        Gain(settings),
    ):
        assert fingerprint(law) is None


OFFSET = [1.0]


class Begun:
    def __init__(self):
        self.value = OFFSET[0]


@dataclasses.dataclass
class Prepared:
    value: float = 0.0
    parts: list = dataclasses.field(default_factory=lambda: list(OFFSET))

    def __post_init__(self):
        self.value = OFFSET[0]


class Compared:
    def __eq__(self, other):
        return OFFSET[0] > 1

    __hash__ = None


class Kind(type):
    value = property(lambda cls: OFFSET[0])


class Classed(metaclass=Kind):
    pass


@pytest.mark.parametrize(
    "law",
    [
        lambda q: Begun().value * q,
        lambda q: Prepared().value * q,
        lambda q: Prepared().parts[0] * q,
        lambda q: (Compared() == 1) * q,
        lambda q: Classed.value * q,
    ],
)
def test_what_a_class_does_when_it_is_used_counts(law):
    before = fingerprint(law)
    OFFSET[0] = 2.0
    after = fingerprint(law)
    OFFSET[0] = 1.0
    assert before is None or before != after


def test_kernels_that_a_robot_compiles_later_are_no_change():
    robot = kt.robots.planar_2r()
    law = lambda q: robot.gravity_forces(q)  # noqa: E731
    before = fingerprint(law)
    robot.gravity_forces(np.zeros(2))
    assert fingerprint(law) == before is not None


def imports(q):
    from math import sin

    return sin(q)


def writes(q):
    global NUMBER
    NUMBER = 5.0
    return q


COUNTER = iter(range(10))
RNG = np.random.default_rng(0)
ROWS = np.frompyfunc(lambda x: x, 1, 1)
LOOSE = np.vectorize(lambda x: x)
UNKNOWN = {
    "import": imports,
    "global": writes,
    "clock": lambda q: time.time() * q,
    "random": lambda q: random.random() * q,
    "numpy random": lambda q: np.random.rand() * q,
    "generator": lambda q: RNG.normal() * q,
    "own random": closure(random.Random(0)),
    "file": lambda q: float(open("gains").read()) * q,
    "numpy file": lambda q: np.load("gains") * q,
    "table": lambda q: np.loadtxt("gains") * q,
    "robot file": lambda q: kt.load("robot.urdf"),
    "getattr": lambda q: getattr(settings, "gain") * q,  # noqa: B009
    "globals": lambda q: globals()["NUMBER"] * q,
    "eval": lambda q: eval("NUMBER") * q,
    "iterator": lambda q: next(COUNTER) * q,
    "prints": lambda q: print(q),
    "uninitialised": lambda q: np.empty(3) * q,
    "now": lambda q: np.datetime64("now"),
    "ufunc of Python": lambda q: ROWS(q),
    "vectorized Python": lambda q: LOOSE(q),
    "large array": closure(np.zeros(LARGEST + 1)),
    "subclass of list": closure(type("Mine", (list,), {})([1])),
    "subclass of float": closure(type("Mine", (float,), {})(1)),
    "subclass of array": closure(np.zeros(2).view(type("Mine", (np.ndarray,), {}))),
    "deep": closure(functools.reduce(lambda x, _: [x], range(40), 1)),
    "many": closure([[k] for k in range(4000)]),
    "hidden state": closure(operator.itemgetter(1)),
}


@pytest.mark.parametrize("law", UNKNOWN.values(), ids=UNKNOWN)
def test_functions_that_read_something_unknown_have_no_fingerprint(law):
    assert fingerprint(law) is None


KNOWN = {
    "numpy": lambda q: np.linalg.norm(np.dot(q, q)) + np.pi + np.sum(q) + np.eye(3)[0],
    "scalars": lambda q: scalars.sin(q[0]) + scalars.where(q[0], 1, 2),
    "lazy": lambda q: kt.scalars.cos(q[0]),
    "math": lambda q: math.sqrt(2) * q,
    "builtins": lambda q: sum(abs(float(x)) for x in zip(q, range(len(q)), strict=True)),
    "kernel": closure(ROBOT.gravity_forces),
    "cycle": closure([]),
}
KNOWN["cycle"].__closure__[0].cell_contents.append(KNOWN["cycle"])


@pytest.mark.parametrize("law", KNOWN.values(), ids=KNOWN)
def test_functions_of_known_libraries_have_one(law):
    assert fingerprint(law) == fingerprint(law) is not None


def test_a_name_that_is_not_bound_yet_has_no_value():
    def outer():
        def law(q):
            return later * q

        before = fingerprint(law)
        later = 1.0
        return before, fingerprint(law)

    before, after = outer()
    assert before is None and after is not None


def test_a_fingerprint_keeps_no_robot_alive():
    robot = kt.robots.planar_2r()
    model = weakref.ref(robot.model)
    key = fingerprint(closure(robot)), fingerprint(closure(robot.model)), model_token(robot.model)
    del robot
    gc.collect()
    assert model() is None and None not in key
