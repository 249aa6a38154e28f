"""Notes and warnings on an MJCF file: contents that the dynamics of a tree cannot honour.

One warning for each kind of content, with the names of its elements.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from kinetree.base.tables import listing
from kinetree.files.description.mjcf.actuators import (
    actuation_is_off,
    actuators_of,
    driven_tendons,
    joint_ranges,
    unread_actuators,
)
from kinetree.files.description.mjcf.compile import Compiled
from kinetree.files.description.mjcf.drives import BALL, FREE, actuators, disabled, motor_efforts
from kinetree.files.description.mjcf.equality import Equality, ignored, inactive
from kinetree.files.description.mjcf.meshes import MeshedModel
from kinetree.files.description.mjcf.nodes import Node
from kinetree.files.description.mjcf.springs import (
    curved_springs,
    has_curved_damping,
    has_other_effects,
    is_spring,
    tendon_name,
    unread_joint_springs,
)
from kinetree.files.description.records import Note
from kinetree.files.description.xml import clip

MOST_NAMES = 6  # in one message

Found = tuple[list[str], str]  # names of elements, and the treatment of them as a sentence


def warnings_of(meshed: MeshedModel, nodes: Sequence[Node]) -> tuple[Note, ...]:
    """Warnings about everything that is ignored although it changes the motion in MuJoCo."""
    compiled = meshed.compiled
    notes: list[Note] = []
    for find, elements in FINDERS:
        names, text = find(compiled)
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
    return Note(f"{text}: {listing(names, MOST_NAMES)}", where)


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


def _equality(c: Compiled) -> Found:
    return ignored(c), "equality constraints of tendons and flexes are ignored"


def _tendons(c: Compiled) -> Found:
    driven = driven_tendons(c)
    ignored = [t for t in range(c.model.ntendon) if not is_spring(c, t) and t not in driven]
    armature = [tendon_name(c, t) for t in ignored if c.model.tendon_armature[t]]
    extra = f" (with the tendon armature of {listing(armature, MOST_NAMES)})" if armature else ""
    return [tendon_name(c, t) for t in ignored], f"tendons are ignored{extra}"


def _sprung_tendons(c: Compiled) -> Found:
    ids = set(filter(partial(is_spring, c), range(c.model.ntendon))) - driven_tendons(c)
    text = "of these tendons only the spring is kept, without damping, friction, limits or armature"
    return [tendon_name(c, t) for t in sorted(ids) if has_other_effects(c, t)], text


def _driven_tendons(c: Compiled) -> Found:
    names = [tendon_name(c, t) for t in sorted(driven_tendons(c)) if has_other_effects(c, t)]
    text = "of these tendons actuators and linear springs are kept, without damping, friction, "
    return names, text + "limits or armature"


def _gravcomp(c: Compiled) -> Found:
    names = [n for n, g in zip(c.body_names, c.model.body_gravcomp, strict=True) if g]
    return names, "gravity compensation (gravcomp) is ignored, the bodies weigh in full"


def _springs(c: Compiled) -> Found:
    text = "springs (stiffness) of ball and free joints are ignored, tau is without their force"
    return unread_joint_springs(c), text


def _curved_springs(c: Compiled) -> Found:
    text = "of these springs only the part linear in the position is kept, and none yields"
    return curved_springs(c), text


def _curved_damping(c: Compiled) -> Found:
    m = c.model
    curved = {j for j in range(m.njnt) if has_curved_damping(c, "dof", int(m.jnt_dofadr[j]))}
    curved |= {
        x.joint
        for a, x in enumerate(actuators(c))
        if x.ratio and has_curved_damping(c, "actuator", a)
    }
    names = [n for j, n in enumerate(c.joint_names) if j in curved]
    return names, "of joint damping only the part linear in the speed is kept"


def _fluid(c: Compiled) -> Found:
    option = c.model.opt
    names = [key for key in ("density", "viscosity") if getattr(option, key)]
    return names, "the medium around the robot (fluid forces) is ignored"


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


def _free_dry_friction(c: Compiled) -> Found:
    m = c.model
    if disabled(c, "FRICTIONLOSS", "CONSTRAINT"):
        return [], ""
    names = [
        n
        for j, n in enumerate(c.joint_names)
        if int(m.jnt_type[j]) == FREE and m.dof_frictionloss[int(m.jnt_dofadr[j])]
    ]
    return names, "dry friction of free joints acts along the axes of the body, not of the world"


def _idle_motors(c: Compiled) -> Found:
    names = [n for n, f in zip(c.joint_names, motor_efforts(c), strict=True) if f == 0]
    return names, "motors of these joints give no force (gear or range 0), effort limits are 0"


def _actuators(c: Compiled) -> Found:
    return unread_actuators(c), "these actuators are not understood and left out"


def _unstable_servos(c: Compiled) -> Found:
    text = "these actuators push away from their goal (kp or kv negative), which is unstable"
    return [name for name, x in actuators_of(c).items() if max(x.bias[1:]) > 0], text


def _pushing_ranges(c: Compiled) -> Found:
    m, read = c.model, joint_ranges(c)
    pushed = [
        name
        for j, name in enumerate(c.joint_names)
        if m.jnt_actfrclimited[j] and j not in read and m.jnt_actfrcrange[j].prod() > 0
    ]
    return pushed, "actuatorfrcrange excludes 0, which would push these joints; it is ignored there"


def _actuator_inertia(c: Compiled) -> Found:
    ids = [
        a
        for a, x in enumerate(actuators(c))
        if x.joint is None and (x.armature or x.damping or has_curved_damping(c, "actuator", a))
    ]
    text = "armature and damping of actuators that drive no single joint are ignored"
    return _names(c, "actuator", ids), text


def _pairs(c: Compiled) -> Found:
    return _names(c, "pair", range(c.model.npair)), "contact pairs are ignored"


def _mocap(c: Compiled) -> Found:
    names = [n for b, n in enumerate(c.body_names) if int(c.model.body_mocapid[b]) >= 0]
    return names, "mocap bodies stand still where the file puts them"


# Finders of ignored contents, and the elements of the spec whose place is given.
FINDERS: tuple[tuple[Callable[[Compiled], Found], str], ...] = (
    (_equality, "equalities"),
    (_tendons, "tendons"),
    (_sprung_tendons, "tendons"),
    (_driven_tendons, "tendons"),
    (_gravcomp, "bodies"),
    (_springs, "joints"),
    (_curved_springs, "joints"),
    (_curved_damping, "joints"),
    (_fluid, ""),
    (_free_dry_friction, "joints"),
    (_idle_motors, "actuators"),
    (_actuators, "actuators"),
    (_unstable_servos, "actuators"),
    (_pushing_ranges, "joints"),
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
