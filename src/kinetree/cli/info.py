"""`kinetree info`: joints with their limits and drives, links with their masses, warnings."""

import dataclasses
from collections.abc import Sequence
from math import degrees as in_degrees
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from kinetree.cli.arguments import AS_IT_IS, Degrees, Json, Reading, RobotName
from kinetree.cli.choices import find_robot, mesh_folder
from kinetree.cli.messages import wrapped
from kinetree.cli.output import print_json
from kinetree.cli.tables import (
    NO_UNIT,
    aligned,
    column_table,
    console,
    screen_table,
    unit_column,
)
from kinetree.core.text import counted, number
from kinetree.dynamics.constraints.mobility import mobility
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import Drive, drive_parts
from kinetree.files.description.friction import law_numbers, smooth_laws
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.records import Note
from kinetree.model import WORLD, Joint, JointSpring, Model
from kinetree.model.elements import JointActuator, actuator_kind, spring_units
from kinetree.model.friction import is_zero, law_texts
from kinetree.model.model import tool_words
from kinetree.model.units import RAD, control_units, goal_kind
from kinetree.robot import Robot
from kinetree.scalars import Scalar

WIDE = 110  # columns of a screen on which the parent links are shown too
MAX_REMARKS = 8  # that are shown; the others are counted


def info(
    robot: RobotName,
    /,
    *,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
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
    loaded = find_robot(robot, reading)
    if json:
        print_json(document(loaded, degrees, mesh_folder(reading)))
    else:
        print_robot(loaded, degrees, mesh_folder(reading))


def document(robot: Robot, degrees: bool, folder: Path | None) -> dict[str, Any]:
    """Everything in the tables and more, as JSON."""
    from kinetree.files.report import constraint_rows, masses, tau_effects

    model = robot.model
    total, moving = masses(model)
    base, *links = _bodies(model)
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
        "joints": [_joint(model, i, degrees) for i in model.links],
        "base_link": base,
        "links": links,
        "frames": list(model.frames),
        "springs": [_spring(model, x, degrees) for x in model.springs],
        "actuators": [_actuator(model, x, degrees) for x in model.actuators],
        "contacts": None if model.contacts is None else dataclasses.asdict(model.contacts),
        "constraints": [dataclasses.asdict(x) for x in constraint_rows(model)],
        "mobility": None if model.constraints is None else dataclasses.asdict(mobility(robot)),
        "effects": list(tau_effects(model)),
        "notes": _remarks(model.notes),
        "warnings": _remarks(model.warnings),
        "missing_meshes": missing_of(robot, folder),
    }


def _joint(model: Model, i: int, degrees: bool) -> dict[str, Any]:
    joint = model.joints[i]
    scale, unit = _angle(joint, degrees)
    limits = joint.limits
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": _parent(model, i),
        "link": model.link_names[i],
        "axis": joint.screw,
        "follows": joint.follows,
        "unit": unit,
        "lower": limits.lower * scale,
        "upper": limits.upper * scale,
        "velocity": limits.velocity * scale,
        "effort": limits.effort,
        "viscous": list(joint.friction.viscous),
        "coulomb": list(joint.friction.coulomb),
        **_laws(joint),
        "armature": joint.armature,
        "drive": None if joint.drive is None else _drive(joint.drive, scale),
    }


def _drive(drive: Drive, angle: float) -> dict[str, Any]:
    """A drive, the speeds of its curve times `angle`."""
    curve = drive.curve
    fields = {name: getattr(drive, name) for name in ("peak", "efficiency", "lag", "delay")}
    return {
        "curve": None if curve is None else [[speed * angle, force] for speed, force in curve]
    } | fields


def _laws(joint: Joint) -> dict[str, Any]:
    """Numbers of friction laws besides viscous and Coulomb friction, as far as there are any."""
    friction = joint.friction
    bend, laws = friction.stribeck, dict[str, Any]()
    if bend is not None:
        shape = {"speed": bend.speed, "exponent": bend.exponent}
        laws["stribeck"] = {"static": list(bend.static), **shape}
    laws |= {name: law_numbers(law) for name, law in smooth_laws(friction).items()}
    if not is_zero(joint.loss):
        laws["load"] = list(joint.loss)
    return laws


def _bodies(model: Model) -> list[dict[str, Any]]:
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


def _remarks(notes: Sequence[Note]) -> list[dict[str, Any]]:
    return [{"text": note.text, "where": note.where} for note in notes]


def _parent(model: Model, i: int) -> str:
    p = model.parent[i]
    return model.base_name if p == WORLD else model.link_names[p]


