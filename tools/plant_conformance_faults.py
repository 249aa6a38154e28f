"""Plant faults in copies of the package and list the checks of the conformance suite that fail.

    python tools/plant_conformance_faults.py                  all faults; about a minute each
    python tools/plant_conformance_faults.py sine seal        those whose names contain a word
    python tools/plant_conformance_faults.py --quick          run only the groups that find them
    python tools/plant_conformance_faults.py --list           names of the faults

A fault is one change of text in a copy of `src/kinetree`, or of a byte in the user's cache, with
the effect of a machine that computes something else. The suite runs as a user runs it
(`python -m kinetree.testing --json`), in a process of its own. The exit code is 1 if the suite
misses a fault, or if it fails on a copy without a fault.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "kinetree"
LONGEST_RUN_S = 900  # of one run; other programs may keep the cores busy


@dataclass(frozen=True)
class Fault:
    """A change of text in a file of the package; `old` occurs there exactly once."""

    name: str
    file: str
    old: str
    new: str
    group: str  # of the checks that find it, for --quick


FAULTS = (
    Fault(
        "a coefficient of sine differs in its last bit",
        "engine/compiler/sincos.py", '"-0x1.5555555555548p-3"', '"-0x1.5555555555549p-3"',
        "bits",
    ),
    Fault(
        "a fused multiply-add is rounded twice",
        "engine/llvm/body.py",
        '"fma": "  %n{i} = call {T} @llvm.fma.{F}({T} {a}, {T} {b}, {T} {c})"',
        '"fma": "  %p{i}_ = fmul {T} {a}, {b}\\n  %n{i} = fadd {T} %p{i}_, {c}"',
        "bits",
    ),
    Fault(
        "the last vector of a batch has one state too few",
        "engine/llvm/block.py",
        'w.do(f"%count = select i1 %short, i64 %left, i64 {self.lanes}")',
        'w.do("%fewer = sub i64 %left, 1")\n'
        '        w.do(f"%count = select i1 %short, i64 %fewer, i64 {self.lanes}")',
        "calls",
    ),
    Fault(
        "pi/2 of very large angles is wrong by a millionth",
        "engine/llvm/careful.py",
        "    t, low = times_half_pi(f, pieces)\n    return",
        "    t, low = times_half_pi(f, pieces)\n    t = f.mul(t, f.number(1 + 1e-6))\n    return",
        "kernels",
    ),
    Fault(
        "a mass of the Panda has two digits exchanged",
        "robots/arms.py", "3.228604, 3.587895", "3.228604, 3.587985",
        "bits",
    ),
    Fault(
        "gravity has the wrong sign in the direct form",
        "model/inputs.py",
        'dV_base=six_vector(dV_base, "dV_base") - model.gravity',
        'dV_base=six_vector(dV_base, "dV_base") + model.gravity',
        "kernels",
    ),
    Fault(
        "pieces of a batch leave out one state",
        "engine/call/threads.py",
        "return [slice(start, min(start + length, size)) for",
        "return [slice(start, min(start + length, size - 1)) for",
        "calls",
    ),
    Fault(
        "errors of commands end with exit code 0",
        "cli/program.py",
        "FAULT, INTERRUPTED, NO_READER = 2,", "FAULT, INTERRUPTED, NO_READER = 0,",
        "commands",
    ),
)  # fmt: skip
HASH, BYTE = "a stored hash of the table was changed", "a byte of the user's cache was changed"
GROUPS = {fault.name: fault.group for fault in FAULTS} | {HASH: "bits", BYTE: "cache"}


def planted(fault: Fault, package: Path) -> None:
    """Change a file of a copy of the package."""
    path = package / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        count = text.count(fault.old)
        sys.exit(f"{fault.name}: {fault.file} has {count} times {fault.old!r}; expected once.")
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")


def change_hash(package: Path) -> None:
    """Change a digit of a hash that only the run of the whole table computes."""
    path = package / "testing" / "bits.txt"
    lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    at = max(k for k, line in enumerate(lines) if line.startswith("float64"))
    last = lines[at].rstrip()
    lines[at] = last[:-1] + ("0" if last[-1] != "0" else "1") + "\n"
    path.write_text("".join(lines), encoding="ascii", newline="\n")


def change_byte(package: Path, cache: Path) -> None:
    """Fill a user's cache, and change a byte of its largest entry."""
    code = "import kinetree as kt; kt.robots.planar_2r().inverse_dynamics([0, 0], [0, 0], [0, 0])"
    subprocess.run([sys.executable, "-c", code], env=surroundings(package, cache), check=True)
    path = max(cache.glob("*.kto"), key=lambda x: x.stat().st_size)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def surroundings(package: Path, cache: Path) -> dict[str, str]:
    """Return the environment of a run on a copy of the package."""
    path = {"PYTHONPATH": str(package.parent), "KINETREE_CACHE_DIR": str(cache)}
    return {**os.environ, **path, "KINETREE_CACHE": "1"}


def conformance(package: Path, cache: Path, groups: Sequence[str] = ()) -> tuple[int, list[str]]:
    """Run the suite on a copy; return its exit code and the checks that failed."""
    words = [word for group in groups for word in ("--only", group)]
    ended = subprocess.run(
        [sys.executable, "-m", "kinetree.testing", "--json", *words],
        env=surroundings(package, cache), cwd=package.parent, timeout=LONGEST_RUN_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        found = json.loads(ended.stdout)["findings"]
    except ValueError:
        sys.exit(f"the suite ended with code {ended.returncode} and no record:\n{ended.stderr}")
    return ended.returncode, [f"{x['group']}: {x['name']}" for x in found if x["outcome"] == "FAIL"]


def trial(name: str, groups: Sequence[str] = ()) -> tuple[int, list[str]]:
    """Run the suite on a copy with the named fault; "" is none."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        package, cache = Path(folder) / "kinetree", Path(folder) / "cache"
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
        plant: dict[str, Callable[[], None]] = {
            fault.name: lambda fault=fault: planted(fault, package) for fault in FAULTS
        }
        plant[HASH] = lambda: change_hash(package)
        plant[BYTE] = lambda: change_byte(package, cache)
        if name:
            plant[name]()
        return conformance(package, cache, groups)


def main() -> int:
    """Run the chosen faults and print a table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of the names of faults; all if left out")
    parser.add_argument("--list", action="store_true", help="list the faults and exit")
    parser.add_argument("--quick", action="store_true", help="run only the group that finds each")
    given = parser.parse_args()
    chosen = [x for x in GROUPS if not given.words or any(word in x for word in given.words)]
    if given.list or not chosen:
        print("\n".join(GROUPS))
        return 0 if given.list else 2
    missed = 0
    print("| fault | checks that fail | first of them | seconds |\n|---|---|---|---|", flush=True)
    for name in ("", *chosen):
        start = time.perf_counter()
        quick = [GROUPS[name]] if name else sorted({GROUPS[x] for x in chosen})
        code, failed = trial(name, quick if given.quick else ())
        right = bool(failed) and code == 1 if name else not failed and code == 0
        missed += not right
        verdict = "" if right else " **(wrong)**"
        first = failed[0] if failed else "-"
        seconds = time.perf_counter() - start
        print(
            f"| {name or 'none'} | {len(failed)}{verdict} | {first} | {seconds:.0f} |", flush=True
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
