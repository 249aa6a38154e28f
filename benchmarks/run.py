"""Run the whole benchmark: ask every question about every robot and write a dated record."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import machine
from benchmarks.compare import HEADER, read_rows, worse
from benchmarks.questions import ENVIRONMENTS, OF_NO_ROBOT, OWN_ROBOTS, QUESTIONS
from benchmarks.record import Record, title
from benchmarks.robots import SOURCES
from benchmarks.rows import Answer, Row
from benchmarks.screen import filled, show

RESULTS = Path(__file__).parent / "results"
LIMIT = 300  # seconds for one question about one robot


def main() -> int:
    """Ask, write after every answer, and show."""
    options = parse()
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)  # a log has no width of its own
    older = [read_rows(path) for path in options.compare]
    if len(older) == 2:
        return show_worse(older[0], older[1], console)
    record = Record(machine.describe(), quick=options.quick)
    questions = [
        (question, robot)
        for question in options.questions
        for robot in asked_about(question, options.robots)
    ]
    interrupted = False
    # kernels of the run are kept apart from the user's, and are gone afterwards
    folder = tempfile.TemporaryDirectory(prefix="kinetree-bench-")
    os.environ["KINETREE_CACHE_DIR"] = folder.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # imports are timed as users have them
    try:
        for k, (question, robot) in enumerate(questions, start=1):
            name = f"{question} {title(robot)}".strip()
            start = time.perf_counter()
            with console.status(f"{k}/{len(questions)} {name}"):
                record.answers.append(ask(question, robot, *["--quick"] * options.quick))
            console.print(f"{k}/{len(questions)} {name}: {time.perf_counter() - start:.0f} s")
            record.write(options.out)
        record.finished = True
    except KeyboardInterrupt:
        interrupted = True
        console.print("interrupted; what is finished is written.")
    finally:
        folder.cleanup()
    paths = record.write(options.out)
    show(record, console)
    console.print("record:", *(path.name for path in paths))
    if older:
        asked = {row.question for row in record.rows}
        show_worse([row for row in older[0] if row.question in asked], record.rows, console)
    return 130 if interrupted else 0


def show_worse(old: Sequence[Row], new: Sequence[Row], console: Console) -> int:
    """Print what got worse; return the status of the program, 1 if anything did."""
    lines = worse(old, new)
    console.print(filled("Worse than before", HEADER, lines) if lines else "Nothing got worse.")
    return 1 if lines else 0


def asked_about(question: str, robots: Sequence[str]) -> Sequence[str]:
    """The robots of a question: those chosen that it has, mechanisms of its own, or no name."""
    if question in OF_NO_ROBOT:
        return [""]
    return [x for x in OWN_ROBOTS.get(question, robots) if x in robots or x not in SOURCES]


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats, to try things out")
    parser.add_argument("--robots", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument(
        "--compare",
        nargs="+",
        type=Path,
        default=[],
        metavar="JSON",
        help="an older record: print what got worse; two records: compare these, and do not run",
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the record")
    return parser.parse_args()


def python(question: str) -> str:
    """The Python of a question's own environment beside this one, where `make bench` made it."""
    other = Path(sys.prefix + ENVIRONMENTS.get(question, ""), "bin", "python")
    return str(other) if question in ENVIRONMENTS and other.exists() else sys.executable


def ask(question: str, robot: str, *words: str, limit: float = LIMIT) -> Answer:
    """The answer of a process of its own; a crash or a hang becomes a note."""
    command = [python(question), "-m", "benchmarks.ask", question, *([robot] if robot else [])]
    name = f"{question} {title(robot)}".strip()
    try:
        done = subprocess.run(
            [*command, *words],
            env={**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"},
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            timeout=limit,
        )
        return Answer.from_json(json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return Answer(notes=[f"{name}: no answer within {limit:g} s"])
    except (IndexError, json.JSONDecodeError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Answer(notes=[f"{name}: ended with status {done.returncode}: {last[:200]}"])


if __name__ == "__main__":
    sys.exit(main())
