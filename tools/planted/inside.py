"""What runs inside the process of a test: pytest plugins of the marked run and of a trial.

`REACH_PLUGIN` and `TRIAL_PLUGIN` only need pytest; what they know about kinetree is its cache.
"""

import contextlib
import importlib
import json
import os
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from planted.reach import pack

ROOMS = (
    "*.py", "core/**/*.py", "spatial/**/*.py", "files/description/**/*.py", "model/**/*.py",
    "dynamics/**/*.py", "engine/**/*.py", "simulate/**/*.py", "optimal/**/*.py",
)  # fmt: skip


class SharedCache:
    """Compiled code of the unchanged program, read by all trials below their own empty caches.

    A program with a fault asks for other entries where the fault could matter: here the sources of
    ROOMS identify a program. Only the unchanged program writes.
    """

    def __init__(self, folder: Path, package: Path | None) -> None:
        self.folder = folder
        self.package = package  # the unchanged one, in the marked run
        self.done = False

    def install(self, package: str) -> None:
        """Put the shared folder below the cache of the package, if it has one."""
        if self.done:
            return
        self.done = True
        try:
            cache = importlib.import_module(f"{package}.engine.cache")
            load, store = cache.load, cache.store
        except Exception:  # a package without a cache, or one that the fault broke
            return
        writes = self.package is not None

        def place(name: str, part: str) -> Path:
            return self.folder / sha256(f"{name} {part}".encode()).hexdigest()

        def load_shared(name: str, part: str) -> bytes | None:
            found = load(name, part)
            hidden = writes and part == "graph"  # the marks of the tracer must be seen
            if found is None and not hidden and cache.enabled():
                with contextlib.suppress(OSError):
                    return place(name, part).read_bytes()
            return found

        def store_shared(name: str, part: str, data: bytes) -> None:
            store(name, part, data)
            if writes and cache.enabled():
                aside = self.folder / f"{place(name, part).name}.{os.getpid()}"
                aside.write_bytes(data)
                aside.replace(place(name, part))

        # the marked run is known by the unchanged source
        root = Path(cache.__file__).parents[1] if self.package is None else self.package
        known = identity(root)
        cache.identity, cache.load, cache.store = lambda: known, load_shared, store_shared


def identity(root: Path) -> str:
    """A hash over the sources of a package that decide a kernel."""
    paths = [path for room in ROOMS for path in sorted(root.glob(room))]
    digest = sha256()
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


class ReachPlugin:
    """Record what every test of a file does."""

    def __init__(self, marks: Any, cache: SharedCache, package: str, write: Any) -> None:
        self.marks = marks
        self.cache = cache
        self.package = package
        self.write = write
        self.outcomes: dict[str, set[str]] = {}
        self.found: dict[str, tuple[str, float, str]] = {}

    def pytest_collection_finish(self) -> None:
        """Share compiled code."""
        self.cache.install(self.package)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Look at the marks of one test."""
        self.marks[:] = bytes(len(self.marks))
        began = time.perf_counter()
        result = yield
        seconds = time.perf_counter() - began
        outcomes = self.outcomes.get(item.nodeid, {"failed"})
        outcome = next(x for x in ("failed", "skipped", "passed") if x in outcomes)
        self.found[item.nodeid] = outcome, seconds, pack(self.marks)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome."""
        self.outcomes.setdefault(report.nodeid, set()).add(report.outcome)

    def pytest_sessionfinish(self) -> None:
        """Write the record."""
        self.write(self.found)


class TrialPlugin:
    """Run chosen tests in a given order; report each start and the first failure."""

    def __init__(self, order: list[str], cache: SharedCache, package: str, progress: Path) -> None:
        self.order = {name: k for k, name in enumerate(order)}
        self.cache = cache
        self.package = package
        self.progress = progress

    def note(self, *row: str) -> None:
        """Append one line to the progress that the parent reads."""
        with self.progress.open("a") as file:
            file.write(json.dumps(row) + "\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Let Hypothesis stop at the first example that fails: a smaller one is of no use here."""
        with contextlib.suppress(ImportError):
            from hypothesis import Phase, settings

            phases = (Phase.explicit, Phase.generate)
            settings.register_profile("planted", settings.default, phases=phases)
            settings.load_profile("planted")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests, in their order."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order),
            key=lambda item: self.order[item.nodeid],
        )
        self.cache.install(self.package)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Report the start of a test."""
        self.note("start", item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report failures."""
        if report.failed:
            self.note("failed", report.nodeid, report.longreprtext.strip().splitlines()[-1][:200])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report files that cannot be imported."""
        if report.failed:
            self.note("failed", report.nodeid, report.longreprtext.strip().splitlines()[-1][:200])
