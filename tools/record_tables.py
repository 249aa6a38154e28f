"""Put the newest records of benchmarks/results as tables into README.md and the documentation.

python tools/record_tables.py            # rewrites the tables between the markers
python tools/record_tables.py --check    # only checks that the tables are up to date
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(
    ROOT / x for x in ("README.md", "docs/compiler.md", "docs/gpu.md", "docs/accuracy.md")
)
MARKER = re.compile(r"<!-- record: (\S+) -->\n.*?<!-- end -->", re.DOTALL)
SHOWN = ("planar_2r", "puma_560", "panda", "quadruped", "humanoid")  # in the table of errors
ROBOTS = {"panda": "Panda, 7 joints", "ur5": "UR5, 6 joints", "talos": "Talos, 44 joints"}


def newest(pattern: str) -> tuple[str, Any]:
    """File name and content of the newest record that matches."""
    path = max((ROOT / "benchmarks" / "results").glob(pattern), key=lambda path: path.name)
    return path.name, json.loads(path.read_text(encoding="utf-8"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(ratio: float) -> str:
    """A ratio as text: one decimal below 10, none above."""
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


BOTH = ("inverse_dynamics", "forward_dynamics")
DERIVED = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
# label of a row, question of the benchmark, who is compared, quantities
COMPARISONS = (
    ("Pinocchio's own pool, ID / FD", "throughput", "Pinocchio, parallel pool", BOTH),
    ("CasADi-generated C, ID / FD", "throughput", "CasADi, generated C", BOTH),
    ("Python loop over MuJoCo, ID / FD", "throughput", "MuJoCo, Python loop", BOTH),
    ("JAX (frax) on the CPU, ID / FD", "throughput", "frax, JAX on the CPU", BOTH),
    ("one state: `pin.rnea` / `pin.aba`", "latency", "Pinocchio", BOTH),
    ("derivatives: loop over Pinocchio, ID / FD", "derivatives", "Pinocchio, Python loop", DERIVED),
    ("derivatives: CasADi-generated C, ID", "derivatives", "CasADi, generated C", DERIVED[:1]),
)


def compared(head: str, comparisons: Sequence[Any], sizes: str) -> str:
    """How many times faster than each peer, from the benchmark's record."""
    name, record = newest("*-cores.json")
    measured = {
        (row["question"], row["robot"], row["quantity"], row["who"]): row for row in record["rows"]
    }

    def cell(robot: str, question: str, who: str, quantities: Sequence[str]) -> str:
        rows = [measured.get((question, robot, quantity, who)) for quantity in quantities]
        return " / ".join(figure(row["ratio"]) if row else "not measured" for row in rows)

    rows = [[label, *(cell(robot, *asked) for robot in ROBOTS)] for label, *asked in comparisons]
    note = (
        f"`make bench` of {record['date']}: {record['machine']['processor']}, float64, one thread "
        f"on one core, no contact, C-contiguous (N, n) arrays, {sizes}; ID and FD are inverse and "
        f"forward dynamics ([record](RESULTS/{name.replace('.json', '.md')}))."
    )
    return f"{table([head, *ROBOTS.values()], rows)}\n\n{note}"


def speed() -> str:
    """All comparisons of the record."""
    sizes = "batches of 4,096, of 256 for derivatives"
    return compared("kinetree is faster than", COMPARISONS, sizes)


def batches() -> str:
    """Three comparisons of large batches, with their conditions in the head."""
    head = "no contact, batches of 4,096, one core: kinetree is faster than"
    shown = ("Pinocchio, parallel pool", "CasADi, generated C", "MuJoCo, Python loop")
    rows = [row for row in COMPARISONS if row[1] == "throughput" and row[2] in shown]
    return compared(head, rows, "batches of 4,096")


def gpu_cell(row: Any) -> str:
    """The rate, and the share of the bandwidth where memory matters at all."""
    share = f" ({row['bandwidth']:.0%})" if row["bandwidth"] > 0.05 else ""
    return f"{row['median']:.1f}{share}"


def gpu() -> str:
    """States per second on a GPU, from its record."""
    name, record = newest("*-h200.json")
    kinds: dict[tuple[str, str], dict[str, Any]] = {}
    for row in record["rows"]:
        kinds.setdefault((row["robot"], row["quantity"]), {})[row["dtype"]] = row
    rows = []
    for (robot, quantity), by in kinds.items():
        cells = [gpu_cell(by[kind]) if kind in by else "-" for kind in ("float32", "float64")]
        rows.append([robot, quantity.replace("_", " "), *cells])
    head = ["robot", "quantity", "float32, 1e9/s", "float64, 1e9/s"]
    note = (
        f"`python -m benchmarks.gpu` of {record['date'][:10]} on one {record['gpu']}, (N, n) "
        "arrays, no fast-math, median; in brackets the share of the copy bandwidth measured in "
        f"the same run ([record](RESULTS/{name.replace('.json', '.md')}))."
    )
    return f"{table(head, rows)}\n\n{note}"


def accuracy() -> str:
    """Errors against 50 digits, from their record."""
    name, record = newest("*-accuracy.json")
    quantities = ("tau", "M", "T", "ddq")
    rows = [
        [row["robot"], str(row["joints"]), *(f"{row[q]:.1f}" for q in quantities)]
        for row in record["rows"]
        if row["robot"] in SHOWN
    ]
    note = (
        f"`python tools/accuracy.py` of {record['date']}: worst of {record['states']} states, "
        "kernels in float64 against the same code in 50 digits, in eps = 2.2e-16 of the terms "
        f"that add up ([record](RESULTS/{name}))."
    )
    return f"{table(['robot', 'joints', *quantities], rows)}\n\n{note}"


TABLES: dict[str, Callable[[], str]] = {
    "speed": speed,
    "batches": batches,
    "gpu": gpu,
    "accuracy": accuracy,
}


def rewritten(page: Path) -> str:
    """The page with every marked table regenerated; links are relative to the page."""
    up = "benchmarks/results" if page.parent == ROOT else "../benchmarks/results"

    def anew(found: re.Match[str]) -> str:
        made = TABLES[found[1]]().replace("RESULTS", up)
        return f"<!-- record: {found[1]} -->\n{made}\n<!-- end -->"

    return MARKER.sub(anew, page.read_text(encoding="utf-8"))


def main() -> int:
    """Rewrite the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [page for page in PAGES if rewritten(page) != page.read_text(encoding="utf-8")]
    for page in stale:
        if check:
            print(f"{page.relative_to(ROOT)} is not true to the newest records")
        else:
            page.write_text(rewritten(page), encoding="utf-8")
            print(f"{page.relative_to(ROOT)} rewritten")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
