"""`kinetree info`: joints with their limits and drives, links with their masses, warnings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import degrees as in_degrees
from math import isfinite
from typing import Any

import numpy as np

from kinetree.cli import options as opt
from kinetree.cli import robots, writer
from kinetree.cli.app import command
from kinetree.core.text import counted, number
from kinetree.dynamics.constraints.mobility import mobility
from kinetree.files.description.drive import drive_parts
from kinetree.files.description.friction import law_numbers, smooth_laws
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
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
ACTIVATION = ("dynamics", "time_constant", "delay")  # of an actuator
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
    besides rigid bodies), notes, warnings; missing limits are null.
    """
    found = robots.find_robot(robot, reading)
    writer.give(json, lambda: document(found, degrees), lambda: parts(found, degrees))


# JSON


def document(robot: Robot, degrees: bool) -> dict[str, Any]:
    """Everything in the tables and more, as JSON."""
    model = robot.model
    total, moving = masses(model)
    base, *links = bodies(model)
    return {
        "robot": model.name,
        "source": None if robot.report is None else str(robot.report.source),
        "base": model.base_name,
        **{x: getattr(model, x) for x in ("tool", "n", "nq")},
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
    }


def joint_document(model: Model, i: int, degrees: bool) -> dict[str, Any]:
    """A joint: its limits, friction and drive; speeds of a drive's curve are in SI units."""
    joint, p = model.joints[i], model.parent[i]
    (unit, *_), scale = joint_units(joint, degrees)
    friction, laws = joint.friction, dict[str, Any]()
    if friction.stribeck is not None:
        laws["stribeck"] = asdict(friction.stribeck)
    laws |= {name: law_numbers(law) for name, law in smooth_laws(friction).items()}
    laws |= {} if is_zero(joint.loss) else {"load": list(joint.loss)}
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": model.base_name if p == WORLD else model.link_names[p],
        "link": model.link_names[i],
        "axis": joint.screw,
        "follows": joint.follows,
        "unit": unit,
        **{x: getattr(joint.limits, x) * scale for x in ("lower", "upper", "velocity")},
        "effort": joint.limits.effort,
        "viscous": list(friction.viscous),
        "coulomb": list(friction.coulomb),
        **laws,
        "armature": joint.armature,
        "drive": None if joint.drive is None else asdict(joint.drive),
    }


def joint_units(joint: Joint, degrees: bool) -> tuple[Sequence[str], float]:
    """Units of position, speed, effort, viscous friction and armature, and the angle's factor.

    A joint of several degrees of freedom has none.
    """
    if joint.type not in SCREW_TYPES or joint.type == PRISMATIC:
        return SLIDES if joint.type == PRISMATIC else ("",) * len(TURNS), 1.0
    return (("deg", "deg/s", *TURNS[2:]), in_degrees(1)) if degrees else (TURNS, 1.0)


