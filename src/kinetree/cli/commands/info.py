"""`kinetree info`: joints with their limits and drives, links with their masses, warnings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import degrees as in_degrees
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.cli import options as opt
from kinetree.cli.app import command
from kinetree.cli.output import Part, give, width
from kinetree.cli.robots import find_robot
from kinetree.core.text import counted, number
from kinetree.dynamics.constraints.mobility import mobility
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import drive_parts
from kinetree.files.description.friction import law_numbers, smooth_laws
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.records import Note
from kinetree.files.report import (
    constraint_rows,
    contact_words,
    freedom,
    mass_words,
    masses,
    tau_effects,
)
from kinetree.model import WORLD, Joint, JointSpring, Model
from kinetree.model.elements import JointActuator, actuator_kind, spring_units
from kinetree.model.friction import is_zero, law_texts
from kinetree.model.model import tool_words
from kinetree.model.units import RAD, control_units, goal_kind
from kinetree.present.tables import Column, Table
from kinetree.robot import Robot
from kinetree.scalars import Scalar

WIDE = 110  # columns of a screen on which the parent links are shown too
MAX_REMARKS = 8  # that are shown; the others are counted
TURNS, SLIDES = ("rad", "rad/s", "N m", "N m s/rad", "kg m^2"), ("m", "m/s", "N", "N s/m", "kg")


@command("Look at a robot", also="describe print summary inspect")
def run(
    robot: opt.RobotName,
    /,
    *,
    json: opt.Json = False,
    degrees: opt.Degrees = False,
    reading: opt.Reading = opt.READING,
) -> None:
    """Show links, joints, limits and drives of a robot, and the warnings about its file.

    For example:

    ```
    kinetree info panda
    kinetree info ur5e --degrees
    kinetree info scara --json
    kinetree info hand --no-mimic
    kinetree info four_bar
    ```

    JSON has robot, source, base, tool, n, nq, mass, gravity, joints, links, frames, springs (with
    the coefficient of each joint), actuators (with gears and laws), contacts (points, ground and
    friction; null without), constraints, mobility (degrees
    of freedom, redundant equations, motors; null without constraints), effects (what changes tau
    besides rigid bodies), notes, warnings, missing_meshes; missing limits are null.
    """
    found = find_robot(robot, reading)
    missing = missing_meshes(found, reading.mesh_folder)
    give(json, lambda: document(found, degrees, missing), lambda: parts(found, degrees, missing))


def missing_meshes(robot: Robot, folder: Path | None) -> tuple[str, ...]:
    """Mesh files that the robot's file names and that are not there; for drawing alone."""
    from kinetree.views.visuals import missing_meshes, visual_source

    source = visual_source(robot, folder=folder)
    return () if source is None else missing_meshes(source)


# JSON


def document(robot: Robot, degrees: bool, missing: Sequence[str] = ()) -> dict[str, Any]:
    """Everything in the tables and more, as JSON."""
    model = robot.model
    total, moving = masses(model)
    base, *links = bodies(model)
    return {
        "robot": model.name,
        "source": None if robot.report is None else str(robot.report.source),
        "base": model.base_name,
        "tool": model.tool,
        "n": model.n,
        "nq": model.nq,
        "mass": total,
        "moving_mass": moving,
        "gravity": model.gravity[3:],
        "joints": [joint_document(model, i, degrees) for i in model.links],
        "base_link": base,
        "links": links,
        "frames": list(model.frames),
        "springs": [spring_document(model, x, degrees) for x in model.springs],
        "actuators": [actuator_document(model, x, degrees) for x in model.actuators],
        "contacts": None if model.contacts is None else asdict(model.contacts),
        "constraints": [asdict(x) for x in constraint_rows(model)],
        "mobility": None if model.constraints is None else asdict(mobility(robot)),
        "effects": list(tau_effects(model)),
        "notes": [{"text": note.text, "where": note.where} for note in model.notes],
        "warnings": [{"text": note.text, "where": note.where} for note in model.warnings],
        "missing_meshes": missing,
    }


