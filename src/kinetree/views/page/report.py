"""report_page: the drawing, tables, forces and equations of a robot on one HTML page."""

import os
from collections.abc import Sequence

import numpy as np

from kinetree.core.text import counted, without_rounding
from kinetree.errors import KinetreeError
from kinetree.files.description.drive import drive_parts
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.files.description.records import Note
from kinetree.files.report import mass_words
from kinetree.model import WORLD, Joint, Model
from kinetree.model.constrain import tree_of
from kinetree.model.friction import law_texts
from kinetree.model.model import tool_words
from kinetree.present.mathml import from_latex
from kinetree.present.tables import escape, page_number
from kinetree.robot import Robot
from kinetree.scalars import Scalar
from kinetree.symbols.robot import symbolic
from kinetree.views.loops import freedom_words
from kinetree.views.page.constraints import closure_line, constraints_section
from kinetree.views.page.document import ROBOT_SCRIPTS, document, scroll_table
from kinetree.views.page.forces import forces
from kinetree.views.page.stage import (
    Stage,
    handle_data,
    picture_frame,
    sliders,
    stage_of,
    switches,
    tool_line,
)

MAX_OPERATIONS = 150  # of compiled inverse dynamics, a measure of the length of the closed forms
MAX_ROWS = 100  # of the mass matrix in closed form
MAX_MARKUP = 40_000  # characters of one equation
ZERO = from_latex("0", display=True)
MOTION = (
    r"M(\theta)\, \ddot\theta + C(\theta, \dot\theta)\, \dot\theta + g(\theta) "
    r"+ \text{friction} = \tau"
)
CONSTRAINED = r" + J^T \lambda, \qquad J \ddot\theta + \dot J \dot\theta = 0"
TITLES = {"M": "Mass matrix", "C": "Coriolis matrix (of Christoffel symbols)", "g": "Gravity"}


def report_page(
    robot: Robot | Model,
    *,
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    samples: int = 2000,
    degrees: bool = False,
) -> str:
    """The page of a robot: drawing with sliders, tables, findings, joint forces and equations.

    The page is self-contained: it can be mailed, printed and opened without a network.

    Args:
        robot: the robot or its model, of numbers.
        source: file with the visuals; None means the file that the robot was loaded from.
        folder: the only folder that meshes are read from; None means the folder of the file.
        samples: number of random positions for the envelopes of the joint forces.
        degrees: show angles of tables and sliders in degrees.
    """
    return page_of(stage_of(robot, source, folder), samples=samples, degrees=degrees)


def page_of(stage: Stage, *, samples: int = 2000, degrees: bool = False) -> str:
    """The page of the robot of a stage."""
    robot = stage.robot
    sections = [
        f"<header><h1>{escape(robot.name)}</h1>{summary(robot)}</header>",
        stage_section(stage, degrees),
        findings_section(stage),
        constraints_section(stage),
        f"<section><h2>Joints</h2>{joint_table(robot.model, degrees)}</section>",
        f"<section><h2>Links</h2>{link_table(robot.model)}</section>",
    ]
    if robot.n and robot.model.constraints is None:
        sections.append(f"<section><h2>Joint forces</h2>{forces(robot, samples)}</section>")
    if robot.n:
        sections.append(f"<section><h2>Equations of motion</h2>{equations(robot)}</section>")
    sections.append(
        "<footer>Written by kinetree. SI units; six-vectors are angular first.</footer>"
    )
    data = stage.data() | {"q": np.asarray(stage.q, float).tolist(), "handles": handle_data(stage)}
    return document(robot.name, f"<main>{''.join(sections)}</main>", data, ROBOT_SCRIPTS)


def summary(robot: Robot) -> str:
    """Source, size, mass and frames of the robot in one line."""
    model, report = robot.model, robot.report
    source = getattr(getattr(report, "source", None), "name", "")
    gravity = " ".join(page_number(x) for x in model.gravity[3:])
    parts = [
        f"from {source}" if source else "",
        counted(model.n, "degree", "of freedom")
        if model.constraints is None
        else freedom_words(robot),
        f"{len(model.link_names)} moving links",
        mass_words(model, 5),
        f"base {model.base_name}",
        tool_words(model),
        f"gravity ({gravity}) m/s²",
    ]
    return f'<p class="lead">{escape(" · ".join(part for part in parts if part))}</p>'


