"""The section Constraints of a page: degrees of freedom, equations, closure and forces at rest."""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import without_rounding
from kinetree.dynamics.constraints.mobility import mobility
from kinetree.errors import KinetreeError
from kinetree.explain import Explanation
from kinetree.model.units import units
from kinetree.present.tables import escape, page_number
from kinetree.views.loops import freedom_words, openness, ties
from kinetree.views.page.document import scroll_table
from kinetree.views.page.stage import Stage


def closure_line(stage: Stage) -> str:
    """A sentence on the closure of the position shown, filled in by the script."""
    if stage.model.constraints is None:
        return ""
    return '<p class="soft" id="closure" role="status"></p>'


def constraints_section(stage: Stage) -> str:
    """Tables of the constraints and of their forces at rest; empty without constraints."""
    robot = stage.robot
    if stage.model.constraints is None:
        return ""
    found = mobility(robot)
    parts = [f"{freedom_words(robot)}."]
    parts.append(f"The rates follow from {', '.join(found.independent) or 'no joint'}.")
    motors = ", ".join(found.actuated) or "no joint"
    few = "" if found.sufficient else "; they are too few for every motion"
    parts.append(f"Motors: {motors}{few}.")
    words = escape(" ".join(parts))
    return (
        f"<section><h2>Constraints</h2><p>{words}</p>{constraint_table(stage)}"
        f"{rest_forces(stage)}</section>"
    )


def constraint_table(stage: Stage) -> str:
    """Kind, frames, equations, redundant ones and closure error of every constraint."""
    redundant = set(mobility(stage.robot).redundant)
    errors = openness(stage.robot, stage.q)
    rows = []
    for tie in ties(stage.model):
        names = [row.removeprefix(f"{tie.name}.") for row in tie.rows if row in redundant]
        error = errors[tie.name]
        closure = page_number(float(without_rounding(np.asarray(error), 1.0)), 2)
        rows.append(
            (tie.name, tie.kind, tie.what, ", ".join(names) or "–", str(len(tie.rows)), closure)
        )
    head = ("constraint", "kind", "ties", "redundant equations", "equations", "error")
    words = (
        "Error: the largest error of the constraint's equations at the position that the page "
        "opens with, rad or m; 0 is below 1e-12. Redundant equations follow from the others."
    )
    return scroll_table(head, rows, caption=words, text=4)


def rest_forces(stage: Stage) -> str:
    """Forces of motors and constraints that hold the robot at the position that is shown."""
    if not stage.robot.n:
        return ""
    zero = np.zeros(stage.robot.n)
    try:
        explanation = stage.robot.explain(stage.q, zero, zero)
    except KinetreeError as error:  # too few motors, or a robot whose forces are not decided
        return f"<p>Forces at rest are not shown: {escape(str(error))}</p>"
    return joint_forces(stage, explanation)


def joint_forces(stage: Stage, explanation: Explanation) -> str:
    """Per degree of freedom: the motor, the load of the tree, and the share of each constraint."""
    carried = explanation.torque.constraints
    assert carried is not None
    load = explanation.tau - explanation.torque["constraints"]
    columns = [explanation.tau, load, *carried.joints.values()]
    names = zip(stage.model.dof_names, units(stage.model, "tau"), strict=True)
    rows = [
        (name, unit, *(number(column[d], columns) for column in columns))
        for d, (name, unit) in enumerate(names)
    ]
    head = ("joint", "unit", "motor", "weight and springs", *carried.joints)
    words = (
        "Forces that hold the robot still at this position: the motor has the weight and springs "
        "of the tree plus what the constraints add."
    )
    return scroll_table(head, rows, caption=words, text=2)


def number(x: float, columns: list[Array]) -> str:
    """A force in four digits; 0 for a rounding error of the largest one."""
    largest = max(float(np.max(np.abs(column), initial=0.0)) for column in columns)
    return page_number(float(without_rounding(np.asarray(x), largest)))
