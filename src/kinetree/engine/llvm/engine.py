"""The LLVM library: text of LLVM IR -> object code -> functions at addresses in this process.

llvmlite is imported on first use, so that importing kinetree stays light.
"""

import functools
import platform
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from kinetree.core.system import on_windows
from kinetree.engine.llvm.target import Target
from kinetree.errors import CompileError

# Lines of IR above which the code generator makes less effort. The graph arrives already optimised
# and scheduled, so on long straight-line code more effort costs time and changes next to nothing.
LOW_EFFORT_LINES = 40_000

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


@contextmanager
def parsed(text: str) -> Generator[Any]:
    """The verified module of `text`, in a context of its own so that nothing outlives it.

    It is closed here, also after an interruption: the collector might free its context before.
    """
    llvm = binding()
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as problem:
        raise CompileError(
            f"LLVM refused the emitted code: {problem}. Expected IR that LLVM "
            f"{llvm.llvm_version_info[0]} accepts; please report the graph that led to it."
        ) from problem
    try:
        yield module
    finally:
        module.close()


def level(text: str) -> int:
    """The code generator's effort for `text`, 0 to 3."""
    return 1 if text.count("\n") > LOW_EFFORT_LINES else 2


def assemble(text: str, target: Target, effort: int | None = None) -> bytes:
    """Object code of a module of LLVM IR.

    The effort of the code generator is 0 to 3; None: as suits the length of the text.
    """
    with parsed(text) as module:
        machine = target_machine(target, level(text) if effort is None else effort)
        return machine.emit_object(module)


def assembly(text: str, target: Target) -> str:
    """The same code as readable assembly."""
    with parsed(text) as module:
        return target_machine(target, level(text)).emit_assembly(module)


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
    llvm = binding()
    builder = llvm.JITLibraryBuilder()
    builder.add_object_img(code)
    builder.add_current_process()
    for name in names:
        builder.export_symbol(name)
    try:
        machine = target_machine(target, 0)
        linker = llvm.create_lljit_compiler(machine, use_jit_link=JITLINK, suppress_errors=True)
        return Code(builder.link(linker, "kernel"))
    except RuntimeError as problem:
        raise CompileError(
            f"LLVM could not load a kernel on {platform.system()} {platform.machine()}: {problem}. "
            "Expected object code of this machine; `kinetree cache clear` removes stored code."
        ) from problem
