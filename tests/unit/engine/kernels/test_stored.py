"""Graphs kept on disk: equal to fresh ones, found again only by the same question."""

import dataclasses
import logging
from collections.abc import Mapping

import numpy as np
import pytest

import kinetree as kt
from kinetree.constraints import Hold, Rod
from kinetree.engine.compiler import trace as tracer
from kinetree.engine.kernels import model_hash, trace_quantity
from kinetree.engine.kernels import stored as traced
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.friction import Friction
from kinetree.joints import Actuator
from random_robots import ALL_TYPES, random_model


def sample():
    """A robot with every kind of data, and no friction function."""
    model = random_model(7, 4, types=ALL_TYPES, mimic=True, springs=True)
    turning = next(x.name for x in model.joints if x.type in SCREW_TYPES)
    model = kt.Robot.with_actuators(
        model, {"servo": Actuator.position(turning, kp=3, time_constant=0.1)}
    )
    joints = tuple(
        dataclasses.replace(x, friction=dataclasses.replace(x.friction, function=None))
        for x in model.joints
    )
    return model.replace(joints=joints)


MODEL = sample()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def traces(monkeypatch):
    """How often something was traced."""
    names, trace = [], tracer.trace

    def watched(function, inputs, outputs):
        names.append(outputs[0][0])
        return trace(function, inputs, outputs)

    monkeypatch.setattr(tracer, "trace", watched)
    return names


def entries(folder):
    return sorted(folder.glob("*.kto")) if folder.exists() else []


def changed(x, at=0):
    """An array with one entry changed by the least possible."""
    y = np.array(x, float)
    y.flat[at] = np.nextafter(y.flat[at], np.inf)
    return y


