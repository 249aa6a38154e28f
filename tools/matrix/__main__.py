"""Command line of the matrix; see the package for what it does."""

import argparse
import hashlib
import json
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import matrix
from matrix.cells import CELLS, PROJECT, Cell, MatrixError, chosen
from matrix.record import Row, added, disagreements, markdown, screen
from matrix.roots import PLACE, emulation
from matrix.run import Outcome, build_wheel, carry_out, obstacle

REPORTS = PLACE / "reports"


def main(words: list[str] | None = None) -> int:
    """Run the chosen cells; return 1 if one failed or if two have different bits."""
    parser = argparse.ArgumentParser(
        prog="python -m matrix", description=matrix.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("cells", nargs="*", default=["*"], help="names or patterns; all if none")
    parser.add_argument("--list", action="store_true", help="list the cells and end")
    text = "reports of the suite from other machines, as further cells"
    parser.add_argument("--add", type=Path, nargs="+", default=[], metavar="NAME.json", help=text)
    parser.add_argument("--record", type=Path, help="file of the record")
    text = "make the record from the reports of earlier runs"
    parser.add_argument("--no-run", action="store_true", help=text)
    given = parser.parse_args(words)
    try:
        cells = chosen(" ".join(given.cells))
        if given.list:
            for cell in cells:
                print(f"{cell.name:14} Python {cell.python:5} {obstacle(cell) or 'can run here'}")
            return 0
        others = [added(path) for path in given.add]
        wheel = build_wheel()
        source = identity(wheel)
        say(f"wheel of {source}")
        if not given.no_run:
            run(cells, wheel, source)
    except MatrixError as error:
        print(error, file=sys.stderr)
        return 1
    # what was run is judged; what was not is in the record with its last report of this wheel
    rows = [stored(cell, source) for cell in CELLS] + others
    print(screen([row for row in rows if row.verdict != "not run"]))
    differ = disagreements(rows)
    if differ:
        print("Cells with different bits:", *differ, sep="\n  ")
    target = given.record
    if target is None and given.cells == ["*"]:
        target = PROJECT / "benchmarks" / "results" / f"{date.today()}-platforms.md"
    if target is not None:
        target.write_text(markdown(rows, str(date.today()), source), encoding="utf-8")
        print(f"record: {target}")
    return int(bool(differ) or any(row.verdict == "failed" for row in rows))


def say(text: str) -> None:
    """Print a line of progress."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def identity(wheel: Path) -> str:
    """Return the commit and the hash of a wheel, as text."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()[:16]
    words = ["git", "-C", str(PROJECT), "log", "-1", "--format=%h"]
    commit = subprocess.run(words, capture_output=True, text=True).stdout.strip() or "no commit"
    words = ["git", "-C", str(PROJECT), "status", "--porcelain", "--", "src", "pyproject.toml"]
    changed = subprocess.run(words, capture_output=True, text=True).stdout.strip()
    return f"{wheel.name} (commit {commit}{' with changes' if changed else ''}, sha256 {digest})"


def run(cells: list[Cell], wheel: Path, source: str) -> None:
    """Carry out cells one after the other, and store how each ended."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    with emulation(any(cell.emulated and not obstacle(cell) for cell in cells)):
        for cell in cells:
            outcome = carry_out(cell, wheel, lambda text, name=cell.name: say(f"{name}: {text}"))
            store(outcome, source)
            ran = f", {outcome.report['checks']} checks" if outcome.report else ""
            reason = f": {outcome.reason}" if outcome.reason else ""
            say(f"{cell.name}: {outcome.verdict} in {outcome.seconds:.0f} s{ran}{reason}")


def store(outcome: Outcome, source: str) -> None:
    """Keep the end of a cell for records that are made later."""
    values = {
        "source": source, "verdict": outcome.verdict, "reason": outcome.reason,
        "seconds": round(outcome.seconds, 1), "report": outcome.report,
    }  # fmt: skip
    path = REPORTS / f"{outcome.cell.name}.json"
    path.write_text(json.dumps(values, indent=1), encoding="utf-8")


def stored(cell: Cell, source: str) -> Row:
    """Return the last end of a cell with the same wheel."""
    path = REPORTS / f"{cell.name}.json"
    if path.exists():
        values = json.loads(path.read_text(encoding="utf-8"))
        if digest(values["source"]) == digest(source):
            names = ("verdict", "reason", "report", "seconds")
            return Row(cell.name, *(values[name] for name in names))
    return Row(cell.name, "not run", "not run with this wheel", {}, 0.0)


def digest(source: str) -> str:
    """Return the part of a text of `identity` that depends on the wheel alone."""
    return source.rpartition("sha256 ")[2]


if __name__ == "__main__":
    sys.exit(main())
