"""`kinetree info`: joints with their limits and drives, links with their masses, warnings."""

import dataclasses
from collections.abc import Sequence
from math import degrees as in_degrees
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from kinetree.base.arrays import Array
from kinetree.base.tables import counted, number
from kinetree.cli.arguments import AS_IT_IS, Degrees, Json, Reading, RobotName
from kinetree.cli.choices import find_robot, mesh_folder
from kinetree.cli.messages import wrapped
from kinetree.cli.output import print_json
from kinetree.cli.tables import NO_UNIT, aligned, console, screen_table, unit_column
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import Drive, drive_parts
from kinetree.files.description.friction import law_numbers, smooth_laws
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.records import Note
from kinetree.model import WORLD, Joint, JointSpring, Model
from kinetree.model.actuators import JointActuator, actuator_kind
from kinetree.model.friction import is_zero, law_texts
from kinetree.model.springs import spring_units
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

    JSON has robot, source, base, tool, n, nq, mass, gravity, joints, links, frames, springs (with
    the coefficient of each joint), actuators (with gears and laws), constraints, mobility (degrees
    of freedom, redundant equations, motors; null without constraints), effects (what changes tau
    besides rigid bodies), notes, warnings, missing_meshes; missing limits are null.

    For example:

    ```
    kinetree info panda
    kinetree info ur5e --degrees
    kinetree info scara --json
    kinetree info hand --no-mimic
    kinetree info four_bar
    ```
    """
    found = find_robot(robot, reading)
    if json:
        print_json(document(found, degrees, mesh_folder(reading)))
    else:
        print_robot(found, degrees, mesh_folder(reading))


def document(robot: Robot, degrees: bool, folder: Path | None) -> dict[str, Any]:
    """Everything in the tables and more, as JSON."""
    from kinetree.files.report import constraint_rows, masses, tau_effects

    model = robot.model
    total, moving = masses(model)
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
        "base_link": _base(model),
        "links": [_link(model, i) for i in model.links],
        "frames": list(model.frames),
        "springs": [_spring(model, x, degrees) for x in model.springs],
        "actuators": [_actuator(model, x, degrees) for x in model.actuators],
        "constraints": [dataclasses.asdict(x) for x in constraint_rows(model)],
        "mobility": None if model.constraints is None else dataclasses.asdict(robot.mobility),
        "effects": list(tau_effects(model)),
        "notes": [_remark(x) for x in model.notes],
        "warnings": [_remark(x) for x in model.warnings],
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
    return {
        "curve": None if curve is None else [[speed * angle, force] for speed, force in curve],
        "peak": drive.peak,
        "efficiency": drive.efficiency,
        "lag": drive.lag,
        "delay": drive.delay,
    }


def _laws(joint: Joint) -> dict[str, Any]:
    """Numbers of friction laws besides viscous and Coulomb friction, as far as there are any."""
    friction = joint.friction
    bend, found = friction.stribeck, dict[str, Any]()
    if bend is not None:
        shape = {"speed": bend.speed, "exponent": bend.exponent}
        found["stribeck"] = {"static": list(bend.static), **shape}
    found |= {name: law_numbers(law) for name, law in smooth_laws(friction).items()}
    if not is_zero(friction.load):
        found["load"] = list(friction.load)
    return found


def _link(model: Model, i: int) -> dict[str, Any]:
    return _body(model.link_names[i], model.m[i], model.com[i], model.I_com[i])


def _base(model: Model) -> dict[str, Any]:
    return _body(model.base_name, *model.base)


def _body(name: str, m: Scalar, com: Array, I_com: Array) -> dict[str, Any]:
    return {
        "name": name,
        "mass": float(m),
        "com": com,
        "inertia": I_com,
        "principal": np.linalg.eigvalsh(np.asarray(I_com, float)),
    }


def _remark(note: Note) -> dict[str, Any]:
    return {"text": note.text, "where": note.where}


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
    from kinetree.files.report import freedom, mass_words, tau_effects

    model, screen = robot.model, console()
    source = "" if robot.report is None else f" from {robot.report.source.name}"
    screen.print(f"{model.name}{source}", style="bold")
    gravity = ", ".join(number(x, 6) for x in model.gravity[3:].tolist())
    screen.print(
        f"{freedom(model)}, "
        f"{counted(len(model.joints), 'moving link')}, {mass_words(model)}; "
        f"base {model.base_name!r}, tool {model.tool!r}, gravity ({gravity}) m/s^2"
    )
    effects = "; ".join(tau_effects(model))
    if effects:
        screen.print(f"tau includes {effects}")
    if model.constraints is not None:
        for line in str(robot.mobility).splitlines()[1:]:
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
    for title, remarks in (("warning", model.warnings), ("note", model.notes)):
        if remarks:
            screen.print()
            style = "bold yellow" if title == "warning" else "bold"
            screen.print(counted(len(remarks), title), style=style)
        for note in remarks[:MAX_REMARKS]:
            line = f"- {note.text}" + (f" [{note.where}]" if note.where else "")
            screen.print(wrapped(line, screen.width, "  "), soft_wrap=True)
        if len(remarks) > MAX_REMARKS:
            screen.print(f"- and {len(remarks) - MAX_REMARKS} more (--json has all)")
    missing = missing_of(robot, folder)
    if missing:
        screen.print()
        screen.print(counted(len(missing), "missing mesh file"), style="bold yellow")
        for path in missing[:MAX_REMARKS]:
            screen.print(f"- {path}", soft_wrap=True)
        if len(missing) > MAX_REMARKS:
            screen.print(f"- and {len(missing) - MAX_REMARKS} more (--json has all)")
        screen.print("Only view and report need them; --folder names where they are.")


def missing_of(robot: Robot, folder: Path | None) -> tuple[str, ...]:
    """Mesh files that the robot's file names and that are not there; for drawing alone."""
    from kinetree.views.visuals import missing_meshes

    report = robot.report
    if report is None:
        return ()
    return missing_meshes(
        report.source, folder, report.folders, report.arguments, report.text, robot.name,
        report.environment,
    )  # fmt: skip


