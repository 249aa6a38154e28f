"""Graphs kept on disk: equal to fresh ones, found again only by the same question."""

import dataclasses
import logging
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import constrain
from kinetree.algorithms.quantities import QUANTITIES
from kinetree.backends.cache import entries as cache
from kinetree.compiler import trace as tracer
from kinetree.description import Friction
from kinetree.description.constraints import Hold, Rod
from kinetree.description.joints import SCREW_TYPES
from kinetree.kernels import stored as traced
from kinetree.kernels.compile import trace_quantity
from kinetree.model import Frame, JointFriction
from kinetree.model.samples import ALL_TYPES, random_model


def sample():
    """A robot with every kind of data, and no friction function."""
    model = random_model(7, 4, types=ALL_TYPES, mimic=True, springs=True)
    turning = next(x.name for x in model.joints if x.type in SCREW_TYPES)
    model = model.with_actuators({"servo": kt.Actuator.position(turning, kp=3, time_constant=0.1)})
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


def with_joint(**changes):
    """The model with another last joint."""
    joints = (*MODEL.joints[:-1], dataclasses.replace(MODEL.joints[-1], **changes))
    return MODEL.replace(joints=joints)


def with_rotor(**changes):
    rotors = (dataclasses.replace(MODEL.rotors[0], **changes), *MODEL.rotors[1:])
    return MODEL.replace(rotors=rotors)


def with_spring(**changes):
    return MODEL.replace(springs=(dataclasses.replace(SPRING, **changes), *MODEL.springs[1:]))


def with_actuator(field):
    """The model with one field of its actuator changed."""
    (own,) = MODEL.actuators
    value = getattr(own, field)
    if isinstance(value, tuple):
        changed = tuple(x + 1 for x in value) if abs(value[0]) < np.inf else (-2.0, 3.0)
    else:
        changed = f"{value}2" if isinstance(value, str) else value + 1
    return MODEL.replace(actuators=(dataclasses.replace(own, **{field: changed}),))


