"""Notes and warnings on an MJCF file: contents that the dynamics of a tree cannot honour.

One warning for each kind of content, with the names of its elements.
"""

from collections.abc import Iterable, Iterator, Sequence

from kinetree.core.text import listing
from kinetree.files.description.mjcf.compile import Compiled
from kinetree.files.description.mjcf.equality import Equality, ignored, inactive
from kinetree.files.description.mjcf.forces import (
    BALL,
    FREE,
    actuation_is_off,
    actuators_of,
    curved_springs,
    disabled,
    driven_tendons,
    has_curved_damping,
    has_other_effects,
    is_motor,
    is_on_one_body,
    is_spring,
    joint_motors,
    joint_ranges,
    motor_efforts,
    motors_of,
    tendon_name,
    unread_actuators,
    unread_joint_springs,
)
from kinetree.files.description.mjcf.meshes import MeshedModel
from kinetree.files.description.mjcf.nodes import Node
from kinetree.files.description.records import Note
from kinetree.files.description.xml import clip

MAX_NAMES = 6  # in one message


def warnings_of(meshed: MeshedModel, nodes: Sequence[Node]) -> tuple[Note, ...]:
    """Warnings about everything that is ignored although it changes the motion in MuJoCo."""
    compiled = meshed.compiled
    notes: list[Note] = []
    for elements, names, text in _ignored(compiled):
        if names:
            notes.append(_listed(text, names, _first_place(compiled, elements, names)))
    for b in sorted(meshed.unknown):
        text = f"static body {compiled.body_names[b]!r} takes its mass from a mesh and is massless"
        notes.append(Note(f"{text} here; the mesh {meshed.unknown[b]}"))
    notes += [Note(f"MuJoCo warns: {m}") for m in compiled.messages if "deprecated" not in m]
    plugins = [node for node in nodes if node.tag == "plugin"]
    if plugins:
        names = [n.attributes.get("plugin", n.attributes.get("instance", "?")) for n in plugins]
        notes.append(_listed("plugins are ignored", dict.fromkeys(names), plugins[0].where))
    return tuple(notes)


def notes_of(compiled: Compiled, nodes: Sequence[Node], equality: Equality) -> tuple[Note, ...]:
    """Notes on everything that is read differently from what a user may expect."""
    model = compiled.model
    notes = [Note(f"MuJoCo notes: {m}") for m in compiled.messages if "deprecated" in m]
    for node in nodes:
        if node.tag == "replicate":
            count = node.attributes.get("count", "1")
            notes.append(Note(f"<replicate> is written out as {count} copies", node.where))
    notes += [Note(f'{text}: <flag {flag}="disable"/>') for flag, text in _flags(compiled)]
    keys = [node for node in nodes if node.tag == "key"]
    if keys:
        names = [n.attributes.get("name", f"key {k}") for k, n in enumerate(keys)]
        notes.append(_listed("keyframes are not read; pass q yourself", names, keys[0].where))
    notes += _equality_notes(compiled, equality)
    if motors := motors_of(compiled):
        text = "armature, friction and damping of tendons become motors of coupled joints"
        notes.append(_listed(text, motors))
    notes += [_attachment(node) for node in nodes if node.tag == "attach"]
    types = [int(type) for type in model.jnt_type]
    joints = list(enumerate(compiled.joint_names))
    free = [name for j, name in joints if types[j] == FREE]
    if free:
        text = "q of a free joint is the pose in the world, its zero the origin"
        notes.append(_listed(text, free))
    limited = [name for j, name in joints if types[j] == BALL and model.jnt_limited[j]]
    if limited:
        notes.append(_listed("the cone that limits a ball joint is not kept", limited))
    if model.ngeom and any(model.geom_contype) and any(model.geom_conaffinity):
        notes.append(Note("contacts between geoms are not part of the dynamics"))
    return tuple(notes)


def _equality_notes(compiled: Compiled, equality: Equality) -> Iterator[Note]:
    """Notes on constraints that are exact here, switched off, or without effect."""
    if equality.record is not None:
        text = "equality constraints are exact here, those of MuJoCo are soft (solref, solimp)"
        yield _listed(text, equality.record.constraints)
    if off := inactive(compiled):
        yield _listed("equality constraints that are not active are left out", off)
    if equality.idle:
        text = "equality constraints of bodies that cannot move apart have no effect"
        yield _listed(text, equality.idle)


def _listed(text: str, names: Iterable[str], where: str = "") -> Note:
    return Note(f"{text}: {listing(names, MAX_NAMES)}", where)


def _attachment(node: Node) -> Note:
    """The note on an <attach>: the part of the other model, and the prefix of its names."""
    part = node.attributes.get("body", node.attributes.get("frame", ""))
    model = node.attributes.get("model")
    source = "the model" if model is None else f"model {clip(model)!r}"
    source = f"{clip(part)!r} of {source}" if part else source
    prefix = clip(node.attributes.get("prefix", ""))
    return Note(f"<attach> puts {source} here, names begin with {prefix!r}", node.where)


def _names(c: Compiled, kind: str, ids: Iterable[int]) -> list[str]:
    accessor = getattr(c.model, kind)
    return [accessor(i).name or f"{kind} {i}" for i in ids]