def joint_document(model: Model, i: int, degrees: bool) -> dict[str, Any]:
    """A joint: its limits, friction and drive."""
    joint = model.joints[i]
    (unit, *_), scale = joint_units(joint, degrees)
    limits, drive, friction = joint.limits, joint.drive, joint.friction
    bend, laws = friction.stribeck, dict[str, Any]()
    if bend is not None:
        laws["stribeck"] = {x: getattr(bend, x) for x in ("static", "speed", "exponent")}
    laws |= {name: law_numbers(law) for name, law in smooth_laws(friction).items()}
    laws |= {} if is_zero(joint.loss) else {"load": list(joint.loss)}
    curve = None if drive is None or drive.curve is None else drive.curve
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": parent_name(model, i),
        "link": model.link_names[i],
        "axis": joint.screw,
        "follows": joint.follows,
        "unit": unit,
        "lower": limits.lower * scale,
        "upper": limits.upper * scale,
        "velocity": limits.velocity * scale,
        "effort": limits.effort,
        "viscous": list(friction.viscous),
        "coulomb": list(friction.coulomb),
        **laws,
        "armature": joint.armature,
        "drive": None
        if drive is None
        else {"curve": curve and [[speed * scale, force] for speed, force in curve]}
        | {name: getattr(drive, name) for name in ("peak", "efficiency", "lag", "delay")},
    }


def parent_name(model: Model, i: int) -> str:
    """The link that joint i hangs on."""
    p = model.parent[i]
    return model.base_name if p == WORLD else model.link_names[p]


def joint_units(joint: Joint, degrees: bool) -> tuple[Sequence[str], float]:
    """Units of position, speed, effort, viscous friction and armature, and the angle's factor.

    A joint of several degrees of freedom has none.
    """
    if joint.type not in SCREW_TYPES:
        return ("",) * len(TURNS), 1.0
    if joint.type == PRISMATIC:
        return SLIDES, 1.0
    if not degrees:
        return TURNS, 1.0
    return ("deg", "deg/s", *TURNS[2:]), in_degrees(1)


def bodies(model: Model) -> list[dict[str, Any]]:
    """The base, then the links."""
    links = zip(model.link_names, model.m, model.com, model.I_com, strict=True)
    return [
        {
            "name": name,
            "mass": float(m),
            "com": com,
            "inertia": I_com,
            "principal": np.linalg.eigvalsh(np.asarray(I_com, float)),
        }
        for name, m, com, I_com in [(model.base_name, *model.base), *links]
    ]


def arms(model: Model, x: JointSpring | JointActuator) -> dict[str, Any]:
    """The coefficients of the joints of a spring or actuator, and the links of its points."""
    ends = zip(x.coords, x.arms, strict=True)
    joints = {"joints": {model.coordinate_names[k]: float(arm) for k, arm in ends}}
    return joints | ({"links": [model.names[p.link] for p in x.points]} if x.points else {})


def spring_document(model: Model, spring: JointSpring, degrees: bool) -> dict[str, Any]:
    """A spring, its rest position in degrees if its joints turn and `degrees` is set."""
    stiffness, _, rest = spring_units(spring, model.joints)
    turned = degrees and rest == "rad"
    more = {x: float(getattr(spring, x)) for x in ("damping", "play") if getattr(spring, x)}
    return {
        "name": spring.name,
        **arms(model, spring),
        **more,
        "stiffness": float(spring.stiffness),
        "rest": in_degrees(float(spring.rest)) if turned else float(spring.rest),
        "units": {"stiffness": stiffness, "rest": "deg" if turned else rest},
    }


def actuator_document(model: Model, x: JointActuator, degrees: bool) -> dict[str, Any]:
    """An actuator: its kind, gears, law and ranges; those of angles in degrees if that is set."""
    fields = ("gain", "bias", "dynamics", "time_constant", "delay", "early", "force_range")
    scale = in_degrees(1) if degrees and goal_kind(model, x) == RAD else 1.0
    control, activation = control_units(model, x, degrees)
    return {
        "name": x.name,
        "kind": actuator_kind(x),
        **arms(model, x),
        **{field: getattr(x, field) for field in fields},
        "control_range": [end * scale for end in x.control_range],
        "activation_range": [end * scale for end in x.activation_range],
        "units": {"control": control, "activation": activation},
    }


