"""M, C, c, g and friction: computed of states, named as columns, shown as tables."""

from collections.abc import Callable, Mapping

from kinetree.base.arrays import Array
from kinetree.cli.angles import units
from kinetree.cli.quantities import function_of
from kinetree.cli.show import console, matrix_tables, number, table
from kinetree.model import Model
from kinetree.robot import Robot

MATRICES = {"M": "mass matrix", "C": "Coriolis matrix"}
VECTORS = {"c": "C dq", "g": "gravity", "friction": "friction"}


def terms_of(robot: Robot, rows: bool) -> Callable[[Array, Array], dict[str, Array]]:
    """M, C, c, g and friction as a function of q and dq, (..., n, n) and (..., n)."""
    names = ("mass_matrix", "coriolis_matrix", "coriolis_forces", "gravity_forces")
    M, C, c, g, friction = (function_of(robot, x, rows) for x in (*names, "friction_forces"))
    return lambda q, dq: {
        "M": M(q), "C": C(q, dq), "c": c(q, dq), "g": g(q), "friction": friction(dq)
    }  # fmt: skip


def heads(model: Model) -> list[str]:
    """Names of the columns in a file of terms."""
    names = model.dof_names
    found = [f"{letter}:{a}:{b}" for letter in MATRICES for a in names for b in names]
    return found + [f"{letter}:{a}" for letter in VECTORS for a in names]


def print_terms(model: Model, values: Mapping[str, Array]) -> None:
    """Matrices first, in as many pieces as the screen is narrow; then the vectors."""
    screen = console()
    for letter, words in MATRICES.items():
        title = f"{letter}: {words}, of {model.name}" if letter == "M" else f"{letter}: {words}"
        for part in matrix_tables(title, model.dof_names, values[letter], screen.width):
            screen.print(part)
            screen.print()
    unit = units(model, "tau")
    rows = [
        [name, *(number(values[x][k]) for x in VECTORS), unit[k]]
        for k, name in enumerate(model.dof_names)
    ]
    words = [f"{letter}\n{word}" if letter != word else word for letter, word in VECTORS.items()]
    screen.print(table("forces", ["joint", *words, ""], rows))
