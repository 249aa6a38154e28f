"""Object code from the cache, or compiled and stored there."""

import logging
from collections.abc import Callable, Sequence
from time import perf_counter

from kinetree.engine.cache import entries as cache
from kinetree.engine.cache import folder
from kinetree.engine.compiler.notes import Stage, note, stage
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.target import Target
from kinetree.errors import CompileError

log = logging.getLogger(__name__)

S_PER_LINE = 4e-5  # s of one core to emit and compile a line of LLVM IR
LONG_TEXT = 25_000  # lines that take about a second

# sources that decide the code made of a graph
EMITTER = (
    "engine/llvm",
    "engine/compiler/elementary.py",
    "engine/compiler/sincos.py",
    "engine/call/blocks.py",
    "engine/call/c_api.py",
    "engine/call/fast_entry.py",
)


def load_or_compile(
    key: Sequence[str],
    target: Target,
    text: Callable[[], str],
    names: Sequence[str],
    effort: int | None = None,
) -> engine.Code:
    """Return machine code from the cache, or compile it and store it there.

    key: hashes and words that, with the target, the emitter and the versions, decide the code.
    text: emits the module as LLVM IR. names: functions to export. effort: as in
    `engine.assemble`.
    """
    entry = code_key(key, target) if folder.enabled() else ""
    loaded = load_stored(entry, target, names)
    if loaded is not None:
        return loaded
    start = perf_counter()
    with stage("emit"):
        emitted = text()
    lines = emitted.count("\n")
    if lines > LONG_TEXT:
        log.info("kinetree compiles %d lines of code, about %.0f s", lines, lines * S_PER_LINE)
    code = engine.assemble(emitted, target, effort)
    cache.store(entry, code)
    with stage("load"):
        loaded = engine.load(code, target, names)
    log.info("kinetree compiled %d lines of code in %.2f s", lines, perf_counter() - start)
    return loaded


def load_stored(entry: str, target: Target, names: Sequence[str]) -> engine.Code | None:
    """Return machine code from the cache; None if it is not there or cannot be used."""
    stored = cache.load(entry)
    if stored is None:
        return None
    try:
        start = perf_counter()
        loaded = engine.load(stored, target, names)
    except CompileError as problem:
        log.warning("kinetree compiles again, as its cached code could not be used: %s", problem)
        return None
    note(Stage("machine code", None), Stage("load", perf_counter() - start))
    return loaded


def code_key(key: Sequence[str], target: Target) -> str:
    """Return the name of an entry of the cache for object code.

    It covers the source of the emitter, not the emitted text: the text of a large robot takes
    longer to write than its object code takes to load.
    """
    return cache.make_key([*key, repr(target), cache.source_hash(*EMITTER), engine.versions()])
