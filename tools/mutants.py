"""Plant small random faults in one folder and list those that the folder's own tests miss.

    python tools/mutants.py simulate --count 60 --seed 1 --record simulate.md

A fault is one small mistake: an operator, a sign, a comparison or its strictness, a constant, an
index off by one, a swapped function, a dropped statement. Every line of code in the folder has an
equal chance. Only tests that run the faulty statement are tried, the fastest first, until one
fails. A test that hangs counts as failed. The run ends with an error below 90 % found.

Nothing is written into the working tree: the run takes copies of it in the folder for temporary
files. What it learns about the tests is kept in build/mutants.
"""

import argparse
import fcntl
import json
import os
import re
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from planted.faults import Fault, choose, find_faults
from planted.inside import SharedCache
from planted.reach import Reach, Statements, statements_of
from planted.trial import (
    Bench,
    Project,
    Result,
    copy_project,
    end_all,
    import_heavy,
    reach_of_tests,
)

REQUIRED = 0.9
NEIGHBOURS = 20.0  # s of tests beside those that ran the statement
# tests of a folder beside tests/unit/FOLDER and tests/matrix
LAWS, REFERENCES = "tests/laws/test_", "tests/references/test_"
TESTS = {
    "dynamics": (
        "tests/laws",
        f"{REFERENCES}con*.py",
        f"{REFERENCES}sim*.py",
    ),
    "contacts": (f"{LAWS}contact_laws.py", f"{REFERENCES}contacts_references.py"),
    "controllers": (f"{LAWS}control_laws.py", f"{REFERENCES}control.py"),
    "files": ("tests/references/test_*file*.py", f"{REFERENCES}*inputs.py", "tests/security"),
    "identify": (f"{LAWS}parameters.py", f"{REFERENCES}identification.py"),
    "model": (
        f"{LAWS}dynamics.py",
        f"{LAWS}constraint_laws.py",
        f"{REFERENCES}*.py",
        "tests/interfaces/test_commands.py",
        "tests/oracles",
    ),
    "motion": (f"{LAWS}motion_laws.py", f"{REFERENCES}motion.py", f"{REFERENCES}recording*.py"),
    "optimal": (f"{LAWS}control_laws.py", f"{REFERENCES}optimal.py"),
    "simulate": (
        f"{LAWS}sim*.py",
        f"{LAWS}con*.py",
        f"{REFERENCES}sim*.py",
        f"{REFERENCES}con*.py",
    ),
    "symbols": (f"{LAWS}written.py", "tests/interfaces"),
    "explain": ("tests/interfaces",),
    "views": ("tests/interfaces",),
    "cli": ("tests/interfaces",),
}
# folders whose faults could reach the compiled code that trials share
UNCACHED = ("engine", "engine/compiler")


