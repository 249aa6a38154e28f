"""Measure the figures that headers of exported C for targets state: errors, stack and cycles.

Run with `python tools/firmware_figures.py [errors] [stack] [cycles]`, everything by default, about
three minutes. Parts whose compilers or emulators are missing are left out with a note.

errors: of the functions in float, in units of the last place, against NumPy's double. Sine and
    cosine on every 16th float from 0.5 to 100 (`--every 1`: all of them, minutes), and as the
    others on floats of all sizes.
stack: estimated bytes, and those of gcc's -fstack-usage: the function and all its helpers.
cycles: instructions that an emulated Cortex-M4 executes in one call, one by one, and their cycles
    by Arm's table for memory without wait states, beside the estimate.
"""

import argparse
import ctypes
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np

import kinetree as kt
from kinetree.engine.compiler.graph import OPERATIONS
from kinetree.engine.export import TARGETS, ExportedCode
from kinetree.engine.export.export import Dtype, TargetName
from kinetree.engine.export.self_test import STATES
from kinetree.engine.export.target_functions import ERRORS, FAR, FAR_ERROR, Writing, functions_text

ROBOTS = ("panda", "ur5e", "humanoid")
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
HEADERS = ("float", "math", "stdbool", "stdint", "string")
LOOP = """
void all(const float *x, const float *y, float (*out)[6], int n)
{
    for (int k = 0; k < n; ++k) {
        const f_pair p = f_sincos(x[k]);
        out[k][0] = p.sine; out[k][1] = p.cosine; out[k][2] = f_exp(x[k]);
        out[k][3] = f_log(x[k]); out[k][4] = f_tanh(x[k]); out[k][5] = f_atan2(y[k], x[k]);
    }
}
"""
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
# switches the floating-point unit on, runs the self-test, and leaves by semihosting
BOARD = """
#include "f.h"
#include <stdint.h>
extern char top_of_stack[];
void reset(void);
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[2] = {
    (uintptr_t)top_of_stack, (uintptr_t)reset };
void reset(void)
{
    float worst;
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\\n isb");
    const int verdict = f_self_test(&worst);
    register int r0 __asm__("r0") = 0x18;
    register int r1 __asm__("r1") = (verdict == 0) ? 0x20026 : 0x20024;
    __asm__ volatile("bkpt 0xAB" : : "r"(r0), "r"(r1) : "memory");
    for (;;) { }
}
"""
REFILL = 3  # cycles of a branch that is taken: 2 to 4 in the table
# patterns of instructions and their cycles on a Cortex-M4; the first that matches counts
COSTS = (
    (r"v(ldm|stm|push|pop)|push|pop|ldm|stm", 0),  # 1 and one for each register
    (r"vf?n?m(a|s|la|ls)\.|vfn?m[as]", 3),
    (r"vdiv|vsqrt", 14),
    (r"v(ldr|str)\.?(64)? d|ldrd|strd", 3),
    (r"v?(ldr|str)", 2),
    (r"b(l|x|lx)?(\.[nw])?\s|b[a-z]{2}(\.[nw])?\s|cbn?z", REFILL),
)


def run(*words: object) -> str:
    """Output of a program that must succeed."""
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def missing(*programs: str) -> str:
    """Names of programs that are not installed."""
    return ", ".join(x for x in programs if shutil.which(x) is None)


