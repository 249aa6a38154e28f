"""Explanations as the command line hands them out: of a row of a file, as JSON, as a document."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kinetree.arrays import Array
from kinetree.cli.batches import opened
from kinetree.cli.rows import read_rows, with_zeros
from kinetree.cli.writing import check_output
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
    raise InputError(f"--row is {row}; {name} has {count} rows.")


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


def written(explanation: Explanation, format: str, output: Path | None) -> None:
    """The document to a file, or to standard output."""
    text = getattr(explanation, format)()
    if output is None:
        print(text)
        return
    check_output(output)
    output.write_text(text, encoding="utf-8")