ACTUATOR_FIELDS = [field.name for field in dataclasses.fields(MODEL.actuators[0])]
JOINT, ROTOR, TOOL = MODEL.joints[-1], MODEL.rotors[0], MODEL.frames[MODEL.tool]
SPRING = MODEL.springs[0]
ROD = Rod(MODEL.base_name, MODEL.tool, 0.5)
CHANGES = {
    "M_pi": lambda: MODEL.replace(M_pi=changed(MODEL.M_pi, 3)),
    "m": lambda: MODEL.replace(m=changed(MODEL.m)),
    "com": lambda: MODEL.replace(com=changed(MODEL.com, 5)),
    "I_com": lambda: MODEL.replace(I_com=changed(MODEL.I_com, 4)),
    "gravity": lambda: MODEL.replace(gravity=changed(MODEL.gravity, 5)),
    "base mass": lambda: MODEL.replace(base=(MODEL.base[0] * 2, *MODEL.base[1:])),
    "base centre": lambda: MODEL.replace(
        base=(MODEL.base[0], changed(MODEL.base[1]), MODEL.base[2])
    ),
    "parent": lambda: MODEL.replace(parent=(*MODEL.parent[:-1], MODEL.parent[-1] - 1)),
    "tool": lambda: MODEL.replace(tool=next(iter(MODEL.frames))),
    "frame's place": lambda: MODEL.replace(
        frames=dict(MODEL.frames) | {MODEL.tool: Frame(TOOL.link, changed(TOOL.T_if, 3))}
    ),
    "frame's link": lambda: MODEL.replace(
        frames=dict(MODEL.frames) | {MODEL.tool: Frame(TOOL.link - 1, TOOL.T_if)}
    ),
    "frame's name": lambda: MODEL.replace(frames=dict(MODEL.frames) | {"another": TOOL}),
    "joint's name": lambda: with_joint(name="another"),  # errors name it
    "joint's type": lambda: with_joint(type="revolute" if JOINT.type != "revolute" else "planar"),
    "coords": lambda: with_joint(coords=tuple(c + 1 for c in JOINT.coords)),
    "dofs": lambda: with_joint(dofs=tuple(d + 1 for d in JOINT.dofs)),
    "screw": lambda: with_joint(screw=changed(np.ones(6) if JOINT.screw is None else JOINT.screw)),
    "scale": lambda: with_joint(scale=2.0),
    "offset": lambda: with_joint(offset=JOINT.offset + 0.1),
    "armature": lambda: with_joint(armature=JOINT.armature + 0.1),
    "viscous": lambda: with_joint(friction=JointFriction((9.0, 1.0), JOINT.friction.coulomb)),
    "viscous backwards": lambda: with_joint(
        friction=JointFriction((JOINT.friction.viscous[0], 9.0), JOINT.friction.coulomb)
    ),
    "coulomb": lambda: with_joint(friction=JointFriction(JOINT.friction.viscous, (9.0, 1.0))),
    "follows": lambda: with_joint(follows="nobody"),
    "rotor's joint": lambda: with_rotor(joint=ROTOR.joint + 1),
    "rotor's dof": lambda: with_rotor(dof=ROTOR.dof + 1),
    "rotor's link": lambda: with_rotor(link=ROTOR.link + 1),
    "rotor's inertia": lambda: with_rotor(inertia=ROTOR.inertia * 2),
    "rotor's ratio": lambda: with_rotor(ratio=ROTOR.ratio * 2),
    "rotor's axis": lambda: with_rotor(s=changed(ROTOR.s)),
    "no rotors": lambda: MODEL.replace(rotors=()),
    "spring's name": lambda: with_spring(name="another"),  # parameters name it
    "spring's stiffness": lambda: with_spring(stiffness=SPRING.stiffness * 2),
    "spring's rest": lambda: with_spring(rest=SPRING.rest + 0.1),
    "spring's coords": lambda: with_spring(coords=tuple(c + 1 for c in SPRING.coords)),
    "spring's dofs": lambda: with_spring(dofs=tuple(d + 1 for d in SPRING.dofs)),
    "spring's arms": lambda: with_spring(arms=tuple(2.0 * a for a in SPRING.arms)),
    "no springs": lambda: MODEL.replace(springs=()),
    **{f"actuator's {x}": partial(with_actuator, x) for x in ACTUATOR_FIELDS},
    "no actuators": lambda: MODEL.replace(actuators=()),
    "drive": lambda: with_joint(drive=kt.Drive(peak=3.0)),
    "actuation": lambda: with_joint(actuation=(-1.0, 2.0)),
    "constraints": lambda: constrain(MODEL, {"rod": ROD}),
}
# names and remarks decide nothing that is computed, limits only where `algorithms.random` looks
IGNORED = {"name", "link_names", "base_name", "notes", "warnings"}

ONE = constrain(MODEL, {"rod": ROD})
CONSTRAINT_CHANGES = {
    "length": {"rod": Rod(MODEL.base_name, MODEL.tool, np.nextafter(0.5, 1))},
    "frame": {"rod": Rod(MODEL.base_name, MODEL.link_names[-1], 0.5)},
    "kind": {"rod": Hold(MODEL.tool, "point", (0.3, 0, 0.4))},
    "name": {"rod": None, "bar": ROD},
}


@pytest.mark.parametrize("change", CONSTRAINT_CHANGES)
def test_every_change_of_a_constraint_changes_the_hash(change):
    other = constrain(ONE, CONSTRAINT_CHANGES[change])
    assert traced.model_hash(other) != traced.model_hash(ONE)


def test_motors_change_the_hash_and_removing_constraints_restores_it():
    motors = constrain(ONE, {}, actuated=[MODEL.joint_names[0]])
    weighted = constrain(ONE, {}, actuated=dict.fromkeys(MODEL.joint_names, 2))
    assert len({traced.model_hash(x) for x in (ONE, motors, weighted)}) == 3
    assert traced.model_hash(constrain(ONE, {"rod": None})) == traced.model_hash(MODEL)


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_model_changes_its_hash(change):
    assert traced.model_hash(CHANGES[change]()) != traced.model_hash(MODEL)


