"""Copies of the project, and processes in which the tests meet one fault each.

The server imports the heavy packages once and forks a process per trial. The fault is written into
a copy of the project, never into the working tree, so that programs which a test starts have it
too. A trial that hangs or eats the memory is ended and counts as found.
"""

import ast
import contextlib
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from planted import reach
from planted.faults import Fault
from planted.inside import ReachPlugin, SharedCache, TrialPlugin

IGNORED = (
    ".git",
    ".venv*",
    "build",
    "dist",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    "*.egg-info",
)
# what reads or changes no results of a run, and speeds up every process that need not import it
HEAVY = ("numpy", "hypothesis", "hypothesis.extra.numpy", "llvmlite.binding", "scipy.linalg")
FLAGS = ("-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short")
QUICK, SLOW = 4.0, 40.0  # s of tests in the first and the second process of a trial
SLOWEST = 900.0  # s after which a file of tests is given up when marks are made
MEMORY = 6 << 30  # bytes that a trial may use
LIVE: set[int] = set()  # processes that were started and not yet waited for


@dataclass(frozen=True, slots=True)
class Project:
    """Where the sources and tests are, and which of them a run is about."""

    root: Path
    package: str
    folder: str
    tests: tuple[str, ...]  # files, relative to the root
    scratch: Path  # what is kept between runs

    @property
    def copies(self) -> Path:
        """Where copies of the project are made: not in build/, which readers of packages skip."""
        key = hashlib.sha256(str(self.root).encode()).hexdigest()[:8]
        user = os.getuid()
        return Path(tempfile.gettempdir()) / f"mutants-{user}-{key}" / self.folder

    @property
    def whole(self) -> str:
        """All sources of the package, relative to the root."""
        return f"src/{self.package}"

    @property
    def sources(self) -> str:
        """The folder with the faults, relative to the root."""
        return f"{self.whole}/{self.folder}".rstrip("/")


@dataclass(slots=True)
class Result:
    """How a trial ended."""

    fault: Fault
    before: str
    after: str
    found: bool
    how: str
    test: str = ""
    tests: int = 0
    seconds: float = 0.0


def copy_project(project: Project, name: str) -> Path:
    """Copy the project as it is now; the copy lies in a folder that looks like the original's."""
    place = project.copies / name
    if place.exists():
        shutil.rmtree(place)
    place.mkdir(parents=True)
    shared = project.root.parent / "shared"
    if shared.is_dir():
        (place / "shared").symlink_to(shared)
    root = place / "main"
    shutil.copytree(project.root, root, ignore=shutil.ignore_patterns(*IGNORED))
    return root


def import_heavy(project: Project) -> None:
    """Import the packages that tests begin with, so that every process has them already."""
    own = {path.stem: path for path in (project.root / "tests").rglob("*.py")}
    names, waiting, seen = set(HEAVY), [project.root / test for test in project.tests], set()
    tools = {path.stem for path in (project.root / "tools").rglob("*.py")} | {"benchmarks"}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        for name in _begins_with(path):
            helper = own.get(name)
            if helper is None and name.split(".")[0] != project.package:
                names.add(name)
            elif helper is not None and helper not in seen:
                waiting.append(helper)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(x for x in names if x.split(".")[0] not in tools):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    if project.package in sys.modules:
        raise RuntimeError(f"{project.package} was imported before the faults; see import_heavy")


