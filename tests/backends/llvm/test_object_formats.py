"""Objects for Windows, macOS, ARM and RISC-V: their format, what they need, how they are called.

The code for Windows also runs here, as it is made and loaded there: LLVM can call functions of
Windows' convention on any x86-64 system.
"""

import ctypes
import os
import re
import struct
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvm_graphs import chain
from llvm_harness import Builder
from llvmlite.binding import targets

import kinetree as kt
from kinetree.engine import Kernel
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.programs import Programs, exported
from kinetree.engine.llvm.target import Target, host_target

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
run_on_wine = pytest.importorskip("run_on_wine", reason="tools/ is not part of this distribution")

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
llvm.initialize_native_asmparser()

WINDOWS = Target("avx2", 4, 8, "haswell", "", "x86_64-pc-windows-msvc")
APPLE = Target("neon", 2, 4, "apple-m1", "", "arm64-apple-darwin23")
# target -> format and machine in the head of its objects
ELSEWHERE = {
    WINDOWS: ("COFF", 0x8664),
    Target("neon", 2, 4, "generic", "", "aarch64-pc-windows-msvc"): ("COFF", 0xAA64),
    Target("avx2", 4, 8, "haswell", "", "x86_64-apple-darwin23"): ("Mach-O", 0x01000007),
    APPLE: ("Mach-O", 0x0100000C),
    Target("neon", 2, 4, "cortex-a72", "", "aarch64-unknown-linux-gnu"): ("ELF", 183),
    Target("two", 2, 4, "generic-rv64", "+m,+a,+f,+d,+c", "riscv64-unknown-linux-gnu"): (
        "ELF",
        243,
    ),
}
WIDE = 150  # numbers
MARK = {"_fltused"}  # Microsoft's compilers name it where floats are used; it needs no value
here = pytest.mark.skipif(
    not host_target().triple.startswith("x86_64"), reason="runs code of x86-64"
)


def objects(graph, target, dtype="float64"):
    programs = Programs(graph)
    programs.target = target
    return engine.unpack(engine.assemble(programs.text(dtype), target))


def symbols(code):
    """Format, machine, and the sets of external names that an object defines and needs."""
    if code.startswith(b"\x7fELF"):
        return _elf(code)
    if code.startswith(b"\xcf\xfa\xed\xfe"):
        return _mach(code)
    return _coff(code)


def _text(code, at):
    return code[at : code.index(b"\0", at)].decode()