def main(words: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    options = _options(words)
    os.environ |= {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
    root = options.root.resolve()
    if not (root / "src" / options.package / options.folder).is_dir():
        return _fail(f"FOLDER is {options.folder!r}; expected a folder of src/{options.package}.")
    top = options.folder.split("/")[0]
    beside = TESTS.get(options.folder, TESTS.get(top, ("tests/laws",)))
    tests = options.tests or (f"tests/unit/{options.folder}", "tests/matrix", *beside)
    files = tuple(sorted({name for place in tests for name in _test_files(root, place)}))
    if not files:
        return _fail(f"{options.folder!r} has no tests: nothing matches {', '.join(tests)}.")
    scratch = root / "build" / "mutants"
    scratch.mkdir(parents=True, exist_ok=True)
    with (scratch / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _fail(f"another run uses {scratch}; wait until it ends.")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            return _run(Project(root, options.package, options.folder, files, scratch), options)
        finally:
            end_all()


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder of src/kinetree")
    parser.add_argument("--count", type=int, default=60, help="number of faults")
    parser.add_argument("--seed", type=int, default=1, help="the same seed plants the same faults")
    parser.add_argument("--jobs", type=int, default=1, help="number of trials at once")
    parser.add_argument("--budget", type=float, default=150.0, help="s of tests for one fault")
    parser.add_argument(
        "--patience",
        type=float,
        default=30.0,
        help="s beyond ten times its usual time after which a test hangs",
    )
    parser.add_argument("--record", type=Path, help="file for the results, .md or .json")
    parser.add_argument("--reasons", type=Path, help="file with the reasons of known survivors")
    parser.add_argument("--fresh", action="store_true", help="forget which test runs what")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of faults to try again")
    parser.add_argument("--tests", nargs="*", help="files and folders instead of the table")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--package", default="kinetree")
    return parser.parse_args(words)


def _test_files(root: Path, place: str) -> list[str]:
    found = sorted((root / place).rglob("test_*.py")) if (root / place).is_dir() else []
    return [path.relative_to(root).as_posix() for path in found or sorted(root.glob(place))]


def _run(project: Project, options: argparse.Namespace) -> int:
    began = time.monotonic()
    import_heavy(project)
    # trials take place in copies: the working tree may change meanwhile
    roots = [copy_project(project, f"job{k}") for k in range(options.jobs)]
    faults = choose(
        find_faults(roots[0], roots[0] / project.sources),
        options.count,
        options.seed,
        roots[0],
    )
    numbered = [(k, fault) for k, fault in enumerate(faults, 1)]
    if options.only:
        numbered = [(k, fault) for k, fault in numbered if k in options.only]
    statements = statements_of(roots[0], roots[0] / project.whole, project.package)
    known = reach_of_tests(project, statements, options.fresh, _say)
    broken = sorted(
        name for name, reach in known.items() if reach.outcome not in ("passed", "skipped")
    )
    for name in broken:
        _say(f"left out, because it fails without a fault: {name}")
    _say(f"{len(known)} tests known after {time.monotonic() - began:.0f} s")
    results = _try_all(project, options, roots, statements, numbered, known)
    _report(project, options, results, time.monotonic() - began)
    found = sum(result.found for _, result in results)
    return 0 if found >= REQUIRED * len(results) else 1


def _try_all(
    project: Project,
    options: argparse.Namespace,
    roots: list[Path],
    statements: Statements,
    faults: list[tuple[int, Fault]],
    known: dict[str, Reach],
) -> list[tuple[int, Result]]:
    """Try all faults; those found by a test that fails without a fault, too, are tried again."""
    compiled = project.scratch / "compiled"
    compiled.mkdir(exist_ok=True)
    cache = SharedCache(compiled, None)
    cache.done = project.folder in UNCACHED
    benches = [
        Bench(project, root, cache, options.budget, options.patience, known) for root in roots
    ]
    usable = {name: reach for name, reach in known.items() if reach.outcome == "passed"}
    results: dict[int, Result] = {}
    waiting = list(faults)
    while waiting:
        fresh = _try(benches, waiting, statements, usable)
        results |= fresh
        liars = _failing_without_fault(benches[0], {r.test for r in fresh.values() if r.test})
        for name in sorted(liars):
            _say(f"left out, because it fails without a fault: {name}")
            for test in [test for test in usable if test == name or test.startswith(f"{name}::")]:
                del usable[test]
        waiting = [(k, fault) for k, fault in waiting if results[k].test in liars]
    return sorted(results.items())


def _try(
    benches: list[Bench],
    faults: list[tuple[int, Fault]],
    statements: Statements,
    usable: dict[str, Reach],
) -> dict[int, Result]:
    queue, running, results = list(faults), {}, {}
    while queue or running:
        for k, bench in enumerate(benches):
            if k not in running and queue:
                number, fault = queue.pop(0)
                numbers = statements.numbers_for(fault)
                named = set()
                if statements.runs_on_import(fault):
                    named = _files_that_name(bench.root, fault.path, usable)
                tests = _order(numbers, usable, named)
                if tests:
                    running[k] = number, bench.start(fault, tests)
                else:
                    text = (bench.root / fault.path).read_bytes()
                    lines = fault.before_and_after(text)
                    results[number] = Result(fault, *lines, False, "no test runs this statement")
                    _show(number, results[number])
        for k, (number, trial) in list(running.items()):
            result = trial.poll()
            if result:
                results[number] = result
                del running[k]
                _show(number, result)
        time.sleep(0.02)
    return results


def _files_that_name(root: Path, module: str, usable: dict[str, Reach]) -> set[str]:
    """Return the files of tests whose text has the name of a module."""
    word = re.compile(rf"\b{Path(module).stem}\b")
    files = {name.split("::")[0] for name in usable}
    return {file for file in files if word.search((root / file).read_text())}


def _order(numbers: set[int], usable: dict[str, Reach], named: set[str]) -> list[str]:
    """Return the tests that ran one of the statements, the fastest first, then some neighbours.

    A neighbour in the same file may need the statement although an earlier test ran it for both.
    """

    def quick(name: str) -> tuple[float, str]:
        return usable[name].seconds, name

    touching = sorted(
        (n for n, x in usable.items() if x.touches(numbers) or n.split("::")[0] in named),
        key=quick,
    )
    files = {name.split("::")[0] for name in touching}
    tests, spent = list(touching), 0.0
    for name in sorted((x for x in usable if x.split("::")[0] in files), key=quick):
        spent += usable[name].seconds
        if name not in touching and spent <= NEIGHBOURS:
            tests.append(name)
    return tests


def _failing_without_fault(bench: Bench, tests: set[str]) -> set[str]:
    """Return those tests (or files) that fail in the unchanged copy, too."""
    names = sorted(
        name
        for name in bench.known
        if name in tests or (name.split("::")[0] in tests and bench.known[name].outcome == "passed")
    )
    if not names:
        return set()
    trial = bench.start(None, names, stop=False)
    failures: set[str] = set()
    while True:
        result = trial.poll()
        failures |= set(trial.failures)
        trial.failures.clear()
        if result:
            return failures & tests
        time.sleep(0.02)


def _say(text: str) -> None:
    print(text, flush=True)


def _fail(text: str) -> int:
    print(text, file=sys.stderr)
    return 2


def _show(number: int, result: Result) -> None:
    fault = result.fault
    state = "found" if result.found else "SURVIVED"
    place = f"{fault.path}:{fault.line}"
    _say(f"{number:4} {state:9}{result.seconds:6.1f} s {result.tests:4} tests  {place}")
    if not result.found:
        _say(f"       {result.before}\n    -> {result.after}\n       ({result.how})")


def _entry(result: Result) -> str:
    return f"- {result.fault.path}: `{result.before}` -> `{result.after}`: "


def _report(
    project: Project,
    options: argparse.Namespace,
    results: list[tuple[int, Result]],
    seconds: float,
) -> None:
    found = sum(result.found for _, result in results)
    share = f"{found} of {len(results)} faults found ({100 * found / max(len(results), 1):.0f} %)"
    lines = options.reasons.read_text().splitlines() if options.reasons else []
    survivors = []
    for number, result in results:
        if not result.found:
            entry = _entry(result)
            reason = next(
                (line[len(entry) :] for line in lines if line.startswith(entry)), result.how
            )
            survivors.append((number, result, reason))
    _say(f"\n{project.folder}: {share} in {seconds:.0f} s, seed {options.seed}")
    for number, result, reason in survivors:
        _say(f"{number:4} {result.fault.path}:{result.fault.line}\n{_entry(result)}{reason}")
    if options.record and options.record.suffix == ".json":
        rows = [
            {"number": number, **asdict(result)} | {"fault": asdict(result.fault)}
            for number, result in results
        ]
        data = {"folder": project.folder, "seed": options.seed, "found": found, "faults": rows}
        options.record.write_text(json.dumps(data, indent=1) + "\n")
    elif options.record:
        options.record.write_text(_markdown(project, options, results, survivors, share))


def _markdown(
    project: Project,
    options: argparse.Namespace,
    results: list[tuple[int, Result]],
    survivors: list[tuple[int, Result, str]],
    share: str,
) -> str:
    command = f"make mutants FOLDER={project.folder} COUNT={options.count} SEED={options.seed}"
    lines = [
        f"# Planted faults in {project.folder}",
        "",
        f"`{command}`: {share}.",
        "",
        "## Survivors",
        "",
        *(f"{_entry(result)}{reason}" for _, result, reason in survivors),
        *([] if survivors else ["None."]),
        "",
        "## Found",
        "",
        "| place | before | after | found by |",
        "|---|---|---|---|",
    ]
    for _, result in results:
        if result.found:
            fault = result.fault
            cells = (f"{fault.path}:{fault.line}", f"`{result.before}`", f"`{result.after}`")
            by = result.test or result.how
            by = f"{by} ({result.how})" if result.how.startswith(("hang", "used", "ended")) else by
            lines.append("| " + " | ".join(x.replace("|", "\\|") for x in (*cells, by)) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
