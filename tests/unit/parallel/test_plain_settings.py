"""Settings as text: numbers, arrays and known records come back; code is refused."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ParseError
from kinetree.parallel import Anywhere, Choice, Grid, Noise, Normal, Spread, Uniform
from kinetree.parallel.plain import read_settings, settings_text


def there_and_back(value):
    return read_settings(settings_text({"x": value}))["x"]


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, "words", [1, [2.5, "a"]], {"b": {"c": 1}}, float("-inf")]
)
def test_plain_values_come_back(value):
    assert there_and_back(value) == value


def test_nan_comes_back():
    assert np.isnan(there_and_back(float("nan")))


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", "u2", "?"])
def test_arrays_come_back(kind):
    x = np.arange(24).reshape(2, 3, 4)[:, ::2].astype(kind)
    found = there_and_back(x)
    assert found.shape == x.shape and np.array_equal(found, x)


def test_bits_of_arrays_come_back():
    x = np.array([0.1, -0.0, 5e-324, np.inf, np.nan])
    assert there_and_back(x).tobytes() == x.tobytes()


@pytest.mark.parametrize(
    "record",
    [
        Normal([1.0, 2.0], 3),
        Uniform(-1, 1),
        Choice([1, 2]),
        Grid(np.eye(2)),
        Anywhere(),
        Spread(0.1),
        Noise(1.0, 0.1),
        kt.controllers.PD([0.0, 1.0], 10.0, 1.0, gravity=True),
        kt.controllers.PID([0.0, 1.0], 10.0, 1.0, 2.0, bound=0.5),
        kt.controllers.GravityCompensation(2.0),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_come_back(record):
    found = there_and_back(record)
    assert type(found) is type(record)
    for name, value in vars(record).items():
        assert np.array_equal(getattr(found, name), value)


def test_robots_and_motions_come_back():
    robot = kt.robots.double_pendulum()
    plan = kt.motion.quintic([0, 0], [1, 2], duration=1.0, dt=0.1, robot=robot)
    found = there_and_back(kt.controllers.ComputedTorque(plan, 1.0, 2.0, model=robot))
    assert found.reference.q.tobytes() == plan.q.tobytes()
    assert found.model.joint_names == robot.model.joint_names


@pytest.mark.parametrize(
    "value",
    [
        lambda t: t,
        object(),
        kt.controllers.PD(lambda t: t, 1, 1),
        np.array(["a"]),
        np.array([1 + 2j]),
        {"a": [print]},
    ],
    ids=["function", "object", "law", "words", "complex", "nested"],
)
def test_code_and_foreign_objects_are_refused(value):
    with pytest.raises(InputError, match=r"^x"):
        settings_text({"x": value})


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"x": {"record": "Popen", "fields": {"args": "ls"}}}',
        '{"x": {"array": "|O", "shape": [1], "data": "AAAA"}}',
        '{"x": {"what": 1}}',
    ],
)
def test_only_what_was_written_is_read(text):
    with pytest.raises(ParseError):
        read_settings(text)
