"""The LLVM library: text of LLVM IR -> object code -> functions at addresses in this process.

llvmlite is imported on first use, so that importing kinetree stays light.

A long module is cut into several (modules.py), which are compiled on several threads. llvmlite
takes one lock around every call of LLVM, for the sake of programs that share modules and contexts
between threads. Here each module has a context and a code generator of its own, which LLVM allows
to use at the same time, so the three calls that take long are made without that lock.
"""

import ctypes
import functools
import platform
import re
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from time import perf_counter
from typing import Any

from kinetree.core.system import on_fork, on_windows
from kinetree.engine.call.threads import run, thread_count
from kinetree.engine.compiler.notes import collecting, note, shared, stage
from kinetree.engine.llvm.target import Target
from kinetree.errors import CompileError

# Lines of IR above which the code generator makes less effort. The graph arrives already optimised
# and scheduled, so on long straight-line code more effort costs time and changes next to nothing.
LOW_EFFORT_LINES = 40_000

# one fused product; see `fuses`
PRODUCT = """declare double @llvm.fma.f64(double, double, double)
define double @product(double %a, double %b, double %c) {
  %x = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %x
}
"""

# before objects in a row; no object file begins like this
SEVERAL = b"kinetree objects\n"

# On Windows llvmlite makes ELF objects of the code model "jitdefault" (it appends "-elf" to the
# triple), with the calling convention of Windows; LLVM's older linker loads them. That code model
# holds whole addresses, so functions of the process are reached wherever they are: malloc and free,
# and __chkstk of ntdll.dll, which touches the pages of large stack frames.
JITLINK = not on_windows()


@functools.cache
def binding() -> Any:
    """The binding of llvmlite, ready to compile; ImportError where it is missing."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def versions() -> str:
    """Versions of llvmlite and LLVM: object code is only trusted to the pair that made it."""
    import llvmlite

    return f"llvmlite {llvmlite.__version__} llvm {'.'.join(map(str, binding().llvm_version_info))}"


def target_machine(target: Target, opt: int) -> Any:
    """A code generator for `target`.

    JITLink keeps code and constants close together, so the small code model is safe and saves a
    64-bit address for every constant that the code reads.
    """
    return (
        binding()
        .Target.from_triple(target.triple)
        .create_target_machine(
            cpu=target.cpu,
            features=target.features,
            opt=opt,
            reloc="pic" if JITLINK else "default",
            codemodel="small" if JITLINK else "jitdefault",
            jit=True,
        )
    )


@functools.cache
def unlocked(name: str) -> Callable[..., Any]:
    """Return a function of LLVM without the lock of llvmlite; with it where that is not known."""
    from llvmlite.binding import ffi

    wrapped: Any = getattr(ffi.lib, name)
    return getattr(wrapped, "_cfn", wrapped)


def parse(text: str) -> Any:
    """Return the verified module of `text`, in its own context so that nothing outlives it."""
    from llvmlite.binding import ffi

    llvm = binding()
    context = llvm.create_context()
    with ffi.OutputString() as problem:
        source = ctypes.c_char_p(text.encode())
        module = llvm.ModuleRef(unlocked("LLVMPY_ParseAssembly")(context, source, problem), context)
        # The context frees it alone. After an interruption, Python frees both in either order, and
        # a module that frees itself after its context ends the process.
        module._owned = True
        if problem or unlocked("LLVMPY_VerifyModule")(module, problem):
            raise CompileError(
                f"LLVM refused the emitted code: {problem}. Expected IR that LLVM "
                f"{llvm.llvm_version_info[0]} accepts; please report the graph that led to it."
            )
    return module


def level(text: str) -> int:
    """The code generator's effort for `text`, 0 to 3."""
    return 1 if text.count("\n") > LOW_EFFORT_LINES else 2


def assemble(text: str, target: Target, effort: int | None = None) -> bytes:
    """Object code of a module of LLVM IR: one object, or several in a row (`pack`).

    The effort of the code generator is 0 to 3; None: as suits the length of the text.
    """
    with calls:  # a fork must not find a module half imported
        from kinetree.engine.llvm.modules import cut  # not for code that is on disk

    effort = level(text) if effort is None else effort
    modules = cut(text)
    objects: list[bytes] = [b""] * len(modules)
    seconds = [(0.0, 0.0)] * len(modules)

    def work(k: int) -> None:
        if abandoned.is_set() and threading.current_thread().daemon:
            raise CompileError("Python ends, so nothing is compiled in the background any more.")
        with collecting() as stages:
            objects[k] = assemble_module(modules[k], target, effort)
        parsed, generated = (stage.seconds or 0.0 for stage in stages)
        seconds[k] = parsed, generated

    # the longest first, so that no thread ends with it while the others have nothing left to do
    order = sorted(range(len(modules)), key=lambda k: -len(modules[k]))
    start = perf_counter()
    run([functools.partial(work, k) for k in order], thread_count(), offer.get())
    sums = zip(("parse", "code generation"), map(sum, zip(*seconds, strict=True)), strict=True)
    note(*shared(perf_counter() - start, list(sums)))
    return pack(objects) if len(objects) > 1 else objects[0]


