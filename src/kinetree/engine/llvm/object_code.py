"""Object code from the cache, or compiled and stored there."""

import logging
from collections.abc import Callable, Sequence
from time import perf_counter

from kinetree.engine import cache
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.target import Target
from kinetree.errors import CompileError

log = logging.getLogger(__name__)

S_PER_LINE = 4e-5  # s of one core to emit and compile a line of LLVM IR
LONG_TEXT = 25_000  # lines that take about a second


def load_or_compile(
    key: Sequence[str],
    target: Target,
    text: Callable[[], str],
    names: Sequence[str],
    effort: int | None = None,
    dtype: str = "float64",
) -> engine.Code:
    """Return machine code from the cache, or compile it and store it there.

    key: texts that state all that the code depends on, but for target and number type. text: emits
    the module as LLVM IR. names: functions to export. effort: as in `engine.assemble`.
    """
    entry = cache.entry(*key) if cache.enabled() else ""
    part = f"{dtype} {target!r} {engine.versions()}"
    loaded = load_stored(cache.load(entry, part), target, names)
    if loaded is not None:
        return loaded
    start = perf_counter()
    emitted = text()
    lines = emitted.count("\n")
    if lines > LONG_TEXT:
        log.info("kinetree compiles %d lines of code, about %.0f s", lines, lines * S_PER_LINE)
    code = engine.assemble(emitted, target, effort)
    cache.store(entry, part, code)
    loaded = engine.load(code, target, names)
    log.info("kinetree compiled %d lines of code in %.2f s", lines, perf_counter() - start)
    return loaded


def load_stored(stored: bytes | None, target: Target, names: Sequence[str]) -> engine.Code | None:
    """Return machine code from the cache; None if it is not there or cannot be used."""
    if stored is None:
        return None
    try:
        return engine.load(stored, target, names)
    except CompileError as problem:
        log.warning("kinetree compiles again, as its cached code could not be used: %s", problem)
        return None
