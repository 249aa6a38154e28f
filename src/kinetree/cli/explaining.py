"""Explanations as the command line hands them out: of a row of a file, and as JSON."""

from collections.abc import Sequence
from typing import Any

from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.cli.batches import opened
from kinetree.cli.rows import read_rows, with_zeros
from kinetree.errors import InputError
from kinetree.explain import Explanation
from kinetree.model import Model


def row_of(
    model: Model, data: str, row: int, wanted: Sequence[str], degrees: bool
) -> dict[str, Array]:
    """One state of a file, by the number of its row."""
    if row < 1:
        raise InputError(f"--row is {row}; rows are counted from 1.")
    count = 0
    with opened(data) as (stream, name, _):
        for block in read_rows(stream, name, model, wanted, degrees):
            if row <= count + len(block):
                rows = with_zeros(model, block, wanted)
                return {x: y[row - count - 1] for x, y in zip(wanted, rows, strict=True)}
            count += len(block)
    raise InputError(f"--row is {row}; {name} has {counted(count, 'row')}.")


def record(explanation: Explanation) -> dict[str, Any]:
    """Links, terms and parts as plain data."""
    torque = explanation.torque
    return {
        "formulation": explanation.formulation,
        "links": [
            {
                "link": steps.name,
                "joint": steps.joint,
                "type": steps.type,
                "parent": steps.parent,
                "terms": {
                    symbol: {
                        "value": term.value,
                        "parts": [
                            {"name": x.name, "equation": x.equation, "value": x.value}
                            for x in term.parts
                        ],
                    }
                    for symbol, term in steps.terms.items()
                },
            }
            for steps in explanation.links
        ],
        "torque": {"shares": dict(torque.shares), "tau": torque.tau},
    }