def _angle(joint: Joint, degrees: bool) -> tuple[float, str]:
    """Factor and unit of the joint's position; 1 and '' for several degrees of freedom."""
    if joint.type not in SCREW_TYPES:
        return 1.0, ""
    if joint.type == PRISMATIC:
        return 1.0, "m"
    return (in_degrees(1), "deg") if degrees else (1.0, "rad")


def print_robot(robot: Robot, degrees: bool, folder: Path | None) -> None:
    """Print the tables, and warnings and notes below them."""
    from kinetree.files.report import contact_words, freedom, mass_words, tau_effects

    model, screen = robot.model, console()
    source = "" if robot.report is None else f" from {robot.report.source.name}"
    screen.print(f"{model.name}{source}", style="bold")
    gravity = ", ".join(number(x, 6) for x in model.gravity[3:].tolist())
    screen.print(
        f"{freedom(model)}, "
        f"{counted(len(model.joints), 'moving link')}, {mass_words(model)}; "
        f"base {model.base_name!r}, {tool_words(model)}, gravity ({gravity}) m/s^2"
    )
    effects = "; ".join(tau_effects(model))
    if effects:
        screen.print(f"tau includes {effects}")
    if model.contacts is not None:
        screen.print(f"contacts: {contact_words(model.contacts)}")
    if model.constraints is not None:
        for line in str(mobility(robot)).splitlines()[1:]:
            screen.print(wrapped(line, screen.width, "  "), soft_wrap=True)
    if model.joints:
        parts = [joint_table(model, degrees, screen.width >= WIDE), link_table(model)]
        parts += [constraint_table(model)] if model.constraints is not None else []
        parts += [spring_table(model, degrees)] if model.springs else []
        parts += [actuator_table(model, degrees)] if model.actuators else []
        parts += [drive_table(model, degrees)] if any(x.drive for x in model.joints) else []
        for part in parts:
            screen.print()
            screen.print(part)
    listed = {
        "warning": _lines(model.warnings),
        "note": _lines(model.notes),
        "missing mesh file": [f"- {path}" for path in missing_of(robot, folder)],
    }
    for title, lines in listed.items():
        if lines:
            screen.print()
            style = "bold" if title == "note" else "bold yellow"
            screen.print(counted(len(lines), title), style=style)
        for line in lines[:MAX_REMARKS]:
            text = line if "mesh" in title else wrapped(line, screen.width, "  ")
            screen.print(text, soft_wrap=True)
        if len(lines) > MAX_REMARKS:
            screen.print(f"- and {len(lines) - MAX_REMARKS} more (--json has all)")
    if listed["missing mesh file"]:
        screen.print("Only view and report need them; --folder names where they are.")


def _lines(notes: Sequence[Note]) -> list[str]:
    return [f"- {note.text}" + (f" [{note.where}]" if note.where else "") for note in notes]


def missing_of(robot: Robot, folder: Path | None) -> tuple[str, ...]:
    """Mesh files that the robot's file names and that are not there; for drawing alone."""
    from kinetree.views.visuals import missing_meshes, visual_source

    source = visual_source(robot, folder=folder)
    return () if source is None else missing_meshes(source)


def joint_table(model: Model, degrees: bool, parents: bool) -> Group:
    """A row for every joint; `parents` adds a column of parent links."""
    columns = [
        ("joint", [x.name for x in model.joints]),
        ("type", [x.type for x in model.joints]),
        *([("on", [_parent(model, i) for i in model.links])] if parents else []),
        ("moves", list(model.link_names)),
    ]
    left = range(len(columns))
    columns += limit_columns(model, degrees) + drive_columns(model)
    return column_table("joints", columns, left)


def limit_columns(model: Model, degrees: bool) -> list[tuple[str, list[str]]]:
    """Headings and cells of range, speed and effort."""
    joints = [(x, _angle(x, degrees)[0]) for x in model.joints]
    turning = "deg" if degrees else "rad"
    return [
        _column("range", model, [_range(x, scale) for x, scale in joints], turning, "m"),
        _column(
            "speed", model, [_finite(x.limits.velocity * k) for x, k in joints], f"{turning}/s",
            "m/s",
        ),
        _column("effort", model, [_finite(x.limits.effort) for x, _ in joints], "N m", "N"),
    ]  # fmt: skip


