"""Records whose methods are made at their first use: dataclasses in every other way."""

import copy
import dataclasses
import inspect
import pickle
import threading
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from kinetree.base.later import _Part, dataclass

T = TypeVar("T")


@dataclass(frozen=True)
class Default:
    a: int = 1


SHARED = Default()


def shapes(decorate) -> dict[str, type]:
    """Classes of every form that the library uses, made by one decorator."""

    @decorate(frozen=True)
    class Plain:
        """Has a text of its own."""

        a: int
        b: str = "x"

    @decorate(frozen=True)
    class Factory:
        items: list[int] = dataclasses.field(default_factory=list)
        memo: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)
        made: int = dataclasses.field(default=3, init=False)
        KNOWN: ClassVar[tuple[int, ...]] = (1, 2)

    @decorate(frozen=True, kw_only=True, repr=False)
    class Keywords:
        a: int = 0
        b: int

    @decorate(frozen=True)
    class Marked:
        a: int
        b: Any = SHARED
        _: dataclasses.KW_ONLY
        c: int
        d: tuple[int, ...] = (1,)

    @decorate(frozen=True)
    class MarkedChild(Marked):
        e: float = 0.5

    @decorate(frozen=True, eq=False)
    class Unequal:
        a: int = 1

        def __post_init__(self):
            object.__setattr__(self, "a", self.a + 1)

    @decorate(frozen=True)
    class Own:
        a: int

        def __eq__(self, other):
            return isinstance(other, Own) and self.a % 7 == other.a % 7

        def __repr__(self):
            return f"<{self.a}>"

        @property
        def twice(self):
            return 2 * self.a

    @decorate(frozen=True)
    class Child(Plain):
        c: float = 0.5

    @decorate(frozen=True)
    class Box(Generic[T]):
        value: T

    made = (Plain, Factory, Keywords, Marked, MarkedChild, Unequal, Own, Child, Box)
    return {cls.__name__: cls for cls in made}


LATER, ORACLE = shapes(dataclass), shapes(dataclasses.dataclass)
CALLS = {
    "Plain": [((1,), {}), ((1, "y"), {}), ((2,), {"b": "x"})],
    "Factory": [((), {}), (([1],), {}), (([1], {"k": 1}), {})],
    "Keywords": [((), {"b": 1}), ((), {"a": 1, "b": 2})],
    "Marked": [((1,), {"c": 2}), ((1, 2), {"c": 2, "d": ()}), ((), {"a": 1, "c": 2})],
    "MarkedChild": [((1,), {"c": 2}), ((1, 2, 3), {"c": 2})],
    "Unequal": [((), {}), ((4,), {})],
    "Own": [((1,), {}), ((8,), {}), ((2,), {})],
    "Child": [((1,), {}), ((1, "y", 0.25), {})],
    "Box": [((1,), {}), (([],), {})],
}


def attempt(function, *arguments):
    """What a function returns, or the name of the error that it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", CALLS)
def test_a_record_is_a_dataclass(name):
    later, oracle = LATER[name], ORACLE[name]
    assert inspect.signature(later) == inspect.signature(oracle)
    assert later.__match_args__ == oracle.__match_args__
    assert [x.name for x in dataclasses.fields(later)] == [
        x.name for x in dataclasses.fields(oracle)
    ]
    here, there = ([kind(*a, **k) for a, k in CALLS[name]] for kind in (later, oracle))
    own_repr = "object at" not in repr(there[0])
    for x, y in zip(here, there, strict=True):
        assert not own_repr or repr(x) == repr(y)
        assert dataclasses.asdict(x) == dataclasses.asdict(y)
        assert (attempt(hash, x) == "TypeError") == (attempt(hash, y) == "TypeError")
        for change in (lambda z: setattr(z, "a", 1), lambda z: setattr(z, "new", 1),
                       lambda z: delattr(z, "a")):  # fmt: skip
            assert attempt(change, x) == attempt(change, y) == "FrozenInstanceError"
        assert copy.copy(x).__dict__ == x.__dict__
    for i in range(len(here)):
        for j in range(len(here)):
            assert (here[i] == here[j]) == (there[i] == there[j])
    assert attempt(later, *range(9)) == attempt(oracle, *range(9)) == "TypeError"
    defaults = {x for x in vars(oracle) if x in oracle.__annotations__}
    assert defaults == {x for x in vars(later) if x in later.__annotations__}
    assert all(getattr(later, x) == getattr(oracle, x) for x in defaults)


def parts(cls: type) -> list[str]:
    return [name for name, x in vars(cls).items() if isinstance(x, _Part)]


def test_methods_are_made_at_their_first_use_and_no_earlier():
    Plain = shapes(dataclass)["Plain"]
    assert "__init__" in parts(Plain) and "__eq__" in parts(Plain)
    x = Plain(1)
    assert "__init__" not in parts(Plain) and "__eq__" in parts(Plain)
    assert x == Plain(1) and "__eq__" not in parts(Plain)
    assert dataclasses.fields(Plain) and not parts(Plain)


def test_a_child_makes_its_parent_and_a_plain_subclass_uses_it():
    made = shapes(dataclass)
    assert made["Child"](1, c=2.0).c == 2.0

    class Sub(made["Unequal"]):
        pass

    assert Sub(5).a == 6
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sub(5).b = 1


@dataclass(frozen=True)
class Sent:
    a: int
    b: tuple[int, ...] = ()


def test_a_subclass_extends_methods_that_are_not_made_yet():
    @dataclass(frozen=True)
    class Gain:
        value: float

    class Doubled(Gain):
        def __init__(self, value):
            super().__init__(2 * value)

        def __repr__(self):
            return "twice " + super().__repr__()

        def __eq__(self, other):
            return not super().__eq__(other)

        def __hash__(self):
            return super().__hash__() + 1

    one = Doubled(3)  # the first use of the record
    assert one.value == 6
    assert repr(one).count("twice") == 1
    assert one != Doubled(3)
    assert hash(one) == hash((6,)) + 1


def test_an_object_is_unpickled_before_the_methods_are_made():
    data = pickle.dumps(Sent(1, (2,)))
    again = pickle.loads(data)
    assert again == Sent(1, (2,)) and hash(again) == hash(Sent(1, (2,)))
    match again:
        case Sent(a, b):
            assert (a, b) == (1, (2,))


def test_threads_that_use_a_class_first_at_once():
    for _ in range(50):
        made = shapes(dataclass)
        ready, results = threading.Barrier(4), []

        def use(made=made, ready=ready, results=results):
            ready.wait()
            results.append((made["Factory"]([1]) == made["Factory"]([1]), made["Child"](1).b))

        workers = [threading.Thread(target=use) for _ in range(4)]
        for x in workers:
            x.start()
        for x in workers:
            x.join()
        assert results == [(True, "x")] * 4


def test_other_dataclasses_are_made_at_once():
    for options in ({}, {"frozen": True, "slots": True}):

        @dataclass(**options)
        class Other:
            a: int

        assert Other(1).a == 1 and not parts(Other)
