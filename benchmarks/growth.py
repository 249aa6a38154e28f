"""Write the record of growth: `python -m benchmarks.growth` writes results/<date>-growth.md.

The question `growth` is asked about every family of mechanisms, each in a process of its own. The
JSON beside the record has every row; `tools/draw_growth.py` draws the picture of the documentation
from it.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.mechanisms import SIZES
from benchmarks.peers.labels import POOL, PYTHON_LOOP
from benchmarks.questions import OWN_ROBOTS
from benchmarks.questions.growth import (
    CODE,
    FIRST,
    FROM,
    OPERATIONS,
    QUANTITIES,
    TIME,
    slope,
    undisturbed,
)
from benchmarks.record import busy, put, table
from benchmarks.required import Verdict, one, verdicts
from benchmarks.rows import Row
from benchmarks.run import RESULTS, ask

FAMILIES = OWN_ROBOTS["growth"]
LIMIT = 900  # seconds for one family
WORDS = {
    "snake": "A snake: equal links, axes alternate",
    "chain": "A chain of random links",
    "tree": "A binary tree of random links",
    "legs": "A body on six joints with legs of ten joints, 102 at the end",
}
HEADER = (
    "joints", "operations", "first answer, ms", "machine code, ms", "ns a state", "ns a joint",
    "over `{call}`", "over Pinocchio's pool", "share",
)  # fmt: skip
CALLS = {"inverse_dynamics": "pin.rnea", "forward_dynamics": "pin.aba"}


def main() -> None:
    """Ask, and write both files."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats, to try things out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the record")
    options = parser.parse_args()
    about = machine.describe()
    rows: list[Row] = []
    notes: list[str] = []
    for family in FAMILIES:
        answer = ask("growth", family, "--whole", *["--quick"] * options.quick, limit=LIMIT)
        rows += answer.rows
        notes += answer.notes
        print(f"{family}: {len(answer.rows)} rows", *answer.notes, sep="\n- ", flush=True)
    judged = [v for v in verdicts(rows, notes) if v.robot.partition(" ")[0] in FAMILIES]
    name = f"{about['date'][:10]}-growth" + ("-quick" if options.quick else "")
    data = {**about, "rows": [asdict(row) for row in rows], "notes": notes}
    data["required"] = [asdict(verdict) for verdict in judged]
    put(options.out / f"{name}.json", json.dumps(data, indent=1) + "\n")
    put(options.out / f"{name}.md", markdown(about, rows, notes, judged))


def markdown(
    about: dict[str, Any], rows: Sequence[Row], notes: Iterable[str], judged: Sequence[Verdict]
) -> str:
    """The record as Markdown."""
    cpu, versions = about["machine"], about["versions"]
    packages = ", ".join(f"{name} {versions[name]}" for name in ("python", "numpy", "llvmlite"))
    lines = [
        f"# How cost grows with the number of joints, {about['date'][:10]}",
        "",
        f"`python -m benchmarks.growth` at {about['commit']}. {cpu['processor']}, {cpu['cores']} "
        f"cores ({', '.join(cpu['features'])}), {cpu['system']}, load {cpu['load']} before the "
        f"run; {packages}, Pinocchio {versions['pin']}.",
        "float64, one thread on one core, batches of 4,096 states and of fewer from 64 joints on "
        "(131,072 over the joints); the best of five interleaved repeats. Only results that agree "
        "with Pinocchio's to 1e-9 of their norm are timed. First answer and machine code: the best "
        "of three processes that have imported everything and built the model, without the cache.",
        "Share: the part of its best repeat during which kinetree had the core; where it is below "
        "0.95, times and ratios are of work on the processor.",
        "Pinocchio's pool copies its data, 34 GB at 1,024 joints, so it is measured up to 128."
        + " The machine was busy: ratios are good for their size at most." * busy(cpu),
        "",
        "## What it must show",
        "",
        *required(judged),
        "",
        f"## Exponents, from {FROM} joints on",
        "",
        *exponents(rows),
    ]
    for family in FAMILIES:
        for quantity in QUANTITIES:
            title = f"{WORDS[family]}: {quantity.replace('_', ' ')}"
            header = [cell.format(call=CALLS[quantity]) for cell in HEADER]
            body = table(header, sizes(rows, family, quantity))
            lines += ["", f"## {title}", "", body[0], f"|{'--:|' * len(header)}", *body[2:]]
    if notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def required(judged: Sequence[Verdict]) -> list[str]:
    """Requirements of the same kind in one line, with the worst figure and what falls short."""
    kinds = dict.fromkeys((verdict.what, verdict.required) for verdict in judged)
    lines = []
    for kind in kinds:
        same = [verdict for verdict in judged if (verdict.what, verdict.required) == kind]
        measured = [verdict for verdict in same if verdict.passed is not None]
        short = [f"{v.robot} ({v.measured})" for v in measured if not v.passed]
        amounts = [float(v.measured.rstrip(" xms")) for v in measured]
        worst = "" if not amounts else f"{min(amounts):.3g} to {max(amounts):.3g}"
        lines.append((*kind, f"{len(measured)} of {len(same)}", worst, ", ".join(short) or "-"))
    return table(("", "required", "measured", "range", "falls short"), lines)


def exponents(rows: Sequence[Row]) -> list[str]:
    """Slopes of log(cost) over log(joints), for each family and quantity."""
    asked = {"operations": OPERATIONS, "first answer": FIRST, "machine code": CODE, "a state": TIME}
    lines = [
        (
            family,
            quantity.replace("_", " "),
            *(text(slope(rows, question, family, quantity), ".2f") for question in asked.values()),
        )
        for family in FAMILIES
        for quantity in QUANTITIES
    ]
    return table(("mechanism", "quantity", *asked), lines)


def sizes(rows: Sequence[Row], family: str, quantity: str) -> list[tuple[str, ...]]:
    """One line for each size that was measured."""
    lines = []
    for n in SIZES:
        name = f"{family} {n}"
        ours = one(rows, TIME, name, quantity, "kinetree")
        if ours is None:
            continue

        def value(question: str, name: str = name) -> float | None:
            row = one(rows, question, name, quantity, "kinetree")
            return None if row is None else undisturbed(row)

        def ratio(who: str, name: str = name) -> float | None:
            row = one(rows, TIME, name, quantity, who)
            return None if row is None else row.ratio

        lines.append(
            (
                f"{n:,}",
                text(value(OPERATIONS), ",.0f"),
                text(value(FIRST), ",.0f"),
                text(value(CODE), ",.0f"),
                f"{undisturbed(ours):,.0f}",
                f"{undisturbed(ours) / n:.1f}",
                text(ratio(PYTHON_LOOP), ".1f"),
                text(ratio(POOL), ".1f"),
                text(ours.share, ".2f"),
            )
        )
    return lines


def text(x: float | None, form: str) -> str:
    """A number, or nothing."""
    return "" if x is None else format(x, form)


if __name__ == "__main__":
    main()