def drive_columns(model: Model) -> list[tuple[str, list[str]]]:
    """Headings and cells of friction and armature, as far as the robot has them."""
    shown = {
        "viscous": ([_both(x.friction.viscous) for x in model.joints], "N m s/rad", "N s/m"),
        "Coulomb": ([_both(x.friction.coulomb) for x in model.joints], "N m", "N"),
        "armature": ([_nonzero(x.armature) for x in model.joints], "kg m^2", "kg"),
    }
    columns = [
        _column(head, model, texts, turning, slides)
        for head, (texts, turning, slides) in shown.items()
        if any(x != "-" for x in texts)
    ]
    return columns + [
        (f"{law}\nfriction", texts) for law, texts in _law_columns(model).items() if any(texts)
    ]


def _law_columns(model: Model) -> dict[str, list[str]]:
    """Numbers of friction laws besides viscous and Coulomb friction, by law, for each joint."""
    by_joint = [law_texts(x.friction, lambda y: number(y, 4)) for x in model.joints]
    laws = dict.fromkeys(law for texts in by_joint for law in texts)
    return {law: [texts.get(law, "-") for texts in by_joint] for law in laws}


def _column(
    head: str, model: Model, texts: Sequence[str], turning: str, slides: str
) -> tuple[str, list[str]]:
    """A column with units: `turning` of hinges, `slides` of slides; "-" has no unit."""
    units: list[str] = []
    for joint, text in zip(model.joints, texts, strict=True):
        several = joint.type not in SCREW_TYPES  # of several degrees of freedom: no one unit
        unit = slides if joint.type == PRISMATIC else turning
        units.append(NO_UNIT if several or text == "-" else unit)
    known = {x for x in units if x != NO_UNIT}
    if len(known) == 1:  # "-" needs no unit
        units = [known.pop()] * len(units)
    return unit_column(head, texts, units)


def _range(joint: Joint, scale: float) -> str:
    if joint.follows is not None:
        offset = f" {joint.offset * scale:+.4g}" if joint.offset else ""
        return f"= {joint.scale:.4g} {joint.follows}{offset}"
    low, high = joint.limits.lower * scale, joint.limits.upper * scale
    return f"{_finite(low)} .. {_finite(high)}" if isfinite(low) or isfinite(high) else "-"


def _finite(x: float) -> str:
    return number(x, 4) if isfinite(x) else "-"


def _nonzero(x: Scalar) -> str:
    return number(x, 3) if float(x) else "-"


def _both(x: tuple[Scalar, Scalar]) -> str:
    """Friction forward and backward: one number if they are equal."""
    return _nonzero(x[0]) if x[0] == x[1] else f"{_nonzero(x[0])}/{_nonzero(x[1])}"


def _spring(model: Model, spring: JointSpring, degrees: bool) -> dict[str, Any]:
    """A spring, its rest position in degrees if its joints turn and `degrees` is set."""
    stiffness, _, rest = spring_units(spring, model.joints)
    turned = degrees and rest == "rad"
    ends = zip(spring.coords, spring.arms, strict=True)
    return {
        "name": spring.name,
        "joints": {model.coordinate_names[k]: float(arm) for k, arm in ends},
        **_links(model, spring),
        **({"damping": float(spring.damping)} if spring.damping else {}),
        **({"play": float(spring.play)} if spring.play else {}),
        "stiffness": float(spring.stiffness),
        "rest": in_degrees(float(spring.rest)) if turned else float(spring.rest),
        "units": {"stiffness": stiffness, "rest": "deg" if turned else rest},
    }


def _links(model: Model, x: JointSpring | JointActuator) -> dict[str, list[str]]:
    """The links of the points of a spring or actuator."""
    names = model.names
    return {"links": [names[point.link] for point in x.points]} if x.points else {}


def spring_table(model: Model, degrees: bool) -> Group:
    """A row for every spring: the sum of positions that it measures, stiffness and rest."""
    springs = [_spring(model, x, degrees) for x in model.springs]
    columns = [("spring", [x["name"] for x in springs]), ("pulls on", sums(springs))]
    for head in ("stiffness", "rest"):
        unit = [x["units"][head] for x in springs]
        columns.append(unit_column(head, [number(x[head], 4) for x in springs], unit))
    return column_table("springs", columns, left=(0, 1))


def sums(documents: Sequence[dict[str, Any]]) -> list[str]:
    """The sum of joint positions that each spring or actuator acts on."""
    return [
        " + ".join(name if k == 1 else f"{k:.4g} {name}" for name, k in x["joints"].items())
        or " - ".join(x.get("links", []))
        for x in documents
    ]