def end_group(pid: int) -> None:
    """End what a process that has ended left behind."""
    LIVE.discard(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end_all() -> None:
    """End every process that is still running."""
    for pid in LIVE:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _begins_with(path: Path) -> set[str]:
    """Return the modules that a test file imports, those of `importorskip` included."""
    tree = ast.parse(path.read_bytes())
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.importorskip":
            names |= {x.value for x in node.args[:1] if isinstance(x, ast.Constant)}
    return names


def fork(root: Path, log: Path, work: Callable[[], int]) -> int:
    """Start `work` in a process of its own inside a copy of the project; return its number."""
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        LIVE.add(pid)
        return pid
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(number, 1)
        os.dup2(number, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(root)
        sys.path.insert(0, str(root / "src"))
        os.environ["PYTHONPATH"] = str(root / "src")
        importlib.invalidate_caches()
        code = work()
        sys.stdout.flush()
    finally:
        os._exit(code)


# which tests run which statements


def reach_of_tests(
    project: Project, now: reach.Statements, fresh: bool, say: Callable[[str], None]
) -> dict[str, reach.Reach]:
    """Return what every test runs, from build/ where the file of the test has not changed."""
    store = project.scratch / "reach"
    if fresh and store.exists():
        shutil.rmtree(store)
    store.mkdir(parents=True, exist_ok=True)
    common = _hash(sorted((project.root / "tests").glob("*.py")))
    places = {}
    for test in project.tests:
        key = hashlib.sha256((common + _hash([project.root / test])).encode()).hexdigest()
        places[test] = store / f"{test.replace('/', '.')}.{key[:16]}.json"
    found = {test: reach.read_record(place, now) for test, place in places.items()}
    missing = [test for test, known in found.items() if known is None]
    if missing:
        say(f"running {len(missing)} of {len(places)} test files once, to see what each test runs")
        _run_marked(project, missing, places, store)
        found |= {test: reach.read_record(places[test], now, whole=False) for test in missing}
    return {name: did for known in found.values() if known for name, did in known.items()}


def _hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _run_marked(project: Project, tests: list[str], places: dict[str, Path], store: Path) -> None:
    clean = copy_project(project, "unmarked") / "src" / project.package
    root = copy_project(project, "marked")
    marks = store / "marks"
    marked = reach.instrument(root, root / project.whole, marks)
    (root / "src" / f"{reach.MARKS}.py").write_text(reach.MODULE.format(path=str(marks)))
    compiled = project.scratch / "compiled"
    compiled.mkdir(exist_ok=True)
    log = store / "log"
    log.unlink(missing_ok=True)
    for test in tests:

        def work(test: str = test) -> int:
            shared = importlib.import_module(reach.MARKS).MARKS
            cache = SharedCache(compiled, clean)
            write = partial(reach.write_record, places[test], marked=marked)
            plugin = ReachPlugin(shared, cache, project.package, write)
            return int(pytest.main(_arguments(root, [test]), plugins=[plugin]))

        pid = fork(root, log, work)
        began = time.monotonic()
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if time.monotonic() - began > SLOWEST:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                break
            time.sleep(0.02)
        end_group(pid)
        seconds = time.monotonic() - began
        state = "" if places[test].exists() else f", and ended without a result: see {log}"
        print(f"{seconds:6.1f} s  {test}{state}", flush=True)


def _arguments(root: Path, tests: Iterable[str]) -> list[str]:
    temporary = root.parent / "tmp"
    settings = root / "pyproject.toml"
    chosen = ["-c", str(settings)] if settings.exists() else []
    return [*FLAGS, f"--rootdir={root}", *chosen, f"--basetemp={temporary}", *tests]


# one fault at a time


@dataclass(slots=True)
class Bench:
    """A copy of the project in which one trial after another takes place."""

    project: Project
    root: Path
    cache: SharedCache
    budget: float
    patience: float  # s that a test may take beyond ten times its usual time
    known: dict[str, reach.Reach]

    def batches(self, tests: list[str]) -> list[list[str]]:
        """Split tests, fastest first, into what a first, a second and a third process runs."""
        parts: list[list[str]] = [[], [], []]
        spent = 0.0
        for test in tests:
            spent += self.known[test].seconds
            parts[0 if spent <= QUICK or not parts[0] else 1 if spent <= SLOW else 2].append(test)
        return [part for part in parts if part]

    def start(self, fault: Fault | None, tests: list[str], stop: bool = True) -> "Trial":
        """Plant a fault and begin to run tests."""
        trial = Trial(self, fault, self.batches(tests), stop)
        trial.plant()
        trial.next_batch()
        return trial


@dataclass(slots=True)
class Trial:
    """The tests of one fault, in up to three processes."""

    bench: Bench
    fault: Fault | None
    left: list[list[str]]
    stop: bool
    pid: int = 0
    began: float = field(default_factory=time.monotonic)
    seen: int = 0
    ran: int = 0
    current: str = ""
    since: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)
    original: bytes = b""
    times: tuple[int, int] = (0, 0)

    @property
    def path(self) -> Path:
        """The module with the fault, in the copy."""
        return self.bench.root / self.fault.path  # type: ignore[union-attr]

    @property
    def progress(self) -> Path:
        """The file in which the process reports."""
        return self.bench.root.parent / "progress"

    def plant(self) -> None:
        """Write the fault into the copy, with a date that no compiled file has."""
        if self.fault:
            status = self.path.stat()
            self.original, self.times = (
                self.path.read_bytes(),
                (status.st_atime_ns, status.st_mtime_ns),
            )
            self.path.write_bytes(self.fault.plant(self.original))
            os.utime(self.path, ns=(status.st_atime_ns, status.st_mtime_ns + 5_000_000_000))

    def restore(self) -> None:
        """Take the fault out of the copy."""
        if self.fault:
            self.path.write_bytes(self.original)
            os.utime(self.path, ns=self.times)

    def next_batch(self) -> None:
        """Start a process for the next tests."""
        tests = self.left.pop(0)
        self.progress.unlink(missing_ok=True)
        self.seen, self.current, self.since = 0, "", time.monotonic()
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        project, root = self.bench.project, self.bench.root
        faulty = self.fault is not None

        def work() -> int:
            if faulty:
                sys.dont_write_bytecode = True
                os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            plugin = TrialPlugin(tests, self.bench.cache, project.package, self.progress)
            flags = ["-x"] if self.stop else []
            return int(pytest.main([*flags, *_arguments(root, files)], plugins=[plugin]))

        log = root.parent / "log"
        log.unlink(missing_ok=True)
        self.pid = fork(root, log, work)

    def poll(self) -> Result | None:
        """Look after the process; return the result when there is one."""
        self._read()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            end_group(pid)
            self._read()
            return self._after(os.waitstatus_to_exitcode(status))
        now = time.monotonic()
        usual = self.bench.known[self.current].seconds if self.current else 10.0
        if now - self.since > self.bench.patience + 10 * usual:
            return self._kill(f"hang: {now - self.since:.0f} s instead of {usual:.1f} s")
        if _memory(self.pid) > MEMORY:
            return self._kill("used all memory")
        if now - self.began > self.bench.budget and not self.failures:
            left = sum(map(len, self.left))
            return self._kill(
                f"budget of {self.bench.budget:.0f} s spent, {left}+ tests not run", False
            )
        return None

    def _read(self) -> None:
        if not self.progress.exists():
            return
        lines = self.progress.read_text().split("\n")[:-1]
        for line in lines[self.seen :]:
            kind, test, *text = json.loads(line)
            if kind == "start":
                self.current, self.since = test, time.monotonic()
                self.ran += 1
            else:
                self.failures.setdefault(test, text[0])
        self.seen = len(lines)

    def _after(self, code: int) -> Result | None:
        if self.failures:
            test, text = next(iter(self.failures.items()))
            return self._result(True, text, test)
        if code < 0:
            return self._result(True, f"ended by signal {-code}", self.current)
        if code not in (0, 5):
            return self._result(True, f"pytest ended with code {code}", self.current)
        if self.left:
            self.next_batch()
            return None
        return self._result(False, "survived")

    def _kill(self, how: str, found: bool = True) -> Result:
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        LIVE.discard(self.pid)
        return self._result(found, how, self.current if found else "")

    def _result(self, found: bool, how: str, test: str = "") -> Result:
        self.restore()
        seconds = time.monotonic() - self.began
        if self.fault is None:
            raise_for = Fault("", 0, 0, 0, 0, "", "control")
            return Result(raise_for, "", "", found, how, test, self.ran, seconds)
        before, after = self.fault.before_and_after(self.original)
        return Result(self.fault, before, after, found, how, test, self.ran, seconds)


def _memory(pid: int) -> int:
    """Return the memory that a process uses, in bytes; 0 where the system does not report it."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