def _flags(c: Compiled) -> Iterator[tuple[str, str]]:
    """Flags that switch a force off, and their effect here."""
    if disabled(c, "GRAVITY"):
        yield "gravity", "gravity is 0"
    if disabled(c, "DAMPER"):
        yield "damper", "joint damping is 0"
    if disabled(c, "FRICTIONLOSS", "CONSTRAINT"):
        flag = "frictionloss" if disabled(c, "FRICTIONLOSS") else "constraint"
        yield flag, "dry friction of joints (frictionloss) is 0"
    if disabled(c, "SPRING"):
        yield "spring", "springs are off"
    if actuation_is_off(c):
        yield "actuation", "actuators are off"


def _ignored(c: Compiled) -> Iterator[tuple[str, list[str], str]]:
    """Contents that are ignored: their elements in MuJoCo's spec, their names, the treatment."""
    m, joints, motors = c.model, list(enumerate(c.joint_names)), joint_motors(c)
    driven, tendons = driven_tendons(c), {t: tendon_name(c, t) for t in range(m.ntendon)}
    read = {t for t in tendons if is_spring(c, t) or is_motor(c, t)}
    sprung = [t for t in tendons if t in read and t not in driven]
    unread = [t for t in tendons if t not in read | driven]
    constant = [t for t in unread if is_on_one_body(c, t)]
    left_out = [t for t in unread if t not in constant]
    kept = "linear springs and motors are kept, without limits"
    yield "equalities", ignored(c), "equality constraints of tendons and flexes are ignored"

    armature = [tendons[t] for t in left_out if m.tendon_armature[t]]
    extra = f" (with the tendon armature of {listing(armature, MAX_NAMES)})" if armature else ""
    yield "tendons", [tendons[t] for t in left_out], f"tendons are ignored{extra}"
    names = [tendons[t] for t in constant]
    yield "tendons", names, "tendons with all sites on one body move no joint and are ignored"
    names = [tendons[t] for t in sprung if has_other_effects(c, t)]
    yield "tendons", names, f"of these tendons {kept}"
    names = [tendons[t] for t in sorted(driven) if has_other_effects(c, t)]
    yield (
        "tendons",
        names,
        f"of these tendons actuators, {kept}",
    )

    names = [n for n, g in zip(c.body_names, m.body_gravcomp, strict=True) if g]
    yield "bodies", names, "gravity compensation (gravcomp) is ignored, the bodies weigh in full"
    text = "springs (stiffness) of ball and free joints are ignored, tau is without their force"
    yield "joints", unread_joint_springs(c), text
    text = "of these springs only the part linear in the position is kept, and none yields"
    yield "joints", curved_springs(c), text

    curved = {a for a in range(len(motors)) if has_curved_damping(c, "actuator", a)}
    bent = {j for j, _ in joints if has_curved_damping(c, "dof", int(m.jnt_dofadr[j]))}
    bent |= {motors[a].joint for a in curved if motors[a].ratio}
    names = [n for j, n in joints if j in bent]
    yield "joints", names, "of joint damping only the part linear in the speed is kept"
    names = [key for key in ("density", "viscosity") if getattr(m.opt, key)]
    yield "", names, "the medium around the robot (fluid forces) is ignored"
    free = [(j, n) for j, n in joints if int(m.jnt_type[j]) == FREE]
    names = [n for j, n in free if m.dof_armature[int(m.jnt_dofadr[j])]]
    yield "joints", names, "armature of free joints is ignored; they have no motor"
    if not disabled(c, "FRICTIONLOSS", "CONSTRAINT"):
        names = [n for j, n in free if m.dof_frictionloss[int(m.jnt_dofadr[j])]]
        text = "dry friction of free joints acts along the axes of the body, not of the world"
        yield "joints", names, text

    names = [n for n, f in zip(c.joint_names, motor_efforts(c), strict=True) if f == 0]
    text = "motors of these joints give no force (gear or range 0), effort limits are 0"
    yield "actuators", names, text
    yield "actuators", unread_actuators(c), "these actuators are not understood and left out"
    names = [name for name, x in actuators_of(c).items() if max(x.bias[1:]) > 0]
    text = "these actuators push away from their goal (kp or kv negative), which is unstable"
    yield "actuators", names, text
    ranges = joint_ranges(c)
    limited = [(j, n) for j, n in joints if m.jnt_actfrclimited[j] and j not in ranges]
    names = [n for j, n in limited if m.jnt_actfrcrange[j].prod() > 0]
    text = "actuatorfrcrange excludes 0, which would push these joints; it is ignored there"
    yield "joints", names, text
    alone = [a for a, x in enumerate(motors) if x.joint is None]
    ids = [a for a in alone if motors[a].armature or motors[a].damping or a in curved]
    text = "armature and damping of actuators that drive no single joint are ignored"
    yield "actuators", _names(c, "actuator", ids), text

    yield "pairs", _names(c, "pair", range(m.npair)), "contact pairs are ignored"
    names = [n for b, n in enumerate(c.body_names) if int(m.body_mocapid[b]) >= 0]
    yield "bodies", names, "mocap bodies stand still where the file puts them"


def _first_place(compiled: Compiled, elements: str, names: Sequence[str]) -> str:
    """file:line of the first element of that kind, of the first named one where names are given."""
    candidates = list(getattr(compiled.spec, elements, ())) if elements else []
    named = [e for e in candidates if getattr(e, "name", "") and e.name == names[0]]
    for element in named or candidates:
        node = compiled.node_of(element)
        if node is not None and node.tag not in ("worldbody", "mujoco"):
            return node.where
    return ""
