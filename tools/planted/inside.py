"""What runs inside the process of a test: pytest plugins of the marked run and of a trial.

`REACH_PLUGIN` and `TRIAL_PLUGIN` only need pytest; what they know about kinetree is its cache.
"""

import contextlib
import importlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planted.reach import pack


class SharedCache:
    """Compiled code of the unchanged program, read by all trials below their own empty caches.

    Object code is stored by its graph, traced graphs by the source that made them: a program with
    a fault asks for other keys wherever the fault could matter. Only the unchanged program writes.
    """

    def __init__(self, folder: Path, package: Path | None) -> None:
        self.folder = folder
        self.package = package  # the unchanged one, in the marked run
        self.graphs: set[str] = set()
        self.done = False

    def install(self, package: str) -> None:
        """Put the shared folder below the cache of the package, if it has one."""
        if self.done:
            return
        self.done = True
        try:
            cache = importlib.import_module(f"{package}.engine.cache.entries")
            folder = importlib.import_module(f"{package}.engine.cache.folder")
            make_key, load, store = cache.make_key, cache.load, cache.store
        except Exception:  # a package without a cache, or one that the fault broke
            return
        writes = self.package is not None

        def remember_graphs(parts: Any) -> str:
            parts = list(parts)
            key = make_key(parts)
            if parts[:1] == ["graph"]:
                self.graphs.add(key)
            return key

        def load_shared(key: str) -> bytes | None:
            found = load(key)
            hidden = writes and key in self.graphs  # the marks of the tracer must be seen
            if found is None and not hidden and folder.enabled():
                with contextlib.suppress(OSError):
                    return (self.folder / key).read_bytes()
            return found

        def store_shared(key: str, code: bytes) -> None:
            store(key, code)
            if writes and folder.enabled():
                aside = self.folder / f"{key}.{os.getpid()}"
                aside.write_bytes(code)
                aside.replace(self.folder / key)

        cache.make_key, cache.load, cache.store = remember_graphs, load_shared, store_shared
        if writes:  # keys of the marked run are those of the unchanged source
            modules, usual = cache._modules, str(self.package)
            own = str(Path(cache.__file__).parents[2])
            cache._modules = lambda place: modules(place.replace(own, usual, 1))


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
