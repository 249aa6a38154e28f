"""Studies as data: models, arrays and known records reach a worker unchanged; code is refused."""

import json
import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.compiler.store import encode
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import InputError, ModelError
from kinetree.model import ALL_TYPES, random_model
from kinetree.parallel import Anywhere, Choice, Grid, Noise, Normal, Spread, Uniform
from kinetree.parallel.work import pack, plain, robot_hash, settings_text


def sent(model, **settings):
    """The model and the settings that a worker finds."""
    cleaned = {name: plain(value, name) for name, value in settings.items()}
    _, found, values, *_ = pickle.loads(pack(dict, model, cleaned, 0, 1).partition(b"\n")[2])
    return found, values


def there(value):
    return sent(MODELS["cart_pole"], x=value)[1]["x"]


def described(value):
    return json.loads(settings_text({"x": plain(value, "x")}))["x"]


MODELS = {
    **{name: getattr(kt.robots, name)().model for name in ("panda", "quadruped", "cart_pole")},
    **{f"random {k}": random_model(k, 5, types=ALL_TYPES, mimic=True) for k in range(2)},
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_reaches_the_worker_with_every_bit(name, monkeypatch):
    model = MODELS[name]
    found, _ = sent(model)
    assert robot_hash(found) == robot_hash(model)
    for key in ("M_pi", "m", "com", "I_com", "gravity"):
        assert getattr(found, key).dtype == getattr(model, key).dtype
        assert getattr(found, key).tobytes() == getattr(model, key).tobytes()
    monkeypatch.setenv("KINETREE_CACHE", "0")  # or one graph would be looked up for the other
    graphs = [encode(trace_quantity(x, "inverse_dynamics")) for x in (model, found)]
    assert graphs[0] == graphs[1]


def test_the_hash_covers_dynamics_names_and_limits():
    model = MODELS["panda"]
    first = model.joints[0]
    limits = kt.model.Joint(**{**vars(first), "limits": MODELS["cart_pole"].joints[0].limits})
    others = [
        model.replace(name="other"),
        model.with_gravity((0, 0, -1)),
        model.replace(m=np.nextafter(model.m, 9)),
        model.replace(joints=(limits, *model.joints[1:])),
    ]
    assert len({robot_hash(x) for x in (model, *others)}) == 5


def test_friction_functions_reach_the_worker_and_symbols_are_refused():
    def rubbing(size):
        joint = kt.Friction(function=lambda dq: size * dq)
        builder = kt.Builder("rubs").link("base").link("arm", 1.0, (1, 0, 0))
        return builder.joint("hinge", "revolute", "base", "arm", friction=joint).build_model()

    model = rubbing(3)
    found, _ = sent(model)
    assert found.joints[0].friction == model.joints[0].friction
    assert plain(model, "x") is model
    hashes = {robot_hash(x) for x in (model, found, rubbing(3))}
    assert len(hashes) == 1 and robot_hash(rubbing(4)) not in hashes
    laws = [kt.law(lambda t, q, dq, k=k: -k * q, kt.robots.panda()) for k in (2, 3)]
    assert plain({"tau": laws[0]}, "x") == {"tau": laws[0]}
    assert len({settings_text({"tau": law}) for law in (*laws, laws[0])}) == 2
    with pytest.raises(ModelError, match="compiled for float64 numbers"):
        sent(MODELS["panda"].replace(m=MODELS["panda"].m.astype(object)))


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, "words", [1, [2.5, "a"]], {"b": {"c": 1}}, float("-inf")]
)
def test_plain_values_stay_what_they_are(value):
    assert there(value) == value


def test_nan_stays_nan():
    assert np.isnan(there(float("nan"))) and described(float("nan")) == {"number": "nan"}


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", "u2", "?"])
def test_arrays_have_one_of_three_types(kind):
    x = np.arange(24).reshape(2, 3, 4)[:, ::2].astype(kind)
    found = there(x)
    assert found.shape == x.shape and np.array_equal(found, x)
    assert found.dtype.str == {"f": "<f8", "b": "|b1"}.get(x.dtype.kind, "<i8")
    assert there(x[0, 0, 1]) == x[0, 0, 1]


def test_bits_of_arrays_stay_the_same():
    x = np.array([0.1, -0.0, 5e-324, np.inf, np.nan])
    assert there(x).tobytes() == x.tobytes()
    assert described(x) == {
        "array": "<f8", "shape": [5],
        "data": "mpmZmZmZuT8AAAAAAAAAgAEAAAAAAAAAAAAAAAAA8H8AAAAAAAD4fw==",
    }  # fmt: skip


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
def test_records_stay_what_they_are(record):
    found = there(record)
    assert type(found) is type(record)
    for name, value in vars(record).items():
        assert np.array_equal(getattr(found, name), value)
    assert described(record)["record"] == type(record).__name__


def test_robots_and_motions_reach_the_worker():
    robot = kt.robots.double_pendulum()
    plan = kt.motion.quintic([0, 0], [1, 2], duration=1.0, dt=0.1, robot=robot)
    law = kt.controllers.ComputedTorque(plan, 1.0, 2.0, model=robot)
    found = there(law)
    assert found.reference.q.tobytes() == plan.q.tobytes()
    assert found.model.joint_names == robot.model.joint_names
    fields = described(law)["fields"]
    assert fields["model"] == {"model": robot_hash(robot.model)}
    assert set(fields["reference"]["trajectory"]) == {"t", "q", "dq", "ddq", "pieces"}


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
        plain(value, "x")