def _elf(code):
    machine = struct.unpack_from("<H", code, 18)[0]
    (table,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
    heads = [struct.unpack_from("<IIQQQQIIQQ", code, table + 64 * k) for k in range(count)]
    found = set(), set()
    for head in heads:
        if head[1] == 2:  # the symbol table; head[6] is the section of its names
            for at in range(head[4], head[4] + head[5], 24):
                name, info, _, section = struct.unpack_from("<IBBH", code, at)
                if info >> 4:
                    found[section == 0].add(_text(code, heads[head[6]][4] + name))
    return "ELF", machine, *found


def _mach(code):
    machine, _, _, count = struct.unpack_from("<IIII", code, 4)
    at, found = 32, (set(), set())
    for _ in range(count):
        kind, size = struct.unpack_from("<II", code, at)
        if kind == 2:  # LC_SYMTAB
            table, number, names, _ = struct.unpack_from("<IIII", code, at + 8)
            for k in range(number):
                name, info, section = struct.unpack_from("<IBB", code, table + 16 * k)
                if info & 1:
                    word = _text(code, names + name)
                    assert word.startswith("_")
                    found[section == 0].add(word[1:])
        at += size
    return "Mach-O", machine, *found


def _coff(code):
    machine, _, _, table, number, _, _ = struct.unpack_from("<HHIIIHH", code)
    names, k, found = table + 18 * number, 0, (set(), set())
    while k < number:
        name, value, section, _, storage, more = struct.unpack_from(
            "<8sIhHBB", code, table + 18 * k
        )
        if storage == 2:
            far = name[:4] == b"\0" * 4
            word = _text(code, names + struct.unpack("<I", name[4:])[0]) if far else None
            found[section == 0 and value == 0].add(word or name.rstrip(b"\0").decode())
        k += 1 + more
    return "COFF", machine, *found


def needs(parts):
    """Names that none of the objects defines."""
    found = [symbols(part) for part in parts]
    return set().union(*(x[3] for x in found)) - set().union(*(x[2] for x in found))


@pytest.mark.parametrize("target", ELSEWHERE, ids=lambda t: t.triple)
def test_objects_are_of_their_system_and_need_nothing_else(target):
    parts = objects(chain(2), target)
    assert {symbols(part)[:2] for part in parts} == {ELSEWHERE[target]}
    assert set(exported("float64")) <= set().union(*(symbols(part)[2] for part in parts))
    assert needs(parts) <= (MARK if "windows" in target.triple else set())


def test_a_processor_without_fused_operations_takes_them_from_the_library():
    """So the reader of undefined names finds some."""
    plain = replace(WINDOWS, cpu="x86-64", lanes64=2, lanes32=4)
    assert needs(objects(chain(2), plain)) == {"fma"} | MARK


def wide():
    """A graph whose numbers, for a few states, fill more than a page of the stack."""
    b = Builder()
    x = b.input("x", WIDE)
    return b.graph([b.op("fma", x[k], b.op("sin", x[k // 9]), x[k - 1]) for k in range(WIDE)])


def test_frames_above_a_page_touch_the_stack_through_the_system_of_windows():
    assert needs(objects(wide(), WINDOWS)) == {"__chkstk"} | MARK  # ntdll.dll has it
    assert needs(objects(wide(), APPLE)) == set()


def assembly(graph, target):
    programs = Programs(graph)
    programs.target = target
    return programs.assembly("float64")


@pytest.mark.parametrize("make", [chain, wide])
def test_nothing_lies_below_the_stack_pointer_on_windows(make):
    """Windows may overwrite what is there at any time; other systems keep 128 bytes."""
    below = re.compile(r"-\d+\(%rsp\)")
    assert not below.search(assembly(make(), WINDOWS))
    linux = replace(WINDOWS, triple="x86_64-unknown-linux-gnu")
    assert below.search(assembly(make(), linux)), "the pattern finds nothing at all"


def test_the_register_that_apple_and_windows_reserve_on_arm_is_not_used():
    for target in ELSEWHERE:
        if target.triple.startswith(("arm64-apple", "aarch64-pc-windows")):
            text = assembly(chain(2), target) + assembly(wide(), target)
            assert re.search(r"\bx17\b|\bx19\b", text) and not re.search(r"\b[xw]18\b", text)


def panda():
    return kt.robots.panda().inverse_dynamics.graph


# Code of Windows, made as llvmlite and kinetree make it there, in this process

THUNK = """
declare win64cc i64 @checked(ptr, ptr, ptr, ptr, ptr)
define void @nothing() { ret void }
define i64 @enter(ptr %f, ptr %a, ptr %b, ptr %c, ptr %d) {
  %changed = call win64cc i64 @checked(ptr %f, ptr %a, ptr %b, ptr %c, ptr %d)
  ret i64 %changed
}
"""


@pytest.fixture(scope="module")
def thunk():
    """A function that calls one of Windows and returns a bit for every register it changed."""
    lines = run_on_wine.checked_call().splitlines()
    text = "\n".join(f'module asm "{line}"' for line in lines) + THUNK
    target = host_target()
    return engine.load(engine.assemble(text, target), target, ["enter", "nothing"])


@pytest.fixture
def as_on_windows(monkeypatch):
    """Let llvmlite and the engine do what they do on Windows."""
    monkeypatch.setattr(engine, "JITLINK", False)
    monkeypatch.setattr(targets, "os", SimpleNamespace(name="nt"))
    return replace(host_target(), triple="x86_64-pc-windows-msvc")


def load_like_windows(parts, target, dtype, chkstk):
    """As engine.load, with the name that only Windows has."""
    builder = llvm.JITLibraryBuilder()
    for part in parts:
        builder.add_object_img(part)
    builder.add_current_process()
    builder.import_symbol("__chkstk", chkstk)
    for name in exported(dtype):
        builder.export_symbol(name)
    machine = engine.target_machine(target, 0)
    return builder.link(llvm.create_lljit_compiler(machine, use_jit_link=engine.JITLINK), "kernel")


@contextmanager
def as_here():
    """Load code as this system does: the way of Windows may abort where memory is far apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "JITLINK", True)
        patch.setattr(targets, "os", os)
        yield


@here
@pytest.mark.parametrize("make, dtype", [(panda, "float64"), (wide, "float32")])
def test_code_for_windows_has_the_same_bits_and_keeps_its_registers(
    make, dtype, thunk, as_on_windows
):
    with as_here():
        graph = make()
    parts = objects(graph, as_on_windows, dtype)
    assert {symbols(part)[:2] for part in parts} == {("ELF", 62)}
    library = load_like_windows(parts, as_on_windows, dtype, thunk.address("nothing"))
    enter = ctypes.CFUNCTYPE(ctypes.c_longlong, *[ctypes.c_void_p] * 5)(thunk.address("enter"))
    rng = np.random.default_rng(2)
    states = [rng.normal(size=(37, *port.shape)).astype(dtype) for port in graph.inputs]
    with as_here():
        expected = Kernel(graph)(*states)
    batch = [*states, np.zeros_like(expected)]
    sizes = (ctypes.c_longlong * 1)(37)
    steps = [a.strides[0] for a in batch] + [s for a in batch for s in a.strides[1:]]
    steps = (ctypes.c_longlong * len(steps))(*steps)
    assert enter(library["kernel_quiet"], _places(batch), sizes, steps, None) == 0
    assert batch[-1].tobytes() == expected.tobytes()
    single = [*(a[5] for a in states), np.zeros_like(expected[5])]
    assert enter(library["kernel_at"], _places(single), None, None, None) == 0
    assert single[-1].tobytes() == expected[5].tobytes()


def _places(arrays):
    return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))


@here
def test_a_changed_register_is_found(thunk):
    """The function `nothing` of this system is one of Windows too; `spoil` is not."""
    enter = ctypes.CFUNCTYPE(ctypes.c_longlong, *[ctypes.c_void_p] * 5)(thunk.address("enter"))
    assert enter(thunk.address("nothing"), None, None, None, None) == 0
    target = host_target()
    asm = ["spoil:", "xor %esi, %esi", "pxor %xmm7, %xmm7", "ret", ".globl spoil"]
    text = "\n".join(f'module asm "{line}"' for line in asm)
    text += "\ndeclare void @spoil()\ndefine void @call() { call void @spoil() ret void }\n"
    spoiled = engine.load(engine.assemble(text, target), target, ["spoil"])
    assert enter(spoiled.address("spoil"), None, None, None, None) == (1 << 2) + (256 << 1)
