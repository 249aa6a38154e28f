"""`kinetree demo`: the exercises of the course, computed next to the printed results."""

from typing import Any

import numpy as np
from rich.table import Table

from kinetree import dynamics
from kinetree.cli.arguments import Degrees, Json
from kinetree.cli.output import print_json
from kinetree.cli.states import factors, units
from kinetree.cli.tables import console
from kinetree.cli.terminal import Terminal
from kinetree.core.arrays import Array
from kinetree.engine.kernel import llvm_problem
from kinetree.robots.exercises import EXERCISES, Exercise

TEXTBOOK = "screw"  # the formulation that is shown if nothing can be compiled


def demo(*, json: Json = False, degrees: Degrees = False) -> None:
    """Solve the exercises of the course and print each result next to the published one.

    For example:

    ```
    kinetree demo
    ```

    JSON has exercises (each with label, robot, joints, q, dq, ddq, units, tau_no_gravity, tau,
    printed_no_gravity and printed), disagreement of the four formulations, relative, and
    computed_by (kernel, or textbook if llvmlite is not installed).
    """
    if json:
        print_json(document(degrees))
    else:
        demonstrate(console())


def forces(exercise: Exercise, gravity: bool = True) -> Array:
    """Joint forces by the compiled kernel; by the textbook's recursion if LLVM is missing."""
    robot = exercise.make() if gravity else exercise.make().with_gravity((0, 0, 0))
    state = exercise.q, exercise.dq, exercise.ddq
    if llvm_problem() is None:
        return robot.inverse_dynamics(*state)
    return dynamics.inverse_dynamics(robot.model, *state, formulation=TEXTBOOK)


def demonstrate(screen: Terminal) -> None:
    """Print the table of exercises, and how well the four formulations and the kernel agree."""
    table = Table(title="Inverse dynamics of the course's robots: joint forces in N m and N")
    for column in ("exercise", "joint", "computed", "printed", "computed, gravity", "printed"):
        # folded, so that a narrow terminal moves digits to the next line and does not cut them
        justify = "left" if column == "exercise" else "right"
        table.add_column(column, justify=justify, overflow="fold")
    agreement = 0.0
    for exercise in EXERCISES:
        free, tau = forces(exercise, gravity=False), forces(exercise)
        agreement = max(agreement, disagreement(exercise))
        joints = exercise.make().model.joint_names
        printed = [
            text.split() or ["-"] * len(tau) for text in (exercise.no_gravity, exercise.gravity)
        ]
        for i, joint in enumerate(joints):
            table.add_row(
                exercise.name if i == 0 else "",
                joint,
                f"{free[i]:.4f}",
                printed[0][i],
                f"{tau[i]:.4f}",
                printed[1][i],
                end_section=i == len(joints) - 1,
            )
    screen.print(table)
    if llvm_problem() is None:
        source = "the kernel compiled for the robot"
    else:
        source = f"the textbook's recursion in {TEXTBOOK} form, since llvmlite is not installed"
    screen.print(
        f"Each result comes from {source}. The four textbook formulations "
        f"({', '.join(dynamics.FORMULATIONS)}) differ from it by at most {agreement:.1e}, "
        "relative to the largest joint force.",
    )
    screen.print("Next: kinetree info panda, kinetree id panda --help, kinetree --help.")


def document(degrees: bool) -> dict[str, Any]:
    """The exercises as JSON; results in full precision."""
    documents: list[dict[str, Any]] = []
    for x in EXERCISES:
        model, state = x.make().model, {"q": x.q, "dq": x.dq, "ddq": x.ddq}
        documents.append(
            {"label": x.name, "robot": model.name, "joints": list(model.dof_names)}
            | {name: np.array(y) / factors(model, name, degrees) for name, y in state.items()}
            | {"units": {name: units(model, name, degrees) for name in (*state, "tau")}}
            | {"tau_no_gravity": forces(x, gravity=False), "tau": forces(x)}
            | {
                "printed_no_gravity": x.no_gravity.split() or None,
                "printed": x.gravity.split() or None,
            }
        )
    return {
        "exercises": documents,
        "disagreement": max(map(disagreement, EXERCISES)),
        "computed_by": "kernel" if llvm_problem() is None else "textbook",
    }


def disagreement(exercise: Exercise) -> float:
    """Largest difference of a formulation from the result, relative to the largest force."""
    state = exercise.q, exercise.dq, exercise.ddq
    tau = forces(exercise)
    forms = [
        dynamics.inverse_dynamics(exercise.make().model, *state, formulation=name)
        for name in dynamics.FORMULATIONS
    ]
    return float(max(np.abs(form - tau).max() for form in forms) / np.abs(tau).max())