def bodies(model: Model) -> list[dict[str, Any]]:
    """The base, then the links."""
    links = zip(model.link_names, model.m, model.com, model.I_com, strict=True)
    return [
        {"name": name, "mass": float(m), "com": com, "inertia": I_com}
        | {"principal": np.linalg.eigvalsh(np.asarray(I_com, float))}
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
    numbers = {x: float(getattr(spring, x)) for x in ("stiffness", "rest", "damping", "play")}
    numbers["rest"] *= in_degrees(1) if turned else 1
    units = {"stiffness": stiffness, "rest": "deg" if turned else rest}
    return {"name": spring.name} | arms(model, spring) | numbers | {"units": units}


def actuator_document(model: Model, x: JointActuator, degrees: bool) -> dict[str, Any]:
    """An actuator: its kind, gears, law and ranges; those of angles in degrees if that is set."""
    fields = ("gain", "bias", "dynamics", "time_constant", "delay", "early", "force_range")
    scale = in_degrees(1) if degrees and goal_kind(model, x) == RAD else 1.0
    units = zip(("control", "activation"), control_units(model, x, degrees), strict=True)
    ranges = {f"{y}_range": getattr(x, f"{y}_range") for y in ("control", "activation")}
    return {
        "name": x.name,
        "kind": actuator_kind(x),
        **arms(model, x),
        **{field: getattr(x, field) for field in fields},
        **{name: [end * scale for end in ends] for name, ends in ranges.items()},
        "units": dict(units),
    }


# The screen


def parts(robot: Robot, degrees: bool) -> Iterator[writer.Part]:
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
    for title, notes in (("warning", model.warnings), ("note", model.notes)):
        if notes:
            yield ""
            yield counted(len(notes), title), "title" if title == "note" else "warning"
        for note in notes[:MAX_REMARKS]:
            yield f"- {note.text}" + (f" [{note.where}]" if note.where else "")
        if len(notes) > MAX_REMARKS:
            yield f"- and {len(notes) - MAX_REMARKS} more (--json has all)"


def tables(model: Model, degrees: bool) -> Iterator[Table]:
    """Joints, links, constraints, springs, actuators and drives, as far as there are any."""
    yield joint_table(model, degrees)
    base, *moving = bodies(model)
    links = [base, *moving] if base["mass"] else moving
    columns = [
        Column("link", [x["name"] for x in links]),
        Column("mass", [x["mass"] for x in links], "kg", 5),
        Column("centre of mass", side_by_side(links, "com"), "m"),
        Column("principal moments", side_by_side(links, "principal"), "kg m^2"),
    ]
    yield Table.of("links, with their centres of mass in their own frames", columns)
    if rows := constraint_rows(model):
        head = ("constraint", "kind", "ties", "equations", "redundant")
        cells = [(x.name, x.kind, x.text, x.equations, x.redundant or "-") for x in rows]
        yield Table("constraints", head, cells, text=3)
    springs = [spring_document(model, x, degrees) for x in model.springs]
    yield from record_table("springs", springs, ("stiffness", "rest", "damping", "play"))
    actuators = [actuator_document(model, x, degrees) for x in model.actuators]
    ranges = ("control_range", "force_range", "activation_range")
    yield from record_table("actuators", actuators, ("kind", *ranges, *ACTIVATION))
    driven = {x.name: drive_parts(x.drive) for x in model.joints if x.drive is not None}
    if driven:
        rows = [(name, ", ".join(map(" ".join, x.items()))) for name, x in driven.items()]
        yield Table("drives", ("drive of", "numbers, SI units"), rows, text=2)


def record_table(
    title: str, rows: Sequence[Mapping[str, Any]], keys: Sequence[str]
) -> Iterator[Table]:
    """A row for each spring or actuator: what it acts on, and its numbers with their units."""
    if not rows:
        return
    columns = [Column("name", [x["name"] for x in rows])]
    columns.append(Column("acts on", map(acts_on, rows), left=True))
    for key in keys:
        head = key.removesuffix("_range")
        texts = [range_or_number(x[key]) for x in rows]
        if {*texts} != {"-"}:
            columns.append(Column(head, texts, [x["units"].get(head, "") for x in rows]))
    yield Table.of(title, columns)


def range_or_number(x: Any) -> str:
    """A range, a number or a word; "-" for none."""
    text = " .. ".join(number(y, 4) for y in x) if isinstance(x, list | tuple) else number(x)
    return "-" if text in ("-inf .. inf", "none", "0") else text


def side_by_side(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """One text per row: its three numbers, in columns that are aligned over all rows."""
    texts = [[number(x, 3) for x in np.asarray(row[key], float)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in texts]


def joint_table(model: Model, degrees: bool) -> Table:
    """A row for every joint; friction and armature as far as the robot has them."""
    joints, rows = model.joints, [joint_document(model, i, degrees) for i in model.links]
    units, scales = zip(*(joint_units(x, degrees) for x in joints), strict=True)
    laws = [law_texts(x.friction, lambda y: number(y, 4)) for x in joints]
    ranges = map(range_text, joints, scales)
    numbers = {  # heading: cells, and the place of their unit
        "range": ([*ranges], 0),
        "speed": ([finite(x["velocity"]) for x in rows], 1),
        "effort": ([finite(x["effort"]) for x in rows], 2),
        "viscous": ([both(x["viscous"]) for x in rows], 3),
        "Coulomb": ([both(x["coulomb"]) for x in rows], 2),
        "armature": ([both([x["armature"]]) for x in rows], 4),
    }
    columns = [Column("joint", [x["name"] for x in rows])]
    for head, key in (("type", "type"), ("on", "parent"), ("moves", "link")):
        if head != "on" or writer.width() >= WIDE:
            columns.append(Column(head, [x[key] for x in rows], left=True))
    for head, (cells, k) in numbers.items():
        if head in ("range", "speed", "effort") or {*cells} != {"-"}:
            columns.append(Column(head, cells, [unit[k] for unit in units]))
    for law in dict.fromkeys(law for texts in laws for law in texts):
        columns.append(Column(f"{law} friction", [texts.get(law, "-") for texts in laws]))
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


def both(pair: Sequence[Scalar]) -> str:
    """Friction forward and backward: one number if they are equal, "-" for none."""
    return "/".join(dict.fromkeys(number(x, 3) if float(x) else "-" for x in pair))


def acts_on(x: Mapping[str, Any]) -> str:
    """The sum of joint positions that a spring or actuator acts on, or its links."""
    terms = (name if k == 1 else f"{k:.4g} {name}" for name, k in x["joints"].items())
    return " + ".join(terms) or " - ".join(x.get("links", []))
