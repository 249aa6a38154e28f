"""What an MJCF file says and the dynamics of a tree cannot honour: one warning a kind, by name."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kinetree.description.mjcf_compile import Compiled
from kinetree.description.mjcf_drives import (
    FREE,
    actuator_count,
    disabled,
    is_motor,
    motor_efforts,
    on_joint,
)
from kinetree.description.mjcf_meshes import MeshedModel
from kinetree.description.mjcf_names import body_names, joint_names, listing
from kinetree.description.mjcf_nodes import Node
from kinetree.description.records import Note
from kinetree.description.xml import clip

Found = tuple[list[str], str]  # the names of what was found, and what happens to it


def warnings_of(meshed: MeshedModel, nodes: Sequence[Node]) -> tuple[Note, ...]:
    """Everything that is ignored although it would change the motion in MuJoCo."""
    compiled = meshed.compiled
    model = compiled.model
    notes = []
    for find, elements in FINDERS:
        names, text = find(compiled)
        if names:
            where = _first_place(compiled, elements, names)
            notes.append(Note(f"{text}: {listing(names)}", where))
    bodies = body_names(model)
    for b in sorted(meshed.unknown):
        notes.append(
            Note(
                f"static body {bodies[b]!r} takes its mass from a mesh and is massless here; the "
                f"mesh {meshed.unknown[b]}"
            )
        )
    notes += [Note(f"MuJoCo warns: {m}") for m in compiled.messages if "deprecated" not in m]
    plugins = [node for node in nodes if node.tag == "plugin"]
    if plugins:
        names = [n.attributes.get("plugin", n.attributes.get("instance", "?")) for n in plugins]
        notes.append(
            Note(f"plugins are ignored: {listing(list(dict.fromkeys(names)))}", plugins[0].where)
        )
    return tuple(notes)


def notes_of(compiled: Compiled, nodes: Sequence[Node]) -> tuple[Note, ...]:
    """What was read differently from what a user may expect, and changes nothing."""
    model = compiled.model
    notes = [Note(f"MuJoCo says: {m}") for m in compiled.messages if "deprecated" in m]
    for node in nodes:
        if node.tag == "replicate":
            count = node.attributes.get("count", "1")
            notes.append(Note(f"<replicate> is written out as {count} copies", node.where))
    notes += [Note(f'{text}: <flag {flag}="disable"/>') for flag, text in _flags(model)]
    keys = [node for node in nodes if node.tag == "key"]
    if keys:
        names = [n.attributes.get("name", f"key {k}") for k, n in enumerate(keys)]
        notes.append(
            Note(f"keyframes are not read; pass q yourself: {listing(names)}", keys[0].where)
        )
    for node in nodes:
        if node.tag == "attach":
            part = node.attributes.get("body", node.attributes.get("frame", ""))
            model_name = node.attributes.get("model")
            what = "the model" if model_name is None else f"model {clip(model_name)!r}"
            notes.append(
                Note(
                    f"<attach> puts {f'{clip(part)!r} of ' if part else ''}{what} here, names "
                    f"begin with {clip(node.attributes.get('prefix', ''))!r}",
                    node.where,
                )
            )
    free = [n for j, n in enumerate(joint_names(model)) if int(model.jnt_type[j]) == FREE]
    if free:
        notes.append(
            Note(
                f"q of a free joint is the pose in the world, its zero the origin: {listing(free)}"
            )
        )
    limited = [
        n
        for j, n in enumerate(joint_names(model))
        if int(model.jnt_type[j]) == 1 and model.jnt_limited[j]
    ]
    if limited:
        notes.append(Note(f"the cone that limits a ball joint is not kept: {listing(limited)}"))
    if model.ngeom and any(model.geom_contype) and any(model.geom_conaffinity):
        notes.append(Note("contacts between geoms are not part of the dynamics"))
    return tuple(notes)


def _names(model: Any, kind: str, ids: Sequence[int]) -> list[str]:
    accessor = getattr(model, kind)
    return [accessor(i).name or f"{kind} {i}" for i in ids]


def _equality(c: Compiled) -> Found:
    m = c.model
    if disabled(m, "EQUALITY", "CONSTRAINT"):
        return [], ""
    types = [c.mujoco.mjtEq(int(t)).name.removeprefix("mjEQ_").lower() for t in m.eq_type]
    names = [m.equality(e).name or f"{types[e]} {e}" for e in range(m.neq) if m.eq_active0[e]]
    return names, "equality constraints are ignored, joints stay independent"


def _tendons(c: Compiled) -> Found:
    names = _names(c.model, "tendon", range(c.model.ntendon))
    armature = [n for n, a in zip(names, c.model.tendon_armature, strict=True) if a]
    extra = f" (with the tendon armature of {listing(armature)})" if armature else ""
    return names, f"tendons are ignored{extra}"


def _gravcomp(c: Compiled) -> Found:
    names = [n for n, g in zip(body_names(c.model), c.model.body_gravcomp, strict=True) if g]
    return names, "gravity compensation (gravcomp) is ignored, the bodies weigh in full"


def _springs(c: Compiled) -> Found:
    m = c.model
    if disabled(m, "SPRING"):
        return [], ""
    poly = getattr(m, "jnt_stiffnesspoly", None)
    stiff = [
        bool(m.jnt_stiffness[j]) or (poly is not None and poly[j].any()) for j in range(m.njnt)
    ]
    names = [n for n, is_stiff in zip(joint_names(m), stiff, strict=True) if is_stiff]
    return names, "joint springs (stiffness, springref) are ignored, tau is without their force"


def _curved_damping(c: Compiled) -> Found:
    m = c.model
    poly = getattr(m, "dof_dampingpoly", None)
    if poly is None:
        return [], ""
    names = [n for j, n in enumerate(joint_names(m)) if poly[int(m.jnt_dofadr[j])].any()]
    return names, "of joint damping only the part linear in the speed is kept"


def _fluid(c: Compiled) -> Found:
    option = c.model.opt
    names = [key for key in ("density", "viscosity") if getattr(option, key)]
    return names, "the medium around the robot (fluid forces) is ignored"


def _flags(model: Any) -> Iterator[tuple[str, str]]:
    """Flags that switch a force off, and what they do here."""
    if disabled(model, "GRAVITY"):
        yield "gravity", "gravity is 0"
    if disabled(model, "DAMPER"):
        yield "damper", "joint damping is 0"
    if disabled(model, "FRICTIONLOSS", "CONSTRAINT"):
        flag = "frictionloss" if disabled(model, "FRICTIONLOSS") else "constraint"
        yield flag, "dry friction of joints (frictionloss) is 0"
    if disabled(model, "SPRING"):
        yield "spring", "joint springs are off"


def _free_dry_friction(c: Compiled) -> Found:
    m = c.model
    if disabled(m, "FRICTIONLOSS", "CONSTRAINT"):
        return [], ""
    names = [
        n
        for j, n in enumerate(joint_names(m))
        if int(m.jnt_type[j]) == FREE and m.dof_frictionloss[int(m.jnt_dofadr[j])]
    ]
    return names, "dry friction of free joints acts along the axes of the body, not of the world"


def _idle_motors(c: Compiled) -> Found:
    names = [n for n, f in zip(joint_names(c.model), motor_efforts(c.model), strict=True) if f == 0]
    return names, "motors of these joints give no force (gear or range 0), effort limits are 0"


def _actuators(c: Compiled) -> Found:
    m = c.model
    ids = [a for a in range(actuator_count(m)) if not is_motor(m, a)]
    return _names(
        m, "actuator", ids
    ), "actuators with gains, or on more than a joint, are ignored (tau is the joint force)"


def _actuator_inertia(c: Compiled) -> Found:
    m = c.model
    armature = getattr(m, "actuator_armature", ())
    ids = [a for a in range(len(armature)) if armature[a] and not on_joint(m, a)]
    return _names(m, "actuator", ids), "armature of actuators that drive no single joint is ignored"


def _pairs(c: Compiled) -> Found:
    return _names(c.model, "pair", range(c.model.npair)), "contact pairs are ignored"


def _mocap(c: Compiled) -> Found:
    names = [n for b, n in enumerate(body_names(c.model)) if int(c.model.body_mocapid[b]) >= 0]
    return names, "mocap bodies stand still where the file puts them"


# What to look for, and the elements of the spec it may stand at.
FINDERS: tuple[tuple[Callable[[Compiled], Found], str], ...] = (
    (_equality, "equalities"),
    (_tendons, "tendons"),
    (_gravcomp, "bodies"),
    (_springs, "joints"),
    (_curved_damping, "joints"),
    (_fluid, ""),
    (_free_dry_friction, "joints"),
    (_idle_motors, "actuators"),
    (_actuators, "actuators"),
    (_actuator_inertia, "actuators"),
    (_pairs, "pairs"),
    (_mocap, "bodies"),
)


def _first_place(compiled: Compiled, elements: str, names: Sequence[str]) -> str:
    """file:line of the first element of that kind, of the first named one where names are given."""
    found = list(getattr(compiled.spec, elements, ())) if elements else []
    named = [e for e in found if getattr(e, "name", "") and e.name == names[0]]
    for element in named or found:
        node = compiled.node_of(element)
        if node is not None and node.tag not in ("worldbody", "mujoco"):
            return node.where
    return ""
