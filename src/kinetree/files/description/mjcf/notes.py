"""Notes and warnings on an MJCF file: contents that the dynamics of a tree cannot honour.

One warning for each kind of content, with the names of its elements.
"""

from collections.abc import Iterable, Iterator

from kinetree.core.text import listing
from kinetree.files.description.mjcf.compile import Compiled
from kinetree.files.description.mjcf.equality import Equality
from kinetree.files.description.mjcf.forces import BALL, FREE, Forces
from kinetree.files.description.records import Note

MAX_NAMES = 6  # in one message
FLAGS = ("gravity", "damper", "frictionloss", "constraint", "spring")  # that turn off a force
# Contents that are ignored: their elements in MuJoCo's spec, their names, the treatment.
Ignored = tuple[str, list[str], str]


def warnings_of(compiled: Compiled, forces: Forces, equality: Equality) -> tuple[Note, ...]:
    """Warnings about everything that is ignored although it changes the motion in MuJoCo."""
    ignored = [
        *_ignored_tendons(forces),
        *_ignored_joints(compiled, forces),
        *_ignored_actuators(compiled, forces),
        *_ignored_bodies(compiled),
        ("equalities", equality.ignored, "equality constraints of tendons and flexes are ignored"),
    ]
    notes = [
        Note(
            f"{text}: {listing(names, MAX_NAMES)}",
            _first_place(compiled, elements, names),
            code="contacts" if elements == "pairs" else "",
        )
        for elements, names, text in ignored
        if names
    ]
    for b, why in sorted(compiled.unknown.items()):
        name = compiled.body_names[b]
        text = f"static body {name!r} takes its mass from a mesh and is massless here; the mesh"
        notes.append(Note(f"{text} {why}"))
    notes += [Note(f"MuJoCo warns: {m}") for m in compiled.messages if "deprecated" not in m]
    nodes = compiled.document.nodes
    if plugins := [x for x in nodes if x.tag == "plugin"]:
        names = (x.attributes.get("plugin", x.attributes.get("instance", "?")) for x in plugins)
        text = f"plugins are ignored: {listing(dict.fromkeys(names), MAX_NAMES)}"
        notes.append(Note(text, plugins[0].where))
    if not any(x.tag == "worldbody" for x in nodes):
        text = "the file has no <worldbody>, so it has no bodies; it may be a part of a model"
        notes.append(Note(text, nodes[0].where))
    return tuple(notes)


def notes_of(compiled: Compiled, forces: Forces, equality: Equality) -> tuple[Note, ...]:
    """Notes on everything that is read differently from what a user may expect."""
    m, nodes = compiled.model, compiled.document.nodes
    notes = [
        Note(f"MuJoCo notes: {m}", code="mujoco") for m in compiled.messages if "deprecated" in m
    ]
    off = [flag for flag in FLAGS if compiled.disabled(flag.upper())]
    off += ["actuation"] if forces.motions and forces.is_passive else []
    notes += [Note(f'<flag {flag}="disable"/> is honoured') for flag in off]
    keys = enumerate(x for x in nodes if x.tag == "key")
    kinds = list(zip(compiled.joint_names, map(int, m.jnt_type), m.jnt_limited, strict=True))
    listed: dict[str, Iterable[str]] = {
        "keyframes are not read; pass q yourself": [
            x.attributes.get("name", f"key {k}") for k, x in keys
        ],
        "equality constraints are exact here, those of MuJoCo are soft (solref, solimp)": (
            equality.record.constraints if equality.record else ()
        ),
        "equality constraints that are not active are left out": equality.inactive,
        "equality constraints of bodies that cannot move apart have no effect": equality.idle,
        "armature, friction and damping of tendons become motors of coupled joints": forces.motors,
        "q of a free joint is the pose in the world, its zero the origin": [
            name for name, kind, _ in kinds if kind == FREE
        ],
        "the cone that limits a ball joint is not kept": [
            name for name, kind, is_limited in kinds if kind == BALL and is_limited
        ],
    }
    notes += [Note(f"{text}: {listing(x, MAX_NAMES)}") for text, x in listed.items() if x]
    if m.ngeom and any(m.geom_contype) and any(m.geom_conaffinity):
        notes.append(Note("contacts between geoms are not part of the dynamics", code="contacts"))
    return tuple(notes)


def _ignored_bodies(compiled: Compiled) -> Iterator[Ignored]:
    m, bodies = compiled.model, compiled.body_names
    heavy = [name for name, g in zip(bodies, m.body_gravcomp, strict=True) if g]
    yield "bodies", heavy, "gravity compensation (gravcomp) is ignored, the bodies weigh in full"
    medium = [key for key in ("density", "viscosity") if getattr(m.opt, key)]
    yield "", medium, "the medium around the robot (fluid forces) is ignored"
    pairs = [m.pair(k).name or f"pair {k}" for k in range(m.npair)]
    yield "pairs", pairs, "contact pairs are ignored"
    still = [name for b, name in enumerate(bodies) if int(m.body_mocapid[b]) >= 0]
    yield "bodies", still, "mocap bodies stand still where the file puts them"