def assemble_module(text: str, target: Target, effort: int) -> bytes:
    """Object code of a module, compiled as it is."""
    with calls:  # around all that is made and freed
        return _assemble_module(text, target, effort)


def _assemble_module(text: str, target: Target, effort: int) -> bytes:
    with stage("parse"):
        module = parse(text)
    with stage("code generation"):
        return _object_code(module, target, effort)


def _object_code(module: Any, target: Target, effort: int) -> bytes:
    from llvmlite.binding import ffi

    machine = target_machine(target, effort)
    with ffi.OutputString() as problem:
        buffer = unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, problem)
        if not buffer:
            raise CompileError(
                f"LLVM made no code for the processor {target.cpu or 'of this machine'}: "
                f"{problem}. Expected one that LLVM knows; please report it."
            )
    try:
        start = ffi.lib.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def pack(objects: Iterable[bytes]) -> bytes:
    """Return objects in a row, each behind its length."""
    return SEVERAL + b"".join(len(code).to_bytes(8, "little") + code for code in objects)


def unpack(code: bytes) -> list[bytes]:
    """Return the objects of `pack`; anything else is one object."""
    if not code.startswith(SEVERAL):
        return [code]
    objects: list[bytes] = []
    at = len(SEVERAL)
    while at < len(code):
        end = at + 8 + int.from_bytes(code[at : at + 8], "little")
        objects.append(code[at + 8 : end])
        at = end
    return objects


def assembly(text: str, target: Target) -> str:
    """The same code as readable assembly."""
    return target_machine(target, level(text)).emit_assembly(parse(text))


def fuses(target: Target) -> bool:
    """Return True if the processor has fused multiply-add; otherwise code calls `fma` of C."""
    return re.search(r"\b_?fma\b", assembly(PRODUCT, target)) is None


class Calls(AbstractContextManager[None]):
    """Calls of LLVM and imports of the background. A fork waits for their end and keeps others out.

    A forked child has no other threads: what these had locked, in LLVM or by importing a module,
    would stay locked in it. A thread may enter again while it is inside. The lock itself is taken:
    an interruption within `Condition.__enter__` would leave it taken for good.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._running, self._closed = 0, False
        self._here = threading.local()

    def __enter__(self) -> None:
        self._here.depth = depth = getattr(self._here, "depth", 0) + 1
        if depth > 1:
            return
        with self._lock:
            self._changed.wait_for(lambda: not self._closed)
            self._running += 1

    def __exit__(self, *error: object) -> None:
        self._here.depth -= 1
        if self._here.depth:
            return
        with self._lock:
            self._running -= 1
            self._changed.notify_all()

    def before_fork(self) -> None:
        """Wait until no call is under way, and let none begin."""
        with self._lock:
            self._closed = True
            self._changed.wait_for(lambda: self._running == 0)

    def after_fork(self) -> None:
        """Let calls begin again, in the process that forked."""
        with self._lock:
            self._closed = False
            self._changed.notify_all()


calls = Calls()

# is given the function by which other threads help to compile the modules of a kernel
offer: "ContextVar[Callable[[Callable[[], None]], None] | None]"
offer = ContextVar("kinetree_offer", default=None)
abandoned = threading.Event()  # set when Python ends: daemon threads compile no further module


on_fork(before=calls.before_fork, after_in_parent=calls.after_fork, after_in_child=calls.__init__)


class Code:
    """Machine code in memory. It is unmapped when the last reference to this object goes.

    A caller into the code must keep this object alive for as long as the call lasts.
    """

    __slots__ = ("__weakref__", "_library")

    def __init__(self, library: Any) -> None:
        self._library = library

    def address(self, name: str) -> int:
        """Address of the exported function `name`."""
        return self._library[name]


def load(code: bytes, target: Target, names: Iterable[str]) -> Code:
    """Object code mapped into this process, with the addresses of the functions `names`.

    Each kernel has a just-in-time linker of its own, which its library keeps alive: one linker for
    all kernels would never release a library. JITLink places code and constants in one
    block of memory and reports errors where the older loader ends the process.
    """
    try:
        with calls:
            return _load(code, target, names)
    except RuntimeError as problem:
        raise CompileError(
            f"LLVM could not load a kernel on {platform.system()} {platform.machine()}: {problem}. "
            "Expected object code of this machine; `kinetree cache clear` removes stored code."
        ) from problem


def _load(code: bytes, target: Target, names: Iterable[str]) -> Code:
    llvm = binding()
    builder = llvm.JITLibraryBuilder()
    for part in unpack(code):
        builder.add_object_img(part)
    builder.add_current_process()
    for name in names:
        builder.export_symbol(name)
    machine = target_machine(target, 0)
    linker = llvm.create_lljit_compiler(machine, use_jit_link=JITLINK, suppress_errors=True)
    return Code(builder.link(linker, "kernel"))
