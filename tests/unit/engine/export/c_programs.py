"""Compilers of exported C: this machine's, and that of an emulated Cortex-M4 board."""

import shutil
import subprocess
from pathlib import Path

import pytest

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")
BOARD = "arm-none-eabi-gcc", "qemu-system-arm"
needs_board = pytest.mark.skipif(
    None in map(shutil.which, BOARD), reason=f"not installed: {' or '.join(BOARD)}"
)
STRICT = (
    "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion", "-Wconversion",
    "-Wfloat-conversion", "-pedantic", "-Wmissing-prototypes", "-Wstrict-prototypes", "-Wshadow",
)  # fmt: skip
M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-O2")
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
# switches the floating-point unit on, runs the self-test and ends the emulator with its verdict
MAIN = """
#include "f.h"
#include <stdint.h>
extern char top_of_stack[];
void reset(void);
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[4] = {
    (uintptr_t)top_of_stack, (uintptr_t)reset, (uintptr_t)reset, (uintptr_t)reset };
void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\\n isb");
    float worst;
    const uintptr_t reason = f_self_test(&worst) == 0 ? 0x20026 : 0x20024;
    register int r0 __asm__("r0") = 0x18;
    register uintptr_t r1 __asm__("r1") = reason;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    for (;;) { }
}
int *__errno(void) { static int number; return &number; }
"""


def command(*words: object, check: bool = True) -> str:
    """Output of a program that must succeed."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def self_test(code, folder: Path, *flags: str) -> str:
    """What the self-test of a function called f prints, compiled without a warning."""
    code.save(folder / "f.c")
    files = (folder / "f.c", folder / "f_test.c", "-o", folder / "main", "-lm")
    command(GCC, *STRICT, *flags, "-DKINETREE_SELF_TEST_MAIN", *files)
    return command(folder / "main", check=False)


def passes_on_board(code, folder: Path) -> bool:
    """Return True if the self-test of a function called f passes on an emulated Cortex-M4."""
    code.save(folder / "f.c")
    (folder / "board.c").write_text(MAIN)
    (folder / "board.ld").write_text(LINKER)
    sources = [folder / name for name in ("f.c", "f_test.c", "board.c")]
    linking = ("-nostartfiles", "-T", folder / "board.ld", "-lm", "-o", folder / "board.elf")
    command(BOARD[0], *M4, "-std=gnu99", *sources, *linking)
    words = [
        BOARD[1], "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none",
        "-semihosting-config", "enable=on,target=native", "-kernel", folder / "board.elf",
    ]  # fmt: skip
    ended = subprocess.run(list(map(str, words)), timeout=120, check=False, capture_output=True)
    return ended.returncode == 0