def stage_section(stage: Stage, degrees: bool) -> str:
    """The robot and its sliders."""
    closes = stage.model.constraints is not None
    note = (
        "The other sliders follow the one that is moved, so that the constraints stay closed."
        if closes
        else "The forces beside the sliders hold the robot still against gravity; bars show their "
        "share of the limit."
    )
    note += " Drag the picture to turn it; click it, then use the wheel to zoom."
    return (
        f'<section class="stage"><div>{picture_frame(stage)}</div><div class="controls">'
        f"{switches(stage)}{sliders(stage)}"
        '<div class="switches"><label><input type="checkbox" id="degrees"'
        f"{' checked' if degrees else ''}> degrees</label>"
        f"</div>{tool_line(stage)}{closure_line(stage)}<small>{note}</small></div></section>"
    )


def findings_section(stage: Stage) -> str:
    """Warnings and notes of the reader, and visuals that could not be drawn."""
    model, parts = stage.model, []
    parts.append(findings("Warnings", model.warnings))
    if stage.scene.remarks:
        items = "".join(f"<li>{escape(text)}</li>" for text in stage.scene.remarks[:20])
        more = len(stage.scene.remarks) - 20
        items += f"<li>and {more} more</li>" if more > 0 else ""
        parts.append(
            f"<details><summary>{len(stage.scene.remarks)} visuals could not be drawn; simple "
            f'bodies replace them</summary><ul class="findings">{items}</ul></details>'
        )
    notes = findings("Notes", model.notes)
    if notes:
        parts.append(
            f"<details><summary>{counted(len(model.notes), 'note')}</summary>{notes}</details>"
        )
    text = "".join(parts)
    return f"<section><h2>Findings</h2>{text}</section>" if text else ""


def joint_table(model: Model, degrees: bool = False) -> str:
    """Type, child, limits, friction and drive of every joint, in the order of q."""
    head = ("joint", "type", "moves", "axis in its link", "lower", "upper", "speed", "effort",
            "viscous", "Coulomb", "armature")  # fmt: skip
    rows = [
        (
            joint.name,
            _type(joint),
            link,
            _axis(joint),
            *_limits(joint, degrees),
            _pair(joint.friction.viscous),
            _pair(joint.friction.coulomb),
            page_number(joint.armature),
        )
        for joint, link in zip(model.joints, model.link_names, strict=True)
    ]
    unit = "°" if degrees else "rad"
    words = (
        f"{unit}, {unit}/s and N m; m, m/s and N for prismatic joints; friction per rad/s or m/s."
    )
    for joint in model.joints:
        for law, text in law_texts(joint.friction, page_number).items():
            words += f" {law} friction of {joint.name}: {text}."
        if joint.drive is not None:
            angle = 180 / np.pi if degrees and joint.type != PRISMATIC else 1.0
            own = "; ".join(f"{x} {y}" for x, y in drive_parts(joint.drive, angle).items())
            words += f" Drive of {joint.name}: {own or 'ideal'}."
    return scroll_table(head, rows, caption=words, text=4)


def _type(joint: Joint) -> str:
    if joint.follows is None:
        return joint.type
    offset = f" {float(joint.offset):+.4g}" if float(joint.offset) else ""
    return f"{joint.type}, {page_number(joint.scale)} × {joint.follows}{offset}"


def _axis(joint: Joint) -> str:
    if joint.screw is None:
        return "–"
    A = np.asarray(joint.screw, float)
    axis = A[3:] if joint.type == PRISMATIC else A[:3]
    return " ".join(page_number(x, 3) for x in without_rounding(axis))


def _limits(joint: Joint, degrees: bool) -> tuple[str, str, str, str]:
    if joint.follows is not None:
        return "", "", "", ""
    limits, angle = joint.limits, 180 / np.pi if degrees and joint.type != PRISMATIC else 1.0
    low, high = page_number(limits.lower * angle), page_number(limits.upper * angle)
    if joint.type not in SCREW_TYPES:
        low, high = "–", "–"
    return low, high, page_number(limits.velocity * angle), page_number(limits.effort)