# The screen


def parts(robot: Robot, degrees: bool, missing: Sequence[str]) -> Iterator[Part]:
    """The robot in a few lines, its tables, and warnings and notes below them."""
    model = robot.model
    source = "" if robot.report is None else f" from {robot.report.source.name}"
    yield f"{model.name}{source}", "title"
    gravity = ", ".join(number(x, 6) for x in model.gravity[3:].tolist())
    yield (
        f"{freedom(model)}, {counted(len(model.joints), 'moving link')}, {mass_words(model)}; "
        f"base {model.base_name!r}, {tool_words(model)}, gravity ({gravity}) m/s^2"
    )
    if effects := "; ".join(tau_effects(model)):
        yield f"tau includes {effects}"
    if model.contacts is not None:
        yield f"contacts: {contact_words(model.contacts)}"
    if model.constraints is not None:
        yield from str(mobility(robot)).splitlines()[1:]
    for table in tables(model, degrees) if model.joints else ():
        yield ""
        yield table
    listed = {"warning": remarks(model.warnings), "note": remarks(model.notes)}
    listed["missing mesh file"] = [f"- {path}" for path in missing]
    for title, lines in listed.items():
        if lines:
            yield ""
            yield counted(len(lines), title), "title" if title == "note" else "warning"
        yield from lines[:MAX_REMARKS]
        if len(lines) > MAX_REMARKS:
            yield f"- and {len(lines) - MAX_REMARKS} more (--json has all)"
    if missing:
        yield "Only view and report need them; --folder names where they are."


def remarks(notes: Sequence[Note]) -> list[str]:
    """Notes with their places."""
    return [f"- {note.text}" + (f" [{note.where}]" if note.where else "") for note in notes]


def tables(model: Model, degrees: bool) -> Iterator[Table]:
    """Joints, links, constraints, springs, actuators and drives, as far as there are any."""
    yield joint_table(model, degrees)
    base, *moving = bodies(model)
    links = [base, *moving] if base["mass"] else moving
    yield Table.of(
        "links, with their centres of mass in their own frames",
        [
            Column("link", [x["name"] for x in links]),
            Column("mass", [x["mass"] for x in links], "kg", 5),
            Column("centre of mass", side_by_side(links, "com"), "m"),
            Column("principal moments", side_by_side(links, "principal"), "kg m^2"),
        ],
    )
    if rows := constraint_rows(model):
        head = ("constraint", "kind", "ties", "equations", "redundant")
        cells = [(x.name, x.kind, x.text, x.equations, x.redundant or "-") for x in rows]
        yield Table("constraints", head, cells, text=3)
    springs = [spring_document(model, x, degrees) for x in model.springs]
    if springs:
        columns = [Column("spring", [x["name"] for x in springs])]
        columns.append(Column("pulls on", map(acts_on, springs), left=True))
        for key in ("stiffness", "rest"):
            columns.append(
                Column(key, [x[key] for x in springs], [x["units"][key] for x in springs])
            )
        yield Table.of("springs", columns)
    actuators = [actuator_document(model, x, degrees) for x in model.actuators]
    if actuators:
        yield actuator_table(actuators)
    if any(joint.drive for joint in model.joints):
        yield drive_table(model, degrees)