def ulps(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Errors in units of the last place of the expected numbers."""
    least = np.float32(2.0**-126)
    last = np.spacing(np.maximum(np.abs(expected.astype(np.float32)), least))
    return np.abs(found.astype(float) - expected) / last.astype(float)


def arguments(every: int) -> Iterator[np.ndarray]:
    """Floats in parts: those from 0.5 to 100, and two million of all sizes and of usual ones."""
    first, last = np.array([0.5, FAR["float"]], np.float32).view(np.uint32).tolist()
    step = every * 2**20
    for start in range(first, last + 1, step):
        bits = np.arange(start, min(start + step, last + 1), every, dtype=np.uint32)
        yield bits.view(np.float32)
    rng = np.random.default_rng(5)
    sizes = rng.integers(0, 2**32, 2**20, np.uint32).view(np.float32)
    yield sizes[np.isfinite(sizes)]
    yield (rng.normal(size=2**20) * 8).astype(np.float32)
    yield (np.arange(-40_000, 40_000) * np.pi / 2).astype(np.float32)


def errors(every: int) -> Iterator[str]:
    """Largest error of every function, with and without fused operations."""
    yield "| function | multiply-add | largest error, ulp | at | stated |"
    yield "|---|---|--:|--:|--:|"
    for fused in (False, True):
        text = "".join(f"#include <{name}.h>\n" for name in HEADERS)
        text += functions_text(Writing("f", "float", fused), OPERATIONS) + LOOP
        flags = ["-O2", "-ffp-contract=off"]
        flags += ["-march=native"] if fused else []
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f.c").write_text(text)
            files = [f"{folder}/f.c", "-o", f"{folder}/f.so", "-lm"]
            run("gcc", *flags, "-shared", "-fPIC", *files)
            function = ctypes.CDLL(f"{folder}/f.so").all
        for (op, part), (error, at) in largest(function, every).items():
            stated = FAR_ERROR if part else ERRORS[op]
            how = "fused" if fused else "two roundings"
            yield f"| {op}{part} | {how} | {error:.3f} | {at:.9g} | {stated:g} |"


def largest(
    function: Callable[..., object], every: int
) -> dict[tuple[str, str], tuple[float, float]]:
    """By function and part of its range: the largest error and its argument."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    rng = np.random.default_rng(6)
    for x in arguments(every):
        y = rng.permutation(x)
        out = np.empty((len(x), 6), np.float32)
        function(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y, out)), len(x))
        a, b = x.astype(float), y.astype(float)
        with np.errstate(all="ignore"):
            exact = (np.sin(a), np.cos(a), np.exp(a), np.log(a), np.tanh(a), np.arctan2(b, a))
            for k, op in enumerate(ERRORS):
                known = np.isfinite(exact[k].astype(np.float32))
                error = np.where(known, ulps(out[:, k], exact[k]), 0)
                far = (np.abs(x) > FAR["float"]) & (op in ("sin", "cos"))
                for part, chosen in (("", ~far), (f" beyond {FAR['float']:g} rad", far)):
                    if chosen.any():
                        worst = int(np.where(chosen, error, -1).argmax())
                        row = (float(error[worst]), float(x[worst]))
                        found[op, part] = max(found.get((op, part), (0.0, 0.0)), row)
    return found


def compiled(code: ExportedCode, folder: Path, *flags: str) -> None:
    """Objects of the function and its self-test."""
    code.save(folder / "f.c")
    for name in ("f", "f_test"):
        words = (*code.about.flags.split(), *flags, "-c", folder / f"{name}.c")
        run(code.about.compiler, *words, "-o", folder / f"{name}.o")


def stack() -> Iterator[str]:
    """Estimated and measured bytes of the stack."""
    yield "| robot | quantity | target | type | estimated | measured | ratio |"
    yield "|---|---|---|---|--:|--:|--:|"
    for robot in ROBOTS:
        made = getattr(kt.robots, robot)()
        for quantity in QUANTITIES:
            for name, dtype in product(get_args(TargetName), get_args(Dtype)):
                target = TARGETS[name]
                if dtype in target.dtypes and not missing(target.compiler):
                    code = kt.export(made, quantity, target=name, dtype=dtype, name="f")
                    with tempfile.TemporaryDirectory() as folder:
                        compiled(code, Path(folder), "-fstack-usage")
                        lines = (Path(folder) / "f.su").read_text().splitlines()
                    used = sum(int(line.split("\t")[1]) for line in lines)
                    stated = code.about.stack
                    words = f"{robot} | {quantity} | {name} | {dtype} | {stated} | {used}"
                    yield f"| {words} | {stated / used:.2f} |"


