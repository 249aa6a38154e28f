"""Batches: rows of states in, rows of results out, a block at a time."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.cli.output import Rows, csv_line, json_text, number_lines, progress_bar
from kinetree.cli.rows import Block, States, opened
from kinetree.core.arrays import Array
from kinetree.motion.recordings import ReadRequest


@dataclass(frozen=True)
class Job:
    """A computation on rows: `run(q, ...)` of `inputs`, and the names of the result's columns.

    Results are arrays (rows, ...) by name, in the user's units.
    """

    inputs: tuple[str, ...]
    run: Callable[..., Mapping[str, Array]]
    heads: Sequence[str]


def run_batch(
    request: ReadRequest, data: str, job: Job, *, output: Path | None, json: bool
) -> None:
    """Read, compute and write until the input ends; memory does not grow with a text."""
    model = request.model
    assert model is not None
    with opened(data, request, job.inputs) as states, Rows(output, data) as rows:
        count, blocks = 0, states.blocks
        if sys.stderr.isatty() and not (output is None and sys.stdout.isatty()):
            blocks = with_progress(states)  # rows on a terminal show progress enough
        for block in blocks:
            results = job.run(*block.with_zeros(model, job.inputs))
            if json:
                rows.write(_json_rows(block, results, count))
            else:
                rows.write(_csv_rows(block, results, job.heads if count == 0 else None))
            count += len(block)


def _csv_rows(
    block: Block, results: Mapping[str, Array], heads: Sequence[str] | None
) -> Iterator[str]:
    timed = ["t"] if "t" in block.values else []
    if heads is not None:
        yield csv_line([*timed, *heads])
    parts = [block.values["t"][:, None]] if timed else []
    parts += [x.reshape(len(block), -1) for x in results.values()]
    yield from number_lines(np.concatenate(parts, axis=1).tolist())


def _json_rows(block: Block, results: Mapping[str, Array], before: int) -> Iterator[str]:
    times = block.values.get("t")
    for k in range(len(block)):
        row: dict[str, Any] = {"row": before + k + 1}
        if times is not None:
            row["t"] = float(times[k])
        yield json_text(row | {name: x[k] for name, x in results.items()}) + "\n"


def with_progress(states: States) -> Iterator[Block]:
    """Pass the blocks on, and show on stderr how much of the input is done."""
    rows, known = 0, states.size is not None
    with progress_bar() as show:
        show(0, states.size, "0 rows")
        for block in states.blocks:
            yield block
            rows += len(block)
            done = states.stream.tell() if known and states.stream is not None else None
            show(done, states.size, f"{rows:,} row{'s' if rows != 1 else ''}")
