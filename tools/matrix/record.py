"""The record of a run: a table for the terminal, and Markdown for benchmarks/results."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matrix.cells import MISSING, MatrixError

FEWEST = 100  # results that a hash should cover, so that it says something
BY_CUDA = " by CUDA"


@dataclass(frozen=True)
class Row:
    """A cell as the record shows it; `report` is empty if its suite did not run."""

    name: str
    verdict: str
    reason: str
    report: Mapping[str, Any]
    seconds: float

    def fact(self, name: str) -> str:
        """Return a fact of the machine, "-" if it is not known."""
        return str(self.report.get("machine", {}).get(name, "-"))

    def number(self, name: str) -> str:
        """Return a number of the report, "-" if the suite did not run."""
        return str(self.report.get(name, "-"))

    @property
    def bits(self) -> dict[str, str]:
        """Hashes of the results that the cell computed, by the name of the check."""
        wanted = ("bits", "cuda")
        found = [x for x in self.report.get("findings", ()) if x["group"] in wanted]
        ran = [x for x in found if x["status"] != "skip" and ", " in x["name"]]
        return {x["name"].removesuffix(BY_CUDA): x["found"] for x in ran}

    @property
    def processor(self) -> str:
        """Processor and width of its vectors, as the suite reports them."""
        family, states = self.fact("vector family"), self.fact("states at a time")
        if family == "-":
            return f"{self.fact('processor')}, no vectors"
        return f"{self.fact('processor')}, {family}, {states.partition(' ')[0]} float64"


def added(path: Path) -> Row:
    """Return a cell that ran elsewhere: NAME.json has the output of the suite with --json."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        verdict = "passed" if report["conforms"] else "failed"
        return Row(path.stem, verdict, "run on another machine", report, report["seconds"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MatrixError(
            f"{path} is not a report of the suite ({type(error).__name__}: {error}). "
            "Make one there with: python -m kinetree.testing --json > NAME.json"
        ) from None


def common_results(rows: Sequence[Row]) -> list[str]:
    """Return the names of the results that all cells have; added ones count if they have them."""
    own = [set(row.bits) for row in rows if row.bits and row.reason != "run on another machine"]
    return sorted(set.intersection(*own)) if own else []


def hash_of_bits(row: Row, names: Sequence[str]) -> str:
    """Return one hash of the hashes of some results; "-" if the cell lacks one of them."""
    found = row.bits
    if not names or not set(names) <= set(found):
        return "-"
    text = "\n".join(f"{name}: {found[name]}" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def disagreements(rows: Sequence[Row]) -> list[str]:
    """Return the results that two cells computed with different bits, with the cells."""
    seen: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        for name, value in row.bits.items():
            seen.setdefault(name, {}).setdefault(value, []).append(row.name)
    lines: list[str] = []
    for name, values in sorted(seen.items()):
        if len(values) > 1:
            parts = (f"{value} in {', '.join(cells)}" for value, cells in values.items())
            lines.append(f"{name}: {'; '.join(parts)}")
    return lines


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Return the head and the lines of the table of cells."""
    names = common_results(rows)
    head = ["cell", "verdict", "system", "Python", "NumPy", "llvmlite", "LLVM", "cyclopts", "rich"]
    head += ["processor and vectors", "checks", "failed", "skipped", "results", "bits", "seconds"]
    lines = [head]
    for row in rows:
        facts = (row.fact(x) for x in ("system", "Python", "NumPy", "llvmlite", "LLVM"))
        numbers = (row.number(x) for x in ("checks", "failed", "skipped"))
        lines.append([
            row.name, row.verdict, *facts, row.fact("cyclopts"), row.fact("rich"),
            row.processor if row.report else "-", *numbers, str(len(row.bits) or "-"),
            hash_of_bits(row, names), f"{row.seconds:.0f}" if row.report else "-",
        ])  # fmt: skip
    return lines


def screen(rows: Sequence[Row]) -> str:
    """Return the table for a terminal, with the columns that differ most, and all reasons."""
    shown = (0, 1, 3, 4, 5, 10, 11, 12, 13, 14, 15)
    lines = [[line[k] for k in shown] for line in table(rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(shown))]
    text = [
        "  ".join(x.ljust(w) for x, w in zip(line, widths, strict=True)).rstrip() for line in lines
    ]
    text += [f"{row.name} {row.verdict}: {row.reason}" for row in rows if row.verdict != "passed"]
    return "\n".join(text)


def groups(rows: Sequence[Row]) -> list[list[str]]:
    """Return a table of the numbers of checks that each cell ran in each group."""
    ran = [row for row in rows if row.report]
    found = {row.name: {x["name"]: x for x in row.report["groups"]} for row in ran}
    names = list(dict.fromkeys(name for row in ran for name in found[row.name]))
    lines = [["group", *(row.name for row in ran)]]
    for name in names:
        numbers = (str(found[row.name].get(name, {}).get("checks", 0) or "-") for row in ran)
        lines.append([name, *numbers])
    return lines


def skipped_checks(rows: Sequence[Row]) -> list[str]:
    """Return the reasons for which checks were skipped, each with its cells."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        found = (x for x in row.report.get("findings", ()) if x["status"] == "skip")
        for reason in dict.fromkeys(f"{x['group']}, {x['name']}: {x['found']}" for x in found):
            reasons.setdefault(reason, []).append(row.name)
    return [f"{reason} ({', '.join(cells)})" for reason, cells in reasons.items()]


def markdown(rows: Sequence[Row], date: str, source: str) -> str:
    """Return the record as Markdown."""
    names = common_results(rows)
    differ = disagreements(rows)
    verdict = "All cells have the same bits." if not differ else "CELLS DIFFER, see below."
    parts = [
        f"# Platforms, {date}",
        f"Made by `make matrix` from {source}. Each cell installed this wheel in a fresh "
        "environment and ran `python -m kinetree.testing --json`; `docs/accuracy.md` describes "
        "the cells. The numbers are those of the reports, seconds are those of a shared machine.",
        f"`results` counts the results whose bits were compared with the stored table. `bits` is "
        f"one hash of the {len(names)} results that every cell has. {verdict}",
        _grid(table(rows)),
    ]
    if differ:
        parts += ["## Different bits", _list(differ)]
    parts += ["## Checks by group", _grid(groups(rows))]
    other = [f"{x.name} {x.verdict}: {x.reason}" for x in rows if x.verdict != "passed"]
    parts += ["## Cells that did not pass", _list(other)] if other else []
    skipped = skipped_checks(rows)
    parts += ["## Skipped checks", _list(skipped)] if skipped else []
    parts += ["## Not in the matrix", _list(MISSING)]
    return "\n\n".join(parts) + "\n"


def _grid(lines: Sequence[Sequence[str]]) -> str:
    head, *rest = [[" ".join(x.split()).replace("|", "/") for x in line] for line in lines]
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rest))


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)