def side_by_side(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """One text per row: its three numbers, in columns that are aligned over all rows."""
    texts = [[number(x, 3) for x in np.asarray(row[key], float)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in texts]


def joint_table(model: Model, degrees: bool) -> Table:
    """A row for every joint; friction and armature as far as the robot has them."""
    joints = model.joints
    units, scales = zip(*(joint_units(x, degrees) for x in joints), strict=True)
    laws = [law_texts(x.friction, lambda y: number(y, 4)) for x in joints]
    numbers = {
        "range": [range_text(x, k) for x, k in zip(joints, scales, strict=True)],
        "speed": [finite(x.limits.velocity * k) for x, k in zip(joints, scales, strict=True)],
        "effort": [finite(x.limits.effort) for x in joints],
        "viscous": [both(x.friction.viscous) for x in joints],
        "Coulomb": [both(x.friction.coulomb) for x in joints],
        "armature": [both((x.armature, x.armature)) for x in joints],
    }
    kinds = {"range": 0, "speed": 1, "effort": 2, "viscous": 3, "Coulomb": 2, "armature": 4}
    columns = [
        Column("joint", [x.name for x in joints]),
        Column("type", [x.type for x in joints], left=True),
    ]
    if width() >= WIDE:
        columns.append(Column("on", [parent_name(model, i) for i in model.links], left=True))
    columns.append(Column("moves", model.link_names, left=True))
    columns += [
        Column(head, cells, [unit[kinds[head]] for unit in units])
        for head, cells in numbers.items()
        if (kinds[head] <= 2 and head != "Coulomb") or {*cells} != {"-"}
    ]
    columns += [
        Column(f"{law} friction", [texts.get(law, "-") for texts in laws])
        for law in dict.fromkeys(law for texts in laws for law in texts)
    ]
    return Table.of("joints", columns)


def range_text(joint: Joint, scale: float) -> str:
    """The range of a joint, or what it follows."""
    if joint.follows is not None:
        offset = f" {joint.offset * scale:+.4g}" if joint.offset else ""
        return f"= {joint.scale:.4g} {joint.follows}{offset}"
    ends = joint.limits.lower * scale, joint.limits.upper * scale
    return " .. ".join(map(finite, ends)) if any(map(isfinite, ends)) else "-"


def finite(x: float) -> str:
    """A limit; "-" without one."""
    return number(x, 4) if isfinite(x) else "-"


def both(pair: tuple[Scalar, Scalar]) -> str:
    """Friction forward and backward: one number if they are equal, "-" for none."""
    texts = [number(x, 3) if float(x) else "-" for x in pair]
    return texts[0] if texts[0] == texts[1] else "/".join(texts)


def acts_on(x: Mapping[str, Any]) -> str:
    """The sum of joint positions that a spring or actuator acts on, or its links."""
    terms = (name if k == 1 else f"{k:.4g} {name}" for name, k in x["joints"].items())
    return " + ".join(terms) or " - ".join(x.get("links", []))


def actuator_table(actuators: Sequence[Mapping[str, Any]]) -> Table:
    """A row for every actuator: its kind, the joints with their gears, its ranges and delays."""
    columns = [
        Column("actuator", [x["name"] for x in actuators]),
        Column("kind", [x["kind"] for x in actuators], left=True),
        Column("drives", map(acts_on, actuators), left=True),
    ]
    for key in ("control", "force", "activation"):
        texts = [actuator_range(x[f"{key}_range"]) for x in actuators]
        if key != "activation" or {*texts} != {"-"}:
            columns.append(Column(key, texts, [x["units"].get(key, "") for x in actuators]))
    for key, unit in (("dynamics", ""), ("time_constant", "s"), ("delay", "s")):
        texts = [x[key] if x[key] not in (0, "none") else "-" for x in actuators]
        if {*texts} != {"-"}:
            columns.append(Column(key.replace("_", " "), texts, unit))
    return Table.of("actuators", columns)


def actuator_range(limits: Range) -> str:
    """A range; "-" if there is none."""
    return "-" if tuple(limits) == UNLIMITED else " .. ".join(number(end, 4) for end in limits)


def drive_table(model: Model, degrees: bool) -> Table:
    """A row for every drive: its torque-speed curve and other numbers, as far as there are any."""
    driven = [x for x in model.joints if x.drive is not None]
    units = [joint_units(x, degrees)[0] for x in driven]
    drives = [drive_parts(x.drive, joint_units(x, degrees)[1]) for x in driven if x.drive]
    curves = [
        f"{x['curve']} {unit[1]}" if "curve" in x else "-"
        for x, unit in zip(drives, units, strict=True)
    ]
    forces = [unit[2] for unit in units]
    columns = [Column("drive of", [x.name for x in driven])]
    columns.append(Column("most force at speed", curves, forces, left=True))
    for key in ("peak", "efficiency", "lag", "delay"):
        texts = [x.get(key, "-") for x in drives]
        if {*texts} != {"-"}:
            columns.append(Column(key, texts, forces if key == "peak" else ""))
    return Table.of("drives", columns)