def _actuator(model: Model, x: JointActuator, degrees: bool) -> dict[str, Any]:
    """An actuator: its kind, the gear of each joint, its law and ranges.

    In SI units; with `degrees` ranges of goals that are angles are in degrees. The unit of a
    control that is not a goal is "".
    """
    ends = zip(x.coords, x.arms, strict=True)
    fields = ("gain", "bias", "dynamics", "time_constant", "delay", "early", "force_range")
    ranges = {
        "control_range": _in_degrees(model, x, x.control_range, degrees),
        "activation_range": _in_degrees(model, x, x.activation_range, degrees),
    }
    units = zip(("control", "activation"), control_units(model, x, degrees), strict=True)
    return {
        "name": x.name,
        "kind": actuator_kind(x),
        "joints": {model.coordinate_names[k]: gear for k, gear in ends},
        **_links(model, x),
        **{field: getattr(x, field) for field in fields},
        **ranges,
        "units": dict(units),
    }


def _in_degrees(model: Model, x: JointActuator, limits: Range, degrees: bool) -> Range:
    """A range of controls or activations, in degrees if they are angles and `degrees` is set."""
    scale = in_degrees(1) if degrees and goal_kind(model, x) == RAD else 1.0
    return limits[0] * scale, limits[1] * scale


def constraint_table(model: Model) -> Group:
    """A row for every constraint: its kind, its frames or joints, its equations."""
    from kinetree.files.report import constraint_rows

    rows = [
        (x.name, x.kind, x.text, str(x.equations), str(x.redundant) if x.redundant else "-")
        for x in constraint_rows(model)
    ]
    heads = ("constraint", "kind", "ties", "equations", "redundant")
    return screen_table("constraints", heads, rows, left=(0, 1, 2))


def actuator_table(model: Model, degrees: bool) -> Group:
    """A row for every actuator: its kind, the joints with their gears, its ranges and delays."""
    actuators = [_actuator(model, x, degrees) for x in model.actuators]
    ranges = {
        key: [_limits(x[f"{key}_range"], x["units"].get(key, "")) for x in actuators]
        for key in ("control", "force", "activation")
    }
    lasting = {
        "dynamics": [x["dynamics"] if x["dynamics"] != "none" else "-" for x in actuators],
        "activation": ranges["activation"],
        "time constant\ns": [_nonzero(x["time_constant"]) for x in actuators],
        "delay\ns": [_nonzero(x["delay"]) for x in actuators],
    }
    columns = {
        "actuator": [x["name"] for x in actuators],
        "kind": [x["kind"] for x in actuators],
        "drives": sums(actuators),
        "control": ranges["control"],
        "force": ranges["force"],
    } | {head: cells for head, cells in lasting.items() if set(cells) != {"-"}}
    return column_table("actuators", list(columns.items()), left=(0, 1, 2))


def _limits(limits: Range, unit: str) -> str:
    """A range with its unit; "-" if there is none."""
    if limits == UNLIMITED:
        return "-"
    return " ".join((" .. ".join(number(end, 4) for end in limits), *([unit] if unit else ())))


def drive_table(model: Model, degrees: bool) -> Group:
    """A row for every drive: its torque-speed curve and other numbers, as far as there are any."""
    driven = [(x, x.drive, *_angle(x, degrees)) for x in model.joints if x.drive is not None]
    parts = [drive_parts(drive, angle) for _, drive, angle, _ in driven]
    forces = ["N" if x.type == PRISMATIC else "N m" for x, *_ in driven]
    curves = [
        f"{part['curve']} {unit}/s" if "curve" in part else "-"
        for part, (*_, unit) in zip(parts, driven, strict=True)
    ]
    columns = [("drive of", [x.name for x, *_ in driven])]
    columns.append(unit_column("most force at speed", curves, forces))
    for key in ("peak", "efficiency", "lag", "delay"):
        texts = [part.get(key, "-") for part in parts]
        if any(x != "-" for x in texts):
            column = unit_column(key, texts, forces) if key == "peak" else (f"{key}\n", texts)
            columns.append(column)
    return column_table("drives", columns, left=(0, 1))


def link_table(model: Model) -> Group:
    """A row for every moving link, and one for a base that has mass."""
    base, *moving = _bodies(model)
    links = [base, *moving] if base["mass"] else moving
    centres, moments = (
        aligned([np.asarray(x[key], float).tolist() for x in links], 3)
        for key in ("com", "principal")
    )
    columns = {
        "link": [x["name"] for x in links],
        "mass\nkg": [number(x["mass"], 5) for x in links],
        "centre of mass x, y, z\nm, in the link": centres,
        "principal moments\nkg m^2": moments,
    }
    return column_table("links", list(columns.items()))
