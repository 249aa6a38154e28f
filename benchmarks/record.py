"""The record of a run: JSON with everything, Markdown to read."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import slug
from benchmarks.required import Verdict, verdicts
from benchmarks.robots import SOURCES
from benchmarks.rows import Answer, Row


@dataclass
class Record:
    """Results so far; `about` is `machine.describe()`."""

    about: dict[str, Any]
    answers: list[Answer] = field(default_factory=list)
    finished: bool = False
    quick: bool = False

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the questions."""
        return [row for answer in self.answers for row in answer.rows]

    @property
    def notes(self) -> list[str]:
        """All notes, each once."""
        return list(dict.fromkeys(note for answer in self.answers for note in answer.notes))

    @property
    def verdicts(self) -> list[Verdict]:
        """Every requirement and what was measured."""
        return verdicts(self.rows, self.notes)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both files; a run of the same day on the same machine is replaced."""
        folder.mkdir(parents=True, exist_ok=True)
        name = slug(self.about) + ("-quick" if self.quick else "")
        data, text = folder / f"{name}.json", folder / f"{name}.md"
        put(data, json.dumps(self.to_json(), indent=1) + "\n")
        put(text, markdown(self))
        return data, text

    def to_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            **self.about,
            "finished": self.finished,
            "quick": self.quick,
            "required": [asdict(verdict) for verdict in self.verdicts],
            "rows": [asdict(row) for row in self.rows],
            "notes": self.notes,
        }


def put(path: Path, text: str) -> None:
    """Write a file in one step, so that an interrupted run leaves the last whole one."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text)
    os.replace(partial, path)


def markdown(record: Record) -> str:
    """The record as Markdown."""
    about, machine = record.about, record.about["machine"]
    state = "" if record.finished else " This run was interrupted: what is missing was not reached."
    quick = " A quick run: few repeats, good for ratios at most." if record.quick else ""
    if busy(machine):
        quick += " The machine was busy: no figures to quote."
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    head = [
        f"# Benchmark, {about['date']}",
        "",
        f"{machine['processor']}, {machine['cores']} cores ({', '.join(machine['features'])}), "
        f"{machine['system']}; load {machine['load']} before the run. Commit {about['commit']}.",
        f"{versions}.{state}{quick}",
        "",
        "No contact but in the question contact; batches are C-contiguous (N, n) arrays of "
        "float64. The same states for all in one run, repeats interleaved; the best repeat, and "
        "as spread the median over it. One thread on one core unless said. "
        "Share: how much of the best repeat the core was its own; below 0.95 ratios and "
        "requirements go by time on the processor.",
        "",
        "## What it must show",
        "",
    ]
    required = table(
        ("", "robot", "required", "measured", "spread", ""),
        [
            (v.what, v.robot, v.required, v.measured, number(v.spread), v.word)
            for v in record.verdicts
        ],
    )
    body = [*head, *required, "", "## Everything measured", ""]
    body += table(
        ("question", "robot", "quantity", "who", *NUMBERS),
        cells(record.rows),
    )
    body += ["", "## Notes", "", *(f"- {note}" for note in record.notes)]
    return "\n".join(body) + "\n"


def busy(machine: dict[str, Any]) -> bool:
    """True if other processes used the cores when the run began; ratios are affected too."""
    return (machine["load"] or 0) > 0.5 * (machine["cores"] or 1)


def cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """One line of the long table for each row."""
    return [
        (
            row.question + (f", N = {row.n}" if row.n else ""),
            title(row.robot),
            row.quantity.replace("_", " "),
            row.who,
            f"{row.value:.4g} {row.unit}".strip(),
            "" if row.ratio is None else f"{row.ratio:.3g}x",
            number(row.spread if row.repeats > 1 else None),
            number(row.share),
        )
        for row in rows
    ]


NUMBERS = ("time", "vs kinetree", "spread", "share")


def title(robot: str) -> str:
    """Name of a robot in tables."""
    return SOURCES[robot].title if robot in SOURCES else robot


def number(x: float | None) -> str:
    """A spread."""
    return "" if x is None else f"{x:.2f}"


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [
        f"| {' | '.join(header)} |",
        f"|{'---|' * len(header)}",
        *(f"| {' | '.join(line)} |" for line in lines),
    ]