def variants(value):
    """The value with one number, name or entry changed, for each of them, and where that is."""
    if dataclasses.is_dataclass(value):
        for name in {x.name for x in dataclasses.fields(value)} - ignored(value):
            for where, other in variants(getattr(value, name)):
                yield f"{name} {where}", dataclasses.replace(value, **{name: other})
    elif isinstance(value, Mapping):
        yield "key", {**value, "another": next(iter(value.values()))}
        for key, entry in value.items():
            yield from ((f"{key} {where}", {**value, key: x}) for where, x in variants(entry))
    elif isinstance(value, tuple):
        for k, entry in enumerate(value):
            for where, other in variants(entry):
                yield f"{k} {where}", (*value[:k], other, *value[k + 1 :])
    elif isinstance(value, np.ndarray):
        yield "entry", changed(value, value.size // 2)
    elif isinstance(value, str):
        yield "text", f"{value}2"
    else:
        yield "number", 0.5 if value is None or abs(value) == np.inf else value + 1


def ignored(record):
    """Names and remarks, limits, which only `dynamics.random` reads, and contacts (below)."""
    contacts = {"contacts"} if record is MODEL else set()
    return set(traced.IGNORED.get(type(record).__name__, ())) | contacts


ROD = Rod(MODEL.base_name, MODEL.tool, 0.5)
ONE = kt.Robot.constrained(MODEL, {"rod": ROD})
CONSTRAINT_CHANGES = {
    "length": {"rod": Rod(MODEL.base_name, MODEL.tool, np.nextafter(0.5, 1))},
    "frame": {"rod": Rod(MODEL.base_name, MODEL.link_names[-1], 0.5)},
    "kind": {"rod": Hold(MODEL.tool, "point", (0.3, 0, 0.4))},
    "name": {"rod": None, "bar": ROD},
}


@pytest.mark.parametrize("change", CONSTRAINT_CHANGES)
def test_every_change_of_a_constraint_changes_the_hash(change):
    other = kt.Robot.constrained(ONE, CONSTRAINT_CHANGES[change])
    assert model_hash(other) != model_hash(ONE)


def test_every_number_of_contacts_changes_the_hash():
    heel = kt.contacts.ContactPoint("heel", MODEL.tool, (0.1, 0.2, 0.3), 0.01, 0.5, 0)
    rim = kt.contacts.ContactRim("rim", MODEL.tool, (0, 0, 0), (0, 0, 1), 0.1)
    ground = kt.contacts.Plane((0, 0, 1), (0, 0, 0.5))
    boxes = kt.contacts.Boxes([kt.contacts.Box((1, 0, 0), (1, 2, 3), 0.25)])
    contacts = kt.contacts.Contacts([heel, rim], ground, 0.5, 0.25)
    known = {model_hash(MODEL), model_hash(MODEL.replace(contacts=contacts))}
    for change in (
        {"points": [heel]},
        {"points": [rim, heel]},
        {"friction": 0.75},
        {"restitution": 0.5},
        {"restitution": 0},
        {"restitution": 0, "compliance": 0.125},
        {"points": [dataclasses.replace(heel, restitution=0.5), rim]},
        {"ground": dataclasses.replace(ground, normal=(0, 1, 1))},
        {"points": [heel], "ground": boxes},
        {"points": [heel], "ground": dataclasses.replace(boxes, plane=ground)},
        {"points": [dataclasses.replace(heel, position=(0.1, 0.2, 0.5)), rim]},
        {"points": [dataclasses.replace(heel, link=MODEL.link_names[-2]), rim]},
    ):
        known.add(model_hash(MODEL.replace(contacts=dataclasses.replace(contacts, **change))))
    assert len(known) == 14


def test_motors_change_the_hash_and_removing_constraints_restores_it():
    motors = kt.Robot.constrained(ONE, {}, actuated=[MODEL.joint_names[0]])
    weighted = kt.Robot.constrained(ONE, {}, actuated=dict.fromkeys(MODEL.joint_names, 2))
    assert len({model_hash(x) for x in (ONE, motors, weighted)}) == 3
    assert model_hash(kt.Robot.constrained(ONE, {"rod": None})) == model_hash(MODEL)


def test_every_change_of_a_model_changes_its_hash():
    known, places = {model_hash(MODEL)}, 0
    emptied = [MODEL.replace(**{x: ()}) for x in ("rotors", "springs", "actuators")]
    for where, other in [*variants(MODEL), *enumerate(emptied)]:
        assert model_hash(other) not in known, where
        known.add(model_hash(other))
        places += 1
    assert places > 150
    assert {*traced.IGNORED} == {"Model", "Joint", "Constraints"}
    assert traced.IGNORED["Joint"] == ("limits",)


def test_equal_models_have_equal_hashes():
    assert model_hash(sample()) == model_hash(MODEL)
    assert model_hash(MODEL.replace(name="other")) == model_hash(MODEL)


def test_every_question_has_its_own_entry(folder, traces):
    robot = kt.robots.planar_2r().model
    frame = next(iter(robot.frames))
    for name, options in (
        ("inverse_dynamics", {}),
        ("inverse_dynamics", {"wrenches": True}),
        ("inverse_dynamics", {"free": ["mass"]}),
        ("inverse_dynamics", {"free": ["com"]}),
        ("inverse_dynamics", {"free": ["mass", "com"]}),
        ("inverse_dynamics", {"free": ["com", "mass"]}),
        ("bias_forces", {}),
        ("pose", {}),
        ("pose", {"frame": frame}),
        ("body_jacobian", {"frame": frame}),
    ):
        before = len(entries(folder))
        trace_quantity(robot, name, **options)
        assert len(entries(folder)) == before + 1 == len(traces)
        trace_quantity(robot, name, **options)
        assert len(entries(folder)) == len(traces) == before + 1


def test_friction_functions_are_kept_by_what_they_compute(folder, traces):
    def model(size):
        builder = kt.Builder("rubbing").link("base").link("arm", 1, (0, 0, 1))
        friction = Friction(function=lambda dq: size * dq * dq * dq)
        builder.joint("hinge", "revolute", "base", "arm", axis=(0, 1, 0), friction=friction)
        return builder.build_model()

    one, two = (trace_quantity(model(3), "bias_forces") for _ in range(2))
    assert len(traces) == 1 and one.nodes == two.nodes
    other = trace_quantity(model(4), "bias_forces")
    assert len(traces) == 2 and other.digest != one.digest


@pytest.mark.parametrize("how", ["flipped", "foreign"])
def test_damaged_entries_are_made_again(folder, traces, how, caplog):
    fresh = trace_quantity(MODEL, "gravity_forces")
    (path,) = entries(folder)
    data = bytearray(path.read_bytes())
    if how == "flipped":
        data[-20] ^= 1
    path.write_bytes(b"{}\n" if how == "foreign" else bytes(data))
    with caplog.at_level(logging.WARNING):
        again = trace_quantity(MODEL, "gravity_forces")
    assert len(traces) == 2 and again.nodes == fresh.nodes
    assert "damaged" in caplog.text
    trace_quantity(MODEL, "gravity_forces")
    assert len(traces) == 2  # the entry is whole again


@pytest.mark.parametrize("word", ["0", "FALSE"])
def test_the_cache_can_be_switched_off(folder, traces, monkeypatch, word):
    monkeypatch.setenv("KINETREE_CACHE", word)
    one, two = (trace_quantity(MODEL, "gravity_forces") for _ in range(2))
    assert len(traces) == 2 and not folder.exists()
    assert one.nodes == two.nodes and one.digest == two.digest
