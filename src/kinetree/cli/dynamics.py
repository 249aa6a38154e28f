"""Inverse and forward dynamics as the command line runs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kinetree.base.arrays import Array
from kinetree.cli.angles import factors
from kinetree.cli.batches import Job, run_batch
from kinetree.cli.quantities import function_of
from kinetree.cli.show import print_json, print_text
from kinetree.cli.states import Words, document, print_state, read_state, refuse_both
from kinetree.cli.writing import csv_line, number_lines
from kinetree.robot import Robot


@dataclass(frozen=True)
class Task:
    """A quantity of the robot, the arguments that it takes, and the letter of its result."""

    quantity: str
    inputs: tuple[str, ...]
    result: str


def run(
    task: Task,
    robot: Robot,
    data: str | None,
    given: Mapping[str, Words],
    output: Path | None,
    json: bool,
    degrees: bool,
) -> None:
    """Of a file where there is one, else of the state that was typed."""
    refuse_both(data, given)
    model = robot.model
    heads = [f"{task.result}:{x}" for x in model.dof_names]
    if data is not None:
        scale = factors(model, task.result, degrees)
        function = function_of(robot, task.quantity, rows=True)

        def rows(*state: Array) -> Mapping[str, Array]:
            return {task.result: function(*state) / scale}

        job = Job(task.inputs, rows, heads)
        run_batch(model, data, job, output=output, json=json, degrees=degrees)
        return
    state = read_state(model, given, degrees)
    state[task.result] = function_of(robot, task.quantity, rows=False)(*state.values())
    shown = document(model, state, degrees)
    if json:
        print_json(shown, output)
    elif output is not None:
        print_text(csv_line(heads) + "".join(number_lines([shown[task.result].tolist()])), output)
    else:
        print_state(model, state, degrees)
