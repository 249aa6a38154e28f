"""report_page: all about a robot on one self-contained HTML page."""

import os
from html import escape

import numpy as np

from kinetree.algorithms import total_mass
from kinetree.base.tables import counted
from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.views.page.document import document, number
from kinetree.views.page.equations import equations
from kinetree.views.page.forces import forces
from kinetree.views.page.stage import (
    Stage,
    picture_frame,
    sliders,
    stage_of,
    switches,
    tool_line,
)
from kinetree.views.page.tables import findings, joint_table, link_table

SCRIPTS = ("kinematics.js", "orbit.js", "viewer.js", "report.js")


def report_page(
    robot: Robot | Model,
    *,
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    samples: int = 2000,
    degrees: bool = False,
) -> str:
    """The page of a robot: drawn, its tables, findings, equations and torque envelopes.

    The page holds all it needs; it can be mailed, printed and opened without a network.

    Args:
        robot: the robot or its model, of numbers.
        source: the file with its visuals; that which it was loaded from when None.
        folder: the only folder that meshes are read from; that of the file when None.
        samples: random positions that the envelopes are taken over.
        degrees: angles of tables and sliders in degrees.
    """
    return page_of(stage_of(robot, source, folder), samples=samples, degrees=degrees)


def page_of(stage: Stage, *, samples: int = 2000, degrees: bool = False) -> str:
    """The page of a robot that is on its stage."""
    robot = stage.robot
    sections = [
        f"<header><h1>{escape(robot.name)}</h1>{summary(robot)}</header>",
        stage_section(stage, degrees),
        findings_section(stage),
        f"<section><h2>Joints</h2>{joint_table(robot.model, degrees)}</section>",
        f"<section><h2>Links</h2>{link_table(robot.model)}</section>",
    ]
    if robot.n:
        sections.append(f"<section><h2>Joint forces</h2>{forces(robot, samples)}</section>")
        sections.append(f"<section><h2>Equations of motion</h2>{equations(robot)}</section>")
    sections.append(
        "<footer>Written by kinetree. SI units; six-vectors are angular first.</footer>"
    )
    data = stage.data() | {"q": np.asarray(stage.q, float).tolist(), "handles": stage.handle_data()}
    return document(robot.name, f"<main>{''.join(sections)}</main>", data, SCRIPTS)


def summary(robot: Robot) -> str:
    """What it is, in one line."""
    model, report = robot.model, robot.report
    source = getattr(getattr(report, "source", None), "name", "")
    gravity = " ".join(number(x) for x in model.gravity[3:])
    parts = [
        f"from {source}" if source else "",
        counted(model.n, "degree", "of freedom"),
        f"{len(model.link_names)} moving links",
        f"{number(total_mass(model), 5)} kg",
        f"base {model.base_name}",
        f"tool {model.tool}",
        f"gravity ({gravity}) m/s²",
    ]
    return f'<p class="lead">{escape(" · ".join(part for part in parts if part))}</p>'


def stage_section(stage: Stage, degrees: bool) -> str:
    """The robot and its sliders."""
    note = (
        "Forces beside the sliders hold the robot still against gravity; bars show their share of "
        "the limit. Drag the robot to turn it; click it, then use the wheel to come closer."
    )
    return (
        f'<section class="stage"><div>{picture_frame(stage)}</div><div class="controls">'
        f"{switches(stage)}{sliders(stage)}"
        '<div class="switches"><label><input type="checkbox" id="degrees"'
        f"{' checked' if degrees else ''}> degrees</label>"
        f"</div>{tool_line(stage)}<small>{note}</small></div></section>"
    )


def findings_section(stage: Stage) -> str:
    """Warnings and notes of the reader, and what could not be drawn."""
    model, parts = stage.model, []
    parts.append(findings("Warnings", model.warnings))
    if stage.scene.remarks:
        items = "".join(f"<li>{escape(text)}</li>" for text in stage.scene.remarks[:20])
        more = len(stage.scene.remarks) - 20
        items += f"<li>and {more} more</li>" if more > 0 else ""
        parts.append(
            f"<details><summary>{len(stage.scene.remarks)} visuals could not be drawn; the bodies "
            f'above stand in for them</summary><ul class="findings">{items}</ul></details>'
        )
    notes = findings("Notes", model.notes)
    if notes:
        parts.append(
            f"<details><summary>{counted(len(model.notes), 'note')}</summary>{notes}</details>"
        )
    found = "".join(parts)
    return f"<section><h2>Findings</h2>{found}</section>" if found else ""
