"""LLVM at work: text of LLVM IR -> object code -> functions at addresses in this process.

llvmlite is imported on first use, so that importing kinetree stays light.
"""

import functools
import os
import platform
from typing import Any, Protocol

from kinetree.errors import CompileError

# Lines of IR above which the code generator takes its quick settings: its slow ones grow faster than
# linearly with the length of a basic block, and the graph arrives already optimised.
LARGE = 40_000


class Machine(Protocol):
    """The part of a target that the engine reads; `backends.llvm.Target` has it."""

    @property
    def cpu(self) -> str:
        """Name of the processor, as LLVM spells it."""
        ...

    @property
    def features(self) -> str:
        """Its features, "+avx2,+fma,..."."""
        ...

    @property
    def triple(self) -> str:
        """Architecture, vendor and system."""
        ...


@functools.cache
def binding() -> Any:
    """llvmlite's binding, ready to compile for this machine; ImportError where it is missing."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def versions() -> str:
    """Versions of llvmlite and LLVM: object code is only trusted to the pair that made it."""
    import llvmlite

    return f"llvmlite {llvmlite.__version__} llvm {'.'.join(map(str, binding().llvm_version_info))}"


def target_machine(target: Machine, opt: int) -> Any:
    """A code generator for `target`.

    Code and constants lie side by side (the loader reserves one block for both), so the small code
    model is safe and saves a 64-bit address for every constant that the code reads.
    """
    # the loader reads ELF objects only, on Windows too
    triple = target.triple + "-elf" if os.name == "nt" else target.triple
    reloc = "static" if os.name == "nt" else "pic"
    chosen = binding().Target.from_triple(triple)
    return chosen.create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, reloc=reloc, codemodel="small", jit=True
    )


def parse(text: str) -> Any:
    """The verified module of `text`, in a context of its own so that nothing outlives it."""
    llvm = binding()
    try:
        module = llvm.parse_assembly(text, context=llvm.create_context())
        module.verify()
    except RuntimeError as problem:
        raise CompileError(
            f"LLVM refused the emitted code: {problem}. Expected IR that LLVM "
            f"{llvm.llvm_version_info[0]} accepts; please report the graph that led to it."
        ) from problem
    return module


def level(text: str) -> int:
    """The code generator's effort for `text`, 0 to 3."""
    return 1 if text.count("\n") > LARGE else 2


def assemble(text: str, target: Machine) -> bytes:
    """Object code of a module of LLVM IR."""
    return target_machine(target, level(text)).emit_object(parse(text))


def assembly(text: str, target: Machine) -> str:
    """The same code as readable assembly."""
    return target_machine(target, level(text)).emit_assembly(parse(text))


class Code:
    """Machine code in memory. It is unmapped when the last reference to this object goes.

    Whoever calls into the code holds this object for as long as the call lasts.
    """

    __slots__ = ("_engine",)

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def address(self, name: str) -> int:
        """Address of the function `name`."""
        address = self._engine.get_function_address(name)
        if not address:
            raise CompileError(f"The compiled code has no function {name!r}; it was expected there.")
        return address


def load(code: bytes, target: Machine) -> Code:
    """Functions of object code, mapped into this process.

    MCJIT with llvmlite's memory manager: an engine of its own for each kernel is what returns all
    memory to the system when the kernel is discarded (ORC keeps a library record for ever).
    """
    llvm = binding()
    module = llvm.parse_assembly("", context=llvm.create_context())
    engine = llvm.create_mcjit_compiler(module, target_machine(target, 0), use_lmm=True)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Code(engine)


def host() -> str:
    """The machine in words, for messages and cache keys."""
    return f"{platform.system()} {platform.machine()}"
