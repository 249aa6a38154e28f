"""Cross compilers and emulated machines for exported C: a Cortex-M4 board and 64-bit Arm."""

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

DTYPES = {"double": np.float64, "float": np.float32}

STRICT = (
    "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion", "-Wconversion", "-Wfloat-conversion",
    "-pedantic", "-Wmissing-prototypes", "-Wstrict-prototypes", "-Wshadow",
)  # fmt: skip
# code in the first memory, variables in the one at 0x20000000
LINKER = """
ENTRY(reset)
MEMORY { ROM : ORIGIN = 0, LENGTH = 4M  RAM : ORIGIN = 0x20000000, LENGTH = 4M }
SECTIONS
{
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.ARM.ex*) } > ROM
    .data : { *(.data*) } > RAM
    .bss : { *(.bss*) *(COMMON) } > RAM
    top_of_stack = ORIGIN(RAM) + LENGTH(RAM);
}
"""
# switches the floating-point unit on, runs the function on all states, prints bits of results
BOARD = """
#include "f.h"
#include <stdint.h>
#include <string.h>
extern char top_of_stack[];
void reset(void);
static void fault(void);
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)top_of_stack, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault };
static int semihosting(int what, const void *argument)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
static void leave(int well) { (void)semihosting(0x18, (void *)(well ? 0x20026 : 0x20024)); }
static void fault(void) { leave(0); for (;;) { } }
static void print(const NUMBER *values, int count)
{
    char text[9 * FOUND * sizeof(NUMBER) / 4 + 1];
    char *at = text;
    uint32_t words[FOUND * sizeof(NUMBER) / 4];
    const int all = count * (int)sizeof(NUMBER) / 4;
    memcpy(words, values, (size_t)count * sizeof(NUMBER));
    for (int k = 0; k < all; ++k) {
        for (int i = 28; i >= 0; i -= 4) { *at++ = "0123456789abcdef"[(words[k] >> i) & 15u]; }
        *at++ = k + 1 < all ? ' ' : '\\n';
    }
    *at = 0;
    (void)semihosting(0x04, text);
}
void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\\n isb");
    const uint32_t count = *(const uint32_t *)STATES_AT;
    const NUMBER *given = (const NUMBER *)(STATES_AT + 8);
    for (uint32_t k = 0; k < count; ++k, given += GIVEN) {
        NUMBER out[FOUND];
        CALL
        print(out, FOUND);
    }
    NUMBER worst;
    const int verdict = f_self_test(&worst);
    print(&worst, 1);
    leave(verdict == 0);
    for (;;) { }
}
"""


@dataclass(frozen=True)
class Machine:
    """A compiler, and the program that runs its code; "" if this machine does."""

    target: str
    compiler: str
    emulator: str
    board: str = ""  # of the emulator
    memory: int = 0  # address of its second memory, for the states

    def needed(self) -> pytest.MarkDecorator:
        """Skips the test where a program is missing."""
        missing = [x for x in (self.compiler, self.emulator) if x and shutil.which(x) is None]
        return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


M4F = Machine("cortex-m4f", "arm-none-eabi-gcc", "qemu-system-arm", "mps2-an386", 0x21000000)
ARM64 = Machine("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64-static")


def command(*words: object, check: bool = True) -> str:
    """Output of a program that must succeed."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compiled(code, folder: Path, *flags: str) -> list[Path]:
    """Objects of the function, called f, and of its self-test, without a warning."""
    assert code.name == "f"
    code.save(folder / "f.c")
    objects: list[Path] = []
    for name in ("f", "f_test"):
        objects.append(folder / f"{name}.o")
        words = (*code.about.flags.split(), *STRICT, *flags, "-c", folder / f"{name}.c")
        command(code.about.compiler, *words, "-o", objects[-1])
    return objects


def run_on_board(
    code, folder: Path, given: list[np.ndarray], call: str = "f({}, out);", size=None
) -> np.ndarray:
    """Results of every state on an emulated board of the target, (states, entries of the result).

    The self-test runs after the states and must pass. call: with the arguments of a state; size:
    entries of its result, if it has no tau.
    """
    machine, kind = M4F, DTYPES[code.about.dtype]
    states = np.concatenate([x.reshape(len(x), -1) for x in given], axis=1).astype(kind)
    (folder / "states.bin").write_bytes(struct.pack("<II", len(states), 0) + states.tobytes())
    objects = compiled(code, folder)
    starts = np.cumsum([0, *(x[0].size for x in given)])[:-1]
    arguments = ", ".join(f"&given[{k}]" for k in starts)
    (folder / "board.c").write_text(BOARD)
    (folder / "board.ld").write_text(LINKER)
    flags = code.about.flags.split()
    if size is None:
        (size,) = [line.split()[2] for line in code.header.splitlines() if "_TAU_SIZE" in line]
    command(
        code.about.compiler, *flags, f"-DSTATES_AT={machine.memory}", f"-DGIVEN={states.shape[1]}",
        f"-DFOUND={size}", f"-DNUMBER={code.about.dtype}", f"-DCALL={call.format(arguments)}",
        "-nostartfiles", "-T", folder / "board.ld", folder / "board.c", *objects, "-lm",
        "-o", folder / "board.elf",
    )  # fmt: skip
    text = command(
        machine.emulator, "-M", machine.board, "-nographic", "-monitor", "none", "-serial", "none",
        "-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out",
        "-kernel", folder / "board.elf",
        "-device", f"loader,file={folder / 'states.bin'},addr={machine.memory:#x}",
    )  # fmt: skip
    lines = text.splitlines()
    rows = [[int(word, 16) for word in line.split()] for line in lines[: len(states)]]
    return np.array(rows, np.uint32).view(kind)
