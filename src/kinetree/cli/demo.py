"""`kinetree demo`: the exercises of the course, computed next to the printed results."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from kinetree import algorithms
from kinetree.backends.kernel import llvm_problem
from kinetree.base.arrays import Array
from kinetree.cli.arguments import Degrees, Json
from kinetree.cli.output import print_json
from kinetree.cli.states import factors, units
from kinetree.cli.tables import console
from kinetree.robot import Robot

TEXTBOOK = "screw"  # the formulation that is shown if nothing can be compiled


def demo(*, json: Json = False, degrees: Degrees = False) -> None:
    """Solve the exercises of the course and print each result next to the published one.

    JSON has exercises (each with label, robot, joints, q, dq, ddq, units, tau_no_gravity, tau,
    printed_no_gravity and printed), disagreement of the four formulations, relative, and
    computed_by (kernel, or textbook if llvmlite is not installed).

    For example:

    ```
    kinetree demo
    ```
    """
    if json:
        print_json(document(degrees))
    else:
        demonstrate(console())


@dataclass(frozen=True)
class Exercise:
    """One case: the motion, and the joint forces printed without and with gravity."""

    label: str
    robot: Robot
    q: tuple[float, ...]
    dq: tuple[float, ...]
    ddq: tuple[float, ...]
    printed: tuple[str, ...] | None  # no gravity
    printed_gravity: tuple[str, ...] | None


def exercises() -> list[Exercise]:
    """The five cases; q in rad and m."""
    from kinetree import robots

    arm, slide, spatial = robots.planar_2r(), robots.rp(), robots.spatial_3r()
    deg = np.pi / 180
    return [
        Exercise("2.1  2R", arm, (20 * deg, 40 * deg), (0.2, 0.15), (0.1, 0.085), None, None),
        Exercise(
            "2.2  2R", arm, (90 * deg, 45 * deg), (-0.8, 0.35), (-0.4, 0.1),
            ("-12.3727", "0.2878"), ("-65.0917", "-52.4313"),
        ),
        Exercise(
            "3.1  RP", slide, (20 * deg, 0.2 - 0.6), (0.08, 0.03), (0.1, 0.01),
            ("4.0374", "-0.0245"), ("217.9039", "20.1068"),
        ),
        Exercise(
            "3.2  RP", slide, (120 * deg, 0.6 - 0.6), (-0.4, -0.08), (-0.1, -0.01),
            ("-4.1276", "-2.5560"), ("-129.6956", "48.4183"),
        ),
        Exercise(
            "4.1  3R", spatial, (20 * deg, 40 * deg, 10 * deg), (0.2, 0.15, -0.2), (0.1, 0.085, 0),
            ("5.1128", "1.3712", "0.1532"), ("5.1128", "104.1829", "6.7743"),
        ),
    ]  # fmt: skip


def forces(exercise: Exercise, gravity: bool = True) -> Array:
    """Joint forces by the compiled kernel; by the textbook's recursion if LLVM is missing."""
    robot = exercise.robot if gravity else exercise.robot.with_gravity((0, 0, 0))
    state = exercise.q, exercise.dq, exercise.ddq
    if llvm_problem() is None:
        return robot.inverse_dynamics(*state)
    return algorithms.inverse_dynamics(robot.model, *state, formulation=TEXTBOOK)


def demonstrate(screen: Console) -> None:
    """Print the table of exercises, and how well the four formulations and the kernel agree."""
    table = Table(title="Inverse dynamics of the course's robots: joint forces in N m and N")
    for column in ("exercise", "joint", "computed", "printed", "computed, gravity", "printed"):
        # folded, so that a narrow terminal moves digits to the next line and does not cut them
        justify = "left" if column == "exercise" else "right"
        table.add_column(column, justify=justify, overflow="fold")
    agreement = 0.0
    for exercise in exercises():
        free, tau = forces(exercise, gravity=False), forces(exercise)
        agreement = max(agreement, disagreement(exercise))
        for i, joint in enumerate(exercise.robot.model.joint_names):
            table.add_row(
                exercise.label if i == 0 else "",
                joint,
                f"{free[i]:.4f}",
                "-" if exercise.printed is None else exercise.printed[i],
                f"{tau[i]:.4f}",
                "-" if exercise.printed_gravity is None else exercise.printed_gravity[i],
                end_section=i == exercise.robot.n - 1,
            )
    screen.print(table)
    if llvm_problem() is None:
        source = "the kernel compiled for the robot"
    else:
        source = f"the textbook's recursion in {TEXTBOOK} form, since llvmlite is not installed"
    screen.print(
        f"Each result comes from {source}. The four textbook formulations "
        f"({', '.join(algorithms.FORMULATIONS)}) differ from it by at most {agreement:.1e}, "
        "relative to the largest joint force.",
    )
    screen.print("Next: kinetree info panda, kinetree id panda --help, kinetree --help.")


def document(degrees: bool) -> dict[str, Any]:
    """The exercises as JSON; results in full precision."""
    found: list[dict[str, Any]] = []
    for x in exercises():
        model, state = x.robot.model, {"q": x.q, "dq": x.dq, "ddq": x.ddq}
        found.append(
            {"label": x.label, "robot": model.name, "joints": list(model.dof_names)}
            | {name: np.array(y) / factors(model, name, degrees) for name, y in state.items()}
            | {"units": {name: units(model, name, degrees) for name in (*state, "tau")}}
            | {"tau_no_gravity": forces(x, gravity=False), "tau": forces(x)}
            | {"printed_no_gravity": x.printed, "printed": x.printed_gravity}
        )
    return {
        "exercises": found,
        "disagreement": max(map(disagreement, exercises())),
        "computed_by": "kernel" if llvm_problem() is None else "textbook",
    }


def disagreement(exercise: Exercise) -> float:
    """Largest difference of a formulation from the result, relative to the largest force."""
    state = exercise.q, exercise.dq, exercise.ddq
    tau = forces(exercise)
    forms = [
        algorithms.inverse_dynamics(exercise.robot.model, *state, formulation=name)
        for name in algorithms.FORMULATIONS
    ]
    return float(max(np.abs(form - tau).max() for form in forms) / np.abs(tau).max())