def _ignored_tendons(forces: Forces) -> Iterator[Ignored]:
    driven = {x.tendon for x in forces.read if x.tendon is not None}
    tendons = list(enumerate(forces.tendons))
    read = {t for t, x in tendons if x.spring or x.motor}
    unread = [x for t, x in tendons if t not in read | driven]
    lost = [x for x in unread if x.bodies != 1]
    armature = [x.name for t, x in tendons if x in lost and forces.m.tendon_armature[t]]
    extra = f" (with the tendon armature of {listing(armature, MAX_NAMES)})" if armature else ""
    yield "tendons", [x.name for x in lost], f"tendons are ignored{extra}"
    constant = [x.name for x in unread if x.bodies == 1]
    yield "tendons", constant, "tendons with all sites on one body move no joint and are ignored"
    kept = "linear springs and motors are kept, without limits"
    names = [x.name for t, x in tendons if t in read - driven and x.other_effects]
    yield "tendons", names, f"of these tendons {kept}"
    names = [x.name for t, x in tendons if t in driven and x.other_effects]
    yield "tendons", names, f"of these tendons actuators, {kept}"


def _ignored_joints(compiled: Compiled, forces: Forces) -> Iterator[Ignored]:
    m, names = compiled.model, compiled.joint_names
    numbers, dofs = range(len(names)), [int(i) for i in m.jnt_dofadr]

    def named(joints: Iterable[int]) -> list[str]:
        return [names[j] for j in joints]

    bent = {j for j in numbers if forces.is_curved(j)}
    sprung = bent | {j for j in numbers if m.jnt_stiffness[j] and not forces.no_springs}
    text = "springs (stiffness) of ball and free joints are ignored, tau is without their force"
    yield "joints", named(j for j in sorted(sprung) if not forces.is_simple(j)), text
    tendons = [
        x.name for t, x in enumerate(forces.tendons) if x.spring and forces.is_curved(t, "tendon")
    ]
    text = "of these springs only the part linear in the position is kept, and none yields"
    yield "joints", named(j for j in sorted(bent) if forces.is_simple(j)) + tendons, text
    curved = {x.joint for a, x in enumerate(forces.motions) if x.ratio and _is_bent(forces, a)}
    curved |= {j for j in numbers if forces.is_curved(dofs[j], "dof", "damping")}
    text = "of joint damping only the part linear in the speed is kept"
    yield "joints", named(j for j in numbers if j in curved), text
    free = [j for j in numbers if int(m.jnt_type[j]) == FREE]
    text = "armature of free joints is ignored; they have no motor"
    yield "joints", named(j for j in free if m.dof_armature[dofs[j]]), text
    dry = [j for j in free if m.dof_frictionloss[dofs[j]] and not forces.no_friction]
    text = "dry friction of free joints acts along the axes of the body, not of the world"
    yield "joints", named(dry), text
    pushed = [j for j in numbers if m.jnt_actfrclimited[j] and m.jnt_actfrcrange[j].prod() > 0]
    text = "actuatorfrcrange excludes 0, which would push these joints; it is ignored there"
    yield "joints", named(j for j in pushed if j not in forces.joint_ranges), text


def _is_bent(forces: Forces, a: int) -> bool:
    return forces.is_curved(a, "actuator", "damping")


def _ignored_actuators(compiled: Compiled, forces: Forces) -> Iterator[Ignored]:
    names = [compiled.joint_names[j] for j, f in sorted(forces.efforts.items()) if f == 0]
    text = "motors of these joints give no force (gear or range 0), effort limits are 0"
    yield "actuators", names, text
    unread = [] if forces.is_passive else [x for x in forces.motions if x.reason]
    text = "these actuators are not understood and left out"
    yield "actuators", [f"{x.name} ({x.reason})" for x in unread], text
    names = [name for name, x in forces.actuators.items() if max(x.bias[1:]) > 0]
    text = "these actuators push away from their goal (kp or kv negative), which is unstable"
    yield "actuators", names, text
    names = [
        x.name
        for a, x in enumerate(forces.motions)
        if x.joint is None and (x.armature or x.damping or _is_bent(forces, a))
    ]
    text = "armature and damping of actuators that drive no single joint are ignored"
    yield "actuators", names, text


def _first_place(compiled: Compiled, elements: str, names: list[str]) -> str:
    """file:line of the first element of that kind, of the first named one where names are given."""
    candidates = list(getattr(compiled.spec, elements, ())) if elements else []
    same = [x for x in candidates if getattr(x, "name", "") and x.name == names[0]]
    nodes = map(compiled.node_of, same or candidates)
    return next((x.where for x in nodes if x and x.tag not in ("worldbody", "mujoco")), "")