def joint_table(model: Model, degrees: bool, parents: bool) -> Group:
    """A row for every joint; `parents` adds a column of parent links."""
    rows: list[list[str]] = []
    for i, joint in enumerate(model.joints):
        moves = [_parent(model, i), model.link_names[i]] if parents else [model.link_names[i]]
        rows.append([joint.name, joint.type, *moves])
    columns = limit_columns(model, degrees) + drive_columns(model)
    heads = ["joint", "type", *(["on"] if parents else []), "moves"]
    left = range(len(heads))
    for head, cells in columns:
        heads.append(head)
        rows = [[*row, cell] for row, cell in zip(rows, cells, strict=True)]
    return screen_table("joints", heads, rows, left=left)


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
    found = [
        _column(head, model, texts, turning, slides)
        for head, (texts, turning, slides) in shown.items()
        if any(x != "-" for x in texts)
    ]
    return found + [
        (f"{law}\nfriction", texts) for law, texts in _law_columns(model).items() if any(texts)
    ]


def _law_columns(model: Model) -> dict[str, list[str]]:
    """Numbers of friction laws besides viscous and Coulomb friction, by law, for each joint."""
    found = [law_texts(x.friction, lambda y: number(y, 4)) for x in model.joints]
    laws = dict.fromkeys(law for texts in found for law in texts)
    return {law: [texts.get(law, "-") for texts in found] for law in laws}


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
        "stiffness": float(spring.stiffness),
        "rest": in_degrees(float(spring.rest)) if turned else float(spring.rest),
        "units": {"stiffness": stiffness, "rest": "deg" if turned else rest},
    }


def spring_table(model: Model, degrees: bool) -> Group:
    """A row for every spring: the sum of positions that it measures, stiffness and rest."""
    found = [_spring(model, x, degrees) for x in model.springs]
    measured = [
        " + ".join(name if arm == 1 else f"{arm:.4g} {name}" for name, arm in x["joints"].items())
        for x in found
    ]
    columns = [
        unit_column(head, [number(x[head], 4) for x in found], [x["units"][head] for x in found])
        for head in ("stiffness", "rest")
    ]
    names = [x["name"] for x in found]
    rows = list(zip(names, measured, *(cells for _, cells in columns), strict=True))
    heads = ["spring", "pulls on", *(head for head, _ in columns)]
    return screen_table("springs", heads, rows, left=(0, 1))


def _actuator(model: Model, x: JointActuator, degrees: bool) -> dict[str, Any]:
    """An actuator: its kind, the gear of each joint, its law and ranges.

    In SI units; with `degrees` ranges of goals that are angles are in degrees. The unit of a
    control that is not a goal is "".
    """
    ends = zip(x.coords, x.gears, strict=True)
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
    found = [_actuator(model, x, degrees) for x in model.actuators]
    drives = [
        " + ".join(
            name if gear == 1 else f"{gear:.4g} {name}" for name, gear in x["joints"].items()
        )
        for x in found
    ]
    ranges = {
        key: [_limits(x[f"{key}_range"], x["units"].get(key, "")) for x in found]
        for key in ("control", "force", "activation")
    }
    columns = {"control": ranges["control"], "force": ranges["force"]}
    lasting = {
        "dynamics": [x["dynamics"] if x["dynamics"] != "none" else "-" for x in found],
        "activation": ranges["activation"],
        "time constant\ns": [_nonzero(x["time_constant"]) for x in found],
        "delay\ns": [_nonzero(x["delay"]) for x in found],
    }
    columns |= {head: cells for head, cells in lasting.items() if set(cells) != {"-"}}
    kinds = [x["kind"] for x in found]
    rows = list(zip([x["name"] for x in found], kinds, drives, *columns.values(), strict=True))
    return screen_table("actuators", ["actuator", "kind", "drives", *columns], rows, left=(0, 1, 2))


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
        f"{own['curve']} {unit}/s" if "curve" in own else "-"
        for own, (*_, unit) in zip(parts, driven, strict=True)
    ]
    columns = [unit_column("most force at speed", curves, forces)]
    peaks = [own.get("peak", "-") for own in parts]
    if any(x != "-" for x in peaks):
        columns.append(unit_column("peak", peaks, forces))
    for key in ("efficiency", "lag", "delay"):
        texts = [own.get(key, "-") for own in parts]
        columns += [(f"{key}\n", texts)] if any(x != "-" for x in texts) else []
    rows = list(zip([x.name for x, *_ in driven], *(cells for _, cells in columns), strict=True))
    return screen_table("drives", ["drive of", *(head for head, _ in columns)], rows, left=(0, 1))


def link_table(model: Model) -> Group:
    """A row for every moving link, and one for a base that has mass."""
    links = [_base(model)] if float(model.base[0]) else []
    links += [_link(model, i) for i in model.links]
    centres = aligned([np.asarray(x["com"], float).tolist() for x in links], 3)
    moments = aligned([np.asarray(x["principal"], float).tolist() for x in links], 3)
    rows = [
        [x["name"], number(x["mass"], 5), centre, moment]
        for x, centre, moment in zip(links, centres, moments, strict=True)
    ]
    heads = [
        "link",
        "mass\nkg",
        "centre of mass x, y, z\nm, in the link",
        "principal moments\nkg m^2",
    ]
    return screen_table("links", heads, rows)
