"""The machine code of one graph: emitted, compiled or taken from the cache when first needed."""

import logging

from kinetree.backends import cache, cache_folder, engine
from kinetree.backends.fastbatch import emit_batch
from kinetree.backends.fastcall import emit_call
from kinetree.backends.fastinto import emit_into
from kinetree.backends.fingerprint import code_key
from kinetree.backends.gufunc import Loop
from kinetree.backends.quiet import emit_quiet
from kinetree.compiler.graph import Graph
from kinetree.errors import CompileError

log = logging.getLogger(__name__)

# names in the object code; the user's name stays out of it, so that equal graphs share an entry
SYMBOL = "kernel"


class Programs:
    """Machine code of `graph` for each number type."""

    __slots__ = ("_codes", "graph", "target")

    def __init__(self, graph: Graph) -> None:
        from kinetree.backends.llvm import host_target

        self.graph = graph
        self.target = host_target()
        self._codes: dict[str, engine.Code] = {}

    def text(self, dtype: str) -> str:
        """The module as text of LLVM IR: loops over states, one state, and (float64) calls."""
        from kinetree.backends.llvm import emit

        text = emit(self.graph, self.target, dtype=dtype, name=SYMBOL)
        text += emit_quiet(self.target.triple, SYMBOL)
        if dtype == "float64":
            for part in (emit_call, emit_batch, emit_into):
                text += part(self.graph, SYMBOL)
        return text

    def assembly(self, dtype: str) -> str:
        """The same as assembly of this machine."""
        return engine.assembly(self.text(dtype), self.target)

    def code(self, dtype: str) -> engine.Code:
        """The machine code in memory. Two threads may both make it: the first one is kept."""
        if dtype not in self._codes:
            self._codes.setdefault(dtype, self._load(dtype))
        return self._codes[dtype]

    def _load(self, dtype: str) -> engine.Code:
        target = self.target
        parts = ("quiet", "call") if dtype == "float64" else ("quiet",)
        names = [f"{SYMBOL}_{part}" for part in parts]
        key = code_key(self.graph, target, dtype) if cache_folder.enabled() else ""
        stored = cache.load(key)
        if stored is not None:
            try:
                return engine.load(stored, target, names)
            except CompileError as problem:
                log.warning("kinetree compiles again what its cache had: %s", problem)
        code = engine.assemble(self.text(dtype), target)
        cache.store(key, code)
        return engine.load(code, target, names)

    def loop(self, dtype: str) -> Loop:
        """The inner loop over states."""
        code = self.code(dtype)
        return Loop(dtype, code.address(f"{SYMBOL}_quiet"), code)

    def entry(self) -> int:
        """Address of the call of a single state."""
        return self.code("float64").address(f"{SYMBOL}_call")