def cost(instruction: str) -> int:
    """Cycles of an instruction in the words of objdump."""
    for pattern, each in COSTS:
        if re.match(pattern, instruction):
            return each or 1 + registers(instruction)
    return 1


def registers(instruction: str) -> int:
    """Number of words in the list of registers of an instruction."""
    listed = re.search(r"\{(.*)\}", instruction)
    count = 0
    for part in listed[1].split(",") if listed else ():
        ends = [int(x) for x in re.findall(r"[srd](\d+)", part)]
        words = 2 if "d" in part else 1
        count += words * (ends[-1] - ends[0] + 1 if len(ends) == 2 else 1)
    return count


def cycles() -> Iterator[str]:
    """Instructions that the board executes, and their cycles."""
    yield "| robot | quantity | instructions | cycles by the table | estimate | ratio |"
    yield "|---|---|--:|--:|--:|--:|"
    for robot in ROBOTS:
        made = getattr(kt.robots, robot)()
        for quantity in QUANTITIES:
            code = kt.export(made, quantity, target="cortex-m4f", name="f")
            with tempfile.TemporaryDirectory() as folder:
                executed = trace(code, Path(folder))
            count, spent = len(executed) / STATES, sum(map(cost, executed)) / STATES
            assert code.about.cycles is not None
            words = f"{robot} | {quantity} | {count:.0f} | {spent:.0f} | {code.about.cycles}"
            yield f"| {words} | {code.about.cycles / spent:.2f} |"


def trace(code: ExportedCode, folder: Path) -> list[str]:
    """Instructions of the function and its helpers in the order of their execution."""
    compiled(code, folder)
    (folder / "board.c").write_text(BOARD)
    (folder / "board.ld").write_text(LINKER)
    objects = [folder / name for name in ("board.c", "f.o", "f_test.o")]
    elf, log = folder / "board.elf", folder / "log"
    flags = (*code.about.flags.split(), "-nostartfiles", "-T", folder / "board.ld")
    run(code.about.compiler, *flags, *objects, "-lm", "-o", elf)
    machine = ("-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none")
    words = ("-semihosting-config", "enable=on,target=native", "-kernel", elf)
    older = run("qemu-system-arm", "--version").split("version ")[1] < "8"
    single = ["-singlestep"] if older else ["-accel", "tcg,one-insn-per-tb=on"]
    run("qemu-system-arm", *machine, *words, *single, "-d", "exec,nochain", "-D", log)
    own = {line.split()[-1] for line in run("arm-none-eabi-nm", folder / "f.o").splitlines()}
    known: dict[int, str] = {}
    inside = False
    for line in run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", elf).splitlines():
        if title := re.match(r"[0-9a-f]+ <(.*)>:", line):
            inside = title[1] in own
        elif inside and (found := re.match(r"\s*([0-9a-f]+):\s+(.*)", line)):
            known[int(found[1], 16)] = found[2]
    places = re.findall(r"\[[0-9a-f]+/([0-9a-f]+)/", log.read_text())
    return [known[place] for text in places if (place := int(text, 16)) in known]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Measure errors, stack and cycles of C.")
    parser.add_argument("parts", nargs="*", help="errors, stack, cycles")
    parser.add_argument("--every", type=int, default=16, help="sine and cosine of every n-th float")
    given = parser.parse_args()
    needs = {
        "errors": ("gcc",),
        "stack": ("gcc",),
        "cycles": ("arm-none-eabi-gcc", "qemu-system-arm"),
    }
    tables = {"errors": lambda: errors(given.every), "stack": stack, "cycles": cycles}
    if unknown := set(given.parts) - set(tables):
        parser.error(f"unknown: {', '.join(unknown)}; expected errors, stack or cycles")
    print(f"NumPy {np.__version__}, {platform.machine()}")
    for name in given.parts or tables:
        lacking = missing(*needs[name])
        print(f"\n{name}" + (f": left out, not installed: {lacking}" if lacking else "\n"))
        for line in () if lacking else tables[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