def _pair(pair: tuple[Scalar, Scalar]) -> str:
    plus, minus = (page_number(x) for x in pair)
    return plus if plus == minus else f"+{plus} / −{minus}"


def link_table(model: Model) -> str:
    """Mass, centre of mass and principal moments of the base and of every link."""
    head = ("link", "parent", "mass", "x", "y", "z", "I₁", "I₂", "I₃", "radius of gyration")
    names = {WORLD: model.base_name, **dict(enumerate(model.link_names))}
    bodies = [(model.base_name, "the world", *model.base)]
    parts = zip(model.link_names, model.parent, model.m, model.com, model.I_com, strict=True)
    bodies += [(name, names[p], *body) for name, p, *body in parts]
    rows = []
    for name, parent, m, com, I in bodies:
        moments = np.linalg.eigvalsh(np.asarray(I, float))
        gyration = np.sqrt(max(moments.sum(), 0) / 2 / float(m)) if float(m) > 0 else np.nan
        rows.append((name, parent, *map(page_number, (m, *com, *moments, gyration))))
    words = (
        "Mass in kg; centre of mass in the link's frame in m; principal moments about it in "
        "kg m². Links merged at fixed joints are part of their parent link."
    )
    return scroll_table(head, rows, caption=words, text=2)


def findings(title: str, notes: Sequence[Note], most: int = 40) -> str:
    """Notes or warnings as a list, with the file and line of each."""
    if not notes:
        return ""
    kind = ' class="warning"' if title == "Warnings" else ""
    lines = [f"<h3{kind}>{title} ({len(notes)})</h3>", '<ul class="findings">']
    for note in notes[:most]:
        where = f' <span class="where">{escape(note.where)}</span>' if note.where else ""
        lines.append(f"<li>{escape(note.text)}{where}</li>")
    if len(notes) > most:
        lines.append(f"<li>and {len(notes) - most} more</li>")
    return "\n".join([*lines, "</ul>"])


def equations(robot: Robot, digits: int = 4) -> str:
    """M, C and g as MathML, or a sentence with the reason if they are not shown.

    Those of a robot with constraints are of its tree.
    """
    equation = MOTION
    if robot.model.constraints is not None:
        robot, equation = Robot(tree_of(robot.model)), MOTION + CONSTRAINED
    if (reason := too_long(robot)) is not None:
        return (
            f"<p>The closed forms of this robot are too long to read: {reason}. "
            "<code>kt.symbolic(robot)</code> computes them, and "
            "<code>robot.explain(q, dq, ddq)</code> shows every step of the recursion.</p>"
        )
    try:
        forms = closed_forms(robot, digits)
    except KinetreeError as error:  # sympy is not installed, or finds no exact form
        return f"<p>{escape(str(error))}</p>"
    lines = [
        f'<div class="equation">{from_latex(equation, display=True)}</div>',
        f"<p>Numbers are rounded to {digits} digits; θ is in rad or m, in the order of the "
        "table of joints.</p>",
    ]
    for name, markup in forms.items():
        if len(markup) > MAX_MARKUP:
            lines.append(f"<p>{TITLES[name]} is too long to print here.</p>")
            continue
        lines.append(f'<h3>{TITLES[name]} {name}</h3><div class="equation">{markup}</div>')
    return "\n".join(lines)


def too_long(robot: Robot) -> str | None:
    """Why the closed forms of a robot are not shown; None if they are short."""
    if robot.n > MAX_ROWS:  # known without a kernel, which takes seconds for hundreds of joints
        return f"the mass matrix has {robot.n} rows"
    count = robot.inverse_dynamics.operations
    if count > MAX_OPERATIONS:
        return f"compiled inverse dynamics alone has {count} operations"
    return None


def closed_forms(robot: Robot, digits: int) -> dict[str, str]:
    """M, C and g of the tree as MathML; 0 if all entries are zero."""
    closed = symbolic(Robot(tree_of(robot.model)))
    forms = {name: getattr(closed, name) for name in TITLES}
    return {name: form.mathml(digits) if form.text() else ZERO for name, form in forms.items()}
