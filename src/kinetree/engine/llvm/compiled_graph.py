"""The machine code of one graph: emitted and compiled, or taken from the cache, when first needed.

NaN and infinity are results of a kernel, never events: a single state, a batch, a thread and the
interpreter all stay silent. NumPy reads the processor's flags after a loop and would warn; the code
generator may raise a flag by computing early a value that is not needed. The loop that NumPy calls
therefore restores the flags, and computes in the usual mode (`emit_quiet`).
"""

from kinetree.engine.call.fast_entry import emit_call, emit_one
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.store import key_of
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.object_code import load_or_compile
from kinetree.engine.llvm.target import host_target

# names in the object code; the user's name is not in it, so that equal graphs share an entry
SYMBOL = "kernel"

# architecture -> (save the mode and flags and take the usual mode, restore): results do not depend
# on a caller, such as XLA, that takes the smallest numbers for zero
FLAGS = {
    "x86_64": (
        "%flags = alloca i32\ncall void @llvm.x86.sse.stmxcsr(ptr %flags)\n"
        "%usual = alloca i32\nstore i32 8064, ptr %usual\n"  # 0x1f80: round to nearest
        "call void @llvm.x86.sse.ldmxcsr(ptr %usual)",
        "call void @llvm.x86.sse.ldmxcsr(ptr %flags)",
    ),
    "aarch64": (
        "%flags = call i64 @llvm.aarch64.get.fpsr()\n%mode = call i64 @llvm.aarch64.get.fpcr()\n"
        "call void @llvm.aarch64.set.fpcr(i64 0)",
        "call void @llvm.aarch64.set.fpcr(i64 %mode)\ncall void @llvm.aarch64.set.fpsr(i64 %flags)",
    ),
}
FLAGS["arm64"] = FLAGS["aarch64"]


class CompiledGraph:
    """Machine code of `graph` for each number type."""

    __slots__ = ("__weakref__", "_codes", "graph", "target")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.target = host_target()
        self._codes: dict[str, engine.Code] = {}

    def text(self, dtype: str) -> str:
        """Return the module as LLVM IR: loops over states, one state, and (float64) calls."""
        # imported here: a kernel from the cache needs no emitter
        from kinetree.engine.llvm.emit import emit

        text = emit(self.graph, self.target, dtype, SYMBOL)
        text += emit_quiet(self.target.triple, SYMBOL) + emit_one(self.graph, SYMBOL)
        if dtype == "float64":  # the direct entry point takes float64 arrays only
            text += emit_call(self.graph, SYMBOL)
        return text

    def assembly(self, dtype: str) -> str:
        """Return the same as assembly of this machine."""
        return engine.assembly(self.text(dtype), self.target)

    def code(self, dtype: str) -> engine.Code:
        """Return the machine code in memory. Two threads may both make it; the first is kept."""
        if dtype not in self._codes:
            key, names = key_of(self.graph), exported(dtype)
            code = load_or_compile(key, self.target, lambda: self.text(dtype), names, dtype=dtype)
            self._codes.setdefault(dtype, code)
        return self._codes[dtype]

    def loop(self, dtype: str) -> InnerLoop:
        """Return the inner loop over states."""
        code = self.code(dtype)
        return InnerLoop(dtype, code.address(f"{SYMBOL}_quiet"), code)

    def one(self, dtype: str) -> int:
        """Return the address of the code for one state, given an array of addresses."""
        return self.code(dtype).address(f"{SYMBOL}_at")

    def entry(self) -> int:
        """Return the address of the call of a single state."""
        return self.code("float64").address(f"{SYMBOL}_call")


def exported(dtype: str) -> list[str]:
    """Return the names of the functions that calls enter."""
    parts = ("quiet", "at", "call") if dtype == "float64" else ("quiet", "at")
    return [f"{SYMBOL}_{part}" for part in parts]


def emit_quiet(triple: str, name: str = "kernel") -> str:
    """Return LLVM IR of `@{name}_quiet`: `@{name}_states`, after which the flags are as before."""
    save, restore = FLAGS.get(triple.partition("-")[0], ("", ""))
    arguments = "ptr %args, ptr %dimensions, ptr %steps, ptr %data"
    return (
        f"define void @{name}_quiet({arguments}) {{\n"
        f"{save}\ncall void @{name}_states({arguments})\n{restore}\nret void\n}}\n"
    )
