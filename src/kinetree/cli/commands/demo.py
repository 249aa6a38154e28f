"""`kinetree demo`: a torque and its causes, and the exercises of the course."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree import dynamics, robots
from kinetree.cli import options as opt
from kinetree.cli import writer
from kinetree.cli.app import ITSELF, command
from kinetree.core.arrays import Array
from kinetree.engine.kernel import llvm_problem
from kinetree.present.tables import Column, Table
from kinetree.robots.exercises import EXERCISES, Exercise

# q, dq and ddq of a Panda that moves: rad, rad/s, rad/s^2
STATE = (
    (0, -0.3, 0, -2, 0, 1.8, 0.5),
    (1, 0.6, -0.8, 0.5, 1, 1.2, 2),
    (2, 1, 0, 2, 1, 0, 1),
)
TEXTBOOK = "screw"  # the formulation that is shown if nothing can be compiled


@command(ITSELF, also="example examples tour")
def run(*, json: opt.Json = False) -> None:
    """Explain the torques of a moving Panda, and solve the exercises of the course.

    For example:

    ```
    kinetree demo
    ```

    Results of the exercises stand next to the published ones. JSON has exercises (each with label,
    q, dq, ddq, tau_no_gravity, tau, printed_no_gravity and printed, in SI units), disagreement of
    the four formulations, relative.
    """
    writer.give(json, document, parts)


def forces(exercise: Exercise, gravity: bool = True) -> Array:
    """Joint forces by the compiled kernel; by the textbook's recursion if LLVM is missing."""
    robot = exercise.make() if gravity else exercise.make().with_gravity((0, 0, 0))
    state = exercise.q, exercise.dq, exercise.ddq
    if llvm_problem() is None:
        return robot.inverse_dynamics(*state)
    return dynamics.inverse_dynamics(robot.model, *state, formulation=TEXTBOOK)


def disagreement() -> float:
    """Largest difference of a formulation from the result, relative to the largest force."""
    worst = 0.0
    for x in EXERCISES:
        model, tau = x.make().model, forces(x)
        for name in dynamics.FORMULATIONS:
            form = dynamics.inverse_dynamics(model, x.q, x.dq, x.ddq, formulation=name)
            worst = max(worst, float(np.abs(form - tau).max() / np.abs(tau).max()))
    return worst


def causes() -> Table:
    """Where the torques of a Panda in motion come from, N m."""
    robot = robots.panda()
    torque = robot.explain(*STATE).torque
    shares = {name: x for name, x in torque.shares.items() if np.any(x)} | {"torque": torque.tau}
    columns = [Column("joint", robot.joint_names, left=True)]
    columns += [Column(name, [f"{x:.2f}" for x in values]) for name, values in shares.items()]
    return Table.of("Why the joints of a moving Panda need these torques, in N m", columns)


def parts() -> Iterator[writer.Part]:
    """Causes of torques, the exercises, and how well the four formulations and the kernel agree."""
    yield causes()
    position, rate, acceleration = (" ".join(f"{x:g}" for x in values) for values in STATE)
    yield (
        f"kinetree explain panda --q {position} --dq {rate} --ddq {acceleration} unfolds each of "
        "them down to the line of code."
    )
    rows: list[tuple[str, ...]] = []
    for x in EXERCISES:
        joints = x.make().model.joint_names
        free, tau = ([f"{y:.4f}" for y in forces(x, gravity)] for gravity in (False, True))
        printed, printed_tau = (y.split() or ["-"] * len(tau) for y in (x.no_gravity, x.gravity))
        names = [x.name, *[""] * (len(joints) - 1)]
        rows += zip(names, joints, free, printed, tau, printed_tau, strict=True)
    names, joints, *numbers = zip(*rows, strict=True)
    columns = [Column("exercise", names), Column("joint", joints, left=True)]
    heads = ("no gravity computed", "no gravity printed", "computed", "printed")
    columns += [Column(head, x) for head, x in zip(heads, numbers, strict=True)]
    yield Table.of("Inverse dynamics of the course's robots: joint forces in N m and N", columns)
    source = "the kernel compiled for the robot"
    if llvm_problem() is not None:
        source = f"the textbook's recursion in {TEXTBOOK} form, since llvmlite is not installed"
    yield (
        f"Each result comes from {source}. The four textbook formulations "
        f"({', '.join(dynamics.FORMULATIONS)}) differ from it by at most {disagreement():.1e}, "
        "relative to the largest joint force."
    )


def document() -> dict[str, Any]:
    """The exercises as JSON; results in full precision."""
    documents: list[dict[str, Any]] = []
    for x in EXERCISES:
        state = {"q": x.q, "dq": x.dq, "ddq": x.ddq}
        tau = {"tau_no_gravity": forces(x, gravity=False), "tau": forces(x)}
        printed = {"printed_no_gravity": x.no_gravity.split(), "printed": x.gravity.split()}
        documents.append({"label": x.name, **state, **tau, **printed})
    return {"exercises": documents, "disagreement": disagreement()}