def test_all_fields_of_a_model_are_changed_above():
    """A field that is added to a model must be added to its hash, and to this list."""
    names = {"joints": "joint", "rotors": "rotor", "frames": "frame", "base": "base mass"}
    names |= {"springs": "spring", "actuators": "actuator"}
    for field in dataclasses.fields(MODEL):
        if field.name not in IGNORED:
            known = names.get(field.name, field.name)
            assert any(change.startswith(known) for change in CHANGES), field.name
    joint_fields = {field.name for field in dataclasses.fields(JOINT)}
    assert joint_fields == {
        "name", "type", "coords", "dofs", "screw", "scale", "offset", "armature", "friction",
        "limits", "follows", "drive", "actuation",
    }  # fmt: skip
    rotor_fields = {field.name for field in dataclasses.fields(ROTOR)}
    assert rotor_fields == {"joint", "dof", "link", "inertia", "ratio", "s"}
    spring_fields = {field.name for field in dataclasses.fields(SPRING)}
    assert spring_fields == {"name", "stiffness", "rest", "coords", "dofs", "arms"}


def test_equal_models_have_equal_hashes():
    assert traced.model_hash(sample()) == traced.model_hash(MODEL)
    assert traced.model_hash(MODEL.replace(name="other")) == traced.model_hash(MODEL)


def test_a_known_graph_is_not_traced_again(folder, traces):
    fresh = trace_quantity(MODEL, "inverse_dynamics")
    assert traces == ["inverse_dynamics"] and len(entries(folder)) == 1
    again = trace_quantity(sample(), "inverse_dynamics")
    assert traces == ["inverse_dynamics"]
    assert again.nodes == fresh.nodes and again.results == fresh.results
    assert (again.inputs, again.outputs) == (fresh.inputs, fresh.outputs)
    assert again.digest == fresh.digest and again.operations == fresh.operations


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


def test_another_source_of_kinetree_has_other_entries(folder, traces, monkeypatch):
    trace_quantity(MODEL, "gravity_forces")
    monkeypatch.setattr(traced, "tracer_text", lambda: "edited")
    trace_quantity(MODEL, "gravity_forces")
    assert len(traces) == len(entries(folder)) == 2


def test_the_source_covers_all_that_runs_between_model_and_graph(monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")
    model, files = kt.robots.cart_pole().model, set()

    def note(frame, event, argument):
        files.add(frame.f_code.co_filename)

    for name in QUANTITIES:
        sys.setprofile(note)
        trace_quantity(model, name, free=["mass", "friction"])
        trace_quantity(model, name)
        sys.setprofile(None)
    root = Path(kt.__file__).parent
    inside = [path for path in map(Path, files) if path.is_relative_to(root)]
    ran = {path.relative_to(root).as_posix() for path in inside}
    checks = {"backends/cache/folder.py"}  # decide no node
    hashed = {x for x in ran if any(f"{x}/".startswith(f"{place}/") for place in traced.SOURCES)}
    assert ran - hashed <= checks
    assert "kernels/compile.py" in hashed and "algorithms/lean.py" in hashed


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


@pytest.mark.parametrize("how", ["cut", "flipped", "empty", "foreign"])
def test_damaged_entries_are_made_again(folder, traces, how, caplog):
    fresh = trace_quantity(MODEL, "gravity_forces")
    (path,) = entries(folder)
    data = bytearray(path.read_bytes())
    if how == "flipped":
        data[-20] ^= 1
    path.write_bytes({"cut": data[:-3], "empty": b"", "foreign": b"{}\n"}.get(how, bytes(data)))
    with caplog.at_level(logging.WARNING):
        again = trace_quantity(MODEL, "gravity_forces")
    assert len(traces) == 2 and again.nodes == fresh.nodes
    assert "damaged" in caplog.text
    trace_quantity(MODEL, "gravity_forces")
    assert len(traces) == 2  # the entry is whole again


@pytest.mark.parametrize("content", [b"", b"no json\n", b"{}\n", b"\xff\n"])
def test_whole_entries_of_another_kind_are_made_again(folder, traces, monkeypatch, content):
    monkeypatch.setattr(cache, "load", lambda key: content)
    assert trace_quantity(MODEL, "gravity_forces").operations > 0
    assert traces == ["gravity_forces"]


@pytest.mark.parametrize("word", ["0", "off", "no", "FALSE"])
def test_the_cache_can_be_switched_off(folder, traces, monkeypatch, word):
    monkeypatch.setenv("KINETREE_CACHE", word)
    one, two = (trace_quantity(MODEL, "gravity_forces") for _ in range(2))
    assert len(traces) == 2 and not folder.exists()
    assert one.nodes == two.nodes and one.digest == two.digest


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path, monkeypatch, traces):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert trace_quantity(MODEL, "gravity_forces").operations > 0
    assert traces == ["gravity_forces"]
